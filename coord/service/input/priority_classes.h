/*
 * A class table: the PriorityClasses of a store, by which the priority of a pod is set
 * when it comes in, as Kubernetes' admission does. Shards read a pod's spec.priority and
 * no classes.
 *
 * It is filled from a list or a watch of /objects/scheduling.k8s.io/priorityclasses/. The
 * two classes that every cluster has are known without being put.
 */
#ifndef COORD_SERVICE_INPUT_PRIORITY_CLASSES_H
#define COORD_SERVICE_INPUT_PRIORITY_CLASSES_H

#include "shardsched/expand/expand.h"

struct class_table;

/* NULL: no memory. */
struct class_table *class_table_new(void);
/* NULL does nothing. */
void class_table_free(struct class_table *table);

/* The class has that JSON from now on. PL_INVALID, PL_LIMIT: err names the field, and
 * nothing has changed; PL_NOMEM. */
PL_NODISCARD enum pl_code class_table_put(struct class_table *table, struct pl_span json,
                                          struct pl_err *err);
void class_table_drop(struct class_table *table, struct pl_span name);

/* The priority as a pod says it. Empty: the pod does not. */
struct class_ask {
	struct pl_span pod;    /* the pod's name, for messages */
	struct pl_span named;  /* spec.priorityClassName */
	struct pl_span policy; /* spec.preemptionPolicy */
	bool has_priority;
	int64_t priority; /* spec.priority */
};

/* The priority as the pod's spec is to have it. The name is borrowed from the table or from the ask. */
struct class_answer {
	int32_t priority;
	struct pl_span named;  /* empty: no class */
	struct pl_span policy; /* "Never" or "PreemptLowerPriority" */
};

/* PL_DENIED: the pod is refused, and err says why in Kubernetes' words: pods "x" is
 * forbidden: no PriorityClass with name foo was found. */
PL_NODISCARD enum pl_code class_table_admit(const struct class_table *table,
                                            const struct class_ask *ask,
                                            struct class_answer *out, struct pl_err *err);

/* For expansion: adds all classes. */
PL_NODISCARD enum pl_code class_table_expand(const struct class_table *table,
                                             struct expand *expand, struct pl_err *err);

#endif
