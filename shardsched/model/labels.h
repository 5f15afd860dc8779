/* A set of labels, shared: also a node selector of a pod, which is one to match. */
#ifndef SHARDSCHED_MODEL_LABELS_H
#define SHARDSCHED_MODEL_LABELS_H

#include "shardsched/model/model.h"

struct label {
	uint32_t key;
	uint32_t value; /* never 0, also when it is empty */
};

struct labels {
	struct intern_item item;
	uint32_t count;
	struct label row[]; /* by key, each once */
};

/* With a reference; the empty set is a set too. Of a key that comes twice the last
 * counts. */
const struct labels *labels_make(struct maker *maker, struct draft_pairs pairs);

/* The value's number, 0: there is no such key. */
uint32_t labels_get(const struct labels *labels, uint32_t key);

/* Whether all of these are among them. */
bool labels_include(const struct labels *labels, const struct labels *these);

#endif
