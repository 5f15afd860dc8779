/* What befalls the store. */
#include "store/kv/calls.h"
#include "tests/sim/clerk.h"
#include "tests/sim/nemesis_int.h"

static void on_quick(void *ctx)
{
	struct nemesis *nemesis = ctx;

	nemesis_say(nemesis, "the store is quick again");
	nemesis->world->depot.slow_ms = 0;
}

static void on_roomy(void *ctx)
{
	struct nemesis *nemesis = ctx;

	nemesis_say(nemesis, "the store has space again");
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
	nemesis_say(nemesis, "the store is slow");
	nemesis->world->depot.slow_ms = 1 + nemesis_below(nemesis, 3000);
	agenda_set(&nemesis->world->agenda, &nemesis->quick,
	           nemesis_now(nemesis) + nemesis_spell(nemesis));
}

static void do_full(struct nemesis *nemesis)
{
	world_hit(nemesis->world, COVER_FULL);
	nemesis_say(nemesis, "the store is full");
	nemesis->world->depot.full = true;
	agenda_set(&nemesis->world->agenda, &nemesis->roomy,
	           nemesis_now(nemesis) + nemesis_spell(nemesis));
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
	           nemesis_now(nemesis) + nemesis_below(nemesis, 20));
}

void nemesis_left_behind(struct world *world)
{
	if (world->nemesis == NULL || world->calm)
		return;
	world_hit(world, COVER_LEFT_BEHIND);
	compact(world->nemesis);
}

void faults_snapshot(struct nemesis *nemesis)
{
	memkv_snapshot_free(nemesis->snapshot);
	nemesis->snapshot = NULL;
	if (memkv_save(nemesis->world->depot.mem, &nemesis->snapshot, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static uint32_t placed_in(const struct world *world)
{
	uint32_t placed = 0;

	for (uint32_t i = 0; world->stock != NULL && i < world->stock->pods; i++)
		placed += stock_is_placed(&world->stock->pod[i]);
	return placed;
}

static void do_restore(struct nemesis *nemesis)
{
	struct world *world = nemesis->world;
	uint32_t placed;

	/* Not again before people have told of it, or the same revisions come a third
	 * time, and nobody can know. */
	if (nemesis->untold)
		return;
	if (nemesis->snapshot == NULL) {
		faults_snapshot(nemesis);
		return;
	}
	world_hit(world, COVER_RESTORE);
	placed = placed_in(world);
	nemesis_say(nemesis, "the store is restored from a snapshot");
	world->strange = true;
	world->bad_version = 0; /* its number may come again */
	world_touch(world);
	depot_restore(&world->depot, nemesis->snapshot);
	truth_restored(&world->truth);
	if (placed_in(world) < placed)
		world_hit(world, COVER_RESTORE_PLACED);
	PROC_EACH (proc, world)
		simkv_break(proc->sim, true);
	if (world->clerk != NULL)
		clerk_break(world->clerk, true);
	nemesis->untold = true;
	if (world_chance(world, 9, 10))
		agenda_set(&world->agenda, &nemesis->told,
		           nemesis_now(nemesis) + nemesis_below(nemesis, 3000));
	faults_snapshot(nemesis);
}

void fault_of_store(struct nemesis *nemesis, enum fault fault)
{
	struct world *world = nemesis->world;

	if (fault == FAULT_LEADER && !world->depot.leaderless) {
		world_hit(world, COVER_LEADER_LOSS);
		depot_lose_leader(&world->depot, nemesis_spell(nemesis));
	}
	if (fault == FAULT_SLOW)
		do_slow(nemesis);
	if (fault == FAULT_FULL)
		do_full(nemesis);
	if (fault == FAULT_COMPACT)
		do_compact(nemesis);
	if (fault == FAULT_RESTORE)
		do_restore(nemesis);
}

void faults_store_init(struct nemesis *nemesis)
{
	agenda_item_init(&nemesis->quick, on_quick, nemesis);
	agenda_item_init(&nemesis->roomy, on_roomy, nemesis);
	agenda_item_init(&nemesis->told, on_told, nemesis);
	agenda_item_init(&nemesis->pounce, on_pounce, nemesis);
}

void faults_store_stop(struct nemesis *nemesis)
{
	struct world *world = nemesis->world;

	agenda_stop(&world->agenda, &nemesis->pounce);
	agenda_stop(&world->agenda, &nemesis->quick);
	agenda_stop(&world->agenda, &nemesis->roomy);
	agenda_stop(&world->agenda, &nemesis->told);
	depot_elect(&world->depot);
	world->depot.slow_ms = 0;
	world->depot.full = false;
	on_told(nemesis);
}
