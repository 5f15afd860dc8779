/* Settings, and what is made from them: profiles, the queue, its classes. While pods go
 * over from one to the next there are several. */
#ifndef SHARDSCHED_SHARD_SETTINGS_CONFIG_GEN_H
#define SHARDSCHED_SHARD_SETTINGS_CONFIG_GEN_H

#include "shardsched/classes/class_registry.h"
#include "shardsched/queue/queue.h"
#include "store/base/buf.h"
#include "store/base/list.h"

struct sched;
struct sched_pod;

/* What the profiles and the queue were made from. */
struct sched_config {
	struct pl_buf profiles; /* text */
	enum queue_sort sort;
	bool fair;
	uint64_t backoff_first_ms, backoff_max_ms;
	struct sched_config_weight {
		uint32_t namespace; /* string, held */
		uint32_t weight;
	} * weight;
	uint32_t weights;
};

/* What settings make: all pods in the queue are there by one of these. */
struct config_gen {
	struct pl_list link; /* of those before */
	struct sched *sched;
	struct sched_config sched_config;
	struct profiles profiles;
	struct queue *queue;
	struct class_registry class_registry; /* of classes, by these profiles */
};

/* With nothing of its own but an empty pool. NULL: no memory. */
struct config_gen *config_gen_new(struct sched *sched);
/* No pod is there by it. NULL does nothing. */
void config_gen_free(struct config_gen *config_gen);
/* The rest of it, by its regime. */
PL_NODISCARD enum pl_code config_gen_fill(struct config_gen *config_gen,
                                          struct pl_err *err);
uint32_t sched_config_weight(const struct sched_config *sched_config, uint32_t namespace);
/* The queue for that regime. */
PL_NODISCARD enum pl_code config_gen_queue(struct sched *sched,
                                           struct config_gen *config_gen,
                                           struct queue **out, struct pl_err *err);

void config_migrate_run(struct sched *sched);
/* The pod is going to be freed. */
void config_migrate_forget(struct sched *sched, const struct sched_pod *pod);

#endif
