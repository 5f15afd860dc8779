#include "shardsched/shard/gangs/gang_large.h"

#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/reservation.h"
#include "store/base/alloc.h"

enum {
	TICK_MS = 20,
	IDLE_TICK_MS = 500,
	AGAIN_MS = 50, /* after the record could not be put */
	SAY_MS = 1000, /* a phase that takes less is not reported */
	ARENA_CHUNK = 16 << 10,
};

void large_gangs_init(struct sched *sched)
{
	pl_list_init(&sched->gangs.works);
	sched->gangs.record_pods = GANG_RECORD_PODS_MAX;
	pl_arena_init(&sched->gangs.arena, ARENA_CHUNK, 0);
}

void large_gangs_done(struct sched *sched)
{
	large_gangs_drop_all(sched);
	pl_arena_done(&sched->gangs.arena);
}

void large_gangs_set_due(struct sched *sched)
{
	sched->gangs.due = true;
}

bool gang_record_is_used(const struct sched *sched, const struct gang_record_entry *known)
{
	(void)sched;
	return known->work != NULL;
}

bool large_gangs_shut_rules(const struct sched *sched)
{
	return sched->gang_records.bound > 0 || sched->gang_records.missed;
}

bool large_gangs_want_turn(const struct sched *sched)
{
	PL_LIST_EACH (link, &sched->gangs.works) {
		const struct gang_work *work = PL_LIST_ITEM(link, struct gang_work, link);

		if (work->waits)
			return true;
	}
	return false;
}

/* -- attempts ---------------------------------------------------------------- */

struct gang_work *gang_work_get(struct sched *sched, struct sched_gang *gang,
                                struct gang_record_entry *known)
{
	struct gang_work *work = pl_calloc(1, sizeof *work);

	if (work == NULL)
		return NULL;
	work->gang = gang;
	work->known = known;
	work->since_ms = sched->now_ms;
	gang->work = work;
	known->work = work;
	pl_list_add_tail(&sched->gangs.works, &work->link);
	if (!gang->viewing) /* the owner has to know when no reservation is left */
		fleet_view_acquire(sched);
	gang->viewing = true;
	return work;
}

/* A reservation in a txn stays until the txn ends. */
static void unplan_reservations(struct sched *sched, struct gang_work *work)
{
	for (uint32_t i = 0; i < work->plan.nodes; i++) {
		struct sched_node *node = gang_plan_find_node(sched, &work->plan.node[i]);

		if (node == NULL || reservation_of_gang(node, work->known->key) == NULL)
			continue;
		reservation_unplan_gang(sched, node, work->known->key);
		node_reconcile(sched, node);
		node_tidy(sched, node);
	}
}

void large_gang_drop(struct sched *sched, struct gang_work *work)
{
	if (gang_work_is_own(work))
		unplan_reservations(sched, work);
	sched->gangs.ours -= gang_work_is_own(work);
	gang_plan_done(sched, &work->plan);
	pl_list_del(&work->link);
	work->gang->work = NULL;
	work->known->work = NULL;
	gang_set_dirty(sched, work->gang);
	free(work);
}

void large_gangs_drop_all(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->gangs.works)
		large_gang_drop(sched, PL_LIST_ITEM(link, struct gang_work, link));
}

/* Members that still wait are tried again. */
static void work_end(struct sched *sched, struct gang_work *work, bool pause)
{
	struct sched_gang *gang = work->gang;

	large_gang_drop(sched, work);
	if (gang->open && gang->queue.place == QUEUE_IN_FLIGHT)
		queue_retry(sched->queue, &gang->queue,
		            pause ? QUEUE_FAULT : QUEUE_CONFLICT, pause, REASON_NONE,
		            sched->now_ms);
}

/* -- found ------------------------------------------------------------------- */

static bool is_partition_owned(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned && part->open && !part->quiet;
}

static void adopt_records(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->gang_records.standing) {
		struct gang_record_entry *known =
			PL_LIST_ITEM(link, struct gang_record_entry, link);
		const uint32_t key[3] = {known->partition, known->key[0], known->key[1]};
		struct sched_gang *gang;

		if (known->work != NULL || !is_partition_owned(sched, known->partition))
			continue;
		if (gang_get(sched, key, &gang) == PL_OK)
			(void)!gang_work_get(sched, gang, known);
	}
}

/* -- the record -------------------------------------------------------------- */

