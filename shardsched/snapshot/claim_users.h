/*
 * Claim users: how many pods on nodes name each claim. The snapshot updates the counts
 * with its pods, so the users of a claim are never searched for.
 *
 * A claim counts when a pod names it as a volume, whether the claim exists or not. Claims
 * of ephemeral volumes belong to one pod and are not counted.
 */
#ifndef SHARDSCHED_SNAPSHOT_CLAIM_USERS_H
#define SHARDSCHED_SNAPSHOT_CLAIM_USERS_H

#include "shardsched/model/spec.h"
#include "shardsched/snapshot/catalog.h"

/* A pod of that spec and name came to a node. PL_NOMEM, PL_LIMIT: nothing changed. A pod
 * without claims costs nothing. */
PL_NODISCARD enum pl_code claims_pod_add(struct catalog *catalog, const struct spec *spec,
                                         uint32_t name, struct pl_err *err);
void claims_pod_remove(struct catalog *catalog, const struct spec *spec, uint32_t name);

/* Number of pods on nodes that name the claim. */
uint32_t claims_users(const struct catalog *catalog, struct catalog_key claim);

#endif
