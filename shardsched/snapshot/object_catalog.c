#include "shardsched/snapshot/object_catalog.h"

#include <string.h>

/* X(noun) */
#define NOUN_MAP(X)       \
	X(namespace)      \
	X(priority_class) \
	X(budget)         \
	X(volume)         \
	X(claim)          \
	X(storage_class)  \
	X(csi_node)       \
	X(csi_driver)     \
	X(csi_capacity)   \
	X(workload)

/* The catalog's functions of a noun. */
struct catalog_ops {
	size_t size;
	const void *(*find)(const struct catalog *catalog, struct catalog_key key);
	enum pl_code (*put)(struct catalog *catalog, struct cluster_object *object,
	                    struct pl_err *err);
	void (*remove)(struct catalog *catalog, struct catalog_key key);
};

#define NOUN_FUNCTIONS(noun)                                               \
	static const void *find_##noun(const struct catalog *catalog,      \
	                               struct catalog_key key)             \
	{                                                                  \
		return catalog_find_##noun(catalog, key);                  \
	}                                                                  \
	static enum pl_code put_##noun(struct catalog *catalog,            \
	                               struct cluster_object *object,      \
	                               struct pl_err *err)                 \
	{                                                                  \
		return catalog_put_##noun(catalog, &object->as.noun, err); \
	}
NOUN_MAP(NOUN_FUNCTIONS)

#define KIND_ROW(kind, noun, sort)                                        \
	[CLUSTER_##kind] = {sizeof(struct noun), find_##noun, put_##noun, \
	                    catalog_drop_##noun},
static const struct catalog_ops ops[CLUSTER_OBJECT_KINDS] = {
	CLUSTER_OBJECT_MAP(KIND_ROW)};

struct catalog_key object_catalog_key_of(enum cluster_object_kind kind,
                                         uint32_t namespace, uint32_t name)
{
	return (struct catalog_key){namespace, name, cluster_object_sort(kind)};
}

struct catalog_key object_catalog_key(const struct cluster_object *object)
{
	struct cluster_object_name named = cluster_object_name(object);

	return object_catalog_key_of(object->kind, named.namespace, named.name);
}

bool object_catalog_has(const struct catalog *catalog, enum cluster_object_kind kind,
                        struct catalog_key key)
{
	return ops[kind].find(catalog, key) != NULL;
}

/* Equal objects share the values that they refer to, so the bytes tell. */
bool object_catalog_has_same(const struct catalog *catalog,
                             const struct cluster_object *object)
{
	const struct catalog_ops *of = &ops[object->kind];
	const void *known = of->find(catalog, object_catalog_key(object));

	return known != NULL && memcmp(known, &object->as, of->size) == 0;
}

enum pl_code object_catalog_put(struct catalog *catalog, struct cluster_object *object,
                                struct pl_err *err)
{
	return ops[object->kind].put(catalog, object, err);
}

bool object_catalog_remove(struct catalog *catalog, enum cluster_object_kind kind,
                           struct catalog_key key)
{
	if (!object_catalog_has(catalog, kind, key))
		return false;
	ops[kind].remove(catalog, key);
	return true;
}
