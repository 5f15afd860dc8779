/*
 * The claims behind a pod's volumes: those that it names, and those of its ephemeral
 * volumes, which are named after pod and volume and belong to the pod. Some names are
 * known with the pod's own only (own_name.h).
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_CLAIMS_H
#define SHARDSCHED_PLUGINS_VOLUME_CLAIMS_H

#include "shardsched/plugins/plugins.h"

/* Whose volumes they are. */
struct claim_owner {
	const struct spec *spec;
	uint32_t name;
	uint32_t uid;
};

/* A hint may be asked about a class, whoever its pods are. */
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

/* Whether the spec has a volume of those kinds: a mask of 1 << enum draft_source. */
bool spec_has_volumes(const struct spec *spec, unsigned kinds);
enum { CLAIM_KINDS = 1 << DRAFT_CLAIM | 1 << DRAFT_EPHEMERAL };

/* NULL: there is none. Of a volume that has a claim. */
const struct claim *volume_claim(const struct snapshot *snapshot,
                                 struct claim_owner owner,
                                 const struct spec_volume *volume);

/* That there is none. */
struct reason volume_claim_missing(struct claim_owner owner,
                                   const struct spec_volume *volume);

/* Whether that claim of an ephemeral volume was made for the pod. */
static inline bool claim_is_for(const struct claim *claim, struct claim_owner owner)
{
	return claim->owner_uid != 0 && claim->owner_uid == owner.uid;
}

/* NULL: it names none, or none that there is. */
const struct volume *claim_volume(const struct snapshot *snapshot,
                                  const struct claim *claim);
const struct storage_class *claim_class(const struct snapshot *snapshot,
                                        const struct claim *claim);

/* A number that changes when anything that the volume plugins read in the catalog does.
 * 0 for pods without claims. */
uint64_t volume_claims_epoch(const struct plugin_call *call);
/* The same for those who read what other pods' claims lead to: never 0. */
uint64_t claims_epoch_of_all(const struct plugin_call *call);

/* Hint for all of them: only an event about a claim of the pod's can help if it is about
 * a claim. Whoever tells of one gives the number of its name as object, that of its
 * namespace as detail; 0: not said. */
bool claims_hint(const struct plugin_call *call, const struct queue_event *event);

#endif
