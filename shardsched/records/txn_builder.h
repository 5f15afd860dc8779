/*
 * A txn builder: makes every transaction on nodes and pods. No other code writes these
 * keys; the compares of each entry are docs/keys.md's table of writers, in code.
 *
 *	struct txn_builder builder;
 *
 *	builder_begin(&builder, &arena, limits);
 *	while (more && builder_put_state(&builder, &pod) &&
 *	       builder_put_alloc(&builder, &node, ...))
 *		...
 *	builder_req(&builder, &req);
 *
 * Invariants: an entry is added whole or not at all (false: the entry does not fit any
 * more, or builder.code says what failed); a key is in one entry only.
 *
 * Each entry has its compares, its writes, and reads for the case that a compare fails:
 * so a failed transaction brings the newer values, and builder_answer gives them entry by
 * entry, in the order in which they were added. (The reads may be left out and sent by
 * themselves after a failure.)
 *
 * **Unknown outcomes**: the transaction has the same bytes when it is sent again, and its
 * writes make its own compares fail. So a caller that does not know the outcome sends it
 * once more: if it succeeds, it was not applied before and can not be applied twice; if
 * it fails, the reads tell whether its own values stand there (BUILDER_OURS).
 *
 * Pure; spans are borrowed as long as the builder is used, names until the call ends.
 */
#ifndef SHARDSCHED_RECORDS_TXN_BUILDER_H
#define SHARDSCHED_RECORDS_TXN_BUILDER_H

#include "store/base/arena.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct builder_entry;

enum { BUILDER_FENCES_MAX = 64 };

struct txn_builder {
	struct pl_arena *arena;
	struct kv_limits limits;
	enum pl_code code; /* PL_OK; PL_NOMEM; PL_LIMIT: the entry does not fit into a
			    * transaction of its own */
	struct builder_entry *entry;
	struct kv_compare *compare;
	struct kv_req *then, *otherwise;
	uint32_t entries, compares, thens, otherwises;
	uint32_t entry_cap, cap; /* capacity of entry; of the three lists */
	size_t bytes;            /* of the request, at most */
	bool nests;              /* an operation is a nested transaction */
	bool shape_bumped;       /* /groups/nodes is among the puts */
	bool labels_bumped;      /* /objects/core/namespaces is */
	uint16_t fence
		[BUILDER_FENCES_MAX]; /* partitions whose pods and nodes are written */
	uint32_t fences;
};

/* limits: the kv's; zeros stand for etcd's defaults (128 operations, 1.5 MiB). */
void builder_begin(struct txn_builder *builder, struct pl_arena *arena,
                   struct kv_limits limits);
/* The request; at least one entry was added. */
void builder_req(const struct txn_builder *builder, struct kv_req *out);

/* Keys are built from names; names that no key can have were refused before. */
struct builder_node {
	uint32_t partition;
	struct pl_span cluster, name;
};

struct builder_pod {
	uint32_t partition;
	struct pl_span namespace, name;
};

/* -- pods: submission -------------------------------------------------------------- */

/* A new pod: puts the spec, which does not exist yet, and, when named is another
 * partition, the pointer there. */
bool builder_submit(struct txn_builder *builder, const struct builder_pod *pod,
                    uint32_t named, struct pl_span spec);

/* -- pods: decisions --------------------------------------------------------------- */

struct builder_decision {
	struct builder_pod pod;
	int64_t spec_rev;     /* mod_revision as seen */
	int64_t state_rev;    /* mod_revision as seen; 0: no state */
	struct pl_span state; /* the new value */
	bool has_other_keys;  /* keys below the pod's name that are neither spec nor
			       * state */
};

/* Compares the state. Without a state it compares that the spec is the only key below the
 * pod's name, in one compare; with has_other_keys, spec and state each. */
bool builder_put_state(struct txn_builder *builder,
                       const struct builder_decision *decided);
/* Deletes spec, state and, if the pod has one, the pointer in named. state_rev 0: the pod
 * has no state. */
bool builder_delete_pod(struct txn_builder *builder,
                        const struct builder_decision *decided, uint32_t named);

/* -- pods: edits --------------------------------------------------------------------- */

/* The fate of the state when the spec is replaced. */
enum builder_edit_state {
	BUILDER_STATE_STAYS,  /* no decision reads what has changed */
	BUILDER_STATE_GOES,   /* deleted: the pod is decided anew */
	BUILDER_STATE_REPUTS, /* put again, for its new mod_revision: decisions about the
			       * placed pod that read the old spec are refused */
};

