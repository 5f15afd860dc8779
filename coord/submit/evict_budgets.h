/*
 * The disruption budgets of some namespaces while their pods are asked to go: read
 * together with the pods, at one revision; what is taken of them is put in the
 * transaction that asks, which compares them, and /budgets/lock: none was made since, and
 * none is there that was not when they were read, as in a store that was put back to an
 * older snapshot.
 *
 *	evict_budgets_namespace() for each, evict_budgets_ops(), the answer: evict_budgets_read() of each
 *	evict_budgets_release(); evict_budgets_disrupt() pod after pod, evict_budgets_build()
 */
#ifndef COORD_SUBMIT_EVICT_BUDGETS_H
#define COORD_SUBMIT_EVICT_BUDGETS_H

#include "shardsched/records/budget_record.h"
#include "shardsched/records/txn_builder.h"

enum {
	EVICT_BUDGETS_NAMESPACES_MAX = 16,
	EVICT_BUDGETS_OPS_MAX = EVICT_BUDGETS_NAMESPACES_MAX + 1
};

struct evict_budget {
	struct keys_text key;
	struct pl_span namespace, name;
	int64_t rev;
	struct budget object;
	struct budget_record found, taken;
	bool touched;
};

struct evict_budgets {
	struct model *model;
	struct pl_arena arena; /* what was read, and taken */
	struct pl_span namespace[EVICT_BUDGETS_NAMESPACES_MAX];
	uint32_t namespaces;
	bool used; /* some pod goes */
	struct evict_budget *ward;
	uint32_t count, cap;
	int64_t lock_rev; /* as it was read; 0: it was not there */
};

void evict_budgets_init(struct evict_budgets *budgets, struct model *model);
void evict_budgets_done(struct evict_budgets *budgets);
/* No namespaces. */
void evict_budgets_clear(struct evict_budgets *budgets);

/* Borrowed until evict_budgets_clear. False: there are too many. */
bool evict_budgets_namespace(struct evict_budgets *budgets, struct pl_span namespace);
/* How many operations read the budgets of each, and the lock; and these. PL_NOMEM. */
uint32_t evict_budgets_op_count(const struct evict_budgets *budgets);
PL_NODISCARD enum pl_code evict_budgets_ops(struct evict_budgets *budgets,
                                            struct pl_arena *arena, struct kv_req *op);
/* What was read is forgotten; and read anew. PL_NOMEM. */
void evict_budgets_forget(struct evict_budgets *budgets);
PL_NODISCARD enum pl_code evict_budgets_read(struct evict_budgets *budgets,
                                             const struct kv_get_result *found,
                                             struct pl_err *err);

/* Nothing is taken. */
void evict_budgets_release(struct evict_budgets *budgets);
/* One that covers such pods and allows no more to go now (past: whatever it allows, that
 * can not note one more); NULL: there is none. */
const struct evict_budget *evict_budgets_against(const struct evict_budgets *budgets,
                                                 struct pl_span namespace,
                                                 const struct labels *labels, bool past);
/* The pod of that state goes, allowed or not. PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code evict_budgets_disrupt(struct evict_budgets *budgets,
                                                struct pl_span namespace,
                                                const struct labels *labels,
                                                struct pl_span name, int64_t state_rev,
                                                struct pl_err *err);
/* What was taken, into the book. False: it does not fit, or book.code. */
bool evict_budgets_build(struct evict_budgets *budgets, struct txn_builder *builder);

#endif
