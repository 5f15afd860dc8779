/* struct config_gen: a generation of the configuration. It holds the settings and what is
 * made from them: profiles, the queue, the registry of classes.
 *
 * Invariants: sched.config_gen is the latest one. While pods migrate there are earlier
 * ones (sched.old_gens); each pod in the queue belongs to the one that its class was
 * registered in. A generation is immutable once config_gen_fill has succeeded. */
#ifndef SHARDSCHED_SHARD_SETTINGS_CONFIG_GEN_H
#define SHARDSCHED_SHARD_SETTINGS_CONFIG_GEN_H

#include "shardsched/classes/class_registry.h"
#include "shardsched/queue/queue.h"
#include "store/base/buf.h"
#include "store/base/list.h"

struct sched;
struct sched_pod;

/* The settings that profiles and queue were made from. */
struct sched_config {
	/* Text of a KubeSchedulerConfiguration; empty: the default */
	struct pl_buf profiles;
	enum queue_sort sort;
	bool fair;
	uint64_t backoff_first_ms, backoff_max_ms;
	struct sched_config_weight {
		uint32_t namespace; /* string; held */
		uint32_t weight;
	} * weight;
	uint32_t weights;
};

struct config_gen {
	struct pl_list link; /* among sched.old_gens */
	struct sched *sched;
	struct sched_config sched_config;
	struct profiles profiles;
	struct queue *queue;
	struct class_registry class_registry; /* classes by these profiles */
};

/* Empty: its settings are the caller's to set before config_gen_fill. NULL: no memory. */
struct config_gen *config_gen_new(struct sched *sched);
/* No pod belongs to it. NULL does nothing. */
void config_gen_free(struct config_gen *config_gen);
/* Makes profiles and queue from its settings. */
PL_NODISCARD enum pl_code config_gen_fill(struct config_gen *config_gen,
                                          struct pl_err *err);
uint32_t sched_config_weight(const struct sched_config *sched_config, uint32_t namespace);
/* The queue that its settings ask for. */
PL_NODISCARD enum pl_code config_gen_queue(struct sched *sched,
                                           struct config_gen *config_gen,
                                           struct queue **out, struct pl_err *err);

void config_migrate_run(struct sched *sched);
/* The pod is about to be freed. */
void config_migrate_forget(struct sched *sched, const struct sched_pod *pod);

#endif
