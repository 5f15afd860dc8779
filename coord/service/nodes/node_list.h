/*
 * A node list: the nodes that pass a filter, at one revision, by cluster and name.
 *
 * A node that is named is read where its name falls. One that is not there makes the whole
 * store be read once: its keys may stand in a partition that is not its own.
 */
#ifndef COORD_SERVICE_NODES_NODE_LIST_H
#define COORD_SERVICE_NODES_NODE_LIST_H

#include "coord/service/base/service.h"
#include "coord/service/nodes/node_filter.h"
#include "coord/service/nodes/node_info.h"

enum { NODE_LIST_MAX = 4000000 };

struct node_list;

struct node_list_opts {
	struct node_filter filter;
	/* err NULL: the list can be read until node_list_free. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code node_list_start(const struct service *service,
                                          const struct node_list_opts *opts,
                                          struct node_list **out, struct pl_err *err);
void node_list_cancel(struct node_list *list);
/* Frees the list, in done or later. Takes NULL. */
void node_list_free(struct node_list *list);

const struct node_info *node_list_nodes(const struct node_list *list, size_t *count);
/* NULL: it is not among them. */
const struct node_info *node_list_find(const struct node_list *list,
                                       const struct node_name *name);

#endif
