#include "tests/sim/nemesis.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "tests/sim/proc.h"

enum { RETURNS_MAX = 64, SHARDS_A_HOST = 2, SAFE_PPM = 90000, WILD_PPM = 250000 };

/* A process that is to be started. */
struct ret {
	struct nemesis *nemesis;
	struct agenda_item item;
	bool busy;
	unsigned id, host;
};

struct nemesis {
	struct world *world;
	struct hands *hands;
	struct agenda_item next;
	struct agenda_item quick, roomy, told; /* end of slow, of full; incarnation */
	struct ret ret[RETURNS_MAX];
	struct agenda_item pounce; /* a compaction, when owners have just gone */
	bool lurks;                /* for that */
	struct memkv_snapshot *snapshot;
	bool untold; /* of a restore */
};

static uint64_t now_of(const struct nemesis *nemesis)
{
	return nemesis->world->agenda.now_ms;
}

static uint64_t below(struct nemesis *nemesis, uint64_t bound)
{
	return world_below(nemesis->world, bound);
}

static uint64_t ttl_ms(const struct nemesis *nemesis)
{
	return (uint64_t)nemesis->world->plan.ttl_s * 1000;
}

/* How long a fault lasts: often short, sometimes longer than any lease. */
static uint64_t spell(struct nemesis *nemesis)
{
	return 1 + below(nemesis, world_chance(nemesis->world, 1, 2)
	                                  ? 800
	                                  : 2 * ttl_ms(nemesis) + 2000);
}

static void say(struct nemesis *nemesis, const char *words)
{
	STORY(&nemesis->world->story, "nemesis", "%s", words);
}

/* -- processes ----------------------------------------------------------- */

struct proc *nemesis_join(struct world *world)
{
	unsigned id = world->ids;

	if (id >= world->truth.shards)
		return NULL;
	world->ids++;
	return proc_start(world,
	                  &(struct proc_opts){.id = id, .host = id / SHARDS_A_HOST});
}

static void on_return(void *ctx)
{
	struct ret *ret = ctx;
	struct world *world = ret->nemesis->world;

	if (world->plan.one_at_a_time && !world->calm && world->change_ms != 0) {
		agenda_set(&world->agenda, &ret->item, world->agenda.now_ms + 100);
		return;
	}
	ret->busy = false;
	world_hit(world, COVER_RESTART);
	(void)proc_start(world, &(struct proc_opts){.id = ret->id, .host = ret->host});
}

static void return_later(struct nemesis *nemesis, const struct proc *proc)
{
	struct world *world = nemesis->world;

	for (unsigned i = 0; i < RETURNS_MAX; i++) {
		struct ret *ret = &nemesis->ret[i];

		if (ret->busy)
			continue;
		ret->busy = true;
		ret->id = proc->id;
		ret->host = proc->host;
		if (world_chance(world, 1, 8) && world->ids < world->truth.shards) {
			world_hit(world, COVER_RESTART_NEW); /* without memory */
			ret->id = world->ids++;
		}
		if (world_chance(world, 1, 6))
			ret->host = (unsigned)below(nemesis, world->ids);
		agenda_set(&world->agenda, &ret->item, now_of(nemesis) + spell(nemesis));
		return;
	}
}

static void do_pause(struct nemesis *nemesis, struct proc *proc, bool suspend)
{
	struct world *world = nemesis->world;
	uint64_t ms = spell(nemesis);

	if (simkv_is_paused(proc->sim))
		return;
	STORY(&world->story, proc->name, "%s for %llu ms",
	      suspend ? "is suspended" : "is stopped", (unsigned long long)ms);
	world_hit(world, suspend ? COVER_SUSPEND : COVER_PAUSE);
	if (ms > ttl_ms(nemesis))
		world_hit(world, COVER_PAUSE_LONG);
	if (suspend)
		proc->broken_until_ms = now_of(nemesis) + ms + 2 * ttl_ms(nemesis);
	simkv_pause(proc->sim, suspend);
	agenda_set(&world->agenda, &proc->wake, now_of(nemesis) + ms);
}

static void do_crash(struct nemesis *nemesis, struct proc *proc)
{
	world_hit(nemesis->world, COVER_CRASH);
	return_later(nemesis, proc);
	proc_crash(proc);
}

static void do_leave(struct nemesis *nemesis, struct proc *proc)
{
	if (simkv_is_paused(proc->sim))
		return;
	world_hit(nemesis->world, COVER_LEAVE);
	return_later(nemesis, proc);
	proc_leave(proc);
}

