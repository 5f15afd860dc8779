#include "shardsched/engine/engine.h"

#include <stdlib.h>

#include "shardsched/engine/engine_int.h"
#include "shardsched/model/parse.h"
#include "shardsched/plugins/plugins.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 64 << 10, CACHE_BYTES = 256 << 20 };

static enum pl_code parts_new(struct engine *engine, struct pl_err *err)
{
	const struct engine_opts *opts = &engine->opts;
	struct cycle_opts cycle = {.snapshot = &engine->snapshot,
	                           .clock = opts->clock,
	                           .clock_ctx = opts->clock_ctx,
	                           .keep_scores = opts->keep_scores,
	                           .no_cache = opts->no_cache};
	size_t bytes = opts->cache_bytes == 0 ? CACHE_BYTES : opts->cache_bytes;
	enum pl_code code = opts->no_cache ? PL_OK
	                                   : class_cache_new(&engine->snapshot, bytes,
	                                                     &engine->classes, err);

	if (engine->classes != NULL)
		cycle.cache = class_cache_ops(engine->classes);
	engine->pool.opts.classes = engine->classes;
	if (code == PL_OK)
		code = cycle_new(&cycle, &engine->cycle, err);
	if (code == PL_OK)
		code = preempt_new(&engine->preempt, err);
	if (code == PL_OK)
		code = profiles_parse(&engine->model, &plugins, opts->config,
		                      &engine->profiles, err);
	return code;
}

enum pl_code engine_new(const struct engine_opts *opts, struct engine **out,
                        struct pl_err *err)
{
	struct engine *engine = pl_calloc(1, sizeof *engine);
	enum pl_code code;

	if (engine == NULL)
		return pl_err_set(err, PL_NOMEM, "engine: out of memory");
	engine->opts = *opts;
	model_init(&engine->model);
	class_registry_init(&engine->pool, &(struct class_registry_opts){
						   .snapshot = &engine->snapshot,
						   .profiles = &engine->profiles,
						   .ready_max = ENGINE_IDLE_CLASSES,
						   .keep_ready = true});
	pl_map_init(&engine->pods);
	pl_map_init(&engine->missing);
	pl_arena_init(&engine->arena, ARENA_CHUNK, READER_ARENA_MAX);
	code = snapshot_init(&engine->snapshot, &engine->model, err);
	if (code != PL_OK) {
		model_done(&engine->model);
		free(engine);
		return code;
	}
	code = parts_new(engine, err);
	if (code != PL_OK) {
		engine_free(engine);
		return code;
	}
	engine->opts.config = (struct pl_span){0}; /* the config was borrowed */
	*out = engine;
	return PL_OK;
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	class_registry_done(&engine->pool);
	engine_pods_done(engine);
	profiles_drop(&engine->profiles);
	preempt_free(engine->preempt);
	cycle_free(engine->cycle);
	class_cache_free(engine->classes);
	snapshot_done(&engine->snapshot);
	pl_arena_done(&engine->arena);
	model_done(&engine->model);
	free(engine);
}

struct model *engine_model(struct engine *engine)
{
	return &engine->model;
}

struct snapshot *engine_snapshot(struct engine *engine)
{
	return &engine->snapshot;
}

struct cycle *engine_cycle(struct engine *engine)
{
	return engine->cycle;
}

enum pl_code engine_name_check(const struct engine *engine, uint32_t name, bool there,
                               struct pl_err *err)
{
	if (model_text(&engine->model, name).len == 0)
		return pl_err_set(err, PL_INVALID, "metadata.name: missing");
	if (there && engine->opts.unique)
		return pl_err_set(err, PL_EXISTS, "metadata.name: '%.*s' already exists",
		                  PL_SPAN_ARG(model_text(&engine->model, name)));
	return PL_OK;
}

static enum pl_code put_parsed(struct engine *engine, enum engine_kind kind,
                               uint32_t cluster, struct parse *parse, struct pl_span json,
                               struct pl_err *err)
{
	struct node node;
	struct pod pod;
	enum pl_code code;

	if (kind == ENGINE_NODE) {
		code = node_parse(parse, json, &node, err);
		return code == PL_OK ? engine_node_put(engine, cluster, &node, err)
		                     : code;
	}
	if (kind == ENGINE_POD) {
		code = pod_parse(parse, json, &pod, err);
		return code == PL_OK ? engine_pod_put(engine, cluster, &pod, err) : code;
	}
	return engine_object_put(engine, kind, parse, json, err);
}

enum pl_code engine_put_in(struct engine *engine, enum engine_kind kind,
                           struct pl_span cluster, struct pl_span json,
                           struct field_errors *errors, struct pl_err *err)
{
	struct parse parse = {.model = &engine->model,
	                      .arena = &engine->arena,
	                      .errors = errors,
	                      .scope = engine->opts.scope};
	struct pl_err own = {0};
	uint32_t name = 0;
	enum pl_code code = PL_OK;

	pl_arena_reset(&engine->arena);
	if (cluster.len > 0)
		code = strings_add(&engine->model.strings, cluster, &name);
	if (code == PL_OK)
		code = put_parsed(engine, kind, name, &parse, json, &own);
	strings_unref(&engine->model.strings, name);
	if (code != PL_OK)
		pl_err_set(err, code, "%s", own.msg);
	return code;
}

enum pl_code engine_put(struct engine *engine, enum engine_kind kind, struct pl_span json,
                        struct field_errors *errors, struct pl_err *err)
{
	return engine_put_in(engine, kind, (struct pl_span){0}, json, errors, err);
}

enum pl_code engine_drop(struct engine *engine, enum engine_kind kind,
                         struct pl_span namespace, struct pl_span name,
                         struct pl_err *err)
{
	const struct strings *strings = &engine->model.strings;
	uint32_t of = namespace.len == 0 ? 0 : strings_find(strings, namespace);
	uint32_t called = strings_find(strings, name);

	if (called == 0 || (namespace.len > 0 && of == 0))
		return pl_err_set(err, PL_NOTFOUND, "no such object");
	if (kind == ENGINE_NODE)
		return engine_node_drop(engine, of, called, err);
	if (kind == ENGINE_POD)
		return engine_pod_drop(engine, of, called, err);
	return engine_object_drop(
		engine, kind, (struct catalog_key){.namespace = of, .name = called}, err);
}
