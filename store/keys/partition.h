/*
 * The partition of a node, a pod or a group: pl_hash of its name, modulo the number of
 * partitions. It never changes; docs/hash.md has vectors.
 *
 *	node        "<cluster>/<node>"
 *	pod         "<namespace>/<pod>"
 *	gang        "<namespace>/<gang>"
 *	controller  "<namespace>/<kind>/<name>/<uid>"
 *
 * All functions give PL_INVALID for names that no key can have. count must be between 1
 * and KEYS_PARTITIONS_MAX.
 */
#ifndef STORE_KEYS_PARTITION_H
#define STORE_KEYS_PARTITION_H

#include "store/keys/keys.h"

PL_NODISCARD enum pl_code partition_of_node(struct pl_span cluster, struct pl_span node,
                                            uint32_t count, uint32_t *out,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code partition_of_pod(struct pl_span namespace, struct pl_span pod,
                                           uint32_t count, uint32_t *out,
                                           struct pl_err *err);

/* The owner of pods that one shard must decide together: their gang, or their controller
 * if they have no gang. */
struct partition_group {
	struct pl_span namespace;
	struct pl_span gang; /* empty: the controller counts */
	struct pl_span kind; /* for example "ReplicaSet" */
	struct pl_span name;
	struct pl_span uid;
};

PL_NODISCARD enum pl_code partition_of_group(const struct partition_group *group,
                                             uint32_t count, uint32_t *out,
                                             struct pl_err *err);

#endif
