/*
 * A pod term: one rule about other pods. It finds pods by a selector in some namespaces,
 * and sees them by the domains of a topology key. Interned, so a snapshot counts by its
 * address.
 */
#ifndef SHARDSCHED_MODEL_POD_TERM_H
#define SHARDSCHED_MODEL_POD_TERM_H

#include "shardsched/model/selector.h"

struct pod_term {
	struct intern_item item;
	uint32_t zero;
	const struct selector *selector;
	const struct selector *namespace_selector; /* SELECTOR_NOTHING when null */
	uint32_t topology_key;
	uint32_t count;
	uint32_t namespace[]; /* by number, without duplicates */
};

/* Returns the value with a reference. own: the pod's namespace, which counts when the
 * term names none. */
const struct pod_term *pod_term_make(struct maker *maker,
                                     const struct draft_pod_term *draft,
                                     struct pl_span own);

/* namespace_labels: the labels of that namespace; NULL, as if it had none, when they are
 * not known. */
bool pod_term_sees(const struct strings *strings, const struct pod_term *term,
                   uint32_t namespace, const struct labels *namespace_labels);
/* Whether the term finds a pod with those labels in that namespace. */
bool pod_term_matches(const struct strings *strings, const struct pod_term *term,
                      uint32_t namespace, const struct labels *namespace_labels,
                      const struct labels *labels);

#endif
