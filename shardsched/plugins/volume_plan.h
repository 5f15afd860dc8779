/*
 * What a pod's claims ask of a node. A bound claim's volume has to be within reach. A
 * claim that waits for its first consumer gets the smallest volume that fits and can be
 * reached from there, or one is made there: if its class makes any, for that part of the
 * cluster, and there is room.
 *
 * Made in the arena of a cycle, once; then each node is held against it.
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_PLAN_H
#define SHARDSCHED_PLUGINS_VOLUME_PLAN_H

#include "shardsched/plugins/volume_claims.h"
#include "shardsched/plugins/volume_index.h"

/* A volume that a claim could have. */
struct plan_volume {
	int64_t bytes;
	const struct volume *volume;
};

/* Whether the class of a claim makes volumes. */
enum plan_provisioning {
	PLAN_NOT_PROVISIONED, /* it has no provisioner */
	PLAN_PROVISIONED,     /* on every node of its topologies */
	PLAN_BY_CAPACITY,     /* of these, where a CSIStorageCapacity has enough */
};

/* A claim that waits. */
struct plan_claim {
	const struct claim *claim;
	const struct storage_class *class;
	/* Volumes that it could have: those that were bound to it before, or else open
	 * ones: pinned to some nodes, or loose, the smallest first. */
	struct plan_volume *bound_to;
	uint32_t bound_to_count;
	struct plan_volume *open;
	uint32_t open_count;
	struct plan_volume *loose; /* the last of open */
	uint32_t loose_count;
	struct volume_index pinned; /* of the first of open */
	/* Where one can be made. */
	enum plan_provisioning provisioning;
	const struct csi_capacity **capacities;
	uint32_t capacity_count;
	uint32_t capacity_pinned; /* the first of these, in: */
	struct volume_index capacity_index;
	const struct volume *chosen; /* scratch: for the node that was asked last */
};

struct volume_plan {
	const struct volume **bound; /* of bound claims; NULL: it is gone */
	uint32_t bound_count;
	struct plan_claim *placed; /* whose volume is being made for some node */
	uint32_t placed_count;
	struct plan_claim *open; /* the smallest first */
	uint32_t open_count;
	bool anywhere; /* no node is refused */
};

enum plan_refusal {
	PLAN_NODE = 1 << 0,  /* a bound volume cannot be reached */
	PLAN_NONE = 1 << 1,  /* no volume for a claim */
	PLAN_SPACE = 1 << 2, /* no room to make one */
	PLAN_GONE = 1 << 3,  /* a bound volume is not there */
};

/* Whether volumes of that class can be made for every node. */
static inline bool plan_class_is_anywhere(const struct storage_class *class)
{
	return class->topologies == NULL || class->topologies->count == 0;
}

/* What became of it. */
enum plan_result {
	PLAN_MADE,
	PLAN_NOTHING, /* the pod has no claims */
	PLAN_REFUSED, /* by itself: say tells */
	PLAN_FAILED,  /* the arena is full */
};

enum plan_result volume_plan_make(const struct plugin_call *call,
                                  struct volume_plan *plan, struct verdict *verdict);

/* Below 0: left is taken rather than right: it is smaller, or comes first by name. */
int plan_volume_compare(const void *left, const void *right, const void *strings);

/* A mask of refusals; 0: the node will do, and each open claim has its chosen volume, or
 * NULL if one is to be made. */
unsigned volume_plan_judge(const struct snapshot *snapshot,
                           const struct volume_plan *plan, uint32_t slot);

#endif
