/*
 * Pod changes: edits of pods that live, and bindings of pods to nodes that a client chose,
 * as entries of one transaction (docs/keys.md; ADR 29). Pure.
 *
 *	pod_batch_begin(&batch)
 *	pod_batch_add(&batch, &change, ...)            change after change
 *	pod_batch_reads(&batch, ...)                   what has to be read beside the pods
 *	pod_batch_take(&batch, &result)                until there is nothing to read
 *	pod_batch_build(&batch, &builder, now_ms)      decides, and adds what fits
 *	pod_batch_answer(&batch, &builder, ...)        of each change that was asked for
 *
 * A change names the values that its client saw. It is refused, or committed against just
 * these. An **edit** is
 *	nothing   the same bytes
 *	quiet     no decision reads what has changed: the spec is put, and no decision about
 *	          the pod fails unless it is the first one
 *	held      quiet, but that the pod has finalizers now, or has none any more: the state
 *	          is put again, so that no deletion misses them (pod_request.h); one that
 *	          awaits them awaits nothing any more
 *	end       the last finalizer of a pod that waited for just that: its keys are deleted
 *	fresh     the pod waits: its state goes, and it is decided as a new one
 *	placed    the pod has a place: its state is put again, and its node's alloc, as if the
 *	          pod had gone and come back; if its labels changed, also the locks of the terms
 *	          that find it with the old or the new ones
 *
 * A **binding** puts the state Bound and the node's alloc, with the locks of the pod's
 * terms, as a shard's placement does; only the rules themselves, taints and affinities are
 * the client's business. A pod of a gang is not bound so.
 *
 * Invariants: a pod is in a batch once; changes of pods on one node share its alloc.
 */
#ifndef COORD_SERVICE_PODS_POD_CHANGE_H
#define COORD_SERVICE_PODS_POD_CHANGE_H

#include "coord/service/pods/alloc_change.h"
#include "shardsched/model/pod.h"
#include "shardsched/records/pod_state.h"
#include "shardsched/records/rule_locks.h"

enum { POD_BATCH_MAX = 64 };

enum pod_change_verb { POD_CHANGE_EDIT, POD_CHANGE_BIND };

/* A value and its mod_revision; 0: there is none. */
struct pod_value {
	int64_t rev;
	struct pl_span value;
};

/* Spans are borrowed while the change is in a batch. Names are valid in keys. */
struct pod_change {
	enum pod_change_verb verb;
	/* BIND: the spec is compared even where a state stands for it, so that an edit that
	 * no decision reads is a conflict, too. (EDIT compares both in any case.) */
	bool exact;
	bool has_other_keys; /* as in builder_decision */
	struct builder_pod pod;
	struct pod_value spec, state; /* as the client saw them; there is a spec */
	/* EDIT: the new spec. Fields that may not change were checked by the caller, but for
	 * those that would break the store. */
	struct pl_span edited;
	struct pl_span uid;           /* BIND: of the pod; empty: any */
	struct pl_span cluster, node; /* BIND */
};

/* X(NAME, word): why a change is refused. */
#define POD_REFUSAL_MAP(X)                                                          \
	X(NONE, "none")                                                             \
	X(MALFORMED, "malformed") /* a value that was read, or the new spec */      \
	X(IDENTITY, "identity")   /* EDIT: another name, namespace or uid */        \
	X(MOVES, "moves")         /* EDIT: another partition would have the pod */  \
	X(FIXED, "fixed")         /* EDIT: the requests or ports of a placed pod */ \
	X(UID, "uid")             /* BIND: another uid; and so are those below */   \
	X(ASSIGNED, "assigned")                                                     \
	X(LEAVING, "leaving")                                                       \
	X(ENDED, "ended")                                                           \
	X(GATED, "gated")                                                           \
	X(GANG, "gang")                                                             \
	X(NODE, "node")   /* there is no such node, or the alloc is malformed */    \
	X(ROOM, "room")   /* the pod does not fit there */                          \
	X(RULES, "rules") /* no room to register the pod's rules */

#define POD_REFUSAL_ENUM(name, word) POD_REFUSAL_##name,
enum pod_refusal { POD_REFUSAL_MAP(POD_REFUSAL_ENUM) POD_REFUSALS };
const char *pod_refusal_word(enum pod_refusal refusal);

enum pod_change_kind {
	POD_EDIT_NOTHING,
	POD_EDIT_QUIET,
	POD_EDIT_HELD,
	POD_EDIT_END,
	POD_EDIT_FRESH,
	POD_EDIT_PLACED,
	POD_BINDING,
};

