#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/clerk.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"

enum { TICK_MS = 100, TEXT_SIZE = 512 };

static const struct check *const checks[WORLD_CHECKS] = {
	&check_acting, &check_fence,  &check_epoch, &check_settle, &check_gap,
	&check_moves,  &check_lease,  &check_pin,   &check_stuck,  &check_room,
	&check_place,  &check_rules,  &check_fsck,  &check_flow,   &check_ends,
	&check_gang,   &check_budget,
};

void check_fail(struct world *world, const char *check, const char *fmt, ...)
{
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	STORY(&world->story, "judge", "%s: %s", check, text);
	world->failed(world, check, text);
	PL_UNREACHABLE("a failure came back");
}

/* No shard writes an owner key so; it comes from a snapshot. */
static bool is_odd(const struct world *world, const struct truth_owner *owner)
{
	return owner->exists && (owner->shard == TRUTH_SHARD_NONE ||
	                         world->truth.member[owner->shard].lease != owner->lease);
}

/* What operators break is not held against the shards. */
static void see_hand(struct world *world, const struct obs *obs)
{
	uint32_t p = obs->partition;

	if (obs->what == OBS_RESTORED)
		for (uint32_t i = 0; i < world->truth.partitions; i++)
			world->handmade[i] = is_odd(world, &world->truth.owner[i]);
	if (obs->what != OBS_OWNER)
		return;
	if (!obs->owner->exists && (world->by_hand || world->handmade[p]) &&
	    world->robbed[p] < obs->before->epoch)
		world->robbed[p] = obs->before->epoch;
	if (!obs->owner->exists)
		nemesis_owner_gone(world);
	world->handmade[p] = obs->owner->exists && (world->by_hand || world->handmade[p]);
}

void world_see(struct world *world, const struct obs *obs)
{
	see_hand(world, obs);
	if (!world->checking)
		return;
	for (unsigned i = 0; i < WORLD_CHECKS; i++)
		checks[i]->see(world, world->state[i], obs);
}

uint64_t world_below(struct world *world, uint64_t bound)
{
	return pl_rng_below(&world->rng, bound);
}

int64_t world_wall_draw(struct world *world)
{
	uint64_t most = world->plan.wall_max_ms;

	return most == 0 ? 0 : (int64_t)world_below(world, 2 * most) - (int64_t)most;
}

bool world_chance(struct world *world, uint64_t count, uint64_t outof)
{
	return pl_rng_chance(&world->rng, count, outof);
}

static void on_tick(void *ctx)
{
	struct world *world = ctx;

	agenda_set(&world->agenda, &world->tick, world->agenda.now_ms + TICK_MS);
	world_see(world, &(struct obs){.what = OBS_TICK});
}

static void on_compacted(void *ctx, int64_t revision)
{
	world_see(ctx, &(struct obs){.what = OBS_COMPACT, .revision = revision});
}

void world_open(struct world *world, const struct plan *plan, uint64_t seed,
                const struct story *story)
{
	PL_ASSERT(world->failed != NULL);
	world->plan = *plan;
	world->story = *story;
	world->story.now_ms = &world->agenda.now_ms;
	world->wall_ms = UINT64_C(1790000000000);
	pl_rng_init(&world->rng, seed);
	pl_list_init(&world->procs);
	agenda_init(&world->agenda, pl_rng_next(&world->rng));
	depot_init(&world->depot, &world->agenda, &world->story, pl_rng_next(&world->rng),
	           plan->expiry_delay_ms, plan->txn_ops);
	world->depot.compacted = on_compacted;
	world->depot.ctx = world;
	for (unsigned i = 0; i < WORLD_CHECKS; i++) {
		world->state[i] = pl_calloc(1, checks[i]->size);
		PL_ASSERT(world->state[i] != NULL);
	}
	world->handmade = pl_calloc(plan->partitions, sizeof *world->handmade);
	world->robbed = pl_calloc(plan->partitions, sizeof *world->robbed);
	PL_ASSERT(world->handmade != NULL && world->robbed != NULL);
	if (plan->scene.nodes != 0)
		world->stock = stock_new(world, &plan->scene);
	truth_open(&world->truth, world, plan->partitions,
	           plan->shards + WORLD_SPARE_IDS);
	world->checking = true;
	agenda_item_init(&world->tick, on_tick, world);
	agenda_set(&world->agenda, &world->tick, TICK_MS);
	nemesis_open(world);
	if (world->stock != NULL)
		world->clerk = clerk_open(world);
}

void world_run(struct world *world, uint64_t until_ms)
{
	for (;;) {
		uint64_t next = agenda_next_ms(&world->agenda);
		uint64_t due = depot_next_ms(&world->depot);

		next = due < next ? due : next;
		if (next > until_ms)
			break;
		agenda_advance(&world->agenda, next);
		depot_run(&world->depot);
		(void)agenda_step(&world->agenda, next);
		depot_run(&world->depot);
		if (world->agenda.done > world->items_max)
			check_fail(world, "stuck",
			           "%" PRIu64 " events, and no end to be seen",
			           world->agenda.done);
	}
	agenda_advance(&world->agenda, until_ms);
}

static void count_network(struct world *world)
{
	const struct simkv_counts *counts = &world->counts;
	struct cover *cover = &world->cover;

	cover->count[COVER_LOST_REQUEST] += counts->lost_requests;
	cover->count[COVER_LOST_ANSWER] += counts->lost_answers;
	cover->count[COVER_LATE] += counts->late;
	cover->count[COVER_HELD] += counts->held;
	cover->count[COVER_UNKNOWN] += counts->unknown;
	cover->count[COVER_REWOUND] += counts->rewound;
	cover->count[COVER_BUSY] += counts->busy;
	cover->count[COVER_UNHEARD_YES] += counts->unheard_yes;
	cover->count[COVER_UNHEARD_NO] += counts->unheard_no;
	cover->sim_ms += world->agenda.now_ms;
	cover->items += world->agenda.done;
}

void world_close(struct world *world)
{
	PL_ASSERT(pl_list_empty(&world->procs));
	world->checking = false;
	clerk_free(world->clerk);
	agenda_stop(&world->agenda, &world->tick);
	nemesis_close(world);
	/* Requests that are still on their way, for as long as they may take. */
	world_run(world, world->agenda.now_ms + UINT64_C(100000));
	truth_close(&world->truth);
	depot_done(&world->depot);
	truth_free(&world->truth);
	stock_free(world->stock);
	free(world->handmade);
	free(world->robbed);
	for (unsigned i = 0; i < WORLD_CHECKS; i++) {
		if (checks[i]->done != NULL)
			checks[i]->done(world->state[i]);
		free(world->state[i]);
	}
	count_network(world);
	agenda_done(&world->agenda);
}
