/*
 * A cycle makes one decision after another: a pod of a class and the snapshot go in, a
 * node or the reasons why there is none come out.
 *
 *	cycle_run: PreFilter, Filter in blocks of nodes, PreScore, Score in blocks,
 *	Normalize, weigh, choose among the best by the draw
 *
 * All nodes are filtered, and all feasible ones scored. Blocks (CYCLE_BLOCK slots) keep
 * in the processor's cache what one plugin has read until the next one reads it too.
 *
 * Invariants: a cycle is used by one thread. What it says about the last run holds until
 * the next run or until the snapshot changes. It allocates only when the snapshot has
 * outgrown its memory, and when a plugin is timed for the first time. Equal inputs, the draw included, give equal outcomes.
 */
#ifndef SHARDSCHED_FRAMEWORK_CYCLE_H
#define SHARDSCHED_FRAMEWORK_CYCLE_H

#include "shardsched/framework/profile.h"
#include "store/metrics/histogram.h"

enum { CYCLE_BLOCK = 1024 };

struct cycle;
struct cycle_cache;

/* A class of pods under one profile: the state that plugins keep for the class, and the
 * snapshot's view of its spec. */
struct fw_class {
	const struct profile *profile;
	struct spec_view *view;
	void *class_state[PLUGINS_MAX];
	uint32_t users;
	/* only local nodes are looked at; no plugin is said to have refused the others */
	bool local;
	void *cache; /* class_results.h; NULL: nothing is cached */
};

/* The nodes that are looked at for pods that keep to local nodes, or for all others. */
static inline struct pl_bitset fw_nodes(bool local, const struct snapshot *snapshot)
{
	return local ? snapshot->local : snapshot->open;
}

static inline struct pl_bitset fw_class_nodes(const struct fw_class *class,
                                              const struct snapshot *snapshot)
{
	return fw_nodes(class->local, snapshot);
}

PL_NODISCARD enum pl_code fw_class_open(struct snapshot *snapshot,
                                        const struct profile *profile,
                                        const struct spec *spec, struct fw_class **out,
                                        struct pl_err *err);
/* NULL does nothing. Results cached for the class must be gone before
 * (class_cache_forget). */
void fw_class_close(struct snapshot *snapshot, struct fw_class *class);
/* Prepares a call of a plugin outside a cycle, for instance of its hint. The caller sets
 * pod. */
void fw_class_call(const struct fw_class *class, const struct snapshot *snapshot,
                   unsigned plugin, struct plugin_call *out);
/* The same without a class: class_state and view are NULL. */
void fw_spec_call(const struct profile *profile, const struct spec *spec,
                  const struct snapshot *snapshot, unsigned plugin,
                  struct plugin_call *out);
/* Runs PreEnqueue. true: the pod must not be queued; verdict says why. */
bool fw_gated(const struct profile *profile, const struct spec *spec,
              const struct snapshot *snapshot, const struct pod_self *pod,
              struct verdict *verdict);

/* A clock in nanoseconds. It serves measuring only: no decision depends on it, but that a
 * plugin over its budget fails the run. */
typedef uint64_t cycle_clock_fn(void *ctx);

struct cycle_opts {
	struct snapshot *snapshot;
	cycle_clock_fn *clock; /* NULL: nothing is measured */
	void *clock_ctx;
	/* A plugin that takes longer in one run fails the run; 0: no bound. Only with a clock. */
	uint64_t plugin_budget_ns;
	bool keep_scores; /* keep the normalised column of each plugin, for explaining */
	bool no_cache;    /* do without the cache, for this cycle */
	/* local_stage.h; borrowed. NULL: there is no cache */
	const struct cycle_cache *cache;
};

PL_NODISCARD enum pl_code cycle_new(const struct cycle_opts *opts, struct cycle **out,
                                    struct pl_err *err);
void cycle_free(struct cycle *cycle);
/* Sets opts.plugin_budget_ns for later runs. */
void cycle_set_plugin_budget(struct cycle *cycle, uint64_t budget_ns);

enum cycle_result {
	CYCLE_NODE,  /* the node is outcome.node */
	CYCLE_NONE,  /* no node is feasible */
	CYCLE_ERROR, /* a plugin failed: the pod is to be tried again */
};

