/*
 * Which partition a node, a pod or a group falls in: pl_hash of its name, modulo
 * the number of partitions. The same for ever; docs/hash.md has vectors.
 *
 *	node        "<cluster>/<node>"
 *	pod         "<namespace>/<pod>"
 *	gang        "<namespace>/<gang>"
 *	controller  "<namespace>/<kind>/<name>/<uid>"
 *
 * PL_INVALID for names that no key can have. count is 1 to KEYS_PARTITIONS_MAX.
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

/* What keeps pods together that must be decided by one shard: their gang, else
 * their controller. */
struct partition_group {
	struct pl_span namespace;
	struct pl_span gang; /* empty: the controller counts */
	struct pl_span kind; /* "ReplicaSet" */
	struct pl_span name;
	struct pl_span uid;
};

PL_NODISCARD enum pl_code partition_of_group(const struct partition_group *group,
                                             uint32_t count, uint32_t *out,
                                             struct pl_err *err);

#endif
