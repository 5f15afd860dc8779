/*
 * A volume plan is what a pod's claims ask of a node. The volume of a bound claim has to
 * be reachable. A claim that waits for its first consumer gets the smallest volume that
 * fits and is reachable, or one is provisioned: if its class does so, in that part of the
 * cluster, and there is capacity.
 *
 * A plan is made once in the arena of a cycle; then each node is judged by it.
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_PLAN_H
#define SHARDSCHED_PLUGINS_VOLUME_PLAN_H

#include "shardsched/plugins/volume_claims.h"
#include "shardsched/plugins/volume_index.h"

/* A volume that a claim could get. */
struct plan_volume {
	int64_t bytes;
	const struct volume *volume;
};

/* Whether the storage class of a claim provisions volumes. */
enum plan_provisioning {
	PLAN_NOT_PROVISIONED, /* the class has no provisioner */
	PLAN_PROVISIONED,     /* on every node of the class's topologies */
	/* on the nodes of its topologies for which a CSIStorageCapacity is large
	 * enough */
	PLAN_BY_CAPACITY,
};

/* A claim without a volume. */
struct plan_claim {
	const struct claim *claim;
	const struct storage_class *class;
	/* Volumes that the claim could get: volumes that were bound to it before, or else
	 * open ones, which are pinned to some nodes or loose, the smallest first. */
	struct plan_volume *bound_to;
	uint32_t bound_to_count;
	struct plan_volume *open;
	uint32_t open_count;
	struct plan_volume *loose; /* the last ones of open */
	uint32_t loose_count;
	struct volume_index pinned; /* the first ones of open */
	/* Where a volume can be provisioned. */
	enum plan_provisioning provisioning;
	const struct csi_capacity **capacities;
	uint32_t capacity_count;
	uint32_t capacity_pinned; /* so many first ones are in capacity_index */
	struct volume_index capacity_index;
	const struct volume *chosen; /* scratch: for the node that was judged last */
};

struct volume_plan {
	/* volumes of bound claims; NULL: the volume is gone */
	const struct volume **bound;
	uint32_t bound_count;
	/* claims whose volume is being provisioned for a node */
	struct plan_claim *placed;
	uint32_t placed_count;
	struct plan_claim *open; /* the smallest request first */
	uint32_t open_count;
	bool anywhere; /* every node fits */
};

enum plan_refusal {
	PLAN_NODE = 1 << 0,  /* a bound volume is not reachable */
	PLAN_NONE = 1 << 1,  /* no volume for a claim */
	PLAN_SPACE = 1 << 2, /* no capacity to provision one */
	PLAN_GONE = 1 << 3,  /* a bound volume does not exist */
};

/* Whether the class provisions volumes for every node. */
static inline bool plan_class_is_anywhere(const struct storage_class *class)
{
	return class->topologies == NULL || class->topologies->count == 0;
}

/* The result of making a plan. */
enum plan_result {
	PLAN_MADE,
	PLAN_NOTHING, /* the pod has no claims */
	PLAN_REFUSED, /* the pod is refused: verdict says why */
	PLAN_FAILED,  /* the arena is full */
};

enum plan_result volume_plan_make(const struct plugin_call *call,
                                  struct volume_plan *plan, struct verdict *verdict);

/* Below 0: left is preferred, since it is smaller or comes first by name. */
int plan_volume_compare(const void *left, const void *right, const void *strings);

/* Returns a mask of refusals. 0: the node fits, and each open claim has its chosen
 * volume, or NULL if one is to be provisioned. */
unsigned volume_plan_judge(const struct snapshot *snapshot,
                           const struct volume_plan *plan, uint32_t slot);

#endif
