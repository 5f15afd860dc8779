/*
 * Node drain: takes all pods off some nodes that are cordoned: evicts the pods that are
 * there and waits until the nodes' allocs list none. Only the store is asked, and nothing
 * is kept: a drain that is started again goes on.
 *
 *	read the allocs --> no pod is left: done
 *	  ^      | pods are left
 *	  |      v
 *	pause <-- evict the pods that were not asked yet
 *
 * A pod that was bound between the cordon and the first read is seen in the next round.
 * What a disruption budget withholds is asked again, until it may go.
 */
#ifndef COORD_SERVICE_NODES_NODE_DRAIN_H
#define COORD_SERVICE_NODES_NODE_DRAIN_H

#include "coord/service/base/service.h"
#include "coord/service/nodes/node_filter.h"
#include "coord/service/submit/pod_request.h"

enum { NODE_DRAIN_ROUND_MS = 300, NODE_DRAIN_BUDGET_SIZE = 330 };

struct node_drain;

struct node_drain_status {
	unsigned nodes, drained;
	uint64_t total, left; /* pods: that were there; that still are */
	uint64_t withheld;    /* by budgets, in the last round */
	const char *budget;   /* one of these; "" */
	bool time_up;         /* the drain ended since timeout_ms were over */
};

struct node_drain_opts {
	const struct node_name *nodes; /* borrowed until done */
	unsigned node_count;
	bool dry_run;        /* one read: wanted is called, and nothing is written */
	bool force;          /* does not wait for the members to say that pods ended */
	bool past_budgets;   /* Reports after each read. */
	uint64_t timeout_ms; /* 0: however long it takes */
	/* A dry run: a pod that would go. */
	void (*wanted)(void *ctx, const struct pod_request *request);
	/* A node lists no pod any more; once each. */
	void (*drained)(void *ctx, const struct node_name *node);
	/* After each read. */
	void (*progress)(void *ctx, const struct node_drain_status *status);
	/* The keys of a pod make no sense; once for the whole drain. */
	void (*malformed)(void *ctx, const struct pod_request *request, const char *why);
	/* status: as last read. PL_TIMEOUT with status->time_up: some pods are still there;
	 * without it the store did not answer in time. */
	void (*done)(void *ctx, const struct node_drain_status *status,
	             const struct pl_err *err);
	void *ctx;
};

/* The service outlives the drain. */
PL_NODISCARD enum pl_code node_drain_start(const struct service *service,
                                           const struct node_drain_opts *opts,
                                           struct node_drain **out, struct pl_err *err);
void node_drain_cancel(struct node_drain *drain);

#endif