struct batch_pod {
	struct pod_change change;
	enum pod_change_kind kind;
	bool relabels;  /* locks are due */
	bool done;      /* reported: left out of further transactions */
	bool asked;     /* in the transaction that was built last */
	uint32_t node;  /* index; UINT32_MAX: none */
	uint32_t named; /* END: the partition of the pod's name */
	uint32_t entry; /* in the builder; if exact, the next one compares the spec */
	struct pl_span state;
	struct pod is; /* BIND: the pod of the spec; has no spec otherwise */
	enum pod_refusal refusal;
	const char *why; /* in the arena */
};

/* A node whose alloc is changed. */
struct batch_node {
	struct builder_node key;
	struct pod_value alloc, node; /* rev 0: absent */
	bool has_alloc, has_node;     /* both are as they stood at one moment, or known */
	bool known;   /* the caller gave the Node: the alloc may be newer */
	bool binds;   /* a binding is among its changes */
	bool touched; /* in the transaction that was built last */
	bool broken;  /* the alloc is malformed */
	struct alloc_change change;
};

struct pod_batch {
	uint32_t partitions;
	const char *who; /* the writer, as states and locks name it */
	struct model model;
	struct rule_locks locks;
	struct pl_arena arena; /* of the batch */
	struct pl_arena made;  /* of the transaction that was built last */
	struct batch_pod pod[POD_BATCH_MAX];
	struct batch_node node[POD_BATCH_MAX];
	uint32_t pods, nodes;
};

/* Borrows who, which is no longer than a name may be. */
void pod_batch_init(struct pod_batch *batch, uint32_t partitions, const char *who);
void pod_batch_done(struct pod_batch *batch);
void pod_batch_begin(struct pod_batch *batch);

/* *out is the change's place in the batch, also when it is refused at once: then its pod
 * has the refusal, and done. PL_BUSY: the batch is full, or has the pod; PL_NOMEM. */
PL_NODISCARD enum pl_code pod_batch_add(struct pod_batch *batch,
                                        const struct pod_change *change, uint32_t *out,
                                        struct pl_err *err);

/* A node's Node, and its alloc (NULL: not known), if the caller knows them: they are not
 * read then. Borrowed until the batch begins anew; of a node that no change concerns they
 * are ignored. A binding is refused only by what was read. */
void pod_batch_know_node(struct pod_batch *batch, struct pl_span cluster,
                         struct pl_span name, const struct pod_value *alloc,
                         const struct pod_value *node);
/* A registry (namespace empty: the global one), if the caller knows it; rev 0: there is
 * none. It is kept for further batches, until a transaction shows that it is outdated.
 * PL_NOMEM. */
PL_NODISCARD enum pl_code pod_batch_know_rules(struct pod_batch *batch,
                                               struct pl_span namespace,
                                               const struct pod_value *registry,
                                               struct pl_err *err);
/* At most most operations that read what is missing; 0: nothing is. *op is in the arena.
 * PL_NOMEM. */
PL_NODISCARD enum pl_code pod_batch_reads(struct pod_batch *batch, uint32_t most,
                                          struct pl_arena *arena, struct kv_req **op,
                                          uint32_t *count);
/* The answer to just these operations. Values are copied. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_batch_take(struct pod_batch *batch, const struct kv_req *op,
                                         const struct kv_result *result, uint32_t count,
                                         struct pl_err *err);

/* Everything was read. Decides each change that is not done, refuses some (refusal, done),
 * and begins the builder with others as far as they fit: *asked of them. 0 without an
 * error: every change is done. now_ms: the wall clock, for states. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_batch_build(struct pod_batch *batch,
                                          struct txn_builder *builder,
                                          struct pl_arena *arena, struct kv_limits limits,
                                          int64_t now_ms, uint32_t *asked,
                                          struct pl_err *err);

/* The verdict about a pod that was asked. BUILDER_OURS: committed; BUILDER_NEWER, BUILDER_GONE: the pod is
 * not as its client saw it; both are done then. BUILDER_SAME: something else has changed,
 * and what was read is outdated: read and build again. False: not the answer. */
PL_NODISCARD bool pod_batch_answer(struct pod_batch *batch,
                                   const struct txn_builder *builder,
                                   const struct kv_result *result, uint32_t pod,
                                   struct builder_found *out);

/* For writers with transactions of their own: the entry of an edit that was judged in a
 * batch. It is all that a quiet or fresh one needs; a placed one goes through the batch. Its
 * verdict is BUILDER_OURS, or as above. False: it does not fit, or builder->code is set. */
bool pod_change_add_edit(struct txn_builder *builder, const struct pod_change *change,
                         enum pod_change_kind kind);

#endif
