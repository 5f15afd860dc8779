/*
 * A plugin: one file, one row.
 *
 * What a row can do is kube-scheduler's extension points, over columns. Functions that
 * are NULL are points it does not have. A plugin sees what is in plugin_call, nothing
 * else: no clock, no chance, no other plugin. It keeps nothing between calls but
 *
 *	args   of the profile, parsed once from configuration
 *	own    of a class of pods, from open to close: what depends on the spec alone, and
 *	       handles into the snapshot (columns, matchers) which are then kept up
 *	state  of one cycle: made in pre_filter or pre_score, gone at the end
 *
 * Only open, close and args_parse may allocate; what a cycle needs comes from
 * its arena.
 *
 * **Local and global.** What a local plugin says about a node depends on the spec, that
 * node (its row, its columns, the pods on it) and whatever `epoch` covers, and on
 * nothing else: its results are kept by class and mended node by node. A node that its
 * filter refuses it refuses with more pods on it, too, and if it looks at pods it waits
 *for events about them; so what is kept also tells of nodes that others wait for. A
 *global one looks at other nodes too (spreading, other pods' domains) and is asked in
 *each cycle.
 */
#ifndef SHARDSCHED_FRAMEWORK_PLUGIN_H
#define SHARDSCHED_FRAMEWORK_PLUGIN_H

#include "shardsched/framework/reason.h"
#include "shardsched/queue/queue.h"
#include "shardsched/snapshot/view.h"
#include "store/base/json.h"

struct cycle;

enum { PLUGIN_SCORE_MAX = 100 };

/* The pod itself; its class has all else. */
struct pod_self {
	uint32_t name;
	uint32_t uid;
	uint32_t nominated; /* slot for which it has a nomination, or SNAPSHOT_NONE */
	int64_t created_ms;
};

struct plugin_call {
	const struct snapshot *snapshot;
	const struct spec *spec;
	const struct spec_view *view;
	const struct pod_self *pod;
	const void *args;
	void *class_state;
	void *state;             /* state_size bytes, zeroed at the begin of the cycle */
	struct pl_arena *arena;  /* of the cycle */
	struct snapshot *change; /* in reserve and unreserve only */
};

/* Some words of a set of slots: bits[0] is of the slots from word * 64 on. */
struct node_span {
	uint32_t word;
	uint32_t words;
	uint64_t *bits;
};

/* Without its first words. */
static inline struct node_span node_span_from(struct node_span span, uint32_t words)
{
	return (struct node_span){span.word + words, span.words - words,
	                          span.bits + words};
}

#define SPAN_EACH_WORD(i, span) for (uint32_t i = 0; (i) < (span).words; (i)++)

/* What pre_filter may narrow the search to. */
struct plugin_narrow {
	struct pl_bitset only; /* from the cycle's arena; word NULL: all nodes */
};

enum plugin_normal {
	PLUGIN_AS_IS, /* scores are 0..100 already */
	/* By maximum: scores are 0..INT32_MAX. */
	PLUGIN_BY_MAX,      /* 100 * score / max; all 0 when max is 0 */
	PLUGIN_BY_MAX_DOWN, /* 100 - 100 * score / max; all 100 when max is 0 */
	PLUGIN_BY_ITSELF,   /* normalize */
};

enum plugin_refusal {
	PLUGIN_REFUSES_MIXED, /* ask why */
	PLUGIN_REFUSES_UNSCHEDULABLE,
	PLUGIN_REFUSES_UNRESOLVABLE, /* no victim would help */
};

struct plugin {
	const char *name;
	bool global;
	enum plugin_refusal refusal;
	enum plugin_normal normal;
	uint32_t weight; /* of its scores, by default */
	uint64_t events; /* QUEUE_ON(...): what can help a pod that it refused */
	/* May this event help that class? Judged by the spec, without own and view, but
	 * for those events for which hint_needs_class. NULL: each of them does. */
	bool (*hint)(const struct plugin_call *call, const struct queue_event *event);
	uint64_t
		hint_needs_class; /* QUEUE_ON(...): own and view are there, which costs */

