#include "shardsched/shard/gangs/gang_large.h"

#include <stdlib.h>

#include "shardsched/shard/gangs/records.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"

enum {
	TICK_MS = 20,
	IDLE_TICK_MS = 500,
	AGAIN_MS = 50, /* after the record could not be put */
	SAY_MS = 1000, /* what takes less is not worth a word */
	ARENA_CHUNK = 16 << 10,
};

void large_init(struct sched *sched)
{
	pl_list_init(&sched->gangs.works);
	sched->gangs.record_pods = GANG_RECORD_PODS_MAX;
	pl_arena_init(&sched->gangs.arena, ARENA_CHUNK, 0);
}

void large_done(struct sched *sched)
{
	large_drop_all(sched);
	pl_arena_done(&sched->gangs.arena);
}

void large_due(struct sched *sched)
{
	sched->gangs.due = true;
}

bool large_uses(const struct sched *sched, const struct gang_known *known)
{
	(void)sched;
	return known->work != NULL;
}

bool large_shuts(const struct sched *sched)
{
	return sched->records.bound > 0 || sched->records.missed;
}

bool large_wants_turn(const struct sched *sched)
{
	PL_LIST_EACH (link, &sched->gangs.works) {
		const struct gang_work *work = PL_LIST_ITEM(link, struct gang_work, link);

		if (work->waits)
			return true;
	}
	return false;
}

/* -- works ------------------------------------------------------- */

struct gang_work *large_work(struct sched *sched, struct sched_gang *gang,
                             struct gang_known *known)
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
	if (!gang->viewing) /* who goes on has to know when no hold is left */
		view_want(sched);
	gang->viewing = true;
	return work;
}

/* What is in a call stays until that ends. */
static void unplan(struct sched *sched, struct gang_work *work)
{
	for (uint32_t i = 0; i < work->plan.nodes; i++) {
		struct sched_node *node = plan_node(sched, &work->plan.node[i]);

		if (node == NULL || hold_of_gang(node, work->known->key) == NULL)
			continue;
		hold_unplan_gang(sched, node, work->known->key);
		node_settle(sched, node);
		node_tidy(sched, node);
	}
}

void large_drop(struct sched *sched, struct gang_work *work)
{
	if (work->ours)
		unplan(sched, work);
	sched->gangs.ours -= work->ours;
	plan_done(sched, &work->plan);
	pl_list_del(&work->link);
	work->gang->work = NULL;
	work->known->work = NULL;
	gang_touch(sched, work->gang);
	free(work);
}

void large_drop_all(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->gangs.works)
		large_drop(sched, PL_LIST_ITEM(link, struct gang_work, link));
}

/* Members that still wait are tried again. */
static void work_end(struct sched *sched, struct gang_work *work, bool pause)
{
	struct sched_gang *gang = work->gang;

	large_drop(sched, work);
	if (gang->open && gang->queue.place == QUEUE_FLIGHT)
		queue_retry(sched->queue, &gang->queue,
		            pause ? QUEUE_FAULT : QUEUE_CONFLICT, pause, REASON_NONE,
		            sched->now_ms);
}

/* -- found ------------------------------------------------------- */

static bool is_here(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned && part->open && !part->quiet;
}

static void adopt(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->records.standing) {
		struct gang_known *known = PL_LIST_ITEM(link, struct gang_known, link);
		const uint32_t key[3] = {known->partition, known->key[0], known->key[1]};
		struct sched_gang *gang;

		if (known->work != NULL || !is_here(sched, known->partition))
			continue;
		if (gang_get(sched, key, &gang) == PL_OK)
			(void)!large_work(sched, gang, known);
	}
}

/* -- the record -------------------------------------------------- */

static void put_phase(struct sched *sched, struct gang_work *work, enum gang_phase phase)
{
	struct pl_arena arena;
	struct pl_span value = {0};
	struct pl_err err = {0};

	pl_arena_init(&arena, ARENA_CHUNK, 0);
	if (plan_print_known(sched, work->known, phase, &arena, &value, &err) != PL_OK)
		tell_trouble(sched, &err);
	if (value.len == 0 || !step_record(sched, work, value, phase == GANG_PHASE_BOUND))
		work->retry_ms = sched->now_ms + AGAIN_MS;
	pl_arena_done(&arena);
}

/* One that was decided here. The wall clock may be set back, or the other stand still
 * while all of the machine does. */
static bool is_overdue(const struct sched *sched, const struct gang_work *work)
{
	return sched->wall_ms >= work->until_ms || sched->now_ms >= work->over_ms;
}

static void create(struct sched *sched, struct gang_work *work)
{
	if (is_overdue(sched, work) || !large_members_wait(sched, work)) {
		work_end(sched, work, true);
		return;
	}
	if (!step_record(sched, work, work->value, false))
		work->retry_ms = sched->now_ms + AGAIN_MS;
}

static void give_up(struct sched *sched, struct gang_work *work)
{
	work->failed = true;
	if (work->ours)
		unplan(sched, work);
	put_phase(sched, work, GANG_PHASE_ABORTING);
}

/* All room is held. */
static void bind(struct sched *sched, struct gang_work *work)
{
	switch (large_may_bind(sched, work)) {
	case LARGE_NOW:
		put_phase(sched, work, GANG_PHASE_BOUND);
		work->waits = work->waits && work->putting;
		return;
	case LARGE_LATER:
		return;
	case LARGE_NEVER:
		give_up(sched, work);
		return;
	}
	PL_UNREACHABLE("whether a gang may be bound");
}

