/*
 * Expansion: makes pods out of the objects that people write, Pod, Deployment,
 * ReplicaSet, StatefulSet and Job, one object at a time, its pods one after the other.
 *
 *	struct expand expand;
 *
 *	expand_init(&expand, PL_SPAN_LIT("default"));
 *	expand_class(...) each PriorityClass of the input
 *	expand_begin(&expand, source, json, &err) each object
 *		while (expand_next(&expand, &pod)) ...
 *	expand_done(&expand);
 *
 * Invariant: the same object gives the same pods, names and uids included, at any time
 * and in any process:
 *
 *	Deployment web    the ReplicaSet web-<hash of the template>, its pods -0 ... -n-1
 *	ReplicaSet rs     rs-0 ...
 *	StatefulSet db    db-0 ..., from spec.ordinals.start
 *	Job load          load-0 ..., as many as completions says, else parallelism
 *
 * A pod is validated as the API server validates it, and written without white space,
 * without status and the fields that only a server sets, with its namespace, uid, and the
 * priority of its class. The first pod of a template is validated for all of them. So is
 * the first of several Pods in a row that differ in their names alone, as files of many
 * pods mostly do.
 *
 * Pure, except for the heap.
 */
#ifndef SHARDSCHED_EXPAND_EXPAND_H
#define SHARDSCHED_EXPAND_EXPAND_H

#include "shardsched/expand/json_template.h"
#include "shardsched/expand/priority_classes.h"
#include "shardsched/model/pod.h"

/* X(SOURCE, kind, group) */
#define EXPAND_SOURCE_MAP(X)                           \
	X(POD, "Pod", "")                              \
	X(DEPLOYMENT, "Deployment", "apps")            \
	X(REPLICA_SET, "ReplicaSet", "apps")           \
	X(STATEFUL_SET, "StatefulSet", "apps")         \
	X(JOB, "Job", "batch")                         \
	X(CLASS, "PriorityClass", "scheduling.k8s.io") \
	X(BUDGET, "PodDisruptionBudget", "policy")

#define EXPAND_SOURCE_ENUM(source, kind, group) EXPAND_##source,
enum expand_source { EXPAND_SOURCE_MAP(EXPAND_SOURCE_ENUM) EXPAND_NOTHING };

enum {
	EXPAND_PODS_MAX = 2000000,      /* of one object */
	EXPAND_POD_BYTES_MAX = 1 << 20, /* of one written pod */
	EXPAND_NAME_SIZE = 280,
};

/*
 * The kind of the last object. Files mostly have Pods in a row that differ in their names
 * alone, and a Pod like the last one is not read again.
 *
 *	OTHER --a valid Pod--> POD --a Pod like it--> SAME
 *	  ^                     |                      |
 *	  +---any other object--+----------------------+
 */
enum expand_last {
	EXPAND_LAST_OTHER,
	EXPAND_LAST_POD,
	EXPAND_LAST_SAME, /* and the one before differed in its name alone */
};

/* May not be moved. */
struct expand {
	struct model model;
	struct pl_arena arena; /* reset for each object */
	struct priority_classes classes;
	struct pl_span namespace; /* default namespace of objects without one */
	struct json_template json_template;
	struct json_template candidate; /* of a Pod that is compared with the last one */
	enum expand_last last;
	struct pl_buf raw;  /* text of the pod, with placeholders and white space in it */
	struct pl_buf json; /* of the last pod */
	/* The current object. */
	enum expand_source source;
	struct pl_span in_namespace, base; /* base: the first part of the pods' names */
	uint32_t first, next, count;
	struct pl_span
		hash;   /* of everything that its pods have in common; in the arena */
	struct pod pod; /* the first pod; afterwards the last one that was returned */
	char name[EXPAND_NAME_SIZE];
};

/* namespace is borrowed. */
void expand_init(struct expand *expand, struct pl_span namespace);
void expand_done(struct expand *expand);

/* The kind of the object, by its kind and API group; json was scanned. EXPAND_NOTHING: it
 * is not expanded; from EXPAND_CLASS on it has no pods. */
enum expand_source expand_source_of(struct pl_span json);

PL_NODISCARD enum pl_code expand_class(struct expand *expand, struct pl_span json,
                                       struct pl_err *err);

/* PL_INVALID, PL_LIMIT: the object is refused, with its kind and name, the field and
 * the reason; PL_NOMEM. After a failure the object has no pods. source is one that has
 * pods. */
PL_NODISCARD enum pl_code expand_begin(struct expand *expand, enum expand_source source,
                                       struct pl_span json, struct pl_err *err);

/* Whether the current object is a Pod that differs from the last one in its name
 * alone. */
static inline bool expand_is_same(const struct expand *expand)
{
	return expand->last == EXPAND_LAST_SAME;
}

/* The number of pods, after expand_begin. */
static inline uint32_t expand_count(const struct expand *expand)
{
	return expand->count;
}

struct expand_pod {
	struct pl_span namespace, name, json;
	/* In expand's model. The spec is that of the object's first pod; only identity
	 * labels may differ. */
	const struct pod *pod;
};

/* PL_NOTFOUND: there are no more pods, and err is unchanged. The pod is borrowed until
 * the next call. */
PL_NODISCARD enum pl_code expand_next(struct expand *expand, struct expand_pod *out,
                                      struct pl_err *err);

const char *expand_source_word(enum expand_source source);

#endif
