/* Settings, and what is made from them: profiles, the queue, its classes. While pods go
 * over from one to the next there are several. */
#ifndef SHARDSCHED_SHARD_SETTINGS_REIGN_H
#define SHARDSCHED_SHARD_SETTINGS_REIGN_H

#include "shardsched/classes/pool.h"
#include "shardsched/queue/queue.h"
#include "store/base/buf.h"
#include "store/base/list.h"

struct sched;
struct sched_pod;

/* What the profiles and the queue were made from. */
struct regime {
	struct pl_buf profiles; /* text */
	enum queue_sort sort;
	bool fair;
	uint64_t backoff_first_ms, backoff_max_ms;
	struct regime_weight {
		uint32_t space; /* string, held */
		uint32_t weight;
	} * weight;
	uint32_t weights;
};

/* What settings make: all pods in the queue are there by one of these. */
struct reign {
	struct pl_list link; /* of those before */
	struct sched *sched;
	struct regime regime;
	struct profiles profiles;
	struct queue *queue;
	struct pool pool; /* of classes, by these profiles */
};

/* With nothing of its own but an empty pool. NULL: no memory. */
struct reign *reign_new(struct sched *sched);
/* No pod is there by it. NULL does nothing. */
void reign_free(struct reign *reign);
/* The rest of it, by its regime. */
PL_NODISCARD enum pl_code reign_fill(struct reign *reign, struct pl_err *err);
uint32_t regime_weight(const struct regime *regime, uint32_t space);
/* The queue for that regime. */
PL_NODISCARD enum pl_code sched_queue_make(struct sched *sched, struct reign *reign,
                                           struct queue **out, struct pl_err *err);

void configure_run(struct sched *sched);
/* The pod is going to be freed. */
void configure_forget(struct sched *sched, const struct sched_pod *pod);

#endif