static void do_twin(struct nemesis *nemesis, const struct proc *proc)
{
	unsigned host = proc->host;

	world_hit(nemesis->world, COVER_TWIN);
	if (world_chance(nemesis->world, 1, 2))
		host = (unsigned)below(nemesis, nemesis->world->ids);
	(void)proc_start(nemesis->world,
	                 &(struct proc_opts){.id = proc->id, .host = host, .twin = true});
}

static void do_join(struct nemesis *nemesis)
{
	if (proc_count(nemesis->world) < nemesis->world->plan.shards + 3)
		(void)nemesis_join(nemesis->world);
}

/* -- network and clocks -------------------------------------------------- */

static void do_cut(struct nemesis *nemesis, struct proc *proc)
{
	struct world *world = nemesis->world;
	uint64_t ways = below(nemesis, 5);
	uint64_t ms = spell(nemesis);

	world_hit(world, COVER_CUT);
	if (ways < SIMKV_WAYS) {
		static const char *const names[] = {"requests", "answers", "notes"};

		world_hit(world, COVER_CUT_ONE_WAY);
		STORY(&world->story, proc->name, "%s are cut off for %llu ms",
		      names[ways], (unsigned long long)ms);
		simkv_cut(proc->sim, (enum simkv_way)ways, true);
	} else {
		STORY(&world->story, proc->name, "is cut off for %llu ms",
		      (unsigned long long)ms);
		for (unsigned way = 0; way < SIMKV_WAYS; way++)
			simkv_cut(proc->sim, way, true);
	}
	agenda_set(&world->agenda, &proc->heal, now_of(nemesis) + ms);
}

static void do_break(struct nemesis *nemesis, struct proc *one)
{
	world_hit(nemesis->world, COVER_BREAK);
	if (world_chance(nemesis->world, 1, 2)) {
		STORY(&nemesis->world->story, one->name, "loses its connection");
		simkv_break(one->sim, false);
		return;
	}
	say(nemesis, "all connections break");
	PROC_EACH (proc, nemesis->world)
		simkv_break(proc->sim, false);
}

static void do_drift(struct nemesis *nemesis, struct proc *proc)
{
	uint64_t most = world_chance(nemesis->world, 1, 4) ? WILD_PPM : 20000;
	int32_t ppm = (int32_t)below(nemesis, 2 * most) - (int32_t)most;

	world_hit(nemesis->world, COVER_DRIFT);
	STORY(&nemesis->world->story, proc->name, "has a clock that drifts by %d ppm",
	      ppm);
	if (ppm < -SAFE_PPM)
		proc->broken_until_ms = UINT64_MAX;
	else if (proc->broken_until_ms == UINT64_MAX)
		proc->broken_until_ms = now_of(nemesis) + 2 * ttl_ms(nemesis);
	simkv_drift(proc->sim, ppm);
}

static void do_jump(struct nemesis *nemesis, struct proc *proc)
{
	uint64_t ms = spell(nemesis);

	world_hit(nemesis->world, COVER_JUMP);
	STORY(&nemesis->world->story, proc->name, "has a clock that jumps by %llu ms",
	      (unsigned long long)ms);
	simkv_jump(proc->sim, ms);
}

/* -- the store ----------------------------------------------------------- */

static void on_quick(void *ctx)
{
	struct nemesis *nemesis = ctx;

	say(nemesis, "the store is quick again");
	nemesis->world->depot.slow_ms = 0;
}

static void on_roomy(void *ctx)
{
	struct nemesis *nemesis = ctx;

	say(nemesis, "the store has space again");
	nemesis->world->depot.full = false;
}

static void on_told(void *ctx)
{
	struct nemesis *nemesis = ctx;

	if (nemesis->untold)
		hands_incarnation(nemesis->hands);
	nemesis->untold = false;
}

static void do_slow(struct nemesis *nemesis)
{
	world_hit(nemesis->world, COVER_SLOW);
	say(nemesis, "the store is slow");
	nemesis->world->depot.slow_ms = 1 + below(nemesis, 3000);
	agenda_set(&nemesis->world->agenda, &nemesis->quick,
	           now_of(nemesis) + spell(nemesis));
}

static void do_full(struct nemesis *nemesis)
{
	world_hit(nemesis->world, COVER_FULL);
	say(nemesis, "the store is full");
	nemesis->world->depot.full = true;
	agenda_set(&nemesis->world->agenda, &nemesis->roomy,
	           now_of(nemesis) + spell(nemesis));
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	(void)err; /* compacted already */
}