	/* Configuration: args_size bytes, to be filled with defaults; json at NULL: none
	 * was given. Refuses with the field's path, unknown fields too. */
	size_t args_size;
	enum pl_code (*args_parse)(struct model *model, struct pl_json json, void *args,
	                           struct pl_err *err);
	void (*args_drop)(struct model *model, void *args);

	/* A class: class_state_size bytes, zeroed. open that fails has closed what it opened. */
	size_t class_state_size;
	enum pl_code (*open)(struct snapshot *snapshot, const struct plugin_call *call,
	                     struct pl_err *err);
	void (*close)(struct snapshot *snapshot, const struct plugin_call *call);
	/* A local plugin's results hold while this number stays. NULL: for ever. */
	uint64_t (*epoch)(const struct plugin_call *call);

	/* Queue, without own and view. SUCCESS, or UNSCHEDULABLE, UNRESOLVABLE: the pod
	 * stays gated. */
	enum verdict_code (*pre_enqueue)(const struct plugin_call *call,
	                                 struct verdict *verdict);
	const enum queue_sort *sort;

	/* Filter. SKIP: filter need not run for this pod. */
	size_t state_size;
	enum verdict_code (*pre_filter)(const struct plugin_call *call,
	                                struct plugin_narrow *narrow,
	                                struct verdict *verdict);
	/* Clears the bits of nodes that it refuses; bits that are clear stay clear. */
	void (*filter)(const struct plugin_call *call, struct node_span span);
	/* The same about one node, with reasons: say stays a success, or tells. A row
	 * without filter is asked node by node. */
	void (*why)(const struct plugin_call *call, uint32_t slot,
	            struct verdict *verdict);
	/* Of the one that filters by free amounts, NodeResourcesFit: whether it looks at
	 * that scalar (it always looks at cpu, memory, storage and the number of pods).
	 * Whoever looks for victims then adds up by itself. */
	bool (*counts)(const struct model *model, const void *args, uint32_t scalar);
	/* A probe: a pod has come to its node (delta 1) or left it (-1), in the snapshot
	 * already; state is to follow. */
	void (*moved)(const struct plugin_call *call, const struct placed_pod *pod,
	              int delta);
	/* No node was feasible. May make room: see preempt.h. */
	enum verdict_code (*post_filter)(const struct plugin_call *call,
	                                 struct cycle *cycle, struct verdict *verdict);

	/* Score. SKIP: it adds nothing to any node. A local plugin is asked before the
	 * filters are, and says the same whatever is feasible. */
	enum verdict_code (*pre_score)(const struct plugin_call *call,
	                               struct pl_bitset feasible,
	                               struct verdict *verdict);
	/* score[0] is of slot word * 64; written for bits that are set, others may be
	 * written too. false: all of them are 0, and nothing was written. */
	bool (*score)(const struct plugin_call *call, struct node_span span,
	              int64_t *score);
	/* Over all feasible nodes, in place. */
	void (*normalize)(const struct plugin_call *call, struct pl_bitset feasible,
	                  int64_t *score);

	/* A node was chosen. reserve that fails is undone with unreserve. */
	enum verdict_code (*reserve)(const struct plugin_call *call, uint32_t slot,
	                             struct verdict *verdict);
	void (*unreserve)(const struct plugin_call *call, uint32_t slot);
	/* SUCCESS, UNSCHEDULABLE (denied), or WAIT, at most so long. */
	enum verdict_code (*permit)(const struct plugin_call *call, uint32_t slot,
	                            uint64_t *wait_ms, struct verdict *verdict);
	enum verdict_code (*pre_bind)(const struct plugin_call *call, uint32_t slot,
	                              struct verdict *verdict);
	/* SKIP: another plugin's business. */
	enum verdict_code (*bind)(const struct plugin_call *call, uint32_t slot,
	                          struct verdict *verdict);
	void (*post_bind)(const struct plugin_call *call, uint32_t slot);
};

enum { PLUGINS_MAX = 48 };

/* A table of rows, in the default order of their points; a bit in a mask of plugins is
 * the index here. */
struct plugin_table {
	const struct plugin *const *row;
	unsigned count;
	uint64_t by_default; /* mask of those that are in a profile without being named */
};

#endif
