/* Which nodes a command line asks for: by name, cluster, labels. */
#ifndef COORD_CLI_NODES_NODE_PICK_H
#define COORD_CLI_NODES_NODE_PICK_H

#include "coord/service/input/label_query.h"
#include "store/keys/keys.h"

struct node_pick {
	const char *cluster; /* NULL: all; the one of names without */
	char **args;         /* "east/n-1"; none: all */
	unsigned arg_count;
	struct label_query query; /* asked by whoever has the Node */
};

/* "east/n-1", or "n-1" with --cluster east, as the id of a KEYS_NODE without its
 * partition. */
PL_NODISCARD enum pl_code node_pick_named(const struct node_pick *pick, const char *arg,
                                          struct keys_id *out, struct pl_err *err);

/* Whether it is among the first count names. */
bool node_pick_is_among(const struct node_pick *pick, unsigned count,
                        const struct keys_id *id);

/* By name and cluster. */
bool node_pick_wants(const struct node_pick *pick, const struct keys_id *id);

#endif
