/*
 * The catalog: objects beside nodes and pods that scheduling reads, by name. Namespaces,
 * priority classes, disruption budgets, workloads, claims, volumes, storage classes, and
 * CSI objects.
 *
 * Invariants: a put takes the object over, references included, and replaces an object of
 * the same name; a pointer to an object is valid until the next put or drop of its kind;
 * each kind has an epoch, which grows with each change of the kind.
 */
#ifndef SHARDSCHED_SNAPSHOT_CATALOG_H
#define SHARDSCHED_SNAPSHOT_CATALOG_H

#include "shardsched/model/cluster_objects.h"
#include "shardsched/model/storage.h"
#include "shardsched/model/volume.h"

/* X(KIND, struct, name, most) */
#define CATALOG_KIND_MAP(X)                                             \
	X(NAMESPACE, struct namespace, namespace, 1000000)              \
	X(PRIORITY_CLASS, struct priority_class, priority_class, 65536) \
	X(BUDGET, struct budget, budget, 1000000)                       \
	X(WORKLOAD, struct workload, workload, 4000000)                 \
	X(CLAIM, struct claim, claim, 16000000)                         \
	X(VOLUME, struct volume, volume, 16000000)                      \
	X(STORAGE_CLASS, struct storage_class, storage_class, 65536)    \
	X(CSI_NODE, struct csi_node, csi_node, 16000000)                \
	X(CSI_DRIVER, struct csi_driver, csi_driver, 65536)             \
	X(CSI_CAPACITY, struct csi_capacity, csi_capacity, 4000000)

#define CATALOG_KIND_ENUM(kind, type, name, most) CATALOG_##kind,
enum catalog_kind { CATALOG_KIND_MAP(CATALOG_KIND_ENUM) CATALOG_KINDS };

/* The name of an object; fields that its kind does not have are 0. */
struct catalog_key {
	uint32_t namespace;
	uint32_t name;
	uint32_t sort; /* enum workload_kind */
};

struct catalog {
	struct model *model;
	uint64_t epoch[CATALOG_KINDS]; /* assumptions count as changes, see assumed.h */
	uint64_t
		claim_use_epoch; /* grows when a ReadWriteOncePod claim comes into use or out
			       * of it */
	uint32_t count[CATALOG_KINDS];
	struct catalog_inner *inner;
};

PL_NODISCARD enum pl_code catalog_init(struct catalog *catalog, struct model *model,
                                       struct pl_err *err);
void catalog_done(struct catalog *catalog);

/* catalog_put_claim(catalog, &claim, &err), catalog_find_claim(catalog, key): NULL when
 * there is none, catalog_drop_claim(catalog, key), and catalog_next_claim(catalog,
 * previous): in the order of adding, NULL first and last. A put that fails has dropped
 * the object. */
/* NOLINTBEGIN(bugprone-macro-parentheses): type is a type, name a name */
#define CATALOG_DECLARE(kind, type, name, most)                                       \
	PL_NODISCARD enum pl_code catalog_put_##name(struct catalog *catalog,         \
	                                             type *name, struct pl_err *err); \
	const type *catalog_find_##name(const struct catalog *catalog,                \
	                                struct catalog_key key);                      \
	void catalog_drop_##name(struct catalog *catalog, struct catalog_key key);    \
	const type *catalog_next_##name(const struct catalog *catalog,                \
	                                const type *previous);
CATALOG_KIND_MAP(CATALOG_DECLARE)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Budgets, workloads, claims of one namespace: catalog_next_in_budget(catalog,
 * namespace, previous). */
#define CATALOG_DECLARE_IN(name, type)                                    \
	const type *catalog_next_in_##name(const struct catalog *catalog, \
	                                   uint32_t namespace, const type *previous);
CATALOG_DECLARE_IN(budget, struct budget)
CATALOG_DECLARE_IN(workload, struct workload)
CATALOG_DECLARE_IN(claim, struct claim)

/* Walks the volumes of one class that have no claimRef, and the volumes of any class
 * whose claimRef names that claim. */
const struct volume *catalog_next_open_volume(const struct catalog *catalog,
                                              uint32_t class,
                                              const struct volume *previous);
const struct volume *catalog_next_claimed_volume(const struct catalog *catalog,
                                                 struct catalog_key claim,
                                                 const struct volume *previous);
/* Walks the CSI capacities of one class. */
const struct csi_capacity *catalog_next_capacity(const struct catalog *catalog,
                                                 uint32_t class,
                                                 const struct csi_capacity *previous);

/* The labels of a namespace; NULL: the namespace is not known. */
const struct labels *catalog_namespace_labels(const struct catalog *catalog,
                                              uint32_t name);

/* Bytes of heap, for figures. */
size_t catalog_memory(const struct catalog *catalog);
/* Asserts chains and counts against a count from scratch; for tests. */
void catalog_check(const struct catalog *catalog);

#endif
