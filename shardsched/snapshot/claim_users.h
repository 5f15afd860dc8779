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

/* A pod of that spec and name is on a node from now on. PL_NOMEM, PL_LIMIT: nothing
 * changed. Pods without claims cost nothing. */
PL_NODISCARD enum pl_code claims_pod_add(struct catalog *catalog, const struct spec *spec,
                                         uint32_t name, struct pl_err *err);
void claims_pod_remove(struct catalog *catalog, const struct spec *spec, uint32_t name);

/* Pods on nodes that name it. */
uint32_t claims_users(const struct catalog *catalog, struct catalog_key claim);

#endif
