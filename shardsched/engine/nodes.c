#include "shardsched/engine/engine_int.h"

static enum pl_code add_node(struct engine *engine, uint32_t cluster,
                             const struct node *node, struct pl_err *err)
{
	uint32_t slot = SNAPSHOT_NONE;
	enum pl_code code =
		snapshot_node_add(&engine->snapshot, cluster, node, &slot, err);

	if (code != PL_OK)
		return code;
	code = engine_pods_adopt(engine, slot, err);
	if (code != PL_OK)
		snapshot_node_remove(&engine->snapshot, slot);
	return code;
}

/* Takes the node over. */
enum pl_code engine_node_put(struct engine *engine, uint32_t cluster, struct node *node,
                             struct pl_err *err)
{
	uint32_t slot = snapshot_node_find(&engine->snapshot, cluster, node->name);
	enum pl_code code =
		engine_name_check(engine, node->name, slot != SNAPSHOT_NONE, err);

	if (code == PL_OK)
		code = slot == SNAPSHOT_NONE
		               ? add_node(engine, cluster, node, err)
		               : snapshot_node_change(&engine->snapshot, slot, node, err);
	node_drop(&engine->model, node);
	return code;
}

enum pl_code engine_node_drop(struct engine *engine, uint32_t cluster, uint32_t name,
                              struct pl_err *err)
{
	uint32_t slot = snapshot_node_find(&engine->snapshot, cluster, name);
	enum pl_code code;

	if (slot == SNAPSHOT_NONE)
		return pl_err_set(err, PL_NOTFOUND, "no such node");
	code = engine_pods_detach(engine, slot, err);
	if (code == PL_OK)
		snapshot_node_remove(&engine->snapshot, slot);
	return code;
}
