/*
 * What was decided about claims and is not seen in the objects yet: this claim gets that
 * volume, or is to be provisioned for that node. Until the objects come back changed,
 * the catalog shows them as if they had: the volume with its claimRef, the claim with
 * its selected node. So the next pod does not take what this one has.
 *
 *	assume ------> forget: as it was before
 *	       `-----> settle: it is being written; the objects stay as assumed until
 *	               they are put with the decision in them
 *
 * An object that is put without a decision while one is assumed keeps the assumption;
 * one that has a decision of its own ends it.
 *
 * Decisions belong to a pod. Pods that share a claim may assume the same about it.
 *Whoever binds the pod writes what assumed_get gives, and settles then: a volume's
 *claimRef, or the claim's annotation volume.kubernetes.io/selected-node.
 */
#ifndef SHARDSCHED_SNAPSHOT_ASSUMED_H
#define SHARDSCHED_SNAPSHOT_ASSUMED_H

#include "shardsched/snapshot/catalog.h"
#include "store/base/map.h"

enum { ASSUMED_MAX = 1 << 20 };

struct assumed_pod {
	uint32_t namespace;
	uint32_t name;
	uint32_t uid; /* 0: not said */
};

struct assumed {
	struct pl_map_node by_pod;
	struct {
		struct assumed_pod pod;
		uint32_t ordinal; /* from 0 on */
	} key;
	struct catalog_key claim;
	uint32_t volume; /* that it gets; 0: it is provisioned */
	uint32_t node;   /* for which it is provisioned; 0 */
	uint64_t stamp;  /* of the object's assumption that it is part of */
};

/* The claim gets the volume, or is provisioned for the node: the other one is 0. What is
 * so already is no assumption. PL_NOTFOUND: there is no such object; PL_CONFLICT: it was
 * decided otherwise; PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code assumed_add(struct catalog *catalog, struct assumed_pod pod,
                                      const struct assumed *decision, struct pl_err *err);
void assumed_forget(struct catalog *catalog, struct assumed_pod pod);
void assumed_commit(struct catalog *catalog, struct assumed_pod pod);

/* Whether all that the pod decided is still so. */
bool assumed_holds(const struct catalog *catalog, struct assumed_pod pod);

/* The decisions of a pod, as they came; ordinals are dense. NULL: no more. */
const struct assumed *assumed_get(const struct catalog *catalog, struct assumed_pod pod,
                                  uint32_t ordinal);

#endif
