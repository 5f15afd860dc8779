/* Shared by the parts of pod_change.h. pod_judge.c says which kind a change is, by the
 * values that its client saw. */
#ifndef COORD_SERVICE_PODS_POD_JUDGE_H
#define COORD_SERVICE_PODS_POD_JUDGE_H

#include "coord/service/pods/pod_change.h"

#define POD_BATCH_NO_NODE UINT32_MAX

/* A key of the node; its at is NULL without memory. */
struct pl_span pod_batch_node_key(struct pl_arena *arena, enum keys_kind kind,
                                  const struct batch_node *node);

/* Sets kind, relabels, refusal and why. placed: the cluster and node of the alloc that the
 * change concerns, borrowed from the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_judge(struct pod_batch *batch, struct batch_pod *pod,
                                    struct pl_span at[2], struct pl_err *err);
/* PL_NOMEM. */
PL_NODISCARD enum pl_code pod_refuse(struct pod_batch *batch, struct batch_pod *pod,
                                     enum pod_refusal refusal, const char *why,
                                     struct pl_err *err);
/* The pod of a value, without validation; errors as of pod_parse. */
PL_NODISCARD enum pl_code pod_of_value(struct pod_batch *batch, struct pl_span value,
                                       struct pod *out, struct pl_err *err);

#endif