struct builder_edit {
	struct builder_pod pod;
	int64_t spec_rev;     /* mod_revision as seen */
	int64_t state_rev;    /* mod_revision as seen; 0: no state */
	struct pl_span spec;  /* the new value */
	struct pl_span state; /* STATE_REPUTS: the value, as it stands */
	enum builder_edit_state then;
	bool has_other_keys; /* as in builder_decision */
};

/* Puts the spec and compares both keys; without a state that the spec is the only key
 * below the pod's name, as builder_put_state does. Without a state none is put: STAYS.
 * The spec's value alone proves the edit: a shard may have replaced the state since. */
bool builder_edit_pod(struct txn_builder *builder, const struct builder_edit *edit);

/* -- nodes --------------------------------------------------------------------------- */

/* Puts the alloc. alloc_rev may not be 0: no transaction commits against a node without
 * an alloc. */
bool builder_put_alloc(struct txn_builder *builder, const struct builder_node *node,
                       int64_t alloc_rev, struct pl_span alloc);

/* The node and its alloc: both new (revisions 0), or both as seen, or the alloc as seen
 * without a Node that another writer deleted. Rules that reach past one node depend on
 * which nodes there are and on their labels, so both functions also put /groups/nodes,
 * once a transaction; such decisions compare that key. */
bool builder_put_node(struct txn_builder *builder, const struct builder_node *node,
                      int64_t node_rev, int64_t alloc_rev, struct pl_span json,
                      struct pl_span alloc);
bool builder_delete_node(struct txn_builder *builder, const struct builder_node *node,
                         int64_t node_rev, int64_t alloc_rev);

/* -- and what else must be so ------------------------------------------------------ */

/* Compares another key by its mod_revision; the key is read when a compare fails. */
bool builder_expect(struct txn_builder *builder, struct pl_span key,
                    int64_t mod_revision);
/* Compares and puts a key of another kind (a lock, a registry). A Namespace is put, and
 * deleted, together with /objects/core/namespaces and /groups/nodes, once a transaction:
 * rules select by its labels, and decisions under them compare these keys. */
bool builder_put(struct txn_builder *builder, struct pl_span key, int64_t mod_revision,
                 struct pl_span value);
/* The same for a key that goes with a lease. */
bool builder_put_leased(struct txn_builder *builder, struct pl_span key,
                        int64_t mod_revision, struct pl_span value, int64_t lease);
/* Compares and deletes a key of another kind. */
bool builder_delete(struct txn_builder *builder, struct pl_span key,
                    int64_t mod_revision);
/* Puts a key of another kind without a compare, for its new mod_revision alone. Once a
 * key; the entry's verdict is always BUILDER_SAME, and it is never the only entry. */
bool builder_bump(struct txn_builder *builder, struct pl_span key, struct pl_span value);

/* -- the answer -------------------------------------------------------------------- */

/* The value that stands where an entry wanted to write, by the reads of a failed
 * transaction. */
enum builder_verdict {
	BUILDER_OURS,  /* the entry's own value: the transaction was applied, now or
		        * before */
	BUILDER_SAME,  /* the value that was compared with: other entries are why it
		        * failed */
	BUILDER_NEWER, /* another value: the entry was made for one that was replaced */
	/* Nothing of what the entry compared with, maybe by this deletion. A spec that is
	 * found then belongs to another pod of that name, or was edited. */
	BUILDER_GONE,
};

/* The records that the reads of a failed transaction found. NULL: the key does not exist,
 * or the entry has none of that kind. All are NULL after a success; then header's
 * revision is that of every put. */
struct builder_found {
	enum builder_verdict verdict;
	bool has_other_keys;                  /* of a pod: as in builder_decision */
	const struct kv_record *spec, *state; /* of the pod */
	const struct kv_record *pointer;      /* in the partition of the pod's name
					       * (builder_submit) */
	const struct kv_record *node; /* of builder_put_alloc without its large value; its
				       * mod_revision says whether the Node is newer */
	const struct kv_record *alloc;
	const struct kv_record *record; /* of builder_expect, builder_put,
					 * builder_delete */
};

/* False: the result can not be the answer to that transaction. Borrows from result. */
PL_NODISCARD bool builder_answer(const struct txn_builder *builder,
                                 const struct kv_result *result, uint32_t entry,
                                 struct builder_found *out);

#endif
