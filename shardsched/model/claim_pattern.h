/*
 * Claims that are named after their pod: "data-db-0" of the pod db-0, as the claim
 * templates of a StatefulSet name them. With such a name in its class each replica would
 * be a class of its own. So the class has a pattern, "data-*", and whoever looks for the
 * claim puts the pod's name in. What is true of one pod of the class is not true of all
 * then (SPEC_BY_NAME), but what is kept for them is kept once.
 */
#ifndef SHARDSCHED_MODEL_CLAIM_PATTERN_H
#define SHARDSCHED_MODEL_CLAIM_PATTERN_H

#include "shardsched/model/spec.h"
#include "shardsched/model/strings.h"

/* No object has a longer name. */
enum { CLAIM_NAME_MAX = 253 };

/* The claim's name with '*' where the pod's stands in it, between hyphens or ends; out
 * has room for claim.len bytes. 0: it is not named after the pod. */
size_t claim_pattern_make(struct pl_span claim, struct pl_span pod, uint8_t *out);

/* The pattern with the pod's name put in. 0: it would be too long. */
size_t claim_pattern_expand(struct pl_span pattern, struct pl_span pod,
                            uint8_t out[CLAIM_NAME_MAX]);

/* The number of the name of a volume's claim, of a pod of that name. 0: nobody has that
 * name, so there is no such claim. */
uint32_t volume_claim_name(const struct strings *strings,
                           const struct spec_volume *volume, uint32_t pod);

#endif
