/* Which nodes a command line asks for: by name, cluster, labels. */
#ifndef COORD_CLI_NODES_NODE_PICK_H
#define COORD_CLI_NODES_NODE_PICK_H

#include "coord/cli/session/options.h"
#include "coord/service/nodes/node_filter.h"

enum { NODE_PICK_NAMES_MAX = 1000, NODE_PICK_CLUSTER = 'c', NODE_PICK_SELECTOR = 'l' };

/* May not be moved once it was checked: the filter points into it. */
struct node_pick {
	const char *cluster; /* NULL: none was given */
	struct label_query query;
	struct node_name name[NODE_PICK_NAMES_MAX];
	struct node_filter filter; /* all of that */
};

PL_NODISCARD enum pl_code node_pick_set(struct node_pick *pick, int opt, const char *arg,
                                        struct pl_err *err);
/* Reads the names among the arguments, and refuses options that do not go together. */
PL_NODISCARD enum pl_code node_pick_check(struct node_pick *pick,
                                          const struct options *options,
                                          struct pl_err *err);

#endif
