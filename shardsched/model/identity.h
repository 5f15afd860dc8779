/*
 * Labels that tell the replicas of a workload apart: the pod's name, its index. With
 * them in the class each replica of a StatefulSet or an indexed Job would be a class of
 * its own. So they stand beside the class (struct identity, in the pod) as long as no
 * selector that is kept in the model can tell the difference:
 *
 *	In, NotIn              pods with one of the values have the label in their class;
 *	                       to others it is as if they had no such label
 *	Exists, DoesNotExist   all pods that have the label have it in their class
 *
 * A selector may come when there are pods that have the label beside: `named` grows then,
 * and whoever keeps pods joins (spec_promote_labels) those that are concerned before anything is
 * judged. A label that stands in a class is never wrong, so it stays there when the
 * selector is gone.
 */
#ifndef SHARDSCHED_MODEL_IDENTITY_H
#define SHARDSCHED_MODEL_IDENTITY_H

#include "shardsched/model/draft.h"
#include "shardsched/model/strings.h"
#include "store/base/arena.h"
#include "store/base/num.h"

/* X(NAME, key). The value of the first is the pod's name; of the others it is one
 * index, a number as pl_num_u64 reads it: what is none stays in the class. */
#define IDENTITY_MAP(X)                                   \
	X(POD_NAME, "statefulset.kubernetes.io/pod-name") \
	X(POD_INDEX, "apps.kubernetes.io/pod-index")      \
	X(JOB_INDEX, "batch.kubernetes.io/job-completion-index")

#define IDENTITY_ENUM(name, key) IDENTITY_##name,
enum identity_key { IDENTITY_MAP(IDENTITY_ENUM) IDENTITY_KEYS };

/* Values that are asked for are told apart up to so many; beyond, it is as if all
 * were. */
enum { IDENTITY_VALUES_MAX = 64 };

struct identity_value {
	uint32_t text; /* held by the selectors */
	uint32_t uses; /* rows of selectors */
};

/* What selectors ask for. */
struct identities {
	struct {
		uint32_t whole; /* rows that any value may matter to */
		uint32_t values;
		struct identity_value value[IDENTITY_VALUES_MAX];
	} key[IDENTITY_KEYS];
	uint64_t named; /* how often something began to be asked for */
};

/* Of a pod: what stands beside its class. */
struct identity {
	uint32_t index;
	uint32_t keys; /* 1 << enum identity_key | ... */
};

struct model;
struct selector;

/* A selector is kept from now on; it is not any more. */
void identity_add_selector(struct model *model, const struct selector *selector);
void identity_remove_selector(struct model *model, const struct selector *selector);

/* The labels of a pod without those that may stand beside its class. At least one
 * remains: to budgets a pod without labels is another thing. */
struct draft_pairs identity_split(const struct model *model, struct pl_arena *arena,
                                  const struct draft_meta *meta, struct identity *beside);

/* Those that stand beside, of a pod of that name, and are asked for by now. */
uint32_t identity_due_labels(const struct model *model, uint32_t name,
                             const struct identity *beside);

/* The key, and the value for a pod of that name, which lies in room or is the name. */
struct pl_span identity_key_text(enum identity_key key);
struct pl_span identity_value(const struct model *model, enum identity_key key,
                              uint32_t name, const struct identity *beside,
                              char room[PL_NUM_TEXT_SIZE]);

#endif
