/* placet wait --for=bound: until every pod that is waited for has a place. */
#ifndef COORD_CLI_PODS_WAIT_BOUND_H
#define COORD_CLI_PODS_WAIT_BOUND_H

#include "coord/cli/input/pods_args.h"
#include "coord/cli/session/cli_session.h"

struct wait_bound {
	const struct pods_args *given;
	const struct label_query *query; /* with all; without requirements: any labels */
	bool all; /* else the pods that are named, or in the files */
	bool summary;
	uint64_t timeout_ms;
};

PL_NODISCARD enum pl_code wait_bound(const struct cli_session *cli,
                                     const struct wait_bound *asked, struct pl_err *err);

#endif
