/*
 * One rule about other pods: those that a selector finds in some namespaces, seen
 * over a topology. Shared, and so what a snapshot counts by.
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
	uint32_t namespace[]; /* by number */
};

/* With a reference. own: the pod's namespace, which is meant when none is named. */
const struct pod_term *pod_term_make(struct maker *maker,
                                     const struct draft_pod_term *draft,
                                     struct pl_span own);

/* namespace_labels: those of that namespace; NULL, as if it had none, when it is not
 * known. */
bool pod_term_sees(const struct strings *strings, const struct pod_term *term,
                   uint32_t namespace, const struct labels *namespace_labels);
/* A pod of that namespace with those labels. */
bool pod_term_matches(const struct strings *strings, const struct pod_term *term,
                      uint32_t namespace, const struct labels *namespace_labels,
                      const struct labels *labels);

#endif
