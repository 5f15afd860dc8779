/*
 * A node watch: the nodes that pass a filter by name, as they are and as they change. A
 * node is what its two keys say, the Node and the alloc: two informers, put together by
 * cluster and name.
 *
 *	both are listed: WHOLE --> NODE, GONE for each change
 *
 * Invariants
 *  - Before WHOLE nothing is noted but TROUBLE; from then on node_watch_each gives the
 *    nodes in the order of "cluster/name".
 *  - What changed while the store could not be read is noted as NODE and GONE, too.
 */
#ifndef COORD_SERVICE_NODES_NODE_WATCH_H
#define COORD_SERVICE_NODES_NODE_WATCH_H

#include "coord/service/base/service.h"
#include "coord/service/nodes/node_filter.h"
#include "coord/service/nodes/node_info.h"

struct node_watch;

enum node_watch_what {
	NODE_WATCH_NODE,  /* info: the node is new, or one of its keys has changed */
	NODE_WATCH_GONE,  /* info: only the name */
	NODE_WATCH_WHOLE, /* once: all nodes are known */
	NODE_WATCH_TROUBLE,
	NODE_WATCH_STOPPED, /* the last note */
};

struct node_watch_note {
	enum node_watch_what what;
	const struct node_info *info; /* borrowed */
	const struct pl_err *err;     /* TROUBLE: it goes on trying */
};

typedef void node_watch_fn(void *ctx, const struct node_watch_note *note);

/* The filter is borrowed until STOPPED. Its labels only set info.selected. */
PL_NODISCARD enum pl_code node_watch_open(const struct service *service,
                                          const struct node_filter *filter,
                                          node_watch_fn *fn, void *ctx,
                                          struct node_watch **out, struct pl_err *err);
/* STOPPED follows, later; then the watch is gone. */
void node_watch_stop(struct node_watch *watch);

/* Calls fn with each node, until it returns false. */
void node_watch_each(const struct node_watch *watch,
                     bool (*fn)(void *ctx, const struct node_info *info), void *ctx);

#endif
