/* Objects of the catalog, by the engine's kinds. */
#include "shardsched/engine/engine_int.h"
#include "shardsched/snapshot/object_catalog.h"

#define CLUSTER_KIND(kind, noun, sort) [ENGINE_##kind] = CLUSTER_##kind,
static const enum cluster_object_kind cluster_kinds[ENGINE_KINDS] = {
	CLUSTER_OBJECT_MAP(CLUSTER_KIND)};

enum pl_code engine_object_put(struct engine *engine, enum engine_kind kind,
                               struct parse *parse, struct pl_span json,
                               struct pl_err *err)
{
	struct catalog *catalog = &engine->snapshot.catalog;
	struct cluster_object object;
	struct catalog_key key;
	enum pl_code code;

	PL_ASSERT(kind != ENGINE_NODE && kind != ENGINE_POD && kind < ENGINE_KINDS);
	code = cluster_object_parse(cluster_kinds[kind], parse, json, &object, err);
	if (code != PL_OK)
		return code;
	key = object_catalog_key(&object);
	code = engine_name_check(engine, key.name,
	                         object_catalog_has(catalog, object.kind, key), err);
	if (code == PL_OK)
		return object_catalog_put(catalog, &object, err);
	cluster_object_drop(&engine->model, &object);
	return code;
}

enum pl_code engine_object_drop(struct engine *engine, enum engine_kind kind,
                                struct catalog_key key, struct pl_err *err)
{
	enum cluster_object_kind of = cluster_kinds[kind];

	PL_ASSERT(kind != ENGINE_NODE && kind != ENGINE_POD && kind < ENGINE_KINDS);
	key = object_catalog_key_of(of, key.namespace, key.name);
	if (!object_catalog_remove(&engine->snapshot.catalog, of, key))
		return pl_err_set(err, PL_NOTFOUND, "no such object");
	return PL_OK;
}