static void put_record_phase(struct sched *sched, struct gang_work *work,
                             enum gang_phase phase)
{
	struct pl_arena arena;
	struct pl_span value = {0};
	struct pl_err err = {0};

	pl_arena_init(&arena, ARENA_CHUNK, 0);
	if (gang_plan_print_phase(sched, work->known, phase, &arena, &value, &err) !=
	    PL_OK)
		report_trouble(sched, &err);
	if (value.len == 0 ||
	    !gang_step_record(sched, work, value, phase == GANG_PHASE_BOUND))
		work->retry_ms = sched->now_ms + AGAIN_MS;
	pl_arena_done(&arena);
}

/* The deadline of an attempt that was decided here. The wall clock may be set back, and
 * the monotonic clock may stand still while the machine is suspended. */
static bool is_overdue(const struct sched *sched, const struct gang_work *work)
{
	return sched->wall_ms >= work->until_ms || sched->now_ms >= work->over_ms;
}

static void create_record(struct sched *sched, struct gang_work *work)
{
	if (is_overdue(sched, work) || !large_gang_members_wait(sched, work)) {
		work_end(sched, work, true);
		return;
	}
	if (!gang_step_record(sched, work, work->value, false))
		work->retry_ms = sched->now_ms + AGAIN_MS;
}

static void abort_attempt(struct sched *sched, struct gang_work *work)
{
	gang_work_give_up(work);
	if (gang_work_is_own(work))
		unplan_reservations(sched, work);
	put_record_phase(sched, work, GANG_PHASE_ABORTING);
}

/* All reservations stand. */
static void bind_attempt(struct sched *sched, struct gang_work *work)
{
	switch (large_gang_may_bind(sched, work)) {
	case GANG_RULING_NOW:
		put_record_phase(sched, work, GANG_PHASE_BOUND);
		work->waits = work->waits && work->putting;
		return;
	case GANG_RULING_LATER:
		return;
	case GANG_RULING_NEVER:
		abort_attempt(sched, work);
		return;
	}
	PL_UNREACHABLE("whether a gang may be bound");
}

static void continue_reserving(struct sched *sched, struct gang_work *work)
{
	bool goes_on = work->state == GANG_WORK_OWN && !is_overdue(sched, work) &&
	               large_gang_members_wait(sched, work);

	if (!goes_on) {
		abort_attempt(sched, work);
		return;
	}
	if (large_gang_reserve(sched, work))
		bind_attempt(sched, work);
	else if (gang_work_is_given_up(work))
		abort_attempt(sched, work);
}

static bool has_reservations_left(const struct sched *sched, const uint32_t key[2])
{
	PL_LIST_EACH (link, &sched->reserving)
		if (reservation_of_gang(PL_LIST_ITEM(link, struct sched_node, reserving),
		                        key) != NULL)
			return true;
	return false;
}

/* No reservation is left anywhere, since all that were put are older than this phase. */
static void delete_record(struct sched *sched, struct gang_work *work)
{
	if (fleet_view_applied_rev(sched) < work->known->rev)
		return;
	if (!gang_step_record(sched, work, (struct pl_span){0}, false))
		work->retry_ms = sched->now_ms + AGAIN_MS;
}

static void continue_binding(struct sched *sched, struct gang_work *work)
{
	struct gang_step step = {.known = work->known};
	struct pl_err err = {0};
	bool left = false;

	if (!work->planned &&
	    gang_plan_from_record(sched, &work->plan, work->known, &err) != PL_OK) {
		report_trouble(sched, &err);
		work->retry_ms = sched->now_ms + IDLE_TICK_MS;
		return;
	}
	work->planned = true;
	for (uint32_t i = 0; i < work->plan.nodes; i++)
		left = large_gang_bind_on(sched, work, &step, &work->plan.node[i]) ||
		       left;
	gang_step_end(sched, &step);
	if (!left)
		delete_record(sched, work);
}

/* -- the next step ----------------------------------------------------------- */

