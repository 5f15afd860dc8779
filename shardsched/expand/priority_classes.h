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

/* A PriorityClass as JSON; one of the same name is replaced. PL_INVALID, PL_LIMIT with
 * the field; PL_NOMEM. */
PL_NODISCARD enum pl_code priority_classes_put(struct priority_classes *classes,
                                               struct pl_arena *arena,
                                               struct pl_span json, struct pl_err *err);

/* What is to be written into a pod's spec. */
struct pod_priority {
	bool set; /* priority, which was not said */
	int32_t priority;
	bool never;           /* preemptionPolicy "Never", which was not said */
	struct pl_span named; /* priorityClassName, which was not said; empty: none */
};

/* spec: a pod's, scanned JSON, an object. PL_INVALID with the field: a class that did not
 * come along, where no priority is said either; a priority that is not the class's. */
PL_NODISCARD enum pl_code priority_classes_resolve(const struct priority_classes *classes,
                                                   struct pl_span spec,
                                                   struct pod_priority *out,
                                                   struct pl_err *err);

#endif
