/* A set of labels, shared: also a node selector of a pod, which is one to match. */
#ifndef SHARDSCHED_MODEL_LABELS_H
#define SHARDSCHED_MODEL_LABELS_H

#include "shardsched/model/model.h"

struct label {
	uint32_t key;
	uint32_t value; /* never 0; the empty value has a number, too */
};

struct labels {
	struct intern_item item;
	uint32_t count;
	struct label row[]; /* by key, without duplicates */
};

/* Returns the set with a reference; the empty set is a value, too. When a key comes twice
 * the last value counts. */
const struct labels *labels_make(struct maker *maker, struct draft_pairs pairs);

/* The number of the key's value; 0: the key is absent. */
uint32_t labels_get(const struct labels *labels, uint32_t key);

/* Whether labels contains all labels of the other set. */
bool labels_include(const struct labels *labels, const struct labels *these);

#endif
