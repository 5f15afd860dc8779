/*
 * Pod info: one pod as its two keys show it, the spec and the state. What the shard has
 * decided is in the state; a pod without one waits to be decided about.
 */
#ifndef COORD_SERVICE_PODS_POD_INFO_H
#define COORD_SERVICE_PODS_POD_INFO_H

#include "shardsched/records/pod_state.h"

/* The phase of a pod with malformed keys. */
#define POD_PHASE_MALFORMED "malformed"

struct pod_info {
	struct pl_span namespace, name;
	uint32_t partition;
	bool has_spec, has_state;
	bool gated;           /* the spec has scheduling gates */
	bool selected;        /* the spec has the labels that are asked for */
	struct pl_span state; /* value of the state's key; empty without has_state */
};

/* *phase: a static word, "Pending", "Bound", ...; *out: the state, all zero when there is
 * none. PL_NOMEM; any other code: the pod is malformed, err says why, and *phase is
 * POD_PHASE_MALFORMED. *out borrows from the arena and from info. */
PL_NODISCARD enum pl_code pod_info_state(const struct pod_info *info,
                                         struct pl_arena *arena, struct pod_state *out,
                                         const char **phase, struct pl_err *err);

#endif
