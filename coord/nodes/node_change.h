/*
 * What a wish about a node means, given what stands in the store: pure.
 *
 * A node and its alloc change together, or not at all; the alloc gets the next
 * generation, so that whoever has decided for the node as it was is refused.
 */
#ifndef COORD_NODES_NODE_CHANGE_H
#define COORD_NODES_NODE_CHANGE_H

#include "store/base/arena.h"
#include "store/base/err.h"

enum nodes_verb {
	NODES_APPLY,    /* is to be as the JSON says */
	NODES_CORDON,   /* takes no new pods */
	NODES_UNCORDON, /* takes them again */
	NODES_DELETE,
};

enum { NODES_JSON_MAX = 1 << 20 };

/* As read together. A revision of 0: it is not there. */
struct node_seen {
	int64_t node_rev, alloc_rev;
	struct pl_span node, alloc;
};

enum node_change_what { NODE_SAME, NODE_PUT, NODE_DELETE };

struct node_change {
	enum node_change_what what;
	struct pl_span node, alloc; /* NODE_PUT: in the arena, or what was wanted */
};

/*
 * wanted: NODES_APPLY's JSON, without white space (object.h). One that does not say
 * whether the node is unschedulable leaves that as it is.
 * A Node that somebody took away, and left its alloc, is put beside that; or the alloc is
 * deleted as the node would be.
 * PL_NOTFOUND: there is no such node. PL_CONFLICT: pods or holds are on a node that is to
 * be deleted. PL_CORRUPT: the alloc is missing or makes no sense: fsck's business.
 */
PL_NODISCARD enum pl_code node_change(enum nodes_verb verb, struct pl_span wanted,
                                      const struct node_seen *seen,
                                      struct pl_arena *arena, struct node_change *out,
                                      struct pl_err *err);

#endif
