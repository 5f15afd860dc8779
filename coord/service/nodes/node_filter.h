/*
 * A node filter: which nodes a client asks for. A node passes when everything that is set
 * holds of it; an all-zero filter lets every node pass.
 */
#ifndef COORD_SERVICE_NODES_NODE_FILTER_H
#define COORD_SERVICE_NODES_NODE_FILTER_H

#include "coord/service/input/label_query.h"
#include "store/keys/keys.h"

struct node_name {
	struct pl_span cluster, name;
};

/* Everything is borrowed. */
struct node_filter {
	struct pl_span cluster;        /* empty: any */
	const struct node_name *names; /* with a count of 0: any; cluster is not looked at
	                                * otherwise */
	size_t name_count;
	const struct label_query *query; /* NULL, or without requirements: any labels */
};

/* Matches by cluster and name. */
bool node_filter_names(const struct node_filter *filter, struct pl_span cluster,
                       struct pl_span name);
/* Whether names[at] stands before in the list, too. */
bool node_filter_is_repeated(const struct node_filter *filter, size_t at);
bool node_filter_has_labels(const struct node_filter *filter);

#endif
