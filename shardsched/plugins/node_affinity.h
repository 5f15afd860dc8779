/* Arguments of the NodeAffinity plugin. */
#ifndef SHARDSCHED_PLUGINS_NODE_AFFINITY_H
#define SHARDSCHED_PLUGINS_NODE_AFFINITY_H

#include "shardsched/framework/plugin.h"

/* addedAffinity counts as if every pod of the profile had it too. */
struct node_affinity_args {
	const struct node_selector *required;  /* with a reference; NULL: none */
	const struct node_selector *preferred; /* with a reference; NULL: none */
};

PL_NODISCARD enum pl_code node_affinity_args_parse(struct model *model,
                                                   struct pl_json json, void *args,
                                                   struct pl_err *err);
void node_affinity_args_drop(struct model *model, void *args);

#endif
