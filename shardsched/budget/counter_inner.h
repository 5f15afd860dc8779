/*
 * Inside the counter.
 *
 *	namespace       a namespace with budgets
 *	label set       the pods of a namespace with equal labels, covered by the same budgets
 *	pod             one pod: what it counts as, and since which state
 *	counted budget  sums over the label sets that it covers
 *
 * Invariant: the sums of a budget are those of its label sets, and these are those of
 * their pods; counter_check proves it.
 */
#ifndef SHARDSCHED_BUDGET_COUNTER_INNER_H
#define SHARDSCHED_BUDGET_COUNTER_INNER_H

#include "shardsched/budget/counter.h"
#include "store/base/list.h"
#include "store/base/map.h"

/*
 * The knowledge of a namespace's pods:
 *
 *	UNKNOWN --a list begins--> LISTING --the list ends--> KNOWN
 *	   ^  ^                     |   ^                      | |
 *	   |  +---the list failed---+   +----a list begins-----+ |
 *	   +----no memory, or the view does not advance----------+
 *
 * Budgets are counted while the pods are KNOWN.
 */
enum namespace_pods {
	NAMESPACE_PODS_UNKNOWN,
	NAMESPACE_PODS_LISTING, /* the list in flight will bring all of them */
	NAMESPACE_PODS_KNOWN,
};

struct budget_namespace {
	struct pl_map_node by_name;
	uint32_t name; /* held */
	struct pl_list budgets, label_sets;
	enum namespace_pods pods;
	bool picked; /* the next list will bring its pods */
};

static inline bool namespace_is_known(const struct budget_namespace *namespace)
{
	return namespace->pods == NAMESPACE_PODS_KNOWN;
}

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
	struct label_set *label_set; /* NULL: the spec is not known */
	int64_t state_rev;
	uint16_t partition;             /* of its spec, or else of its state */
	uint16_t spec_seen, state_seen; /* generation of the last list that brought it */
	bool over, healthy;             /* by its state: has run to its end; is healthy */
};

/*
 * The knowledge of a budget. Each value in the store makes it one of the first three;
 * GONE is the end.
 *
 *	MALFORMED <--> NOT_YET <--> ONCE      any --deleted--> GONE, kept for its put
 */
enum counted_state {
	COUNTED_MALFORMED, /* without a value */
	COUNTED_NOT_YET,   /* the value has no count */
	COUNTED_ONCE,      /* the value has a count */
	COUNTED_GONE,
};

struct counted_budget {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace and name; held */
	struct budget_namespace *namespace;
	struct pl_list of_namespace;
	struct pl_list dirty;  /* in counter.dirty while the budget is to be recounted */
	struct pl_list noting; /* in counter.noting while its disrupted pods depend on how
			        * far the view is */
	struct budget object;
	uint8_t *value; /* as it stands in the store */
	size_t len;
	uint8_t *sent; /* as the put in flight writes it; NULL: none is in flight */
	size_t sent_len;
	int64_t rev;
	uint64_t next_ms;
	uint64_t expected, healthy;
	enum counted_state state;
	uint16_t seen;
};

static inline bool counted_budget_is_good(const struct counted_budget *budget)
{
	return budget->state == COUNTED_NOT_YET || budget->state == COUNTED_ONCE;
}

struct counter {
	struct model model;
	struct pl_arena arena; /* reset for each value */
	struct pl_buf buf;
	struct pl_map budgets, namespaces, label_sets, pods;
	struct pl_list dirty, noting;
	struct pl_list gone; /* budgets, linked by dirty */
	uint32_t pods_max;
	uint16_t budgets_seen, pods_seen;
	bool listing; /* a list of pods is in flight */
	int64_t view_rev;
	uint64_t next_ms;
	uint64_t stale_ms; /* time until which the view may catch up; 0: nothing waits for
			    * it */
};

/* counter.c */
/* Sets the value and its revision. PL_NOMEM, or the value is malformed. */
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
/* Finds out which budgets of the namespace cover the label set. */
PL_NODISCARD enum pl_code label_set_match(struct counter *counter,
                                          struct label_set *label_set);
/* Forgets the namespace's pods, and takes them out of all sums. */
void pods_forget(struct counter *counter, const struct budget_namespace *namespace);

#endif
