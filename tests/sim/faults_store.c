/* Faults of the store. */
#include "store/kv/calls.h"
#include "tests/sim/client.h"
#include "tests/sim/nemesis_int.h"

static void on_slow_end(void *ctx)
{
	struct nemesis *nemesis = ctx;

	nemesis_story(nemesis, "the store is quick again");
	nemesis->world->store.slow_ms = 0;
}

static void on_full_end(void *ctx)
{
	struct nemesis *nemesis = ctx;

	nemesis_story(nemesis, "the store has space again");
	nemesis->world->store.full = false;
}

static void on_announce(void *ctx)
{
	struct nemesis *nemesis = ctx;

	if (nemesis->unannounced)
		operators_incarnation(nemesis->operators);
	nemesis->unannounced = false;
}

static void do_slow(struct nemesis *nemesis)
{
	world_hit(nemesis->world, COVER_SLOW);
	nemesis_story(nemesis, "the store is slow");
	nemesis->world->store.slow_ms = 1 + nemesis_below(nemesis, 3000);
	agenda_set(&nemesis->world->agenda, &nemesis->slow_end,
	           nemesis_now(nemesis) + nemesis_duration_ms(nemesis));
}

static void do_full(struct nemesis *nemesis)
{
	world_hit(nemesis->world, COVER_FULL);
	nemesis_story(nemesis, "the store is full");
	nemesis->world->store.full = true;
	agenda_set(&nemesis->world->agenda, &nemesis->full_end,
	           nemesis_now(nemesis) + nemesis_duration_ms(nemesis));
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	(void)err; /* the revision is compacted already */
}

static void compact_now(struct nemesis *nemesis)
{
	struct world *world = nemesis->world;
	struct kv_compact compact_now = {.revision = memkv_revision(world->store.mem)};

	world_hit(world, COVER_COMPACT);
	STORY(&world->story, "nemesis", "compacts to %lld",
	      (long long)compact_now.revision);
	if (kv_compact(world->truth.kv, &compact_now, 1000, on_done, nemesis, NULL,
	               NULL) != PL_OK)
		PL_UNREACHABLE("compaction");
}

static void on_compact_item(void *ctx)
{
	compact_now(ctx);
}

/* Compacts now, or when it hurts: a process that lists at this moment and watches from
 * there is to miss events. */
static void do_compact(struct nemesis *nemesis)
{
	if (world_chance(nemesis->world, 1, 2))
		compact_now(nemesis);
	else
		nemesis->compact_armed = true;
}

void nemesis_owner_gone(struct world *world)
{
	struct nemesis *nemesis = world->nemesis;

	if (nemesis == NULL || !nemesis->compact_armed || world->recovering)
		return;
	nemesis->compact_armed = world_chance(world, 1, 2);
	agenda_set(&world->agenda, &nemesis->compact_item,
	           nemesis_now(nemesis) + nemesis_below(nemesis, 20));
}

void nemesis_left_behind(struct world *world)
{
	if (world->nemesis == NULL || world->recovering)
		return;
	world_hit(world, COVER_LEFT_BEHIND);
	compact_now(world->nemesis);
}

void faults_snapshot(struct nemesis *nemesis)
{
	memkv_snapshot_free(nemesis->snapshot);
	nemesis->snapshot = NULL;
	if (memkv_save(nemesis->world->store.mem, &nemesis->snapshot, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static uint32_t placed_in(const struct world *world)
{
	uint32_t placed = 0;

	for (uint32_t i = 0; world->mirror != NULL && i < world->mirror->pods; i++)
		placed += mirror_is_placed(&world->mirror->pod[i]);
	return placed;
}

static void do_restore(struct nemesis *nemesis)
{
	struct world *world = nemesis->world;
	uint32_t placed;

	/* No second restore before operators have announced the first one, or the same
	 * revisions come a third time, and no shard can tell them apart. */
	if (nemesis->unannounced)
		return;
	if (nemesis->snapshot == NULL) {
		faults_snapshot(nemesis);
		return;
	}
	world_hit(world, COVER_RESTORE);
	placed = placed_in(world);
	nemesis_story(nemesis, "the store is restored from a snapshot");
	world->after_restore = true;
	world->bad_version = 0; /* the version number may come again */
	world_touch(world);
	simstore_restore(&world->store, nemesis->snapshot);
	truth_restored(&world->truth);
	if (placed_in(world) < placed)
		world_hit(world, COVER_RESTORE_PLACED);
	PROC_EACH (proc, world)
		simkv_break(proc->sim, true);
	if (world->client != NULL)
		client_break(world->client, true);
	nemesis->unannounced = true;
	if (world_chance(world, 9, 10))
		agenda_set(&world->agenda, &nemesis->announce,
		           nemesis_now(nemesis) + nemesis_below(nemesis, 3000));
	faults_snapshot(nemesis);
}

void fault_of_store(struct nemesis *nemesis, enum fault fault)
{
	struct world *world = nemesis->world;

	if (fault == FAULT_LEADER && !world->store.leaderless) {
		world_hit(world, COVER_LEADER_LOSS);
		simstore_lose_leader(&world->store, nemesis_duration_ms(nemesis));
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
	agenda_item_init(&nemesis->slow_end, on_slow_end, nemesis);
	agenda_item_init(&nemesis->full_end, on_full_end, nemesis);
	agenda_item_init(&nemesis->announce, on_announce, nemesis);
	agenda_item_init(&nemesis->compact_item, on_compact_item, nemesis);
}

void faults_store_stop(struct nemesis *nemesis)
{
	struct world *world = nemesis->world;

	agenda_stop(&world->agenda, &nemesis->compact_item);
	agenda_stop(&world->agenda, &nemesis->slow_end);
	agenda_stop(&world->agenda, &nemesis->full_end);
	agenda_stop(&world->agenda, &nemesis->announce);
	simstore_elect(&world->store);
	world->store.slow_ms = 0;
	world->store.full = false;
	on_announce(nemesis);
}
