/*
 * Who waits with a pod, as far as the store tells: by SLA and priority, which go before
 * everything else in the queue of its shard, and by age. When a shard first saw a pod,
 * who backs off, and what waits for an event, only the shard knows.
 */
#ifndef COORD_CLI_EXPLAIN_EXPLAIN_QUEUE_H
#define COORD_CLI_EXPLAIN_EXPLAIN_QUEUE_H

#include "shardsched/model/pod.h"
#include "shardsched/queue/queue.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct explain_queue {
	/* The caller's. */
	struct model *model;
	enum queue_sort sort;
	const bool *own;     /* partitions of the shard */
	struct pl_span self; /* "0007/web/app-1", not counted */

	/* Of the pod. */
	struct pl_arena arena;
	bool known; /* what it is compared by; else nothing is counted */
	uint16_t sla;
	int32_t priority;
	int64_t created_ms;

	/* Pods that wait, before it, like it, and of these, older ones. */
	uint64_t before, alike, older;
	uint64_t *last[2]; /* what the last one counted for; NULL */
	struct keys_text last_key;
};

void explain_queue_init(struct explain_queue *queue);
void explain_queue_done(struct explain_queue *queue);
/* Nothing is counted of a pod that can not be queued. */
void explain_queue_set_pod(struct explain_queue *queue, struct pl_span spec);
/* A spec of a pod on no node, or the state of whoever came last; in the order of keys. */
void explain_queue_add(struct explain_queue *queue, const struct keys_id *id,
                       const struct kv_record *record);

#endif
