/*
 * A pod: who it is, where it is, and its class. Small, since a million of them
 * wait; the JSON that it came from is kept by whoever has to print it (object.h).
 */
#ifndef SHARDSCHED_MODEL_POD_H
#define SHARDSCHED_MODEL_POD_H

#include "shardsched/model/spec.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

struct pod {
	const struct spec *spec; /* has the namespace */
	uint32_t name;
	uint32_t uid;       /* 0: not said */
	uint32_t node;      /* where it is bound; 0: nowhere */
	uint32_t nominated; /* where others are to make room for it */
	int64_t created_ms; /* 0: not said, as the others */
	int64_t started_ms;
	int64_t deleted_ms; /* it is being deleted */
	uint32_t index;     /* of the labels that stand beside the class: identity.h */
	uint8_t beside;     /* which these are */
	uint8_t phase;      /* enum pod_phase */
	bool preempted;     /* its deletion makes room for another pod */
};

/* From a draft; holds references until pod_drop. Errors as of spec_make. */
PL_NODISCARD enum pl_code pod_make(struct model *model, struct pl_arena *arena,
                                   const struct pod_draft *draft, struct pod *out,
                                   struct pl_err *err);
/* Another one like it, with references of its own. */
struct pod pod_copy(struct model *model, const struct pod *pod);
/* Labels that stand beside its class and are asked for by now go into it. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_promote_labels(struct model *model, struct pl_arena *arena,
                                             struct pod *pod, struct pl_err *err);
/* A zeroed one, too. */
void pod_drop(struct model *model, struct pod *pod);

static inline struct identity pod_identity(const struct pod *pod)
{
	return (struct identity){pod->index, pod->beside};
}

/* It takes no room any more. */
static inline bool pod_is_terminal(const struct pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

#endif
