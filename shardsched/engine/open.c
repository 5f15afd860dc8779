/* Classes that are open: by their spec, and those that nobody holds by when they were
 * held last. */
#include <stdlib.h>

#include "shardsched/engine/engine_int.h"
#include "store/base/alloc.h"

struct spec_key {
	const struct spec *spec;
};

struct open_class {
	struct pl_map_node by_spec;
	struct spec_key key; /* the class's view holds the spec */
	struct fw_class *class;
	uint32_t users;
	struct pl_list idle;
};

static struct pl_span key_of(const struct spec_key *key)
{
	return pl_span(key, sizeof *key);
}

static struct open_class *find(const struct engine *engine, const struct spec *spec)
{
	const struct spec_key key = {spec};
	struct pl_map_node *node = pl_map_get(&engine->open, key_of(&key));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct open_class, by_spec);
}

static void close(struct engine *engine, struct open_class *open)
{
	PL_ASSERT(open->users == 0 && engine->idle_count > 0);
	engine->idle_count--;
	pl_list_del(&open->idle);
	pl_map_del(&engine->open, &open->by_spec);
	if (engine->classes != NULL)
		classes_forget(engine->classes, open->class);
	fw_class_close(&engine->snapshot, open->class);
	free(open);
}

static enum pl_code open_new(struct engine *engine, const struct spec *spec,
                             struct open_class **out, struct pl_err *err)
{
	const struct profile *profile = profiles_find(&engine->profiles, spec->scheduler);
	struct open_class *open;
	enum pl_code code;

	if (profile == NULL) {
		struct pl_span name = model_text(&engine->model, spec->scheduler);

		return pl_err_set(err, PL_NOTFOUND,
		                  "spec.schedulerName: no profile '%.*s'",
		                  PL_SPAN_ARG(name));
	}
	open = pl_calloc(1, sizeof *open);
	if (open == NULL)
		return pl_err_set(err, PL_NOMEM, "open a class of pods");
	open->key.spec = spec;
	code = fw_class_open(&engine->snapshot, profile, spec, &open->class, err);
	if (code != PL_OK) {
		free(open);
		return code;
	}
	pl_list_init(&open->idle);
	(void)!pl_map_add(&engine->open, &open->by_spec, key_of(&open->key));
	*out = open;
	return PL_OK;
}

enum pl_code engine_class(struct engine *engine, const struct spec *spec,
                          struct fw_class **out, struct pl_err *err)
{
	struct open_class *open = find(engine, spec);

	if (open == NULL) {
		enum pl_code code = open_new(engine, spec, &open, err);

		if (code != PL_OK)
			return code;
	} else if (open->users == 0) {
		pl_list_del(&open->idle);
		engine->idle_count--;
	}
	open->users++;
	*out = open->class;
	return PL_OK;
}

void engine_release(struct engine *engine, struct fw_class *class)
{
	struct open_class *open = find(engine, class->view->spec);

	PL_ASSERT(open != NULL && open->class == class && open->users > 0);
	if (--open->users > 0)
		return;
	pl_list_add_tail(&engine->idle, &open->idle);
	engine->idle_count++;
	if (engine->idle_count > ENGINE_IDLE_CLASSES)
		close(engine, PL_LIST_ITEM(engine->idle.next, struct open_class, idle));
}

void engine_open_done(struct engine *engine)
{
	while (!pl_list_empty(&engine->idle))
		close(engine, PL_LIST_ITEM(engine->idle.next, struct open_class, idle));
	PL_ASSERT(pl_map_first(&engine->open) == NULL);
	pl_map_done(&engine->open);
}
