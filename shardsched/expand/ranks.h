/* The PriorityClasses that came along with the pods, and what a pod's priority is by
 * them. */
#ifndef SHARDSCHED_EXPAND_RANKS_H
#define SHARDSCHED_EXPAND_RANKS_H

#include "shardsched/model/cluster.h"

enum { RANKS_MAX = 1024 };

/* May not be moved. */
struct ranks {
	struct model *model;
	struct priority_class *at;
	uint32_t count;
};

void ranks_init(struct ranks *ranks, struct model *model);
void ranks_done(struct ranks *ranks);

/* A PriorityClass as JSON; one of the same name is replaced. PL_INVALID, PL_LIMIT with
 * the field; PL_NOMEM. */
PL_NODISCARD enum pl_code ranks_put(struct ranks *ranks, struct pl_arena *arena,
                                    struct pl_span json, struct pl_err *err);

/* What is to be written into a pod's spec. */
struct rank {
	bool set; /* priority, which was not said */
	int32_t priority;
	bool never;           /* preemptionPolicy "Never", which was not said */
	struct pl_span named; /* priorityClassName, which was not said; empty: none */
};

/* spec: a pod's, scanned JSON, an object. PL_INVALID with the field: a class that did not
 * come along, where no priority is said either; a priority that is not the class's. */
PL_NODISCARD enum pl_code ranks_judge(const struct ranks *ranks, struct pl_span spec,
                                      struct rank *out, struct pl_err *err);

#endif
