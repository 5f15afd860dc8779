/* Open classes, for users of the engine. */
#include "shardsched/engine/engine_int.h"

enum pl_code engine_class(struct engine *engine, const struct spec *spec,
                          struct fw_class **out, struct pl_err *err)
{
	struct registered_class *open;
	enum pl_code code = engine_pods_promote_labels(engine, err);

	if (code == PL_OK)
		code = class_registry_get(&engine->pool, spec, &open, err);
	if (code != PL_OK)
		return code;
	code = class_registry_fw(&engine->pool, open, out, err);
	if (code != PL_OK)
		class_registry_put(&engine->pool, open);
	return code;
}

void engine_release(struct engine *engine, struct fw_class *class)
{
	struct registered_class *open =
		class_registry_find(&engine->pool, class->view->spec);

	PL_ASSERT(open != NULL);
	class_registry_put(&engine->pool, open);
}
