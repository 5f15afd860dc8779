/*
 * What a shard's scheduling is configured with, as it stands in live configuration under
 * `scheduler`: a KubeSchedulerConfiguration, and beside its profiles what is Placet's
 *own.
 *
 *	{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind":
 *"KubeSchedulerConfiguration", "profiles": [...], "queue": {"sort": "sla", "fair": true,
 *"weights": {"shop": 3}, "backoff_first_ms": 1000, "backoff_max_ms": 10000}, "shard":
 *{"batch": 256, "inflight": 4, "cache_bytes": 268435456}}
 *
 * A plain value. What is absent is 0, and as it was when the shard was started.
 */
#ifndef SHARDSCHED_SHARD_SETTINGS_SETTINGS_H
#define SHARDSCHED_SHARD_SETTINGS_SETTINGS_H

#include "shardsched/queue/queue.h"
#include "store/base/json_out.h"

enum {
	SETTINGS_WEIGHTS_MAX = 4096,
	SETTINGS_BATCH_MAX = 512,
	SETTINGS_INFLIGHT_MAX = 16,
	SETTINGS_PLUGIN_BUDGET_MS = 2000, /* by default */
};

struct settings_weight {
	struct pl_span namespace;
	uint32_t weight;
};

struct sched_settings {
	/* apiVersion, kind and profiles, as profile.h reads them; empty: the default. */
	struct pl_span profiles;
	struct pl_span list; /* of them, the array under profiles; empty: there is none */
	enum queue_sort sort; /* as queue.sort says, else the profiles' plugin */
	bool sort_given;
	bool fair;                            /* between namespaces */
	const struct settings_weight *weight; /* turns of a namespace; by name */
	uint32_t weights;
	uint64_t backoff_first_ms, backoff_max_ms;
	uint32_t batch_size, inflight;
	uint64_t cache_bytes;
	uint32_t plugin_budget_ms;
};

/* plugin_budget_ms as the cycle takes it; 0 stands for the default. */
static inline uint64_t settings_plugin_budget_ns(uint32_t budget_ms)
{
	return (budget_ms == 0 ? SETTINGS_PLUGIN_BUDGET_MS : budget_ms) *
	       UINT64_C(1000000);
}

/* The whole of it, profiles too, is checked. *out borrows from the arena. PL_INVALID,
 * PL_LIMIT with the field's path; PL_NOMEM. */
PL_NODISCARD enum pl_code settings_read(struct pl_json json, struct pl_arena *arena,
                                        struct sched_settings *out, struct pl_err *err);

/* One object: what was read, with what is by default filled in where there is one for
 * all shards. */
void settings_print(const struct sched_settings *settings, struct pl_json_out *out);

#endif
