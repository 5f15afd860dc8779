/* The process's side: its clock, its timers, its request memory, and its faults. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/simkv_int.h"

enum { ROOM_BYTES_DEFAULT = 8 << 20 };

uint64_t simkv_delay(struct simkv *sim)
{
	const struct simlink *link = &sim->link;
	uint64_t ms = pl_rng_between(&sim->rng, link->delay_min_ms, link->delay_max_ms);

	if (pl_rng_chance(&sim->rng, link->slow_in_1000, 1000))
		ms += pl_rng_below(&sim->rng, (uint64_t)link->slow_max_ms + 1);
	return ms;
}

bool simkv_awake(struct simkv *sim, struct agenda_item *item)
{
	if (!sim->paused)
		return true;
	pl_list_add_tail(&sim->held_by_pause, &item->parked);
	return false;
}

bool simkv_passes(struct simkv *sim, enum simkv_way way, struct agenda_item *item)
{
	if (!sim->cut[way] || sim->dead)
		return true;
	sim->counts->held++;
	pl_list_add_tail(&sim->held[way], &item->parked);
	return false;
}

/* -- clock and timers ---------------------------------------------------- */

uint64_t simkv_local_ms(const struct simkv *sim)
{
	return simclock_read(&sim->clock, sim->agenda->now_ms);
}

const struct simclock *simkv_clock(const struct simkv *sim)
{
	return &sim->clock;
}

static void arm_tick(void *ctx)
{
	struct simkv *sim = ctx;
	uint64_t at = simclock_when(&sim->clock, sim->agenda->now_ms,
	                            pl_timers_next_ms(&sim->timers));

	if (at == UINT64_MAX)
		agenda_stop(sim->agenda, &sim->tick);
	else
		agenda_set(
			sim->agenda, &sim->tick,
			at + pl_rng_below(&sim->rng, (uint64_t)sim->link.lag_max_ms + 1));
}

static void on_tick(void *ctx)
{
	struct simkv *sim = ctx;

	if (!simkv_awake(sim, &sim->tick))
		return;
	pl_timers_run(&sim->timers, simkv_local_ms(sim));
	arm_tick(sim);
}

void simkv_drift(struct simkv *sim, int32_t ppm)
{
	simclock_drift(&sim->clock, sim->agenda->now_ms, ppm);
	if (!sim->paused)
		arm_tick(sim);
}

void simkv_jump(struct simkv *sim, uint64_t ahead_ms)
{
	simclock_jump(&sim->clock, sim->agenda->now_ms, ahead_ms);
	if (!sim->paused)
		arm_tick(sim);
}

static uint64_t op_now_ms(struct kv *kv)
{
	return simkv_local_ms(simkv_of(kv));
}

static struct pl_timers *op_timers(struct kv *kv)
{
	return &simkv_of(kv)->timers;
}

/* -- request memory ------------------------------------------------------ */

static struct kv_limits op_limits(struct kv *kv)
{
	return kv_limits(simkv_of(kv)->store->kv);
}

static size_t op_room(struct kv *kv)
{
	const struct simkv *sim = simkv_of(kv);

	return sim->bytes < sim->room_bytes ? sim->room_bytes - sim->bytes : 0;
}

static bool has_room(const struct simkv *sim)
{
	return sim->closing || sim->dead || sim->bytes <= sim->room_bytes / 2;
}

static void wake_waiters(struct simkv *sim)
{
	if (!pl_list_empty(&sim->waiters) && has_room(sim) && !agenda_is_set(&sim->room))
		agenda_set(sim->agenda, &sim->room, sim->agenda->now_ms);
}

static void op_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	struct simkv *sim = simkv_of(kv);

	pl_list_del(&waiter->link);
	pl_list_add_tail(&sim->waiters, &waiter->link);
	wake_waiters(sim);
}

static void on_room(void *ctx)
{
	struct simkv *sim = ctx;
	struct kv_waiter *waiter;

	if (!simkv_awake(sim, &sim->room) || pl_list_empty(&sim->waiters) ||
	    !has_room(sim))
		return;
	waiter = PL_LIST_ITEM(sim->waiters.next, struct kv_waiter, link);
	pl_list_del(&waiter->link);
	wake_waiters(sim);
	waiter->fn(waiter->ctx);
}

/* -- faults -------------------------------------------------------------- */

static void release_items(struct simkv *sim, struct pl_list *items, bool travel)
{
	while (!pl_list_empty(items)) {
		struct agenda_item *item =
			PL_LIST_ITEM(items->next, struct agenda_item, parked);

		agenda_set(sim->agenda, item,
		           sim->agenda->now_ms + (travel ? simkv_delay(sim) : 0));
	}
}

void simkv_cut(struct simkv *sim, enum simkv_way way, bool cut)
{
	sim->cut[way] = cut;
	if (!cut)
		release_items(sim, &sim->held[way], true);
}

bool simkv_is_cut(const struct simkv *sim, enum simkv_way way)
{
	return sim->cut[way];
}

