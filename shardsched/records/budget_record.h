/*
 * A budget record: a disruption budget with its counted status. It is the value of
 * /budgets/<namespace>/<name>.
 *
 *	{"v":1,"budget":{"kind":"PodDisruptionBudget",...},
 *	 "status":{"expected":10,"desired":8,"healthy":9,"allowed":1},
 *	 "disrupted":{"web-3":"4711"}}
 *
 * budget is the object as it was submitted. status is counted from the pods' states by
 * one leader; a record without it was never counted, and allows no disruption. A writer
 * that disturbs a covered pod compares and puts the record, with one less allowed and the
 * pod among the disrupted: so two writers never win the same disruption.
 *
 * disrupted has the mod_revision of the state that was given up, for each pod. A count
 * that knows nothing newer of such a pod takes it as disturbed, so no count can undo what
 * was taken while it was made; the counter removes the entry once it knows the newer
 * state.
 *
 * A plain value: spans and arrays are borrowed.
 */
#ifndef SHARDSCHED_RECORDS_BUDGET_RECORD_H
#define SHARDSCHED_RECORDS_BUDGET_RECORD_H

#include "shardsched/model/cluster_objects.h"
#include "store/base/buf.h"

enum {
	BUDGET_OBJECT_MAX = 64 << 10,
	BUDGET_DISRUPTED_MAX = 2048, /* entries that no count has removed yet */
	BUDGET_BYTES_MAX = 1 << 20,
};

struct budget_status {
	uint32_t expected; /* pods that it covers and that are to run */
	uint32_t desired;  /* how many of the expected pods are to be healthy */
	uint32_t healthy;
	uint32_t allowed; /* budget_allowed() of them */
};

struct budget_disrupted {
	struct pl_span name;
	int64_t state_rev; /* mod_revision of the state before the disruption */
};

struct budget_record {
	struct pl_span object; /* JSON */
	struct budget_status status;
	const struct budget_disrupted
		*disrupted; /* ordered by name, without duplicates */
	uint32_t disrupted_count;
	bool counted; /* false: the record was never counted, and status is zero */
};

/* Adds the value, or nothing. Asserts the order, and that allowed follows from the rest.
 * PL_LIMIT, PL_INVALID (a name), PL_NOMEM. */
PL_NODISCARD enum pl_code budget_record_print(const struct budget_record *record,
                                              struct pl_buf *out, struct pl_err *err);
/* PL_INVALID, PL_LIMIT with the path and the reason; PL_NOMEM. The object is only checked
 * to be one; budget_record_object reads it. */
PL_NODISCARD enum pl_code budget_record_parse(struct pl_span value,
                                              struct pl_arena *arena,
                                              struct budget_record *out,
                                              struct pl_err *err);

/* Reads the object, with the counted status; it has to be the budget of that name.
 * PL_INVALID with the field and the reason. To be dropped with budget_drop(). */
PL_NODISCARD enum pl_code budget_record_object(const struct budget_record *record,
                                               struct parse *parse,
                                               struct pl_span namespace,
                                               struct pl_span name, struct budget *out,
                                               struct pl_err *err);

/* The status for a count. */
struct budget_status budget_status_of(struct budget_rule rule, uint32_t expected,
                                      uint32_t healthy);

/* Whether that many of the covered pods may be disturbed. */
static inline bool budget_record_allows(const struct budget_record *record, uint32_t pods)
{
	return record->counted && record->status.allowed >= pods;
}

/* The record after these pods, ordered by name, have been disturbed, whether the budget
 * allowed it or not; the arrays are in the arena. PL_LIMIT: disrupted is full until the
 * next count. PL_NOMEM. */
PL_NODISCARD enum pl_code budget_record_disrupt(const struct budget_record *record,
                                                const struct budget_disrupted *pod,
                                                uint32_t pods, struct pl_arena *arena,
                                                struct budget_record *out,
                                                struct pl_err *err);

#endif