static void go_on_reserving(struct sched *sched, struct gang_work *work)
{
	bool goes_on = work->ours && !work->failed && !is_overdue(sched, work) &&
	               large_members_wait(sched, work);

	if (!goes_on) {
		give_up(sched, work);
		return;
	}
	if (large_reserve(sched, work))
		bind(sched, work);
	else if (work->failed)
		give_up(sched, work);
}

static bool is_left(const struct sched *sched, const uint32_t key[2])
{
	PL_LIST_EACH (link, &sched->holding)
		if (hold_of_gang(PL_LIST_ITEM(link, struct sched_node, holding), key) !=
		    NULL)
			return true;
	return false;
}

/* No hold is left anywhere: all that were put are older than this phase. */
static void finish(struct sched *sched, struct gang_work *work)
{
	if (view_clear(sched) < work->known->rev)
		return;
	if (!step_record(sched, work, (struct pl_span){0}, false))
		work->retry_ms = sched->now_ms + AGAIN_MS;
}

static void go_on_binding(struct sched *sched, struct gang_work *work)
{
	struct gang_step step = {.known = work->known};
	struct pl_err err = {0};
	bool left = false;

	if (!work->planned && plan_read(sched, &work->plan, work->known, &err) != PL_OK) {
		tell_trouble(sched, &err);
		work->retry_ms = sched->now_ms + IDLE_TICK_MS;
		return;
	}
	work->planned = true;
	for (uint32_t i = 0; i < work->plan.nodes; i++)
		left = large_bind_on(sched, work, &step, &work->plan.node[i]) || left;
	step_end(sched, &step);
	if (!left)
		finish(sched, work);
}

/* -- what is next ------------------------------------------------ */

static void say(struct sched *sched, struct gang_work *work)
{
	const struct gang_known *known = work->known;

	if (known->phase != work->phase) {
		work->phase = known->phase;
		work->since_ms = sched->now_ms;
		work->told = false;
	}
	if (work->told || known->garbled || known->phase == GANG_PHASE_BOUND ||
	    sched->now_ms < work->since_ms + SAY_MS)
		return;
	work->told = true;
	switch (known->phase) {
	case GANG_PHASE_RESERVING:
		gang_say(sched, work->gang, REASON_GANG_RESERVING,
		         "room is held on %u of %u nodes", work->standing,
		         work->plan.nodes);
		return;
	case GANG_PHASE_ABORTING:
		gang_say(sched, work->gang, REASON_GANG_ABORTING,
		         "the room that was held is given back");
		return;
	case GANG_PHASE_BOUND: /* each has a node soon, or else gang_bind.c tells */
	case GANG_PHASES:
		return;
	}
}

/* The record is past reserving, or somebody else's, or garbled: nothing more is put, and
 * what is only planned is not there to be bound or released. */
static void disown(struct sched *sched, struct gang_work *work)
{
	const struct gang_known *known = work->known;

	if (!work->ours || pl_span_eq(pl_span(known->value, known->len), work->value))
		return;
	unplan(sched, work);
	work->ours = false;
	sched->gangs.ours--;
}

static void go_on(struct sched *sched, struct gang_work *work)
{
	const struct gang_known *known = work->known;

	work->waits = false;
	if (known->rev == 0 && (work->seen || !work->ours)) {
		work_end(sched, work, work->failed);
		return;
	}
	if (known->rev == 0) {
		create(sched, work);
		return;
	}
	if (!work->seen && work->ours &&
	    !pl_span_eq(pl_span(known->value, known->len), work->value)) {
		work_end(sched, work, true); /* somebody else's, which comes first */
		return;
	}
	work->seen = true;
	disown(sched, work);
	say(sched, work);
	if (known->garbled || known->phase == GANG_PHASE_ABORTING) {
		if (!is_left(sched, known->key))
			finish(sched, work);
	} else if (known->phase == GANG_PHASE_BOUND) {
		go_on_binding(sched, work);
	} else {
		go_on_reserving(sched, work);
	}
}

/* -- time -------------------------------------------------------- */

void large_run(struct sched *sched)
{
	struct gangs *gangs = &sched->gangs;

	if (!gangs->due && sched->now_ms < gangs->tick_ms)
		return;
	gangs->due = false;
	adopt(sched);
	PL_LIST_EACH (link, &gangs->works) {
		struct gang_work *work = PL_LIST_ITEM(link, struct gang_work, link);

		if (!is_here(sched, work->gang->key[0]))
			large_drop(sched, work);
		else if (!work->putting && sched->now_ms >= work->retry_ms)
			go_on(sched, work);
	}
	if (gangs->holds > 0 && !rests_now(sched))
		large_release(sched);
	records_tidy(sched);
	gangs->tick_ms = UINT64_MAX;
	if (gangs->holds > 0 || sched->records.by_name.count > 0)
		gangs->tick_ms = sched->now_ms + IDLE_TICK_MS;
	if (!pl_list_empty(&gangs->works))
		gangs->tick_ms = sched->now_ms + TICK_MS;
}

uint64_t large_deadline_ms(const struct sched *sched)
{
	if (sched->unjoined) /* until the repair */
		return UINT64_MAX;
	return sched->gangs.due ? 0 : sched->gangs.tick_ms;
}

void large_check(const struct sched *sched)
{
	uint32_t ours = 0;

	PL_LIST_EACH (link, &sched->gangs.works) {
		const struct gang_work *work = PL_LIST_ITEM(link, struct gang_work, link);

		PL_ASSERT(work->gang->work == work && work->known->work == work);
		PL_ASSERT(work->known->partition == work->gang->key[0]);
		PL_ASSERT(work->known->key[0] == work->gang->key[1] &&
		          work->known->key[1] == work->gang->key[2]);
		ours += work->ours;
	}
	PL_ASSERT(ours == sched->gangs.ours && ours <= LARGE_OURS_MAX);
}
