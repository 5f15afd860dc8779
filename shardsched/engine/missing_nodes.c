/* Nodes that are not there, with the pods that wait for them. */
#include <stdlib.h>

#include "shardsched/engine/engine_int.h"
#include "store/base/alloc.h"

struct engine_missing_node *missing_node_find(struct engine *engine, uint32_t cluster,
                                              uint32_t name)
{
	const uint32_t key[2] = {cluster, name};
	struct pl_map_node *node = pl_map_get(&engine->missing, engine_key(key));

	return node == NULL ? NULL
	                    : PL_CONTAINER_OF(node, struct engine_missing_node, by_name);
}

enum pl_code missing_node_get(struct engine *engine, uint32_t cluster, uint32_t name,
                              struct engine_missing_node **out, struct pl_err *err)
{
	struct engine_missing_node *missing = missing_node_find(engine, cluster, name);

	if (missing == NULL) {
		missing = pl_calloc(1, sizeof *missing);
		if (missing == NULL)
			return pl_err_set(err, PL_NOMEM,
			                  "pods of a missing node: out of memory");
		missing->key[0] = strings_ref(&engine->model.strings, cluster);
		missing->key[1] = strings_ref(&engine->model.strings, name);
		pl_list_init(&missing->pods);
		(void)!pl_map_add(&engine->missing, &missing->by_name,
		                  engine_key(missing->key));
	}
	*out = missing;
	return PL_OK;
}

void missing_node_tidy(struct engine *engine, struct engine_missing_node *missing)
{
	if (!pl_list_empty(&missing->pods))
		return;
	pl_map_del(&engine->missing, &missing->by_name);
	strings_unref(&engine->model.strings, missing->key[0]);
	strings_unref(&engine->model.strings, missing->key[1]);
	free(missing);
}

void missing_node_add(struct engine *engine, struct engine_missing_node *missing,
                      struct engine_pod *pod)
{
	pod->place = ENGINE_NODE_MISSING;
	pl_list_add_tail(&missing->pods, &pod->link);
	engine->without_node++;
}

void missing_node_remove(struct engine *engine, struct engine_pod *pod)
{
	uint32_t name = pod->pod.node != 0 ? pod->pod.node : pod->pod.nominated;

	PL_ASSERT(pod->place == ENGINE_NODE_MISSING && engine->without_node > 0);
	pl_list_del(&pod->link);
	pod->place = ENGINE_WAITS;
	engine->without_node--;
	missing_node_tidy(engine, missing_node_find(engine, pod->cluster, name));
}
