/*
 * The disruption budgets of some namespaces during evictions of their pods. They are
 * read together with the pods at one revision. What is used of them is put in the
 * transaction that requests the evictions; that transaction compares the budgets and
 * /budgets/lock, so no budget was made since they were read, and none is there that
 * was not there then, as in a store that was restored from an older snapshot.
 *
 *	evict_budgets_namespace() for each, evict_budgets_ops(), the answer:
 *	evict_budgets_read() of each
 *	evict_budgets_release()
 *	evict_budgets_disrupt() pod after pod, evict_budgets_build()
 */
#ifndef COORD_SERVICE_SUBMIT_EVICT_BUDGETS_H
#define COORD_SERVICE_SUBMIT_EVICT_BUDGETS_H

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
	struct budget_record found, updated;
	bool touched;
};

struct evict_budgets {
	struct model *model;
	struct pl_arena arena; /* the budgets as read, and as used */
	struct pl_span namespace[EVICT_BUDGETS_NAMESPACES_MAX];
	uint32_t namespaces;
	bool used; /* some pod is to go */
	struct evict_budget *budget;
	uint32_t count, cap;
	int64_t lock_rev; /* as read; 0: there is no such key */
};

void evict_budgets_init(struct evict_budgets *budgets, struct model *model);
void evict_budgets_done(struct evict_budgets *budgets);
/* Forgets the namespaces. */
void evict_budgets_clear(struct evict_budgets *budgets);

/* The span is borrowed until evict_budgets_clear. False: there are too many
 * namespaces. */
bool evict_budgets_namespace(struct evict_budgets *budgets, struct pl_span namespace);
/* The number of operations that read the budgets and the lock; and these operations.
 * PL_NOMEM. */
uint32_t evict_budgets_op_count(const struct evict_budgets *budgets);
PL_NODISCARD enum pl_code evict_budgets_ops(struct evict_budgets *budgets,
                                            struct pl_arena *arena, struct kv_req *op);
/* Forgets what was read; takes an answer. PL_NOMEM. */
void evict_budgets_forget(struct evict_budgets *budgets);
PL_NODISCARD enum pl_code evict_budgets_read(struct evict_budgets *budgets,
                                             const struct kv_get_result *found,
                                             struct pl_err *err);

/* Takes back what was used. */
void evict_budgets_release(struct evict_budgets *budgets);
/* A budget that covers pods with these labels and allows no disruption now (past: that
 * can not note another pod, whatever it allows); NULL: none. */
const struct evict_budget *evict_budgets_against(const struct evict_budgets *budgets,
                                                 struct pl_span namespace,
                                                 const struct labels *labels, bool past);
/* Uses the budgets for the pod of that state, whether they allow it or not. PL_NOMEM,
 * PL_LIMIT. */
PL_NODISCARD enum pl_code evict_budgets_disrupt(struct evict_budgets *budgets,
                                                struct pl_span namespace,
                                                const struct labels *labels,
                                                struct pl_span name, int64_t state_rev,
                                                struct pl_err *err);
/* Adds what was used to the transaction. False: it does not fit, or builder.code is
 * set. */
bool evict_budgets_build(struct evict_budgets *budgets, struct txn_builder *builder);

#endif
