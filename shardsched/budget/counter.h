/*
 * The counter: counts, for each disruption budget, the pods that it covers and those that
 * are healthy, and says which budgets are to be written (records/budget_record.h).
 *
 *	values at /budgets/ and /schedules/ --> counter --> puts, each comparing the
 *	                                                    budget it was made from
 *
 * A pod is *expected* unless it has run to its end or is to be gone for good. It is
 * *healthy* while it is bound, has not ended, and is not asked to go.
 *
 * **Why a late count does no harm.** Pods and budgets are watched apart, so a budget may
 * be newer than what is known of its pods. But a writer that disturbs a pod notes it in
 * the budget, with the state that it gave up: as long as nothing newer than that is known
 * here, the pod counts as disturbed. So however old the view is, a count never gives back
 * what was taken. The first count of a budget waits until its pods are known as they were
 * when the budget was made. What pods do by themselves is counted when it is seen.
 *
 * Bounded: of pods in namespaces with budgets only the fields of a count are kept, at
 * most pods_max of them; other pods are passed over. When a namespace gets its first
 * budget its pods are unknown, and the pods of all such namespaces have to be listed
 * (counter_stale). From the begin of a list to its end no budget of a listed namespace is
 * counted, since pods that came are known by then and pods that went are not. A list that
 * is lost half-way leaves it so until another list has ended.
 *
 * Pure. At most one put of each budget is in flight; puts begin at least COUNTER_PACE_MS
 * apart, and those of one budget COUNTER_EACH_MS.
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
/* Forgets everything except puts in flight. */
void counter_forget(struct counter *counter);

/* -- what the store says: as the notes of relist.h ---------------------------------- */

void counter_budgets_begin(struct counter *counter);
/* record NULL: the budget was deleted. PL_INVALID, PL_LIMIT: the value is malformed, and
 * the budget is excluded; PL_NOMEM: the budgets are to be listed again. */
PL_NODISCARD enum pl_code counter_budget(struct counter *counter,
                                         const struct keys_id *id,
                                         const struct kv_record *record,
                                         struct pl_err *err);
/* Budgets that the list did not bring are gone. */
void counter_budgets_end(struct counter *counter);

/* Whether there are budgets, so that pods have to be followed. */
bool counter_wants_pods(const struct counter *counter);
/* Whether pods that matter are unknown, and no list in flight will bring them: they are
 * to be listed. To be asked after counter_next. */
bool counter_stale(const struct counter *counter);

/* Picks the namespaces of the next list of pods: when the list ends, their pods are
 * known. Returns their number. */
uint32_t counter_pods_pick(struct counter *counter);
/* The picked namespaces in the order of their names, each after the one before (empty:
 * the first). False: there are no more. */
bool counter_pods_picked(const struct counter *counter, struct pl_span after,
                         struct pl_span *out);
void counter_pods_begin(struct counter *counter);
/* A spec or a state. A malformed value counts as absent. PL_NOMEM, PL_LIMIT: nothing is
 * counted until all pods were listed again. */
PL_NODISCARD enum pl_code counter_pod(struct counter *counter, const struct keys_id *id,
                                      const struct kv_record *record, struct pl_err *err);
void counter_pods_end(struct counter *counter, int64_t revision);
/* Every change up to the revision was handed in. */
void counter_pods_seen(struct counter *counter, int64_t revision);
/* The list in flight failed. */
void counter_pods_lost(struct counter *counter);

/* -- and what follows --------------------------------------------------------------- */

struct counter_put {
	struct counted_budget *budget;
	struct pl_span namespace, name;
	int64_t rev; /* mod_revision to compare */
	struct pl_span value;
};

/* The next put; false: none at the moment. It is borrowed until the next call of any
 * function, and has to be answered. */
bool counter_next(struct counter *counter, uint64_t now_ms, struct counter_put *out);
/* The put is over: the value stands since that revision; 0: it does not stand, or the
 * outcome is unknown. */
void counter_answer(struct counter *counter, struct counted_budget *budget,
                    int64_t revision, uint64_t now_ms);
/* When counter_next may have a put; UINT64_MAX: not before something is handed in. */
uint64_t counter_deadline_ms(const struct counter *counter);

/* Asserts that all sums agree with a count from scratch; for tests. */
void counter_check(const struct counter *counter);

#endif
