/*
 * struct sched_settings: how a shard's scheduling is configured, as it stands in live
 * configuration under `scheduler`: a KubeSchedulerConfiguration with members of Placet's
 * own beside its profiles.
 *
 *	{"apiVersion": "kubescheduler.config.k8s.io/v1",
 *	 "kind": "KubeSchedulerConfiguration",
 *	 "profiles": [...],
 *	 "queue": {"sort": "sla", "fair": true, "weights": {"shop": 3},
 *	           "backoff_first_ms": 1000, "backoff_max_ms": 10000},
 *	 "shard": {"batch": 256, "inflight": 4, "cache_bytes": 268435456}}
 *
 * A plain value. An absent member is 0 and means what the shard was started with.
 */
#ifndef SHARDSCHED_SHARD_SETTINGS_SETTINGS_H
#define SHARDSCHED_SHARD_SETTINGS_SETTINGS_H

#include "shardsched/queue/queue.h"
#include "store/base/json_out.h"

enum {
	SETTINGS_WEIGHTS_MAX = 4096,
	SETTINGS_BATCH_MAX = 512,
	SETTINGS_INFLIGHT_MAX = 16,
	SETTINGS_CACHE_BYTES = 256 << 20, /* the meaning of 0 */
	SETTINGS_PLUGIN_BUDGET_MS = 2000, /* by default */
};

struct settings_weight {
	struct pl_span namespace;
	uint32_t weight;
};

struct sched_settings {
	/* apiVersion, kind and profiles, as profile_read.h reads them; empty: the
	 * default. */
	struct pl_span profiles;
	/* The array under profiles, within `profiles`; empty: there is none */
	struct pl_span list;
	/* From queue.sort, else from the profiles' QueueSort plugin */
	enum queue_sort sort;
	bool sort_given;
	bool fair;                            /* namespaces take turns */
	const struct settings_weight *weight; /* turns of a namespace; sorted by name */
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

/* Checks all of it, profiles included. *out borrows from the arena. PL_INVALID and
 * PL_LIMIT carry the field's path; PL_NOMEM. */
PL_NODISCARD enum pl_code settings_read(struct pl_json json, struct pl_arena *arena,
                                        struct sched_settings *out, struct pl_err *err);

/* Prints one object: the settings, with those defaults filled in that are the same for
 * all shards. */
void settings_print(const struct sched_settings *settings, struct pl_json_out *out);

#endif
