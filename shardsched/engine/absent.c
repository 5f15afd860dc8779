/* Nodes that are not there, by what waits for them. */
#include <stdlib.h>

#include "shardsched/engine/engine_int.h"
#include "store/base/alloc.h"

struct engine_absent *absent_find(struct engine *engine, uint32_t cluster, uint32_t name)
{
	const uint32_t key[2] = {cluster, name};
	struct pl_map_node *node = pl_map_get(&engine->absent, engine_key(key));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct engine_absent, by_name);
}

enum pl_code absent_get(struct engine *engine, uint32_t cluster, uint32_t name,
                        struct engine_absent **out, struct pl_err *err)
{
	struct engine_absent *absent = absent_find(engine, cluster, name);

	if (absent == NULL) {
		absent = pl_calloc(1, sizeof *absent);
		if (absent == NULL)
			return pl_err_set(err, PL_NOMEM, "set pods aside");
		absent->key[0] = strings_ref(&engine->model.strings, cluster);
		absent->key[1] = strings_ref(&engine->model.strings, name);
		pl_list_init(&absent->pods);
		(void)!pl_map_add(&engine->absent, &absent->by_name,
		                  engine_key(absent->key));
	}
	*out = absent;
	return PL_OK;
}

void absent_tidy(struct engine *engine, struct engine_absent *absent)
{
	if (!pl_list_empty(&absent->pods))
		return;
	pl_map_del(&engine->absent, &absent->by_name);
	strings_unref(&engine->model.strings, absent->key[0]);
	strings_unref(&engine->model.strings, absent->key[1]);
	free(absent);
}

void absent_add(struct engine *engine, struct engine_absent *absent,
                struct engine_pod *pod)
{
	pod->place = ENGINE_ASIDE;
	pl_list_add_tail(&absent->pods, &pod->link);
	engine->aside++;
}

void absent_remove(struct engine *engine, struct engine_pod *pod)
{
	uint32_t name = pod->pod.node != 0 ? pod->pod.node : pod->pod.nominated;

	PL_ASSERT(pod->place == ENGINE_ASIDE && engine->aside > 0);
	pl_list_del(&pod->link);
	pod->place = ENGINE_WAITS;
	engine->aside--;
	absent_tidy(engine, absent_find(engine, pod->cluster, name));
}
