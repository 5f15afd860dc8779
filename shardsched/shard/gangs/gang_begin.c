/* Begins an attempt for a large gang that was decided here: its plan and its planned
 * reservations. */
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/reservation.h"

enum { RESERVE_MS = 10000 };

bool large_gangs_are_full(const struct sched *sched)
{
	return sched->gangs.ours >= LARGE_GANGS_OURS_MAX;
}

static const char too_long[] = "nor into a gang's record";

/* The txn that makes the record bound compares everything that its members were decided
 * by. Nothing may be bound that could not be listed afterwards. */
static const char *refusal_text(struct sched *sched, const struct gang_outcome *out)
{
	struct gang_locks locks = {0};
	bool fit;

	if (out->placed > sched->gangs.record_pods)
		return too_long;
	rules_gather_begin(sched);
	for (uint32_t i = 0; i < out->placed; i++) {
		const struct sched_pod *pod = sched->gangs.pod[out->placement[i].member];

		gang_locks_add(sched, &locks, pool_class_of(pod->queue.class));
	}
	fit = gang_locks_fit(sched, &locks);
	rules_gather_begin(sched);
	return fit ? NULL : "nor do the locks of the rules that concern them";
}

static enum pl_code plan_reservations(struct sched *sched, struct gang_work *work,
                                      struct pl_err *err)
{
	for (uint32_t i = 0; i < work->plan.nodes; i++) {
		const struct gang_plan_node *is = &work->plan.node[i];
		struct sched_node *node = gang_plan_find_node(sched, is);
		enum pl_code code = PL_BUSY;

		if (node != NULL && reservation_of_gang(node, work->known->key) == NULL)
			code = large_gang_plan_reservation(sched, work, is, node, err);
		if (code != PL_OK)
			return pl_err_set(err, code, "reserve room for a gang");
	}
	return PL_OK;
}

static enum pl_code work_plan(struct sched *sched, struct gang_work *work,
                              const struct gang_outcome *out, uint32_t count,
                              struct pl_err *err)
{
	enum pl_code code = gang_plan_from_decision(sched, &work->plan, out, count, err);

	if (code != PL_OK)
		return code;
	work->plan.epoch = sched->partition[work->gang->key[0]].epoch;
	work->until_ms = sched->wall_ms + RESERVE_MS;
	work->over_ms = sched->now_ms + RESERVE_MS;
	gang_work_set_state(work, GANG_WORK_DECIDED);
	work->planned = true;
	sched->gangs.ours++;
	code = gang_plan_print(sched, &work->plan, GANG_PHASE_RESERVING, work->until_ms,
	                       &work->plan.arena, &work->value, err);
	return code == PL_OK ? plan_reservations(sched, work, err) : code;
}

/* PL_LIMIT: the gang does not go; *why says so. */
static enum pl_code begin_with(struct sched *sched, struct sched_gang *gang,
                               const struct gang_outcome *out, uint32_t count,
                               const char **why, struct pl_err *err)
{
	struct gang_record_entry *known = gang_records_get(sched, &gang->key[1]);
	struct gang_work *work;
	enum pl_code code;

	*why = refusal_text(sched, out);
	if (*why != NULL)
		return PL_LIMIT;
	if (known == NULL || known->work != NULL || known->rev != 0)
		return PL_BUSY;
	work = gang_work_get(sched, gang, known);
	if (work == NULL)
		return PL_BUSY;
	code = work_plan(sched, work, out, count, err);
	if (code != PL_OK)
		large_gang_drop(sched, work);
	if (code == PL_LIMIT)
		*why = too_long;
	return code;
}

/* Cuts the outcome to the first members that were placed, each of which saw those before
 * it; the others join them later. False: fewer than the minimum would go. */
static bool cut_to_record(const struct sched *sched, const struct sched_gang *gang,
                          struct gang_outcome *out)
{
	uint32_t most = sched->gangs.record_pods, less = out->placed - out->placed / 4;
	uint32_t need = gang->minimum > gang->present ? gang->minimum - gang->present : 1;

	if (out->placed <= need)
		return false;
	if (out->placed > most)
		less = most;
	else if (less == out->placed)
		less--;
	out->placed = less > need ? less : need;
	return true;
}

bool large_gang_begin(struct sched *sched, struct sched_gang *gang,
                      const struct gang_outcome *out, uint32_t count, const char **why)
{
	struct gang_outcome some = *out;
	struct pl_err err = {0};
	enum pl_code code;

	do {
		err = (struct pl_err){0};
		code = begin_with(sched, gang, &some, count, why, &err);
	} while (code == PL_LIMIT && cut_to_record(sched, gang, &some));
	if (code == PL_OK) {
		queue_placed(sched->queue, &gang->queue, sched->now_ms);
		large_gangs_set_due(sched);
		return true;
	}
	if (code == PL_LIMIT)
		return false;
	if (err.code != PL_OK)
		report_trouble(sched, &err);
	queue_retry(sched->queue, &gang->queue, QUEUE_FAULT, true, REASON_NONE,
	            sched->now_ms);
	return true;
}
