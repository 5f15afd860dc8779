/*
 * How many pods may be disturbed at once: the value of /budgets/<namespace>/<name>.
 *
 *	{"v":1,"budget":{"kind":"PodDisruptionBudget",...},
 *	 "status":{"expected":10,"desired":8,"healthy":9,"allowed":1},
 *	 "disrupted":{"web-3":"4711"}}
 *
 * budget is the object as it was submitted. status is counted from the pods' states by
 * one leader; without it nobody has counted yet, and nobody may go. Whoever disturbs a
 *pod that the budget covers compares and puts this value, with one less allowed and with
 *the pod among the disrupted: so two never win the same disruption.
 *
 * disrupted has the mod_revision of the state that was given up with each pod. A count
 * that has not seen anything newer of a pod takes it as it will be, so no count can undo
 * what was taken while it was made; then the counter strikes it out.
 *
 * A plain value: spans and arrays are borrowed.
 */
#ifndef SHARDSCHED_RECORDS_BUDGET_RECORD_H
#define SHARDSCHED_RECORDS_BUDGET_RECORD_H

#include "shardsched/model/cluster_objects.h"
#include "store/base/buf.h"

enum {
	BUDGET_OBJECT_MAX = 64 << 10,
	BUDGET_DISRUPTED_MAX = 2048, /* that are not counted yet */
	BUDGET_BYTES_MAX = 1 << 20,
};

struct budget_status {
	uint32_t expected; /* pods that it covers and that are to run */
	uint32_t desired;  /* of these, how many are to be healthy */
	uint32_t healthy;
	uint32_t allowed; /* budget_allowed() of them */
};

struct budget_disrupted {
	struct pl_span name;
	int64_t state_rev; /* of the state that was there before */
};

struct budget_record {
	struct pl_span object; /* JSON */
	struct budget_status status;
	const struct budget_disrupted *disrupted; /* in the order of names, each once */
	uint32_t disrupted_count;
	bool counted; /* else status is zero */
};

/* Adds the value, or nothing. Asserts the order, and that allowed follows from the rest.
 * PL_LIMIT, PL_INVALID (a name), PL_NOMEM. */
PL_NODISCARD enum pl_code budget_record_print(const struct budget_record *record,
                                              struct pl_buf *out, struct pl_err *err);
/* PL_INVALID, PL_LIMIT with the path and the reason; PL_NOMEM. Of the object only that it
 * is one is looked at: budget_record_object reads it. */
PL_NODISCARD enum pl_code budget_record_parse(struct pl_span value,
                                              struct pl_arena *arena,
                                              struct budget_record *out,
                                              struct pl_err *err);

/* The object, with the status that was counted; it must be the budget of that name.
 * PL_INVALID with the field and the reason. To be dropped with budget_drop(). */
PL_NODISCARD enum pl_code budget_record_object(const struct budget_record *record,
                                               struct parse *parse,
                                               struct pl_span namespace,
                                               struct pl_span name, struct budget *out,
                                               struct pl_err *err);

/* The status of a count. */
struct budget_status budget_status_of(struct budget_rule rule, uint32_t expected,
                                      uint32_t healthy);

/* So many more of its pods may be disturbed. */
static inline bool budget_record_allows(const struct budget_record *record, uint32_t pods)
{
	return record->counted && record->status.allowed >= pods;
}

/* What it is once these, in the order of names, have been disturbed, whether that was
 * allowed or not; the arrays are the arena's. PL_LIMIT: there is no room for them before
 * somebody counts. PL_NOMEM. */
PL_NODISCARD enum pl_code budget_record_disrupt(const struct budget_record *record,
                                                const struct budget_disrupted *pod,
                                                uint32_t pods, struct pl_arena *arena,
                                                struct budget_record *out,
                                                struct pl_err *err);

#endif
