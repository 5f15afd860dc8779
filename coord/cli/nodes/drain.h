/*
 * Takes all pods off some nodes: no new ones come (cordon), those that are there are
 * evicted, and it waits until the nodes' allocs list none. Nothing but the store is asked
 * for that, and nothing kept: run again, it goes on. What a disruption budget protects is
 * asked again and again, until it may go.
 */
#ifndef COORD_CLI_NODES_DRAIN_H
#define COORD_CLI_NODES_DRAIN_H

#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_session.h"
#include "coord/nodes/nodes.h"
#include "coord/submit/pod_request.h"

enum { DRAIN_BUDGET_SIZE = 330 };

struct drain_node {
	struct pl_span cluster, name;
	uint32_t pods; /* as last seen */
	bool counted, drained;
};

struct drain {
	const char *words; /* of the command, for what is said */
	const struct cli_session *cli;
	struct drain_node *node;
	unsigned nodes;
	bool force;          /* does not wait for the members */
	bool past_budgets;   /* whatever they allow */
	uint64_t timeout_ms; /* 0: however long it takes */
	/* While it goes on. */
	uint64_t total; /* pods that were there when it began */
	struct pl_arena arena;
	struct pod_request *wish;
	uint32_t wishes, wishes_cap, next;
	struct pod_requests *asking;
	uint64_t malformed;
	uint64_t withheld;              /* by budgets, in this round */
	char budget[DRAIN_BUDGET_SIZE]; /* one of them */
	struct pl_err err;
	struct progress progress;
	uint64_t end_ms;
};

/* Nothing is asked: prints who would be. */
PL_NODISCARD enum pl_code drain_print_plan(struct drain *drain, struct pl_err *err);

/* Nodes that are there, and cordoned. PL_TIMEOUT: some pods are still on them. */
PL_NODISCARD enum pl_code drain_run(struct drain *drain, struct pl_err *err);

#endif
