/*
 * The claims behind a pod's volumes: claims that the pod names, and claims of its
 * ephemeral volumes, which are named after pod and volume and belong to the pod. Some
 * names are known only together with the pod's (own_name.h).
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_CLAIMS_H
#define SHARDSCHED_PLUGINS_VOLUME_CLAIMS_H

#include "shardsched/plugins/plugins.h"

/* The pod that the volumes belong to. */
struct claim_owner {
	const struct spec *spec;
	uint32_t name;
	uint32_t uid;
};

/* Whether claim names are known: a hint may be asked about a class without a pod. */
static inline bool volume_claims_known(const struct plugin_call *call)
{
	return call->pod != NULL || (call->spec->flags & SPEC_BY_NAME) == 0;
}

static inline struct claim_owner claims_of_call(const struct plugin_call *call)
{
	struct claim_owner owner = {.spec = call->spec};

	if (call->pod != NULL) {
		owner.name = call->pod->name;
		owner.uid = call->pod->uid;
	}
	return owner;
}

static inline struct claim_owner claims_of_placed(const struct placed_pod *pod)
{
	return (struct claim_owner){pod->view->spec, pod->name, pod->uid};
}

static inline bool volume_has_claim(const struct spec_volume *volume)
{
	return volume->kind == DRAFT_CLAIM || volume->kind == DRAFT_EPHEMERAL;
}

/* Whether the spec has a volume of one of the kinds: a mask of 1 << enum draft_source. */
bool spec_has_volumes(const struct spec *spec, unsigned kinds);
enum { CLAIM_KINDS = 1 << DRAFT_CLAIM | 1 << DRAFT_EPHEMERAL };

/* volume must have a claim. NULL: the claim is not there. */
const struct claim *volume_claim(const struct snapshot *snapshot,
                                 struct claim_owner owner,
                                 const struct spec_volume *volume);

/* The reason for a missing claim. */
struct reason volume_claim_missing(struct claim_owner owner,
                                   const struct spec_volume *volume);

/* Whether the claim of an ephemeral volume was made for the pod. */
static inline bool claim_is_for(const struct claim *claim, struct claim_owner owner)
{
	return claim->owner_uid != 0 && claim->owner_uid == owner.uid;
}

/* NULL: the claim names no volume, or one that is not there. */
const struct volume *claim_volume(const struct snapshot *snapshot,
                                  const struct claim *claim);
const struct storage_class *claim_class(const struct snapshot *snapshot,
                                        const struct claim *claim);

/* A number that changes with everything that the volume plugins read in the catalog; 0
 * for pods without claims. */
uint64_t volume_claims_epoch(const struct plugin_call *call);
/* The same for plugins that also follow other pods' claims: never 0. */
uint64_t claims_epoch_of_all(const struct plugin_call *call);

/* Hint of all volume plugins: an event about a claim helps only if the claim is the
 * pod's. The event's object is the number of the claim's name, detail that of its
 * namespace; 0: not given. */
bool claims_hint(const struct plugin_call *call, const struct queue_event *event);

#endif