void simkv_pause(struct simkv *sim, bool with_clock)
{
	PL_ASSERT(!sim->dead);
	sim->paused = true;
	if (with_clock)
		simclock_stop(&sim->clock, sim->agenda->now_ms, true);
}

/* In random order: a loop may look at any of them first. */
void simkv_resume(struct simkv *sim)
{
	if (!sim->paused)
		return;
	sim->paused = false;
	simclock_stop(&sim->clock, sim->agenda->now_ms, false);
	release_items(sim, &sim->held_by_pause, false);
	arm_tick(sim);
}

bool simkv_is_paused(const struct simkv *sim)
{
	return sim->paused;
}

void simkv_crash(struct simkv *sim)
{
	simkv_resume(sim);
	sim->dead = true;
	simkv_calls_end(sim, PL_CANCELED, "the process died");
	simkv_watches_end(sim, PL_CANCELED, "the process died");
	for (unsigned way = 0; way < SIMKV_WAYS; way++)
		simkv_cut(sim, way, false);
	wake_waiters(sim);
}

void simkv_break(struct simkv *sim, bool forget)
{
	if (sim->dead)
		return;
	sim->counts->breaks++;
	simkv_calls_break(sim, forget);
	simkv_watches_break(sim);
}

/* -- beginning and end --------------------------------------------------- */

void simkv_ended(struct simkv *sim)
{
	wake_waiters(sim);
	if (sim->closing && pl_list_empty(&sim->calls) && pl_list_empty(&sim->watches) &&
	    !agenda_is_set(&sim->end))
		agenda_set(sim->agenda, &sim->end, sim->agenda->now_ms);
}

static void op_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct simkv *sim = simkv_of(kv);

	PL_ASSERT(!sim->closing);
	sim->closing = true;
	sim->on_closed = closed;
	sim->ctx = ctx;
	simkv_calls_end(sim, PL_CANCELED, "closed");
	simkv_watches_end(sim, PL_CANCELED, "closed");
	simkv_ended(sim);
}

static void on_end(void *ctx)
{
	struct simkv *sim = ctx;

	if (!simkv_awake(sim, &sim->end))
		return;
	if (!pl_list_empty(&sim->waiters)) {
		wake_waiters(sim);
		agenda_set(sim->agenda, &sim->end, sim->agenda->now_ms + 1);
		return;
	}
	sim->closed = true;
	for (unsigned way = 0; way < SIMKV_WAYS; way++)
		simkv_cut(sim, way, false);
	sim->on_closed(sim->ctx);
}

bool simkv_is_closed(const struct simkv *sim)
{
	return sim->closed;
}

struct kv *simkv_kv(struct simkv *sim)
{
	return &sim->kv;
}

struct simlink *simkv_link(struct simkv *sim)
{
	return &sim->link;
}

static const struct kv_ops simkv_ops = {
	.name = "simulated",
	.start = simkv_start,
	.cancel = simkv_cancel,
	.watch = simkv_watch,
	.unwatch = simkv_unwatch,
	.progress = simkv_progress,
	.limits = op_limits,
	.room = op_room,
	.when_room = op_when_room,
	.now_ms = op_now_ms,
	.timers = op_timers,
	.close = op_close,
};

struct simkv *simkv_new(const struct simkv_opts *opts)
{
	struct simkv *sim = pl_calloc(1, sizeof *sim);

	PL_ASSERT(sim != NULL);
	sim->kv.ops = &simkv_ops;
	sim->agenda = opts->agenda;
	sim->store = opts->store;
	sim->story = opts->story;
	sim->name = opts->name;
	sim->writer = opts->writer;
	sim->counts = opts->counts;
	sim->clock = opts->clock;
	sim->link = opts->link;
	sim->room_bytes = opts->room_bytes == 0 ? ROOM_BYTES_DEFAULT : opts->room_bytes;
	pl_rng_init(&sim->rng, opts->seed);
	pl_timers_init(&sim->timers, arm_tick, sim);
	agenda_item_init(&sim->tick, on_tick, sim);
	agenda_item_init(&sim->room, on_room, sim);
	agenda_item_init(&sim->end, on_end, sim);
	pl_list_init(&sim->calls);
	pl_list_init(&sim->orphans);
	pl_list_init(&sim->watches);
	for (unsigned way = 0; way < SIMKV_WAYS; way++)
		pl_list_init(&sim->held[way]);
	pl_list_init(&sim->held_by_pause);
	pl_list_init(&sim->waiters);
	return sim;
}

void simkv_free(struct simkv *sim)
{
	if (sim == NULL)
		return;
	PL_ASSERT(sim->closed && pl_list_empty(&sim->calls));
	simkv_orphans_leave(sim);
	agenda_stop(sim->agenda, &sim->tick);
	agenda_stop(sim->agenda, &sim->room);
	agenda_stop(sim->agenda, &sim->end);
	pl_timers_done(&sim->timers);
	free(sim);
}
