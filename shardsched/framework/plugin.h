/*
 * A plugin is one file with one row of functions: kube-scheduler's extension points, over
 * columns. A function that is NULL is a point that the plugin does not have.
 *
 * A plugin sees what is in plugin_call and nothing else: no clock, no random numbers, no
 * other plugin. Between calls it keeps only
 *
 *	args         of the profile, parsed once from configuration
 *	class_state  of a class of pods, from open to close: what depends on the spec alone,
 *	             and handles into the snapshot (columns, matchers), which the snapshot
 *	             then keeps up to date
 *	state        of one cycle: made in pre_filter or pre_score, gone at the end
 *
 * Only open, close, args_parse and what follows a changed epoch may allocate; what a
 * cycle needs comes from its arena.
 *
 * **Local and global.** What a local plugin says about a node depends on the spec, that
 * node (its row, its columns, the pods on it) and what `epoch` covers, and on nothing
 * else: its results are cached by class and updated node by node. A node that its filter
 * refuses stays refused with more pods on it; and a local plugin that looks at pods waits
 * for events about pods. So cached results also hold for nodes with nominated pods. A
 * global plugin looks at other nodes too (spreading, domains of other pods) and is called
 * in each cycle.
 */
#ifndef SHARDSCHED_FRAMEWORK_PLUGIN_H
#define SHARDSCHED_FRAMEWORK_PLUGIN_H

#include "shardsched/framework/reason.h"
#include "shardsched/queue/queue.h"
#include "shardsched/snapshot/view.h"
#include "store/base/json.h"

struct cycle;

enum { PLUGIN_SCORE_MAX = 100 };

/* Identifies the pod; its class has everything else. */
struct pod_self {
	uint32_t name;
	uint32_t uid;
	uint32_t nominated; /* slot that the pod is nominated for, or SNAPSHOT_NONE */
	int64_t created_ms;
};

struct plugin_call {
	const struct snapshot *snapshot;
	const struct spec *spec;
	const struct spec_view *view;
	const struct pod_self *pod;
	const void *args;
	void *class_state;
	void *state; /* state_size bytes, zeroed at the beginning of the cycle */
	struct pl_arena *arena;  /* the cycle's */
	struct snapshot *change; /* only in reserve and unreserve */
};

/* Some words of a set of slots: bits[0] has the slots from word * 64 on. */
struct node_span {
	uint32_t word;
	uint32_t words;
	uint64_t *bits;
};

/* The span without its first words. */
static inline struct node_span node_span_from(struct node_span span, uint32_t words)
{
	return (struct node_span){span.word + words, span.words - words,
	                          span.bits + words};
}

#define SPAN_EACH_WORD(i, span) for (uint32_t i = 0; (i) < (span).words; (i)++)

/* The nodes that pre_filter may restrict the search to. */
struct plugin_narrow {
	struct pl_bitset only; /* from the cycle's arena; word NULL: all nodes */
};

enum plugin_normal {
	PLUGIN_AS_IS, /* scores are 0 to 100 already */
	/* Normalised by the maximum: raw scores are 0 to INT32_MAX. */
	PLUGIN_BY_MAX,      /* 100 * score / max; all 0 when max is 0 */
	PLUGIN_BY_MAX_DOWN, /* 100 - 100 * score / max; all 100 when max is 0 */
	PLUGIN_BY_ITSELF,   /* by the plugin's own normalize */
};

enum plugin_refusal {
	PLUGIN_REFUSES_MIXED, /* the verdict depends on the node: call why */
	PLUGIN_REFUSES_UNSCHEDULABLE,
	PLUGIN_REFUSES_UNRESOLVABLE, /* removing pods would not help */
};

struct plugin {
	const char *name;
	bool global;
	enum plugin_refusal refusal;
	enum plugin_normal normal;
	uint32_t weight; /* default weight of the plugin's scores */
	/* QUEUE_ON(...): events that can help a pod that the plugin refused */
	uint64_t events;
	/* Whether this event may help that class. Judged by the spec alone: class_state
	 * and view are there only for the events in hint_needs_class. NULL: each event in
	 * events may help. */
	bool (*hint)(const struct plugin_call *call, const struct queue_event *event);
	uint64_t
		/* QUEUE_ON(...): events for whose hint class_state and view are prepared,
		 * which costs */
		hint_needs_class;

