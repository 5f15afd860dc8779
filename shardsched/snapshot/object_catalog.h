/* Cluster objects of any kind in the catalog: what the engine does with the objects that
 * it is given, and a shard with those that stand in the store. */
#ifndef SHARDSCHED_SNAPSHOT_OBJECT_CATALOG_H
#define SHARDSCHED_SNAPSHOT_OBJECT_CATALOG_H

#include "shardsched/records/cluster_object.h"
#include "shardsched/snapshot/catalog.h"

/* The object's key in the catalog: name 0 if it has none. */
struct catalog_key object_catalog_key(const struct cluster_object *object);
/* The key of an object of that kind by its names. */
struct catalog_key object_catalog_key_of(enum cluster_object_kind kind,
                                         uint32_t namespace, uint32_t name);
bool object_catalog_has(const struct catalog *catalog, enum cluster_object_kind kind,
                        struct catalog_key key);
/* The catalog has the object as it is; objects that own memory are never the same. */
bool object_catalog_has_same(const struct catalog *catalog,
                             const struct cluster_object *object);
/* Takes the object over, also on failure. */
PL_NODISCARD enum pl_code object_catalog_put(struct catalog *catalog,
                                             struct cluster_object *object,
                                             struct pl_err *err);
/* False: the catalog has none. */
bool object_catalog_remove(struct catalog *catalog, enum cluster_object_kind kind,
                           struct catalog_key key);

#endif
