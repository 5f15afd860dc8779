/*
 * Assumed decisions about claims, which the objects do not show yet: this claim gets that
 * volume, or is to be provisioned for that node. Until the objects come back changed, the
 * catalog shows them as if they had: the volume with its claimRef, the claim with its
 * selected node. So the next pod does not take the same volume.
 *
 *	assume ------> forget: the objects are as they were before
 *	       `-----> commit: the decision is being written; the objects stay as assumed
 *	               until they are put with the decision in them
 *
 * Invariants: an object that is put without a decision keeps its assumption; an object
 * that is put with a decision of its own ends the assumption. A decision belongs to one
 * pod; pods that share a claim may assume the same about it.
 *
 * The code that binds the pod writes what assumed_get gives, a volume's claimRef or the
 * claim's annotation volume.kubernetes.io/selected-node, and then calls assumed_commit.
 */
#ifndef SHARDSCHED_SNAPSHOT_ASSUMED_H
#define SHARDSCHED_SNAPSHOT_ASSUMED_H

#include "shardsched/snapshot/catalog.h"
#include "store/base/map.h"

enum { ASSUMED_MAX = 1 << 20 };

struct assumed_pod {
	uint32_t namespace;
	uint32_t name;
	uint32_t uid; /* 0: absent */
};

struct assumed {
	struct pl_map_node by_pod;
	struct {
		struct assumed_pod pod;
		uint32_t ordinal; /* counts the pod's decisions from 0 */
	} key;
	struct catalog_key claim;
	uint32_t volume; /* the volume that the claim gets; 0: the claim is provisioned */
	uint32_t node;   /* the node for which the claim is provisioned; or 0 */
	uint64_t stamp;  /* stamp of the object's assumptions when this one was made */
};

/* The claim gets the volume, or is provisioned for the node; the other field is 0. What
 * the objects show already is no assumption. PL_NOTFOUND: the claim or the volume does
 * not exist; PL_CONFLICT: another decision was assumed; PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code assumed_add(struct catalog *catalog, struct assumed_pod pod,
                                      const struct assumed *decision, struct pl_err *err);
void assumed_forget(struct catalog *catalog, struct assumed_pod pod);
void assumed_commit(struct catalog *catalog, struct assumed_pod pod);

/* Whether all decisions of the pod are still in force. */
bool assumed_holds(const struct catalog *catalog, struct assumed_pod pod);

/* The decisions of a pod, in the order in which they were assumed; ordinals are dense.
 * NULL: no more. */
const struct assumed *assumed_get(const struct catalog *catalog, struct assumed_pod pod,
                                  uint32_t ordinal);

#endif
