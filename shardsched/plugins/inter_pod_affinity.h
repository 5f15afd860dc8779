/* Shared by filter and score of InterPodAffinity. */
#ifndef SHARDSCHED_PLUGINS_INTER_POD_AFFINITY_H
#define SHARDSCHED_PLUGINS_INTER_POD_AFFINITY_H

#include "shardsched/plugins/plugins.h"

struct inter_pod_args {
	int32_t hard_weight; /* score that required affinity of placed pods adds */
	/* preferences of placed pods do not count for pods without any */
	bool ignore_others;
};

struct inter_pod_tally {
	struct tally *tally;
	int64_t weight; /* of a preference; negative for anti-affinity */
};

/* Class state: the tallies of the pod's own terms. Required affinity (all terms together,
 * by topology key) comes first, then required anti-affinity, then preferences. */
struct inter_pod_class {
	struct inter_pod_tally *at;
	uint32_t affinity;
	uint32_t anti;
	uint32_t soft;
};

static inline const struct inter_pod_tally *
inter_pod_anti(const struct inter_pod_class *class_state)
{
	return class_state->at + class_state->affinity;
}

static inline const struct inter_pod_tally *
inter_pod_soft(const struct inter_pod_class *class_state)
{
	return class_state->at + class_state->affinity + class_state->anti;
}

/* For labels with few domains: what each domain adds to a score. */
struct inter_pod_table {
	const struct label_column *column;
	int64_t *score; /* by number of the domain */
};

/* For labels with many domains: the part of one rule in the score of each node whose
 * domain has pods. */
struct inter_pod_sparse {
	const struct label_column *column;
	const uint64_t *nodes;
	const uint32_t *in_domain;
	int64_t weight;
};

struct inter_pod_state {
	struct inter_pod_table *table;
	struct inter_pod_sparse *sparse;
	uint32_t tables;
	uint32_t sparse_count;
	int64_t low, high; /* of the nodes scored so far */
};

enum verdict_code inter_pod_pre_score(const struct plugin_call *call,
                                      struct pl_bitset feasible, struct verdict *verdict);
bool inter_pod_score(const struct plugin_call *call, struct node_span span,
                     int64_t *score);
void inter_pod_normalize(const struct plugin_call *call, struct pl_bitset feasible,
                         int64_t *score);

#endif
