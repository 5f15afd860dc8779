#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/client.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"

enum { TICK_MS = 100, TEXT_SIZE = 512 };

static const struct check *const checks[WORLD_CHECKS] = {
	&check_acting, &check_fence, &check_epoch,       &check_convergence,
	&check_gap,    &check_moves, &check_lease,       &check_pin,
	&check_stuck,  &check_room,  &check_place,       &check_rules,
	&check_fsck,   &check_flow,  &check_termination, &check_gang,
	&check_budget,
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

/* No shard writes such an owner key; it comes from a snapshot. */
static bool is_foreign(const struct world *world, const struct truth_owner *owner)
{
	return owner->exists && (owner->shard == TRUTH_SHARD_NONE ||
	                         world->truth.member[owner->shard].lease != owner->lease);
}

/* Damage by operators is not held against the shards. */
static void note_operator(struct world *world, const struct obs *obs)
{
	uint32_t p = obs->partition;

	if (obs->what == OBS_RESTORED)
		for (uint32_t i = 0; i < world->truth.partitions; i++)
			world->manual_owner[i] =
				is_foreign(world, &world->truth.owner[i]);
	if (obs->what != OBS_OWNER)
		return;
	if (!obs->owner->exists && (world->by_operator || world->manual_owner[p]) &&
	    world->revoked_epoch[p] < obs->before->epoch)
		world->revoked_epoch[p] = obs->before->epoch;
	if (!obs->owner->exists)
		nemesis_owner_gone(world);
	world->manual_owner[p] =
		obs->owner->exists && (world->by_operator || world->manual_owner[p]);
}

void world_observe(struct world *world, const struct obs *obs)
{
	note_operator(world, obs);
	if (!world->checking)
		return;
	for (unsigned i = 0; i < WORLD_CHECKS; i++)
		checks[i]->observe(world, world->state[i], obs);
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
	world_observe(world, &(struct obs){.what = OBS_TICK});
}

static void on_compacted(void *ctx, int64_t revision)
{
	world_observe(ctx, &(struct obs){.what = OBS_COMPACT, .revision = revision});
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
	simstore_init(&world->store, &world->agenda, &world->story,
	              pl_rng_next(&world->rng), plan->expiry_delay_ms, plan->txn_ops);
	world->store.compacted = on_compacted;
	world->store.ctx = world;
	for (unsigned i = 0; i < WORLD_CHECKS; i++) {
		world->state[i] = pl_calloc(1, checks[i]->size);
		PL_ASSERT(world->state[i] != NULL);
	}
	world->manual_owner = pl_calloc(plan->partitions, sizeof *world->manual_owner);
	world->revoked_epoch = pl_calloc(plan->partitions, sizeof *world->revoked_epoch);
	PL_ASSERT(world->manual_owner != NULL && world->revoked_epoch != NULL);
	if (plan->scenario.nodes != 0)
		world->mirror = mirror_new(world, &plan->scenario);
	truth_open(&world->truth, world, plan->partitions,
	           plan->shards + WORLD_SPARE_IDS);
	world->checking = true;
	agenda_item_init(&world->tick, on_tick, world);
	agenda_set(&world->agenda, &world->tick, TICK_MS);
	nemesis_open(world);
	if (world->mirror != NULL)
		world->client = client_open(world);
}

void world_run(struct world *world, uint64_t until_ms)
{
	for (;;) {
		uint64_t next = agenda_next_ms(&world->agenda);
		uint64_t due = simstore_next_ms(&world->store);

		next = due < next ? due : next;
		if (next > until_ms)
			break;
		agenda_advance(&world->agenda, next);
		simstore_run(&world->store);
		(void)agenda_step(&world->agenda, next);
		simstore_run(&world->store);
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
	cover->count[COVER_UNANSWERED_COMMITTED] += counts->unanswered_committed;
	cover->count[COVER_UNANSWERED_FAILED] += counts->unanswered_failed;
	cover->sim_ms += world->agenda.now_ms;
	cover->items += world->agenda.done;
}

void world_close(struct world *world)
{
	PL_ASSERT(pl_list_empty(&world->procs));
	world->checking = false;
	client_free(world->client);
	agenda_stop(&world->agenda, &world->tick);
	nemesis_close(world);
	/* Requests may be under way for so long. */
	world_run(world, world->agenda.now_ms + UINT64_C(100000));
	truth_close(&world->truth);
	simstore_done(&world->store);
	truth_free(&world->truth);
	mirror_free(world->mirror);
	free(world->manual_owner);
	free(world->revoked_epoch);
	for (unsigned i = 0; i < WORLD_CHECKS; i++) {
		if (checks[i]->done != NULL)
			checks[i]->done(world->state[i]);
		free(world->state[i]);
	}
	count_network(world);
	agenda_done(&world->agenda);
}
