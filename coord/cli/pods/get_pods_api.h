/* placet get pods, of the API. */
#ifndef COORD_CLI_PODS_GET_PODS_API_H
#define COORD_CLI_PODS_GET_PODS_API_H

#include "coord/cli/pods/pod_pick.h"
#include "coord/cli/session/api_session.h"

/* PL_NOTFOUND: some named pods do not exist. */
PL_NODISCARD enum pl_code get_pods_api(const struct pod_pick *pick,
                                       struct api_session *api, struct pl_err *err);

#endif
