/*
 * The one place where transactions on nodes and pods are made: nobody writes these keys
 * past it. What each entry compares is docs/keys.md's table of writers, in code.
 *
 *	struct book book;
 *
 *	book_begin(&book, &arena, limits);
 *	while (more && book_put_state(&book, &pod) && book_put_alloc(&book, &node, ...))
 *		...
 *	book_req(&book, &req);
 *
 * An entry goes in whole or not at all (false: it does not fit any more, or book.code
 * says what failed). Each brings its compares, its writes, and reads for the case that
 * some compare does not hold: so an answer of "no" brings what is newer, and book_answer
 * tells it entry by entry, in the order in which they were added. A key may be in one
 * entry only. (The reads may be left out, and made by themselves after a "no".)
 *
 * **Unknown outcomes**: a transaction is the same when it is sent again, and what it
 * writes makes its own compares fail. So whoever does not know sends it once more: if it
 * succeeds, it was not applied before, and can not be applied twice; if not, what was
 * read tells whether it was ours that is there (BOOK_OURS).
 *
 * Pure; spans are borrowed as long as the book is used, names until the call ends.
 */
#ifndef SHARDSCHED_LEDGER_BOOK_H
#define SHARDSCHED_LEDGER_BOOK_H

#include "store/base/arena.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct book_entry;

enum { BOOK_FENCES_MAX = 64 };

struct book {
	struct pl_arena *arena;
	struct kv_limits limits;
	enum pl_code code; /* PL_OK, PL_NOMEM; PL_LIMIT: it does not fit alone either */
	struct book_entry *entry;
	struct kv_compare *compare;
	struct kv_req *then, *otherwise;
	uint32_t entries, compares, thens, otherwises;
	uint32_t entry_cap, cap;         /* of the other three */
	size_t bytes;                    /* of the request, at most */
	bool nests;                      /* an operation of it is a transaction */
	bool shape_bumped;               /* /groups/nodes is among what it puts */
	uint16_t fence[BOOK_FENCES_MAX]; /* partitions whose pods and nodes it writes */
	uint32_t fences;
};

/* limits: of the kv; zeros are taken as etcd's defaults (128 operations, 1.5 MiB). */
void book_begin(struct book *book, struct pl_arena *arena, struct kv_limits limits);
/* book_begin was called and something was added. */
void book_req(const struct book *book, struct kv_req *out);

/* Keys are built from names; those that no key can have were refused before. */
struct book_node {
	uint32_t partition;
	struct pl_span cluster, name;
};

struct book_pod {
	uint32_t partition;
	struct pl_span space, name;
};

/* -- pods: submission -------------------------------------------------------------- */

/* A pod that is new: the spec (absent until now), and, when named is another partition,
 * the pointer there. */
bool book_submit(struct book *book, const struct book_pod *pod, uint32_t named,
                 struct pl_span spec);

/* -- pods: decisions --------------------------------------------------------------- */

struct book_decided {
	struct book_pod pod;
	int64_t spec_rev;     /* mod_revision seen */
	int64_t state_rev;    /* 0: there is none yet */
	struct pl_span state; /* the new one */
	bool crowded;         /* other keys than these two stand below the pod's name */
};

/* Compares the state. While there is none, that the spec is all there is of the pod, in
 * one compare of all keys below its name; where it is crowded, spec and state. */
bool book_put_state(struct book *book, const struct book_decided *decided);
/* Gone: spec, state and, if it has one, the pointer in named. state_rev 0: never had a
 * state. */
bool book_delete_pod(struct book *book, const struct book_decided *decided,
                     uint32_t named);

/* -- nodes --------------------------------------------------------------------------- */

/* alloc_rev 0 is refused (assert): nothing is committed against a node without. */
bool book_put_alloc(struct book *book, const struct book_node *node, int64_t alloc_rev,
                    struct pl_span alloc);

/* The node and its alloc: both new (revisions 0), or both as seen, or the alloc as seen
 * and no Node, which somebody took away. What nodes there are, and how they are labelled,
 * is read by rules that reach past one node; so these two put /groups/nodes as well (once
 * a book), which is what such decisions compare. */
bool book_put_node(struct book *book, const struct book_node *node, int64_t node_rev,
                   int64_t alloc_rev, struct pl_span json, struct pl_span alloc);
bool book_delete_node(struct book *book, const struct book_node *node, int64_t node_rev,
                      int64_t alloc_rev);

/* -- and what else must be so ------------------------------------------------------ */

/* Some other key, by its mod_revision; it is read when something does not hold. */
bool book_expect(struct book *book, struct pl_span key, int64_t mod_revision);
/* A key of another kind (a group, a registry), compared and put. */
bool book_put(struct book *book, struct pl_span key, int64_t mod_revision,
              struct pl_span value);
/* Such a key goes. */
bool book_delete(struct book *book, struct pl_span key, int64_t mod_revision);
/* Such a key, put without a compare: all that counts of it is that its mod_revision is
 * another. Once a key; its verdict is always BOOK_SAME, and it never stands alone. */
bool book_bump(struct book *book, struct pl_span key, struct pl_span value);

/* -- the answer -------------------------------------------------------------------- */

/* What stands where an entry wanted to write. */
enum book_verdict {
	BOOK_OURS,  /* what it wrote: the transaction was applied, now or before */
	BOOK_SAME,  /* what it compared with: others are why it failed */
	BOOK_NEWER, /* something else: the entry was made for what is no more */
	/* Nothing of what it compared with, be it by this deletion. A spec that is found
	 * then is another pod's of that name. */
	BOOK_GONE,
};

/* NULL: not there, or nothing of that kind. All are NULL after a success, when header's
 * revision is that of everything that was put. */
struct book_found {
	enum book_verdict verdict;
	const struct kv_record *spec, *state; /* of the pod */
	const struct kv_record *pointer;      /* where its name falls (book_submit) */
	const struct kv_record *node; /* of book_put_alloc without its value, which is
	                               * large; its mod_revision says if it is newer */
	const struct kv_record *alloc;
	bool crowded;                   /* a pod's: as in book_decided */
	const struct kv_record *record; /* book_expect, book_put, book_delete */
};

/* False: this can not be the answer to that book. Borrows from result. */
PL_NODISCARD bool book_answer(const struct book *book, const struct kv_result *result,
                              uint32_t entry, struct book_found *out);

#endif
