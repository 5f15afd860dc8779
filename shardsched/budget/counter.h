/*
 * Counts, for each disruption budget, the pods that it covers and those that are healthy,
 * and says which budgets are to be written anew (ledger/budget.h).
 *
 *	what stands at /budgets/, and at /schedules/ --> counter --> puts, each comparing
 *the budget that it was made from
 *
 * A pod is *expected* unless it has run to its end, or is to be gone for good; it is
 * *healthy* while it is bound, has not ended, and nobody has asked it to go.
 *
 * **Why what is counted late does no harm.** Pods and budgets are watched apart, so a
 * budget may be newer than what is known of its pods. But whoever disturbs a pod says so
 * in the budget, with the state that it gave up: as long as nothing newer than that is
 * known here the pod is taken as disturbed. So however old the view is, a count never
 * gives back what was taken. The first count of a budget waits until its pods are known
 *as they were when it was made. What pods do by themselves is counted when it is seen.
 *
 * Pods of namespaces without budgets are passed over; of the others so much is kept as is
 * needed to count again, at most pods_max of them. When a namespace has its first budget
 * its pods are not known, and those of all such namespaces have to be listed anew
 * (counter_stale). From the beginning of a list to its end nothing is counted that it
 * will bring: those who came are told of, those who are gone are not yet. If it is lost
 * half-way that goes on until another one has ended.
 *
 * Pure. Not more than one put of a budget is under way, nor more than one begun in
 * COUNTER_PACE_MS of all, nor of one budget in COUNTER_EACH_MS.
 */
#ifndef SHARDSCHED_BUDGET_COUNTER_H
#define SHARDSCHED_BUDGET_COUNTER_H

#include "shardsched/records/budget_record.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

enum {
	COUNTER_PODS_MAX = 4000000,
	COUNTER_PACE_MS = 2,
	COUNTER_EACH_MS = 100,
};

struct counter;
struct counted_budget;

PL_NODISCARD enum pl_code counter_new(uint32_t pods_max, struct counter **out,
                                      struct pl_err *err);
void counter_free(struct counter *counter);
/* As if it were new, but for puts that are under way. */
void counter_forget(struct counter *counter);

/* -- what the store says: as the notes of relist.h ---------------------------------- */

void counter_budgets_begin(struct counter *counter);
/* record NULL: it is gone. PL_INVALID, PL_LIMIT: it makes no sense, and is set aside;
 * PL_NOMEM: list anew. */
PL_NODISCARD enum pl_code counter_budget(struct counter *counter,
                                         const struct keys_id *id,
                                         const struct kv_record *record,
                                         struct pl_err *err);
/* What the list did not have is gone. */
void counter_budgets_end(struct counter *counter);

/* There are budgets, so pods are to be followed. */
bool counter_wants_pods(const struct counter *counter);
/* Not all that matter are known, nor will be by a list that is under way: list anew. To
 * be asked after counter_next. */
bool counter_stale(const struct counter *counter);

/* A list is to be made: of these namespaces, as they are now, its end will say that their
 * pods are known. How many. */
uint32_t counter_pods_pick(struct counter *counter);
/* One of them after the other, by name (empty: the first one). False: that was all. */
bool counter_pods_picked(const struct counter *counter, struct pl_span after,
                         struct pl_span *out);
void counter_pods_begin(struct counter *counter);
/* Spec or state. A value that makes no sense is as if it were not there. PL_NOMEM,
 * PL_LIMIT: nothing is counted any more before all pods are listed anew. */
PL_NODISCARD enum pl_code counter_pod(struct counter *counter, const struct keys_id *id,
                                      const struct kv_record *record, struct pl_err *err);
void counter_pods_end(struct counter *counter, int64_t revision);
/* Every change up to the revision was told. */
void counter_pods_seen(struct counter *counter, int64_t revision);
/* The list that was under way is void. */
void counter_pods_lost(struct counter *counter);

/* -- and what follows --------------------------------------------------------------- */

struct counter_put {
	struct counted_budget *budget;
	struct pl_span namespace, name;
	int64_t rev; /* to compare with */
	struct pl_span value;
};

/* The next one to be written; false: none at the moment. Borrowed until the next call of
 * any function. Each has to be answered. */
bool counter_next(struct counter *counter, uint64_t now_ms, struct counter_put *out);
/* It stands since that revision; 0: it does not, or nobody knows. */
void counter_answer(struct counter *counter, struct counted_budget *budget,
                    int64_t revision, uint64_t now_ms);
/* When there may be one; UINT64_MAX: when something comes in. */
uint64_t counter_deadline_ms(const struct counter *counter);

/* Asserts that all that is kept up agrees with a count from the start; for tests. */
void counter_check(const struct counter *counter);

#endif
