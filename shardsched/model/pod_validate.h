/*
 * Pod validation: the faults that the API server reports in a new pod (v1.28, default
 * feature gates), in all fields that scheduling reads: the same kind of fault at the same
 * field. Fields that only a kubelet reads (probes, mounts, security contexts) are not
 * validated.
 */
#ifndef SHARDSCHED_MODEL_POD_VALIDATE_H
#define SHARDSCHED_MODEL_POD_VALIDATE_H

#include "shardsched/model/pod_draft.h"
#include "shardsched/model/validate.h"

void pod_validate(const struct pod_draft *draft, enum validate_scope scope,
                  struct field_errors *out);

/* Parts of the validation; the path of v is spec. */
void pod_validate_containers(struct validate *v, const struct pod_draft *draft);
void pod_validate_resources(struct validate *v, const struct draft_amounts *limits,
                            const struct draft_amounts *requests);
void pod_validate_volumes(struct validate *v, const struct pod_draft *draft);
void pod_validate_affinity(struct validate *v, const struct pod_draft *draft);
void pod_validate_spreads(struct validate *v, const struct pod_draft *draft);

#endif
