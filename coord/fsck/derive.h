/*
 * What a node's alloc has to say, from the pods that are bound there: pure. Holds follow
 * from no pod: those of the alloc that is there, if it can be read, are kept as they
 * stand, but for those that hold room for nobody.
 */
#ifndef COORD_FSCK_DERIVE_H
#define COORD_FSCK_DERIVE_H

#include "shardsched/ledger/alloc.h"
#include "shardsched/model/parse.h"

struct derive {
	struct model *model;
	struct pl_arena *arena;
	struct alloc old; /* all zero: there is none that can be read */
	struct pl_span cluster, node;
	/* Whether somebody waits for that room. */
	bool (*is_held)(void *ctx, const struct alloc_hold *hold);
	void *ctx;
	struct alloc_hold *hold;
	struct alloc_pod *pod; /* room for ALLOC_PODS_MAX */
	struct alloc_scalar *scalar;
	struct alloc_port *port;
	struct alloc now;
};

/* old: the value that stands there; empty: none. It is no failure if it makes no sense.
 * Everything lives in the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code derive_begin(struct derive *derive, struct pl_span old,
                                       struct pl_err *err);

enum derive_pod { DERIVE_TAKES_ROOM, DERIVE_TAKES_NONE };

/* One that may be there, by what stands at its keys (empty: nothing); each once.
 * PL_CORRUPT: it says that it is there, or nobody knows, and what it asks for can not be
 * read. */
PL_NODISCARD enum pl_code derive_add(struct derive *derive, const struct alloc_pod *pod,
                                     struct pl_span spec, struct pl_span state,
                                     struct pl_err *err);

/* generation: when nobody knows the last one. Adds the alloc; *same: that is what stands
 * there, but for the generation. */
PL_NODISCARD enum pl_code derive_print(struct derive *derive, uint64_t generation,
                                       struct pl_buf *out, bool *same,
                                       struct pl_err *err);

#endif
