/*
 * Cluster objects: objects beside pods and nodes that scheduling reads. Namespace,
 * PriorityClass, PodDisruptionBudget, and the workloads by whose selectors pods are
 * spread by default.
 */
#ifndef SHARDSCHED_MODEL_CLUSTER_OBJECTS_H
#define SHARDSCHED_MODEL_CLUSTER_OBJECTS_H

#include "shardsched/model/budget_rule.h"
#include "shardsched/model/parse.h"
#include "shardsched/model/selector.h"

struct namespace
{
	uint32_t name;
	const struct labels *labels;
	bool deleted;
};

struct priority_class {
	uint32_t name;
	int32_t value;
	bool is_default;
	bool never; /* preemptionPolicy */
};

struct budget {
	uint32_t namespace;
	uint32_t name;
	const struct selector *selector; /* a null or empty one protects no pod */
	struct budget_rule rule;
	int32_t allowed; /* disruptions */
	int32_t healthy;
	int32_t desired;
	int32_t expected;
	uint32_t disrupted_count;
	uint32_t *disrupted; /* owned: names of pods whose eviction was already granted */
};

enum workload_kind {
	WORKLOAD_SERVICE,
	WORKLOAD_REPLICATION_CONTROLLER,
	WORKLOAD_REPLICA_SET,
	WORKLOAD_STATEFUL_SET,
};

struct workload {
	enum workload_kind kind;
	uint32_t namespace;
	uint32_t name;
	uint32_t uid;                    /* 0: the object has none */
	const struct selector *selector; /* SELECTOR_NOTHING when there is none */
};

/* A parsed object holds references until it is dropped; dropping a zeroed object does
 * nothing. */
PL_NODISCARD enum pl_code namespace_parse(struct parse *parse, struct pl_span json,
                                          struct namespace *out, struct pl_err *err);
void namespace_drop(struct model *model, struct namespace *namespace);

PL_NODISCARD enum pl_code priority_class_parse(struct parse *parse, struct pl_span json,
                                               struct priority_class *out,
                                               struct pl_err *err);
void priority_class_drop(struct model *model, struct priority_class *priority);

PL_NODISCARD enum pl_code budget_parse(struct parse *parse, struct pl_span json,
                                       struct budget *out, struct pl_err *err);
void budget_drop(struct model *model, struct budget *budget);
/* Whether the budget protects a pod with that name and those labels in the budget's
 * namespace. The rule is that of kube-scheduler's preemption: an empty selector protects
 * no pod, and a pod whose eviction was granted is not protected. */
bool budget_protects(const struct strings *strings, const struct budget *budget,
                     uint32_t pod, const struct labels *labels);
/* Whether the budget counts a pod with these labels in its namespace. The rule is that of
 * the eviction API: an empty selector covers every pod. */
bool budget_covers(const struct strings *strings, const struct budget *budget,
                   const struct labels *labels);

PL_NODISCARD enum pl_code workload_parse(struct parse *parse, enum workload_kind kind,
                                         struct pl_span json, struct workload *out,
                                         struct pl_err *err);
void workload_drop(struct model *model, struct workload *workload);

#endif