	/* Configuration. args_parse fills args_size bytes, defaults included; json of
	 * node NULL: no arguments were given. It refuses wrong and unknown fields with
	 * their path. */
	size_t args_size;
	enum pl_code (*args_parse)(struct model *model, struct pl_json json, void *args,
	                           struct pl_err *err);
	void (*args_drop)(struct model *model, void *args);

	/* A class: class_state_size bytes, zeroed. An open that fails has closed what it
	 * opened. */
	size_t class_state_size;
	enum pl_code (*open)(struct snapshot *snapshot, const struct plugin_call *call,
	                     struct pl_err *err);
	void (*close)(struct snapshot *snapshot, const struct plugin_call *call);
	/* Results of a local plugin stay valid while this number is the same. NULL:
	 * always. */
	uint64_t (*epoch)(const struct plugin_call *call);

	/* Called for the queue, without class_state and view. UNSCHEDULABLE or
	 * UNRESOLVABLE: the pod stays gated. */
	enum verdict_code (*pre_enqueue)(const struct plugin_call *call,
	                                 struct verdict *verdict);
	const enum queue_sort *sort;

	/* VERDICT_SKIP: the filter need not run for this pod. */
	size_t state_size;
	enum verdict_code (*pre_filter)(const struct plugin_call *call,
	                                struct plugin_narrow *narrow,
	                                struct verdict *verdict);
	/* Clears the bits of the nodes that it refuses; clear bits stay clear. */
	void (*filter)(const struct plugin_call *call, struct node_span span);
	/* The same about one node, with reasons: verdict stays a success, or says why. A
	 * row without filter is called node by node. */
	void (*why)(const struct plugin_call *call, uint32_t slot,
	            struct verdict *verdict);
	/* Only of the plugin that filters by free amounts (NodeResourcesFit): whether it
	 * looks at that scalar. It always looks at cpu, memory, storage and the number of
	 * pods. Preemption then adds amounts up itself. */
	bool (*counts)(const struct model *model, const void *args, uint32_t scalar);
	/* In a probe: a pod has come to its node (delta 1) or left it (-1), in the
	 * snapshot already; the plugin updates its state. */
	void (*moved)(const struct plugin_call *call, const struct placed_pod *pod,
	              int delta);
	/* No node was feasible. It may make room (preempt.h). */
	enum verdict_code (*post_filter)(const struct plugin_call *call,
	                                 struct cycle *cycle, struct verdict *verdict);

	/* VERDICT_SKIP: the plugin adds nothing to any node. A local plugin is called
	 * before the filters are, and must answer the same whatever is feasible. */
	enum verdict_code (*pre_score)(const struct plugin_call *call,
	                               struct pl_bitset feasible,
	                               struct verdict *verdict);
	/* score[0] is slot word * 64; slots whose bit is clear may be written too. false:
	 * all scores are 0, and nothing was written. */
	bool (*score)(const struct plugin_call *call, struct node_span span,
	              int64_t *score);
	/* Normalises the scores of all feasible nodes in place. */
	void (*normalize)(const struct plugin_call *call, struct pl_bitset feasible,
	                  int64_t *score);

	/* A node was chosen. A reserve that fails is undone with unreserve. */
	enum verdict_code (*reserve)(const struct plugin_call *call, uint32_t slot,
	                             struct verdict *verdict);
	void (*unreserve)(const struct plugin_call *call, uint32_t slot);
	/* VERDICT_SUCCESS, UNSCHEDULABLE (denied), or WAIT, at most wait_ms long. */
	enum verdict_code (*permit)(const struct plugin_call *call, uint32_t slot,
	                            uint64_t *wait_ms, struct verdict *verdict);
	enum verdict_code (*pre_bind)(const struct plugin_call *call, uint32_t slot,
	                              struct verdict *verdict);
	/* VERDICT_SKIP: the next plugin of the point binds the pod. */
	enum verdict_code (*bind)(const struct plugin_call *call, uint32_t slot,
	                          struct verdict *verdict);
	void (*post_bind)(const struct plugin_call *call, uint32_t slot);
};

enum { PLUGINS_MAX = 48 };

/* All plugins, in the default order of their points. Bit i in a mask of plugins is row
 * i. */
struct plugin_table {
	const struct plugin *const *row;
	unsigned count;
	/* mask of the plugins that a profile has without naming them */
	uint64_t by_default;
};

#endif