static void report_progress(struct sched *sched, struct gang_work *work)
{
	const struct gang_record_entry *known = work->known;

	if (known->phase != work->phase) {
		work->phase = known->phase;
		work->since_ms = sched->now_ms;
		work->reported = false;
	}
	if (work->reported || known->malformed || known->phase == GANG_PHASE_BOUND ||
	    sched->now_ms < work->since_ms + SAY_MS)
		return;
	work->reported = true;
	switch (known->phase) {
	case GANG_PHASE_RESERVING:
		gang_set_reason(sched, work->gang, REASON_GANG_RESERVING,
		                "room is reserved on %u of %u nodes", work->standing,
		                work->plan.nodes);
		return;
	case GANG_PHASE_ABORTING:
		gang_set_reason(sched, work->gang, REASON_GANG_ABORTING,
		                "the reserved room is being released");
		return;
	/* each member has a node soon, or gang_bind.c reports why not */
	case GANG_PHASE_BOUND:
	case GANG_PHASES:
		return;
	}
}

/* The record is past reserving, or not this shard's, or malformed: no reservation is put
 * any more, and planned ones are not there to be bound or released. */
static void drop_ownership(struct sched *sched, struct gang_work *work)
{
	const struct gang_record_entry *known = work->known;

	if (!gang_work_is_own(work) ||
	    pl_span_eq(pl_span(known->value, known->len), work->value))
		return;
	unplan_reservations(sched, work);
	gang_work_set_state(work, work->state == GANG_WORK_OWN ? GANG_WORK_ADOPTED
	                                                       : GANG_WORK_ABORTED);
	sched->gangs.ours--;
}

static void continue_attempt(struct sched *sched, struct gang_work *work)
{
	const struct gang_record_entry *known = work->known;

	work->waits = false;
	if (known->rev == 0 && work->state != GANG_WORK_DECIDED) {
		work_end(sched, work, gang_work_is_given_up(work));
		return;
	}
	if (known->rev == 0) {
		create_record(sched, work);
		return;
	}
	if (work->state == GANG_WORK_DECIDED &&
	    !pl_span_eq(pl_span(known->value, known->len), work->value)) {
		/* another shard's record, which goes first */
		work_end(sched, work, true);
		return;
	}
	if (work->state == GANG_WORK_DECIDED)
		gang_work_set_state(work, GANG_WORK_OWN);
	drop_ownership(sched, work);
	report_progress(sched, work);
	if (known->malformed || known->phase == GANG_PHASE_ABORTING) {
		if (!has_reservations_left(sched, known->key))
			delete_record(sched, work);
	} else if (known->phase == GANG_PHASE_BOUND) {
		continue_binding(sched, work);
	} else {
		continue_reserving(sched, work);
	}
}

/* -- time -------------------------------------------------------------------- */

void large_gangs_run(struct sched *sched)
{
	struct gangs *gangs = &sched->gangs;

	if (!gangs->due && sched->now_ms < gangs->tick_ms)
		return;
	gangs->due = false;
	adopt_records(sched);
	PL_LIST_EACH (link, &gangs->works) {
		struct gang_work *work = PL_LIST_ITEM(link, struct gang_work, link);

		if (!is_partition_owned(sched, work->gang->key[0]))
			large_gang_drop(sched, work);
		else if (!work->putting && sched->now_ms >= work->retry_ms)
			continue_attempt(sched, work);
	}
	if (gangs->reservations > 0 && !cooldown_is_on(sched))
		large_gangs_release(sched);
	gang_records_tidy(sched);
	gangs->tick_ms = UINT64_MAX;
	if (gangs->reservations > 0 || sched->gang_records.by_name.count > 0)
		gangs->tick_ms = sched->now_ms + IDLE_TICK_MS;
	if (!pl_list_empty(&gangs->works))
		gangs->tick_ms = sched->now_ms + TICK_MS;
}

uint64_t large_gangs_deadline_ms(const struct sched *sched)
{
	if (sched->promotion_failed) /* until the repair */
		return UINT64_MAX;
	return sched->gangs.due ? 0 : sched->gangs.tick_ms;
}

void large_gangs_check(const struct sched *sched)
{
	uint32_t ours = 0;

	PL_LIST_EACH (link, &sched->gangs.works) {
		const struct gang_work *work = PL_LIST_ITEM(link, struct gang_work, link);

		PL_ASSERT(work->gang->work == work && work->known->work == work);
		PL_ASSERT(work->known->partition == work->gang->key[0]);
		PL_ASSERT(work->known->key[0] == work->gang->key[1] &&
		          work->known->key[1] == work->gang->key[2]);
		ours += gang_work_is_own(work);
	}
	PL_ASSERT(ours == sched->gangs.ours && ours <= LARGE_GANGS_OURS_MAX);
}
