/*
 * The effect of a requested change of a node, given the records in the store. Pure.
 *
 * A node and its alloc change together or not at all. The alloc gets the next
 * generation, so that a placement that was decided for the node as it was is refused.
 */
#ifndef COORD_SERVICE_NODES_NODE_CHANGE_H
#define COORD_SERVICE_NODES_NODE_CHANGE_H

#include "store/base/arena.h"
#include "store/base/err.h"

enum nodes_verb {
	NODES_APPLY,    /* the node becomes what the JSON says; a cordon stays */
	NODES_REPLACE,  /* the node becomes what the JSON says, the cordon included */
	NODES_CORDON,   /* the node takes no new pods */
	NODES_UNCORDON, /* the node takes new pods again */
	NODES_DELETE,
};

enum { NODES_JSON_MAX = 1 << 20 };

/* Node and alloc as read together. Revision 0: there is no such key. */
struct node_seen {
	int64_t node_rev, alloc_rev;
	struct pl_span node, alloc;
};

enum node_change_what { NODE_SAME, NODE_PUT, NODE_DELETE };

struct node_change {
	enum node_change_what what;
	struct pl_span node, alloc; /* NODE_PUT: in the arena, or wanted itself */
};

/*
 * wanted: the JSON of NODES_APPLY and NODES_REPLACE, without white space (object.h). If
 * that of NODES_APPLY does not have spec.unschedulable, the present value stays. If the
 * Node is missing and its alloc is there, the Node is put beside the alloc, or the alloc is deleted as that of a node
 * would be.
 *
 * PL_NOTFOUND: there is no such node. PL_CONFLICT: a node with pods or reservations
 * can not be deleted. PL_CORRUPT: the alloc is missing or does not parse; fsck can
 * repair it.
 */
PL_NODISCARD enum pl_code node_change(enum nodes_verb verb, struct pl_span wanted,
                                      const struct node_seen *seen,
                                      struct pl_arena *arena, struct node_change *out,
                                      struct pl_err *err);

#endif