struct cycle_outcome {
	enum cycle_result result;
	uint32_t node;
	int64_t total;     /* the node's weighted score */
	uint32_t feasible; /* number of feasible nodes */
	uint32_t best;     /* how many of the feasible nodes have the highest total */
	/* Plugins that refused a node, excluded some in PreFilter, or refused the pod. 0,
	 * and no node feasible: there was no node at all. */
	uint64_t refused_by;
	/* by plugin: nodes that it was the first to refuse */
	uint32_t refused[PLUGINS_MAX];
	bool narrowed; /* a PreFilter excluded nodes */
	/* the node that the pod is nominated for was good, so no other one was looked
	 * at */
	bool nominated;
	/* the PreFilter's refusal, or what failed; else VERDICT_SUCCESS */
	struct verdict pre;
};

/* draw decides among nodes with equal totals: 64 uniform bits. */
void cycle_run(struct cycle *cycle, struct fw_class *class, const struct pod_self *pod,
               uint64_t draw, struct cycle_outcome *out);

/* -- questions about the last run -------------------------------------------------------- */

struct pl_bitset cycle_feasible(const struct cycle *cycle);
/* The nodes that PreFilters left; all nodes of the class when none narrowed the
 * search. */
struct pl_bitset cycle_examined(const struct cycle *cycle);
bool cycle_skipped(const struct cycle *cycle, unsigned plugin, enum point point);
/* Weighted totals by slot, valid where the node is feasible. NULL: out of memory. */
const int64_t *cycle_totals(struct cycle *cycle);
/* Normalised scores by slot. NULL: the plugin was skipped, or scores are not kept. */
const int64_t *cycle_scores(const struct cycle *cycle, unsigned plugin);
/* The verdict of one plugin alone, without the pods nominated for the node. */
void cycle_why_plugin(struct cycle *cycle, unsigned plugin, uint32_t slot,
                      struct verdict *verdict);
/* Sets the bits of the nodes that this plugin was the first to refuse, and clears all
 * others. set is as long as cycle_feasible. */
void cycle_refused(struct cycle *cycle, unsigned plugin, struct pl_bitset set);
/* The first refusal of the node in the order of the filters. Nominated pods of no lower
 * priority count, as with kube-scheduler. */
void cycle_why(struct cycle *cycle, uint32_t slot, struct verdict *verdict);

/* After CYCLE_NONE: runs PostFilter plugins in order until one made room
 * (VERDICT_SUCCESS) or failed. */
enum verdict_code cycle_post_filter(struct cycle *cycle, struct verdict *verdict);

/* -- what-if: only between snapshot_probe and snapshot_probe_end ------------------------- */

/* Removes a pod from its node, or adds it back; the states of the plugins follow. */
void cycle_remove_pod(struct cycle *cycle, uint32_t placed);
void cycle_add_pod(struct cycle *cycle, uint32_t placed);
/* Whether the pod would fit on the node now, nominated pods included. */
bool cycle_fits(struct cycle *cycle, uint32_t slot);
/* The first plugin that refuses the node now; -1: the pod fits, or the plugin is not
 * known. */
int cycle_refuser(struct cycle *cycle, uint32_t slot, bool *fits);

/* A pointer that the caller of the cycle hands to the PostFilter of its plugins
 * (preempt.h). */
void cycle_set_post_filter_ctx(struct cycle *cycle, void *ctx);
void *cycle_post_filter_ctx(const struct cycle *cycle);

/* Restricts later runs to these nodes, as if a PreFilter had narrowed the search. The set
 * is borrowed until the next call, and is as long as cycle_feasible. word NULL: all
 * nodes. */
void cycle_restrict_nodes(struct cycle *cycle, struct pl_bitset only);

struct snapshot *cycle_snapshot(struct cycle *cycle);
const struct fw_class *cycle_class(const struct cycle *cycle);
const struct pod_self *cycle_pod(const struct cycle *cycle);

/* -- measurements ------------------------------------------------------------------------ */

struct plugin_metrics {
	uint64_t runs, skips;
	uint64_t refused; /* number of nodes */
	uint64_t failed, overran;
	/* estimated from the cycles that were timed */
	uint64_t ns[POINTS];
	/* by cycle that was timed; NULL: the plugin never ran at that point, or there was
	 * no memory. Borrowed. */
	const struct histogram *took_ns[POINTS];
};

/* The time that the plugins of each point took in the last run. False: the run was not
 * timed. */
bool cycle_timing(const struct cycle *cycle, uint64_t ns[POINTS]);

void cycle_plugin_metrics(const struct cycle *cycle, unsigned plugin,
                          struct plugin_metrics *out);

#endif
