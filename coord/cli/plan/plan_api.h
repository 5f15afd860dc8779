/* placet plan, of the API: the files become a Plan, and the server says what would
 * happen. */
#ifndef COORD_CLI_PLAN_PLAN_API_H
#define COORD_CLI_PLAN_PLAN_API_H

#include "coord/cli/input/pods_args.h"
#include "coord/cli/session/api_session.h"
#include "coord/service/plan/plan.h"

struct plan_asked {
	const struct pods_args *given;
	const struct plan_opts *opts; /* without, add, at_revision */
};

/* fits: every pod has a node. */
PL_NODISCARD enum pl_code plan_api(struct api_session *api,
                                   const struct plan_asked *asked, bool *fits,
                                   struct pl_err *err);

#endif
