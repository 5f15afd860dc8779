/*
 * Derives the alloc of a node from the pods that are bound there. Pure.
 *
 * Reservations do not follow from pods: those of the old alloc are kept as they stand,
 * if it can be read, except those that hold room for nothing that waits.
 *
 * A pod whose spec can not be read keeps its place if the old alloc can be read:
 * together such pods take *the rest*, which is what the old alloc has in use less what
 * all other pods on it request.
 */
#ifndef COORD_SERVICE_FSCK_DERIVE_ALLOC_H
#define COORD_SERVICE_FSCK_DERIVE_ALLOC_H

#include "shardsched/model/parse.h"
#include "shardsched/records/alloc.h"

struct derive {
	struct model *model;
	struct pl_arena *arena;
	struct alloc old; /* all zero: there is no alloc, or it does not parse */
	struct pl_span cluster, node;
	/* Whether the reserved room is still wanted. */
	bool (*is_held)(void *ctx, const struct alloc_reservation *hold);
	void *ctx;
	struct alloc_reservation *hold;
	struct alloc_pod *pod; /* array of ALLOC_PODS_MAX */
	struct alloc_scalar *scalar;
	struct alloc_port *port;
	struct alloc now;
	struct alloc_amounts rest; /* the old alloc's use, less what readable pods
	                            * request */
	struct alloc_scalar *rest_scalar;
	bool *port_known;   /* ports of the old alloc that belong to a readable pod */
	uint32_t rest_pods; /* pods that share the rest */
};

/* old: the present value, or empty. A value that does not parse is no failure.
 * Everything lives in the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code derive_begin(struct derive *derive, struct pl_span old,
                                       struct pl_err *err);

/* The values under a pod's keys. */
struct derive_keys {
	bool has_spec, has_state;
	struct pl_span spec, state;
};

/* Adds a pod that may be on the node. Each candidate is to be added once, and every
 * pod that the old alloc lists has to be among them. The pod's state says whether the
 * pod is there; if the state is missing or does not parse, the old alloc decides, as
 * long as any key of the pod is left. PL_CORRUPT: the pod is there, and its requests
 * can not be found. */
PL_NODISCARD enum pl_code derive_add(struct derive *derive, const struct alloc_pod *pod,
                                     const struct derive_keys *keys, struct pl_err *err);

/* Appends the alloc. generation is used if the old one is unknown. *same: the result
 * equals the present value except for the generation. */
PL_NODISCARD enum pl_code derive_print(struct derive *derive, uint64_t generation,
                                       struct pl_buf *out, bool *same,
                                       struct pl_err *err);

#endif
