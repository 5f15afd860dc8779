/*
 * An alloc change: what edits and bindings make of one node's alloc in a transaction.
 *
 *	alloc_change_begin(&change, &arena, value)
 *	alloc_change_edit, alloc_change_add           pod after pod
 *	alloc_change_print(&change, &value)
 *
 * An edit of a pod on the node counts as if the pod had gone and come back: left goes up
 * by one and the generation by two, so every shard reads the specs of the node's pods
 * again, as it does after a gap (docs/shard/cache.md, Incarnations). Pure.
 */
#ifndef COORD_SERVICE_PODS_ALLOC_CHANGE_H
#define COORD_SERVICE_PODS_ALLOC_CHANGE_H

#include "shardsched/model/node.h"
#include "shardsched/model/spec.h"
#include "shardsched/records/alloc.h"

enum { ALLOC_CHANGE_WHY = 160 };

struct alloc_change {
	struct pl_arena *arena; /* everything is there */
	struct alloc alloc;
	bool edited;
};

/* Contract as of alloc_parse; value is borrowed. */
PL_NODISCARD enum pl_code alloc_change_begin(struct alloc_change *change,
                                             struct pl_arena *arena, struct pl_span value,
                                             struct pl_err *err);
/* A pod on the node was edited. */
void alloc_change_edit(struct alloc_change *change);
/* Places the pod, and drops a reservation that the node has for it. PL_CONFLICT: it does
 * not fit, or a gang has a reservation there; why has a sentence. PL_EXISTS: it is listed
 * there. PL_LIMIT, PL_NOMEM. After a failure the alloc is as before. */
PL_NODISCARD enum pl_code alloc_change_add(struct alloc_change *change,
                                           const struct model *model,
                                           const struct node *node,
                                           const struct alloc_pod *pod,
                                           const struct spec *spec, struct pl_err *err);
/* The value, in the arena. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code alloc_change_print(const struct alloc_change *change,
                                             struct pl_span *out, struct pl_err *err);

#endif
