/*
 * A queue position: how many pods wait with a pod, as far as the store tells: by SLA and
 * priority, which go before everything else in the queue of its shard, and by age.
 *
 * When a shard first saw a pod, which pods back off, and what waits for an event, only the
 * shard knows.
 */
#ifndef COORD_SERVICE_EXPLAIN_QUEUE_POSITION_H
#define COORD_SERVICE_EXPLAIN_QUEUE_POSITION_H

#include "shardsched/model/pod.h"
#include "shardsched/queue/queue.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct queue_position {
	/* The caller's. */
	struct model *model;
	enum queue_sort sort;
	const bool *own;     /* partitions of the shard */
	struct pl_span self; /* "0007/web/app-1", not counted */

	/* The pod that is asked about. */
	struct pl_arena arena;
	bool known; /* the pod can be queued; else nothing is counted */
	uint16_t sla;
	int32_t priority;
	int64_t created_ms;

	/* Pods waiting before the pod; with the same importance; of these, older. */
	uint64_t before, alike, older;
	uint64_t *last[2]; /* the counts that include the pod of last_key; NULL: none */
	struct keys_text last_key;
};

void queue_position_init(struct queue_position *queue);
void queue_position_done(struct queue_position *queue);
/* A pod that can not be queued counts nothing. */
void queue_position_set_pod(struct queue_position *queue, struct pl_span spec);
/* The spec of a pod on no node, or the state of the pod that came last; in the order of
 * keys. */
void queue_position_add(struct queue_position *queue, const struct keys_id *id,
                        const struct kv_record *record);

#endif
