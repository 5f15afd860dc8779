/* Objects of the catalog: the same functions for every noun, which differ in what the
 * noun is named by. */
#include "shardsched/engine/engine_int.h"

static enum workload_kind workload_of(enum engine_kind kind)
{
	switch (kind) {
	case ENGINE_CONTROLLER:
		return WORKLOAD_REPLICATION_CONTROLLER;
	case ENGINE_REPLICA_SET:
		return WORKLOAD_REPLICA_SET;
	case ENGINE_STATEFUL_SET:
		return WORKLOAD_STATEFUL_SET;
	default:
		PL_ASSERT(kind == ENGINE_SERVICE);
		return WORKLOAD_SERVICE;
	}
}

/* X(noun, namespace, name, sort): the catalog's key of a noun. */
#define NOUN_MAP(X)                               \
	X(namespace, 0, it.name, 0)               \
	X(priority_class, 0, it.name, 0)          \
	X(budget, it.namespace, it.name, 0)       \
	X(volume, 0, it.name, 0)                  \
	X(claim, it.namespace, it.name, 0)        \
	X(storage_class, 0, it.name, 0)           \
	X(csi_node, 0, it.node, 0)                \
	X(csi_driver, 0, it.name, 0)              \
	X(csi_capacity, it.namespace, it.name, 0) \
	X(workload, it.namespace, it.name, (uint32_t)it.kind)

typedef enum pl_code put_fn(struct engine *engine, enum engine_kind kind,
                            struct parse *parse, struct pl_span json, struct pl_err *err);
typedef bool drop_fn(struct catalog *catalog, struct catalog_key key);

/* All workload kinds are one noun. */
#define PARSE_workload(parse, kind, json, out, err) \
	workload_parse(parse, workload_of(kind), json, out, err)
#define PARSE_namespace(parse, kind, json, out, err) \
	namespace_parse(parse, json, out, err)
#define PARSE_priority_class(parse, kind, json, out, err) \
	priority_class_parse(parse, json, out, err)
#define PARSE_budget(parse, kind, json, out, err) budget_parse(parse, json, out, err)
#define PARSE_volume(parse, kind, json, out, err) volume_parse(parse, json, out, err)
#define PARSE_claim(parse, kind, json, out, err) claim_parse(parse, json, out, err)
#define PARSE_storage_class(parse, kind, json, out, err) \
	storage_class_parse(parse, json, out, err)
#define PARSE_csi_node(parse, kind, json, out, err) csi_node_parse(parse, json, out, err)
#define PARSE_csi_driver(parse, kind, json, out, err) \
	csi_driver_parse(parse, json, out, err)
#define PARSE_csi_capacity(parse, kind, json, out, err) \
	csi_capacity_parse(parse, json, out, err)

#define PUT_AND_DROP(noun, of_namespace, of_name, of_sort)                           \
	static enum pl_code put_##noun(struct engine *engine, enum engine_kind kind, \
	                               struct parse *parse, struct pl_span json,     \
	                               struct pl_err *err)                           \
	{                                                                            \
		struct catalog *catalog = &engine->snapshot.catalog;                 \
		struct noun it;                                                      \
		enum pl_code code = PARSE_##noun(parse, kind, json, &it, err);       \
		struct catalog_key key;                                              \
                                                                                     \
		(void)kind;                                                          \
		if (code != PL_OK)                                                   \
			return code;                                                 \
		key = (struct catalog_key){of_namespace, of_name, of_sort};          \
		code = engine_name_check(engine, key.name,                           \
		                         catalog_find_##noun(catalog, key) != NULL,  \
		                         err);                                       \
		if (code == PL_OK)                                                   \
			return catalog_put_##noun(catalog, &it, err);                \
		noun##_drop(&engine->model, &it);                                    \
		return code;                                                         \
	}                                                                            \
                                                                                     \
	static bool drop_##noun(struct catalog *catalog, struct catalog_key key)     \
	{                                                                            \
		bool there = catalog_find_##noun(catalog, key) != NULL;              \
                                                                                     \
		if (there)                                                           \
			catalog_drop_##noun(catalog, key);                           \
		return there;                                                        \
	}
NOUN_MAP(PUT_AND_DROP)

struct object_kind {
	put_fn *put;
	drop_fn *drop;
};

static const struct object_kind kinds[ENGINE_KINDS] = {
	[ENGINE_NAMESPACE] = {put_namespace, drop_namespace},
	[ENGINE_VOLUME] = {put_volume, drop_volume},
	[ENGINE_CLAIM] = {put_claim, drop_claim},
	[ENGINE_STORAGE_CLASS] = {put_storage_class, drop_storage_class},
	[ENGINE_CSI_NODE] = {put_csi_node, drop_csi_node},
	[ENGINE_CSI_DRIVER] = {put_csi_driver, drop_csi_driver},
	[ENGINE_CSI_CAPACITY] = {put_csi_capacity, drop_csi_capacity},
	[ENGINE_PRIORITY_CLASS] = {put_priority_class, drop_priority_class},
	[ENGINE_BUDGET] = {put_budget, drop_budget},
	[ENGINE_SERVICE] = {put_workload, drop_workload},
	[ENGINE_CONTROLLER] = {put_workload, drop_workload},
	[ENGINE_REPLICA_SET] = {put_workload, drop_workload},
	[ENGINE_STATEFUL_SET] = {put_workload, drop_workload},
};

enum pl_code engine_object_put(struct engine *engine, enum engine_kind kind,
                               struct parse *parse, struct pl_span json,
                               struct pl_err *err)
{
	PL_ASSERT(kind < ENGINE_KINDS && kinds[kind].put != NULL);
	return kinds[kind].put(engine, kind, parse, json, err);
}

enum pl_code engine_object_drop(struct engine *engine, enum engine_kind kind,
                                struct catalog_key key, struct pl_err *err)
{
	PL_ASSERT(kind < ENGINE_KINDS && kinds[kind].drop != NULL);
	if (kinds[kind].drop == drop_workload)
		key.sort = (uint32_t)workload_of(kind);
	if (!kinds[kind].drop(&engine->snapshot.catalog, key))
		return pl_err_set(err, PL_NOTFOUND, "no such object");
	return PL_OK;
}
