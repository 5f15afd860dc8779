/*
 * Inside the counter.
 *
 *	space    a namespace with budgets
 *	kin      pods of a namespace with the same labels: covered by the same budgets
 *	pod      one of them: what it counts as, and since which state
 *	counted  a budget: sums over the kins that it covers
 */
#ifndef SHARDSCHED_BUDGET_COUNTER_INNER_H
#define SHARDSCHED_BUDGET_COUNTER_INNER_H

#include "shardsched/budget/counter.h"
#include "store/base/list.h"
#include "store/base/map.h"

struct budget_namespace {
	struct pl_map_node by_name;
	uint32_t name; /* held */
	struct pl_list budgets, label_sets;
	bool picked;  /* for the next list */
	bool listing; /* the list that is under way will bring all of its pods */
	bool known;   /* they are, and no list is under way that will bring them anew */
};

struct label_set {
	struct pl_map_node by_labels;
	struct label_set_key {
		const struct budget_namespace *namespace;
		const struct labels *labels; /* held */
	} key;
	struct pl_list of_namespace;
	struct counted_budget **budget;
	uint32_t budgets;
	uint32_t pods, expected, healthy;
};

struct counter_pod {
	struct pl_map_node by_name;
	uint32_t key[2];             /* namespace and name; held */
	struct label_set *label_set; /* NULL: its spec is not known */
	int64_t state_rev;
	uint16_t partition;             /* where its spec, or else its state, stands */
	uint16_t spec_seen, state_seen; /* generation of the list */
	bool over, healthy;             /* as its state says */
};

struct counted_budget {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace and name; held */
	struct budget_namespace *namespace;
	struct pl_list of_namespace;
	struct pl_list dirty;  /* to be looked at */
	struct pl_list noting; /* what it says depends on how far the view is */
	struct budget object;
	uint8_t *value; /* as it stands */
	size_t len;
	uint8_t *sent; /* as it is being written */
	size_t sent_len;
	int64_t rev;
	uint64_t next_ms;
	uint64_t expected, healthy;
	uint16_t seen;
	bool good;  /* its value makes sense */
	bool fresh; /* nobody has counted it */
	bool out;   /* a put is under way */
	bool gone;  /* and nobody else knows it any more */
};

struct counter {
	struct model model;
	struct pl_arena arena; /* of one value */
	struct pl_buf buf;
	struct pl_map budgets, namespaces, label_sets, pods;
	struct pl_list dirty, noting;
	struct pl_list gone; /* by dirty */
	uint32_t pods_max;
	uint16_t budgets_seen, pods_seen;
	bool listing; /* pods */
	int64_t view_rev;
	uint64_t next_ms;
	uint64_t stale_ms; /* until then the view may catch up; 0: it need not */
};

/* counter.c */
/* It has that value since that revision. PL_NOMEM, or it makes no sense. */
PL_NODISCARD enum pl_code counted_budget_set(struct counter *counter,
                                             struct counted_budget *budget,
                                             const struct kv_record *record,
                                             struct pl_err *err);
void counted_budget_free(struct counter *counter, struct counted_budget *budget);
void counted_budget_touch(struct counter *counter, struct counted_budget *budget);
struct budget_namespace *namespace_find(const struct counter *counter,
                                        struct pl_span name);

/* counter_pods.c */
struct counter_pod *pod_of(const struct counter *counter, uint32_t namespace,
                           struct pl_span name);
/* Which budgets of the space cover it, found out anew. */
PL_NODISCARD enum pl_code label_set_match(struct counter *counter,
                                          struct label_set *label_set);
/* Its pods, and what follows from them, are forgotten. */
void pods_forget(struct counter *counter, const struct budget_namespace *namespace);

#endif
