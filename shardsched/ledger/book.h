/*
 * The one place where transactions on nodes and pods are made: nobody writes these keys
 * past it. What each entry compares is docs/keys.md's table of writers, in code.
 *
 *	struct book book;
 *
 *	book_begin(&book, &arena, limits);
 *	while (more && book_place_pod(&book, &pod) && book_put_alloc(&book, &node))
 *		...
 *	book_req(&book, &req);
 *
 * An entry goes in whole or not at all (false: it does not fit any more, or the arena is
 * full, which book.code tells). Each brings its compares, its writes, and reads of the
 * keys that it compares for the case that one does not hold: so an answer of "no" brings
 * what is newer. A key may be in one entry only.
 *
 * **Unknown outcomes**: a transaction is the same when it is sent again, and what it
 * writes makes its own compares fail. So whoever does not know sends it once more: if it
 * succeeds, it was not applied before, and can not be applied twice; if not, what was
 * read tells whether it was ours that is there.
 *
 * Pure; spans are borrowed until the request is started.
 */
#ifndef SHARDSCHED_LEDGER_BOOK_H
#define SHARDSCHED_LEDGER_BOOK_H

#include "store/base/arena.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

struct book {
	struct pl_arena *arena;
	struct kv_limits limits;
	enum pl_code code; /* PL_OK, PL_NOMEM */
	struct kv_compare *compare;
	struct kv_req *then, *otherwise;
	uint32_t compares, thens, otherwises, cap;
	size_t bytes; /* of the request, about */
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
};

/* Compares the state; while there is none, the spec too. */
bool book_put_state(struct book *book, const struct book_decided *decided);
/* Gone: spec, state and, if it has one, the pointer in named. state_rev 0: never had a
 * state. */
bool book_delete_pod(struct book *book, const struct book_decided *decided,
                     uint32_t named);

/* -- nodes --------------------------------------------------------------------------- */

/* alloc_rev 0 is refused (assert): nothing is committed against a node without. */
bool book_put_alloc(struct book *book, const struct book_node *node, int64_t alloc_rev,
                    struct pl_span alloc);

/* The node and its alloc: both new (revisions 0), or both as seen. */
bool book_put_node(struct book *book, const struct book_node *node, int64_t node_rev,
                   int64_t alloc_rev, struct pl_span json, struct pl_span alloc);
bool book_delete_node(struct book *book, const struct book_node *node, int64_t node_rev,
                      int64_t alloc_rev);

/* -- and what else must be so ----------------------------------------------------------
 */

/* Some other key, by its mod_revision; it is read when something does not hold. */
bool book_expect(struct book *book, struct pl_span key, int64_t mod_revision);
/* A key of another kind (a group, a registry), compared and put. */
bool book_put(struct book *book, struct pl_span key, int64_t mod_revision,
              struct pl_span value);

#endif