static void compact(struct nemesis *nemesis)
{
	struct world *world = nemesis->world;
	struct kv_compact compact = {.revision = memkv_revision(world->depot.mem)};

	world_hit(world, COVER_COMPACT);
	STORY(&world->story, "nemesis", "compacts to %lld", (long long)compact.revision);
	if (kv_compact(world->truth.kv, &compact, 1000, on_done, nemesis, NULL, NULL) !=
	    PL_OK)
		PL_UNREACHABLE("compaction");
}

static void on_pounce(void *ctx)
{
	compact(ctx);
}

/* Now, or when it hurts: who lists at this moment, and watches from there, is to
 * miss nothing. */
static void do_compact(struct nemesis *nemesis)
{
	if (world_chance(nemesis->world, 1, 2))
		compact(nemesis);
	else
		nemesis->lurks = true;
}

void nemesis_owner_gone(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	if (nemesis == NULL || !nemesis->lurks || world->calm)
		return;
	nemesis->lurks = world_chance(world, 1, 2);
	agenda_set(&world->agenda, &nemesis->pounce,
	           now_of(nemesis) + below(nemesis, 20));
}

static void keep_snapshot(struct nemesis *nemesis)
{
	memkv_snapshot_free(nemesis->snapshot);
	nemesis->snapshot = NULL;
	if (memkv_save(nemesis->world->depot.mem, &nemesis->snapshot, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void do_restore(struct nemesis *nemesis)
{
	struct world *world = nemesis->world;

	if (nemesis->snapshot == NULL) {
		keep_snapshot(nemesis);
		return;
	}
	world_hit(world, COVER_RESTORE);
	say(nemesis, "the store is restored from a snapshot");
	world->strange = true;
	world->bad_version = 0; /* its number may come again */
	world_touch(world);
	depot_restore(&world->depot, nemesis->snapshot);
	truth_restored(&world->truth);
	PROC_EACH (proc, world)
		simkv_break(proc->sim, true);
	nemesis->untold = true;
	if (world_chance(world, 9, 10))
		agenda_set(&world->agenda, &nemesis->told,
		           now_of(nemesis) + below(nemesis, 3000));
	keep_snapshot(nemesis);
}

/* -- one after the other ------------------------------------------------- */

static enum fault draw(struct nemesis *nemesis)
{
	const struct plan *plan = &nemesis->world->plan;
	uint64_t at = below(nemesis, plan->weights);

	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		if (at < plan->weight[i])
			return (enum fault)i;
		at -= plan->weight[i];
	}
	PL_UNREACHABLE("weights");
}

static void do_to_one(struct nemesis *nemesis, enum fault fault, struct proc *proc)
{
	bool few = proc_active(nemesis->world) < 3;

	if (fault == FAULT_PAUSE || fault == FAULT_SUSPEND)
		do_pause(nemesis, proc, fault == FAULT_SUSPEND);
	if (fault == FAULT_CRASH)
		do_crash(nemesis, proc);
	if (fault == FAULT_TWIN)
		do_twin(nemesis, proc);
	if (fault == FAULT_LEAVE && !few)
		do_leave(nemesis, proc);
	if (fault == FAULT_CUT)
		do_cut(nemesis, proc);
	if (fault == FAULT_BREAK)
		do_break(nemesis, proc);
	if (fault == FAULT_DRIFT)
		do_drift(nemesis, proc);
	if (fault == FAULT_JUMP)
		do_jump(nemesis, proc);
}

static void do_to_all(struct nemesis *nemesis, enum fault fault)
{
	struct world *world = nemesis->world;

	if (fault == FAULT_JOIN)
		do_join(nemesis);
	if (fault == FAULT_LEADER && !world->depot.leaderless) {
		world_hit(world, COVER_LEADER_LOSS);
		depot_lose_leader(&world->depot, spell(nemesis));
	}
	if (fault == FAULT_SLOW)
		do_slow(nemesis);
	if (fault == FAULT_FULL)
		do_full(nemesis);
	if (fault == FAULT_COMPACT)
		do_compact(nemesis);
	if (fault == FAULT_RESTORE)
		do_restore(nemesis);
	if (fault == FAULT_EVICT)
		hands_evict(nemesis->hands);
	if (fault == FAULT_DRAIN)
		hands_drain(nemesis->hands);
	if (fault == FAULT_CONFIG)
		hands_config(nemesis->hands);
	if (fault == FAULT_CONFIG_BAD)
		hands_config_bad(nemesis->hands);
	if (fault == FAULT_HAND_DELETE)
		hands_delete_owner(nemesis->hands);
	if (fault == FAULT_HAND_GARBLE)
		hands_garble_owner(nemesis->hands);
	if (fault == FAULT_PIN)
		hands_pin(nemesis->hands);
}

static void on_next(void *ctx)
{
	struct nemesis *nemesis = ctx;
	struct world *world = nemesis->world;
	struct proc *proc = proc_any(world);
	uint64_t gap = world->plan.gap_ms;
	enum fault fault = draw(nemesis);

	agenda_set(&world->agenda, &nemesis->next,
	           now_of(nemesis) + 1 + below(nemesis, 2 * gap));
	/* One that waits for the last to settle does nothing meanwhile. */
	if (world->plan.one_at_a_time && world->change_ms != 0)
		return;
	if (world_chance(world, 1, 8) && world->plan.weight[FAULT_RESTORE] != 0)
		keep_snapshot(nemesis);
	if (proc != NULL)
		do_to_one(nemesis, fault, proc);
	do_to_all(nemesis, fault);
}

void nemesis_start(struct world *world)
{
	if (world->plan.one_at_a_time)
		hands_no_balancer(world->nemesis->hands);
	if (world->plan.weights != 0)
		agenda_set(&world->agenda, &world->nemesis->next,
		           world->agenda.now_ms + 1);
}

static void mend(struct nemesis *nemesis, struct proc *proc)
{
	struct world *world = nemesis->world;

	if (simkv_is_paused(proc->sim))
		agenda_set(&world->agenda, &proc->wake, now_of(nemesis));
	agenda_set(&world->agenda, &proc->heal, now_of(nemesis));
	if (simkv_clock(proc->sim)->ppm < -SAFE_PPM ||
	    simkv_clock(proc->sim)->ppm > SAFE_PPM)
		simkv_drift(proc->sim, 0);
	if (proc->broken_until_ms == UINT64_MAX)
		proc->broken_until_ms = now_of(nemesis) + 2 * ttl_ms(nemesis);
	*simkv_link(proc->sim) =
		(struct simlink){.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};
}

void nemesis_calm(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	say(nemesis, "lets everything be");
	agenda_stop(&world->agenda, &nemesis->next);
	agenda_stop(&world->agenda, &nemesis->pounce);
	depot_elect(&world->depot);
	world->depot.slow_ms = 0;
	world->depot.full = false;
	agenda_stop(&world->agenda, &nemesis->quick);
	agenda_stop(&world->agenda, &nemesis->roomy);
	agenda_stop(&world->agenda, &nemesis->told);
	on_told(nemesis);
	PROC_EACH (proc, world)
		if (proc_lives(proc))
			mend(nemesis, proc);
	for (unsigned i = 0; i < RETURNS_MAX; i++)
		if (nemesis->ret[i].busy)
			agenda_set(&world->agenda, &nemesis->ret[i].item,
			           now_of(nemesis) + below(nemesis, 100));
	hands_calm(nemesis->hands);
}

void nemesis_open(struct world *world)
{
	struct nemesis *nemesis = pl_calloc(1, sizeof *nemesis);

	PL_ASSERT(nemesis != NULL);
	nemesis->world = world;
	nemesis->hands = hands_new(world);
	agenda_item_init(&nemesis->next, on_next, nemesis);
	agenda_item_init(&nemesis->quick, on_quick, nemesis);
	agenda_item_init(&nemesis->roomy, on_roomy, nemesis);
	agenda_item_init(&nemesis->told, on_told, nemesis);
	agenda_item_init(&nemesis->pounce, on_pounce, nemesis);
	for (unsigned i = 0; i < RETURNS_MAX; i++) {
		nemesis->ret[i].nemesis = nemesis;
		agenda_item_init(&nemesis->ret[i].item, on_return, &nemesis->ret[i]);
	}
	world->nemesis = nemesis;
}

void nemesis_close(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	agenda_stop(&world->agenda, &nemesis->next);
	agenda_stop(&world->agenda, &nemesis->quick);
	agenda_stop(&world->agenda, &nemesis->roomy);
	agenda_stop(&world->agenda, &nemesis->told);
	agenda_stop(&world->agenda, &nemesis->pounce);
	for (unsigned i = 0; i < RETURNS_MAX; i++)
		agenda_stop(&world->agenda, &nemesis->ret[i].item);
	memkv_snapshot_free(nemesis->snapshot);
	hands_free(nemesis->hands);
	free(nemesis);
}
