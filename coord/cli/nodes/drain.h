/* A node drain for a command: lines for nodes that are drained, and a line of progress. */
#ifndef COORD_CLI_NODES_DRAIN_H
#define COORD_CLI_NODES_DRAIN_H

#include "coord/cli/session/cli_session.h"
#include "coord/service/nodes/node_drain.h"

struct drain_args {
	const struct node_name *nodes; /* cordoned */
	unsigned node_count;
	bool force, past_budgets;
	uint64_t timeout_ms; /* 0: however long it takes */
};

/* A dry run prints the pods that would go. PL_TIMEOUT: some pods are still there. */
PL_NODISCARD enum pl_code drain_run(const struct cli_session *cli,
                                    const struct drain_args *args, struct pl_err *err);

#endif
