/*
 * Edits and bindings of pods that many clients want, committed together: those that wait
 * while earlier ones are under way travel in one operation of coord/service/pods.
 *
 * Invariants: done is called once for each that was added, later; two changes of one pod
 * are never under way together.
 */
#ifndef COORD_API_VERBS_POD_CHANGE_QUEUE_H
#define COORD_API_VERBS_POD_CHANGE_QUEUE_H

#include "coord/service/pods/pod_changes.h"
#include "store/base/list.h"

enum { POD_CHANGE_RUNS = 4 }; /* operations under way */

struct pending_change {
	struct pl_list link;
	struct pod_change change; /* borrowed spans */
	/* err not NULL: the outcome is not known, or nothing was done; result is NULL then. */
	void (*done)(struct pending_change *pending,
	             const struct pod_change_result *result, const struct pl_err *err);
	void *ctx;
};

struct pod_change_queue;

/* All of it is borrowed. */
struct pod_change_queue_opts {
	const struct service *service;
	int64_t (*wall_ms)(void *ctx);
	/* A Node as the informer has it; as of pod_changes.h. */
	bool (*know)(void *ctx, struct pl_span cluster, struct pl_span name,
	             struct pod_value *node);
	void *ctx;
};

PL_NODISCARD enum pl_code pod_change_queue_open(const struct pod_change_queue_opts *opts,
                                                struct pod_change_queue **out,
                                                struct pl_err *err);
/* Nothing waits and nothing is under way. Takes NULL. */
void pod_change_queue_free(struct pod_change_queue *queue);
void pod_change_queue_add(struct pod_change_queue *queue, struct pending_change *pending);

#endif
