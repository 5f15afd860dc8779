/*
 * A claim pattern: the name of a claim that contains its pod's name, "data-db-0" of the
 * pod db-0, as the claim templates of a StatefulSet make it. With such a name in its
 * class each replica would be a class of its own. So the class has the pattern "data-*",
 * and the pod's name is put in when the claim is looked up.
 *
 * A class with a pattern has the flag SPEC_BY_NAME: results that depend on the claim hold
 * for one pod of the class, everything else is still shared.
 */
#ifndef SHARDSCHED_MODEL_CLAIM_PATTERN_H
#define SHARDSCHED_MODEL_CLAIM_PATTERN_H

#include "shardsched/model/spec.h"
#include "shardsched/model/strings.h"

/* No object has a longer name. */
enum { CLAIM_NAME_MAX = 253 };

/* Writes the claim's name to out with '*' in place of the pod's name, which has to stand
 * between hyphens or ends; out has room for claim.len bytes. Returns the length; 0: the
 * claim is not named after the pod. */
size_t claim_pattern_make(struct pl_span claim, struct pl_span pod, uint8_t *out);

/* Writes the pattern with the pod's name put in. Returns the length; 0: the name would be
 * too long. */
size_t claim_pattern_expand(struct pl_span pattern, struct pl_span pod,
                            uint8_t out[CLAIM_NAME_MAX]);

/* The number of the name of the volume's claim, for the pod of that name. 0: no string
 * has that name, so the claim does not exist. */
uint32_t volume_claim_name(const struct strings *strings,
                           const struct spec_volume *volume, uint32_t pod);

#endif
