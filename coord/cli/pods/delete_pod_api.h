/* placet delete pod, of the API. */
#ifndef COORD_CLI_PODS_DELETE_POD_API_H
#define COORD_CLI_PODS_DELETE_POD_API_H

#include "coord/cli/pods/pods_request.h"
#include "coord/cli/session/api_session.h"

PL_NODISCARD enum pl_code delete_pod_api(struct pods_request *job,
                                         struct api_session *api, struct pl_err *err);

#endif
