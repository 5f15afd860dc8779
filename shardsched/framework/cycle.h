/*
 * One decision: a pod of a class, the snapshot as it is, a node or the reasons why not.
 *
 *	cycle_run: PreFilter, Filter in blocks of nodes, PreScore, Score in blocks,
 *	Normalize, weigh, choose among the best by the draw
 *
 * All nodes are filtered and all feasible ones scored. The blocks (CYCLE_BLOCK slots) are
 * there so that what one plugin has read is still near when the next one asks for it.
 *
 * A cycle is scratch memory for one decision after another, on one thread; what it says
 * about the last one holds until the next run or until the snapshot changes. It
 * allocates only when the snapshot has outgrown it.
 */
#ifndef SHARDSCHED_FRAMEWORK_CYCLE_H
#define SHARDSCHED_FRAMEWORK_CYCLE_H

#include "shardsched/framework/profile.h"

enum { CYCLE_BLOCK = 1024 };

struct cycle;
struct cycle_cache;

/* Pods of one spec under one profile: the plugins' own state, and the view. */
struct fw_class {
	const struct profile *profile;
	struct spec_view *view;
	void *class_state[PLUGINS_MAX];
	uint32_t users;
	bool local;  /* it keeps to home: other nodes are refused by nobody */
	void *cache; /* of classes.h; NULL: none */
};

/* The nodes that are looked at for pods that keep to home, or do not. */
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
/* NULL does nothing; nothing may be kept of it any more (class_cache_forget). */
void fw_class_close(struct snapshot *snapshot, struct fw_class *class);
/* A call of a plugin outside of a cycle, for hint, say. pod is for the caller to set. */
void fw_class_call(const struct fw_class *class, const struct snapshot *snapshot,
                   unsigned plugin, struct plugin_call *out);
/* The same without a class: own and view are NULL. */
void fw_spec_call(const struct profile *profile, const struct spec *spec,
                  const struct snapshot *snapshot, unsigned plugin,
                  struct plugin_call *out);
/* PreEnqueue: true: the pod is not to be queued, and why. */
bool fw_gated(const struct profile *profile, const struct spec *spec,
              const struct snapshot *snapshot, const struct pod_self *pod,
              struct verdict *verdict);

/* Nanoseconds for measuring, from whoever has a clock; never asked by what decides,
 * but to tell that a plugin took too long. */
typedef uint64_t cycle_clock_fn(void *ctx);

struct cycle_opts {
	struct snapshot *snapshot;
	cycle_clock_fn *clock; /* NULL: nothing is measured */
	void *clock_ctx;
	/* A plugin that takes longer in one run fails the run; 0: no bound. Only with a clock. */
	uint64_t plugin_budget_ns;
	bool keep_scores; /* each plugin's normalised column, for explaining */
	bool no_cache;    /* though there is one */
	const struct cycle_cache *cache; /* stages.h; borrowed. NULL: none */
};

PL_NODISCARD enum pl_code cycle_new(const struct cycle_opts *opts, struct cycle **out,
                                    struct pl_err *err);
void cycle_free(struct cycle *cycle);
/* Sets opts.plugin_budget_ns for the runs to come. */
void cycle_set_plugin_budget(struct cycle *cycle, uint64_t budget_ns);

enum cycle_result {
	CYCLE_NODE,  /* outcome.node */
	CYCLE_NONE,  /* no node is feasible */
	CYCLE_ERROR, /* a plugin failed: the pod is to be tried again */
};

struct cycle_outcome {
	enum cycle_result result;
	uint32_t node;
	int64_t total;     /* its weighted score */
	uint32_t feasible; /* nodes */
	uint32_t best;     /* of these, with the highest total */
	/* Plugins that refused a node, left some out, or refused the pod. 0 and nothing
	 * feasible: there is no node. */
	uint64_t refused_by;
	uint32_t refused[PLUGINS_MAX]; /* nodes that it was the first to refuse */
	bool narrowed;                 /* a PreFilter left out nodes */
	bool nominated; /* the pod's nomination was good, no other node was looked at */
	struct verdict pre; /* a PreFilter's refusal or what failed; else a success */
};

/* draw: chance for the tie, uniform in 64 bits. */
void cycle_run(struct cycle *cycle, struct fw_class *class, const struct pod_self *pod,
               uint64_t draw, struct cycle_outcome *out);

/* -- about the last run ---------------------------------------------------------- */

struct pl_bitset cycle_feasible(const struct cycle *cycle);
/* Those that PreFilters left; all of the class when nothing was narrowed. */
struct pl_bitset cycle_examined(const struct cycle *cycle);
bool cycle_skipped(const struct cycle *cycle, unsigned plugin, enum point point);
/* Weighted totals by slot, where feasible. NULL: out of memory. */
const int64_t *cycle_totals(struct cycle *cycle);
/* Normalised, by slot; NULL: it was skipped, or scores are not kept. */
const int64_t *cycle_scores(const struct cycle *cycle, unsigned plugin);
/* What one plugin says alone, pods nominated for the node left out. */
void cycle_why_plugin(struct cycle *cycle, unsigned plugin, uint32_t slot,
                      struct verdict *verdict);
/* The nodes that this plugin was the first to refuse; all other bits are cleared. set is
 * as long as cycle_feasible. */
void cycle_refused(struct cycle *cycle, unsigned plugin, struct pl_bitset set);
/* The first refusal of that node in order, nominated pods of no lower priority
 * counted as kube-scheduler does. */
void cycle_why(struct cycle *cycle, uint32_t slot, struct verdict *verdict);

/* After CYCLE_NONE: PostFilters in order, until one made room (SUCCESS) or failed. */
enum verdict_code cycle_post_filter(struct cycle *cycle, struct verdict *verdict);

/* -- what if: between snapshot_probe and snapshot_probe_end ------------------------- */

/* Takes a pod from its node, and puts it back; the plugins' states follow. */
void cycle_remove_pod(struct cycle *cycle, uint32_t placed);
void cycle_add_pod(struct cycle *cycle, uint32_t placed);
/* Would it fit now? Nominated pods counted. */
bool cycle_fits(struct cycle *cycle, uint32_t slot);
/* The first plugin that refuses it now; -1: it fits, or that can not be told. */
int cycle_refuser(struct cycle *cycle, uint32_t slot, bool *fits);

/* What whoever runs the cycle lends to the post_filter of its plugins (preempt.h). */
void cycle_set_post_filter_ctx(struct cycle *cycle, void *lent);
void *cycle_post_filter_ctx(const struct cycle *cycle);

/* Only these nodes are looked at from now on, as if a PreFilter had narrowed the search:
 * borrowed, as long as cycle_feasible, until something else is said. word NULL: all. */
void cycle_restrict_nodes(struct cycle *cycle, struct pl_bitset only);

struct snapshot *cycle_snapshot(struct cycle *cycle);
const struct fw_class *cycle_class(const struct cycle *cycle);
const struct pod_self *cycle_pod(const struct cycle *cycle);

/* -- measured ---------------------------------------------------------------------- */

struct plugin_metrics {
	uint64_t runs, skips;
	uint64_t refused; /* nodes */
	uint64_t failed, overran;
	uint64_t ns[POINTS]; /* estimated from the cycles that were timed */
};

void cycle_plugin_metrics(const struct cycle *cycle, unsigned plugin,
                          struct plugin_metrics *out);

#endif
