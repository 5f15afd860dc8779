/* The PriorityClasses that came along with the pods, and what a pod's priority is by
 * them. */
#ifndef SHARDSCHED_EXPAND_PRIORITY_CLASSES_H
#define SHARDSCHED_EXPAND_PRIORITY_CLASSES_H

#include "shardsched/model/cluster_objects.h"

enum { PRIORITY_CLASSES_MAX = 1024 };

/* May not be moved. */
struct priority_classes {
	struct model *model;
	struct priority_class *at;
	uint32_t count;
};

void priority_classes_init(struct priority_classes *classes, struct model *model);
void priority_classes_done(struct priority_classes *classes);

/* Adds a PriorityClass given as JSON; it replaces one of the same name. PL_INVALID,
 * PL_LIMIT with the field; PL_NOMEM. */
PL_NODISCARD enum pl_code priority_classes_put(struct priority_classes *classes,
                                               struct pl_arena *arena,
                                               struct pl_span json, struct pl_err *err);

/* The fields that are to be written into a pod's spec. */
struct pod_priority {
	bool set; /* priority, which the spec does not have */
	int32_t priority;
	bool never;           /* preemptionPolicy "Never", which the spec does not have */
	struct pl_span named; /* priorityClassName, which the spec does not have; empty:
			       * none */
};

/* spec: the scanned JSON object of a pod's spec. PL_INVALID with the field: the named
 * class is not in the input, and the spec has no priority; or the spec's priority is not
 * the class's. */
PL_NODISCARD enum pl_code priority_classes_resolve(const struct priority_classes *classes,
                                                   struct pl_span spec,
                                                   struct pod_priority *out,
                                                   struct pl_err *err);

#endif
