/*
 * What a node's alloc has to say, from the pods that are bound there: pure. Holds follow
 * from no pod: those of the alloc that is there, if it can be read, are kept as they
 * stand, but for those that hold room for nobody.
 *
 * A pod whose spec can not be read keeps its place, too, if the alloc that is there can
 * be read: with what that says is used, less what all others on it ask for (*the rest*).
 */
#ifndef COORD_FSCK_DERIVE_ALLOC_H
#define COORD_FSCK_DERIVE_ALLOC_H

#include "shardsched/model/parse.h"
#include "shardsched/records/alloc.h"

struct derive {
	struct model *model;
	struct pl_arena *arena;
	struct alloc old; /* all zero: there is none that can be read */
	struct pl_span cluster, node;
	/* Whether somebody waits for that room. */
	bool (*is_held)(void *ctx, const struct alloc_reservation *hold);
	void *ctx;
	struct alloc_reservation *hold;
	struct alloc_pod *pod; /* room for ALLOC_PODS_MAX */
	struct alloc_scalar *scalar;
	struct alloc_port *port;
	struct alloc now;
	struct alloc_amounts rest; /* of the old one, less what is known */
	struct alloc_scalar *rest_scalar;
	bool *port_known;  /* of the old one's: some pod has it that can be read */
	uint32_t unspoken; /* pods that take the rest */
};

/* old: the value that stands there; empty: none. It is no failure if it makes no sense.
 * Everything lives in the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code derive_begin(struct derive *derive, struct pl_span old,
                                       struct pl_err *err);

/* What stands at a pod's keys. */
struct derive_keys {
	bool has_spec, has_state;
	struct pl_span spec, state;
};

/* One that may be there; each once, and all that the old alloc lists. Its state says
 * whether it is; where that is not there, or makes no sense, what the old alloc says is
 * all that is known of it, as long as anything is left of the pod. PL_CORRUPT: it is
 * there, and nobody knows with how much. */
PL_NODISCARD enum pl_code derive_add(struct derive *derive, const struct alloc_pod *pod,
                                     const struct derive_keys *keys, struct pl_err *err);

/* generation: when nobody knows the last one. Adds the alloc; *same: that is what stands
 * there, but for the generation. */
PL_NODISCARD enum pl_code derive_print(struct derive *derive, uint64_t generation,
                                       struct pl_buf *out, bool *same,
                                       struct pl_err *err);

#endif
