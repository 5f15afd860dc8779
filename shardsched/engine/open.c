/* Classes that are open, for whoever asks the engine for one. */
#include "shardsched/engine/engine_int.h"

enum pl_code engine_class(struct engine *engine, const struct spec *spec,
                          struct fw_class **out, struct pl_err *err)
{
	struct pool_class *open;
	enum pl_code code = engine_pods_join(engine, err);

	if (code == PL_OK)
		code = pool_get(&engine->pool, spec, &open, err);
	if (code != PL_OK)
		return code;
	code = pool_fw(&engine->pool, open, out, err);
	if (code != PL_OK)
		pool_put(&engine->pool, open);
	return code;
}

void engine_release(struct engine *engine, struct fw_class *class)
{
	struct pool_class *open = pool_find(&engine->pool, class->view->spec);

	PL_ASSERT(open != NULL);
	pool_put(&engine->pool, open);
}
