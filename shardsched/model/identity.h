/*
 * Identity labels: labels that tell the replicas of a workload apart, the pod's name and
 * its index. With them in the class each replica of a StatefulSet or an indexed Job would
 * be a class of its own. So they are kept in the pod (struct identity_labels) and left out of
 * its class as long as no selector in the model can tell the difference:
 *
 *	In, NotIn              the label is in the class of pods with one of the values;
 *	                       other pods count as pods without the label
 *	Exists, DoesNotExist   the label is in the class of all pods that have it
 *
 * A selector may come after pods whose label was left out. `named` grows then, and the
 * owner of the pods promotes their labels into their classes (spec_promote_labels) before
 * anything is decided. A label in a class is never wrong, so it stays there when the
 * selector goes.
 */
#ifndef SHARDSCHED_MODEL_IDENTITY_H
#define SHARDSCHED_MODEL_IDENTITY_H

#include "shardsched/model/draft.h"
#include "shardsched/model/strings.h"
#include "store/base/arena.h"
#include "store/base/num.h"

/* X(NAME, key). The value of the first label is the pod's name; the others have one index
 * as their value, a number as pl_num_u64 reads it. A label with another value stays in
 * the class. */
#define IDENTITY_MAP(X)                                   \
	X(POD_NAME, "statefulset.kubernetes.io/pod-name") \
	X(POD_INDEX, "apps.kubernetes.io/pod-index")      \
	X(JOB_INDEX, "batch.kubernetes.io/job-completion-index")

#define IDENTITY_ENUM(name, key) IDENTITY_##name,
enum identity_key { IDENTITY_MAP(IDENTITY_ENUM) IDENTITY_KEYS };

/* Values are told apart up to this number; beyond it every value counts as asked for. */
enum { IDENTITY_VALUES_MAX = 64 };

struct identity_value {
	uint32_t text; /* held by the selectors */
	uint32_t uses; /* rows of selectors */
};

/* The values that selectors ask for. */
struct identities {
	struct {
		uint32_t whole; /* rows for which every value counts */
		uint32_t values;
		struct identity_value value[IDENTITY_VALUES_MAX];
	} key[IDENTITY_KEYS];
	uint64_t named; /* grows when a value is first asked for */
};

/* The identity labels that a pod's class leaves out. */
struct identity_labels {
	uint32_t index;
	uint32_t keys; /* 1 << enum identity_key | ... */
};

struct model;
struct selector;

/* To be called when a selector enters the model, and when it leaves it. */
void identity_add_selector(struct model *model, const struct selector *selector);
void identity_remove_selector(struct model *model, const struct selector *selector);

/* Splits the identity labels off the labels of a pod. At least one label remains, since
 * an empty set of labels means something else to budgets. */
struct draft_pairs identity_split(const struct model *model, struct pl_arena *arena,
                                  const struct draft_meta *meta,
                                  struct identity_labels *identity);

/* The left-out labels of a pod with that name that selectors ask for by now: a bit for
 * each key. */
uint32_t identity_due_labels(const struct model *model, uint32_t name,
                             const struct identity_labels *identity);

/* The key of an identity label; and its value for a pod of that name, which is in room or
 * is the name itself. */
struct pl_span identity_key_text(enum identity_key key);
struct pl_span identity_value(const struct model *model, enum identity_key key,
                              uint32_t name, const struct identity_labels *identity,
                              char room[PL_NUM_TEXT_SIZE]);

#endif
