/*
 * The one place where transactions on nodes and pods are made: nobody writes these keys
 * past it. What each entry compares is docs/keys.md's table of writers, in code.
 *
 *	struct book book;
 *
 *	builder_begin(&book, &arena, limits);
 *	while (more && builder_put_state(&book, &pod) && builder_put_alloc(&book, &node, ...))
 *		...
 *	builder_req(&book, &req);
 *
 * An entry goes in whole or not at all (false: it does not fit any more, or book.code
 * says what failed). Each brings its compares, its writes, and reads for the case that
 * some compare does not hold: so an answer of "no" brings what is newer, and builder_answer
 * tells it entry by entry, in the order in which they were added. A key may be in one
 * entry only. (The reads may be left out, and made by themselves after a "no".)
 *
 * **Unknown outcomes**: a transaction is the same when it is sent again, and what it
 * writes makes its own compares fail. So whoever does not know sends it once more: if it
 * succeeds, it was not applied before, and can not be applied twice; if not, what was
 * read tells whether it was ours that is there (BUILDER_OURS).
 *
 * Pure; spans are borrowed as long as the book is used, names until the call ends.
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
	enum pl_code code; /* PL_OK, PL_NOMEM; PL_LIMIT: it does not fit alone either */
	struct builder_entry *entry;
	struct kv_compare *compare;
	struct kv_req *then, *otherwise;
	uint32_t entries, compares, thens, otherwises;
	uint32_t entry_cap, cap; /* of the other three */
	size_t bytes;            /* of the request, at most */
	bool nests;              /* an operation of it is a transaction */
	bool shape_bumped;       /* /groups/nodes is among what it puts */
	uint16_t
		fence[BUILDER_FENCES_MAX]; /* partitions whose pods and nodes it writes */
	uint32_t fences;
};

/* limits: of the kv; zeros are taken as etcd's defaults (128 operations, 1.5 MiB). */
void builder_begin(struct txn_builder *builder, struct pl_arena *arena,
                   struct kv_limits limits);
/* builder_begin was called and something was added. */
void builder_req(const struct txn_builder *builder, struct kv_req *out);

/* Keys are built from names; those that no key can have were refused before. */
struct builder_node {
	uint32_t partition;
	struct pl_span cluster, name;
};

struct builder_pod {
	uint32_t partition;
	struct pl_span namespace, name;
};

/* -- pods: submission -------------------------------------------------------------- */

/* A pod that is new: the spec (absent until now), and, when named is another partition,
 * the pointer there. */
bool builder_submit(struct txn_builder *builder, const struct builder_pod *pod,
                    uint32_t named, struct pl_span spec);

/* -- pods: decisions --------------------------------------------------------------- */

struct builder_decision {
	struct builder_pod pod;
	int64_t spec_rev;     /* mod_revision seen */
	int64_t state_rev;    /* 0: there is none yet */
	struct pl_span state; /* the new one */
	bool has_other_keys;  /* other keys than these two stand below the pod's name */
};

/* Compares the state. While there is none, that the spec is all there is of the pod, in
 * one compare of all keys below its name; where it is crowded, spec and state. */
bool builder_put_state(struct txn_builder *builder,
                       const struct builder_decision *decided);
/* Gone: spec, state and, if it has one, the pointer in named. state_rev 0: never had a
 * state. */
bool builder_delete_pod(struct txn_builder *builder,
                        const struct builder_decision *decided, uint32_t named);

/* -- nodes --------------------------------------------------------------------------- */

/* alloc_rev 0 is refused (assert): nothing is committed against a node without. */
bool builder_put_alloc(struct txn_builder *builder, const struct builder_node *node,
                       int64_t alloc_rev, struct pl_span alloc);

/* The node and its alloc: both new (revisions 0), or both as seen, or the alloc as seen
 * and no Node, which somebody took away. What nodes there are, and how they are labelled,
 * is read by rules that reach past one node; so these two put /groups/nodes as well (once
 * a book), which is what such decisions compare. */
bool builder_put_node(struct txn_builder *builder, const struct builder_node *node,
                      int64_t node_rev, int64_t alloc_rev, struct pl_span json,
                      struct pl_span alloc);
bool builder_delete_node(struct txn_builder *builder, const struct builder_node *node,
                         int64_t node_rev, int64_t alloc_rev);

/* -- and what else must be so ------------------------------------------------------ */

/* Some other key, by its mod_revision; it is read when something does not hold. */
bool builder_expect(struct txn_builder *builder, struct pl_span key,
                    int64_t mod_revision);
/* A key of another kind (a group, a registry), compared and put. */
bool builder_put(struct txn_builder *builder, struct pl_span key, int64_t mod_revision,
                 struct pl_span value);
/* Such a key goes. */
bool builder_delete(struct txn_builder *builder, struct pl_span key,
                    int64_t mod_revision);
/* Such a key, put without a compare: all that counts of it is that its mod_revision is
 * another. Once a key; its verdict is always BUILDER_SAME, and it never stands alone. */
bool builder_bump(struct txn_builder *builder, struct pl_span key, struct pl_span value);

/* -- the answer -------------------------------------------------------------------- */

/* What stands where an entry wanted to write. */
enum builder_verdict {
	BUILDER_OURS,  /* what it wrote: the transaction was applied, now or before */
	BUILDER_SAME,  /* what it compared with: others are why it failed */
	BUILDER_NEWER, /* something else: the entry was made for what is no more */
	/* Nothing of what it compared with, be it by this deletion. A spec that is found
	 * then is another pod's of that name. */
	BUILDER_GONE,
};

/* NULL: not there, or nothing of that kind. All are NULL after a success, when header's
 * revision is that of everything that was put. */
struct builder_found {
	enum builder_verdict verdict;
	const struct kv_record *spec, *state; /* of the pod */
	const struct kv_record *pointer;      /* where its name falls (builder_submit) */
	const struct kv_record *node; /* of builder_put_alloc without its value, which is
	                               * large; its mod_revision says if it is newer */
	const struct kv_record *alloc;
	bool has_other_keys;            /* a pod's: as in builder_decided */
	const struct kv_record *record; /* builder_expect, builder_put, builder_delete */
};

/* False: this can not be the answer to that book. Borrows from result. */
PL_NODISCARD bool builder_answer(const struct txn_builder *builder,
                                 const struct kv_result *result, uint32_t entry,
                                 struct builder_found *out);

#endif
