/*
 * A pod: its identity, its place, and its class. A pod is small, since a million of them
 * may wait; the JSON it came from is kept by the code that prints it (object.h).
 */
#ifndef SHARDSCHED_MODEL_POD_H
#define SHARDSCHED_MODEL_POD_H

#include "shardsched/model/spec.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

struct pod {
	const struct spec *spec; /* has the namespace */
	uint32_t name;
	uint32_t uid;       /* 0: absent */
	uint32_t node;      /* the node it is bound to; 0: none */
	uint32_t nominated; /* the node on which room is being made for it; 0: none */
	int64_t created_ms; /* 0: absent; so are the two below */
	int64_t started_ms;
	int64_t deleted_ms;    /* deletionTimestamp */
	uint32_t index;        /* the index in the identity labels (identity.h) */
	uint8_t identity_keys; /* the labels that the class leaves out: bits of enum
			     * identity_key */
	uint8_t phase;         /* enum pod_phase */
	bool preempted;        /* the deletion makes room for another pod */
};

/* Makes a pod from a draft; it holds references until pod_drop. Errors as of
 * spec_make. */
PL_NODISCARD enum pl_code pod_make(struct model *model, struct pl_arena *arena,
                                   const struct pod_draft *draft, struct pod *out,
                                   struct pl_err *err);
/* Copies the pod; the copy has references of its own. */
struct pod pod_copy(struct model *model, const struct pod *pod);
/* Moves identity labels that selectors ask for by now into the pod's class. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_promote_labels(struct model *model, struct pl_arena *arena,
                                             struct pod *pod, struct pl_err *err);
/* A zeroed pod may be dropped, too. */
void pod_drop(struct model *model, struct pod *pod);

static inline struct identity_labels pod_identity(const struct pod *pod)
{
	return (struct identity_labels){pod->index, pod->identity_keys};
}

/* The pod has run to its end and takes no room. */
static inline bool pod_is_terminal(const struct pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

#endif
