/* Arguments of NodeAffinity. */
#ifndef SHARDSCHED_PLUGINS_NODE_AFFINITY_H
#define SHARDSCHED_PLUGINS_NODE_AFFINITY_H

#include "shardsched/framework/plugin.h"

/* addedAffinity: as if every pod of the profile said it too. */
struct node_affinity_args {
	const struct node_selector *required;  /* held; NULL: none */
	const struct node_selector *preferred; /* likewise */
};

PL_NODISCARD enum pl_code node_affinity_args_parse(struct model *model,
                                                   struct pl_json json, void *args,
                                                   struct pl_err *err);
void node_affinity_args_drop(struct model *model, void *args);

#endif
