#include "tests/sim/seed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/client.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"

enum {
	STEP_MS = 200,
	RECOVERY_MAX_MS = 120000, /* check_convergence ends the run earlier */
	LEAVE_MAX_MS = 60000,
	ITEMS_PER_SHARD = 3 * 1000 * 1000,
};

static void on_failed(struct world *world, const char *check, const char *text)
{
	const struct seed_opts *opts = world->ctx;

	opts->failed(opts->ctx, check, text);
}

static void phase_faults(struct world *world)
{
	for (unsigned i = 0; i < world->plan.shards; i++)
		(void)nemesis_join(world);
	world_run(world, world->agenda.now_ms + world_below(world, 3000));
	nemesis_start(world);
	world_run(world, world->agenda.now_ms + world->plan.faults_ms);
}

/* The oldest processes, so that the leaders are among them. */
static void crash_tenth(struct world *world)
{
	unsigned left = (world->plan.shards + 9) / 10;

	PROC_EACH (proc, world)
		if (left > 0 && proc_lives(proc)) {
			left--;
			proc_crash(proc);
		}
}

/* Starts a shard if all were refused or died for good. */
static void start_if_none(struct world *world)
{
	if (proc_count(world) == 0)
		(void)nemesis_join(world);
}

static void phase_recovery(struct world *world)
{
	world->recovering = true;
	world->recovery_ms = world->agenda.now_ms;
	world_touch(world);
	nemesis_stop(world);
	if (world->client != NULL)
		client_recover(world->client);
	if (world->plan.lose_tenth)
		crash_tenth(world);
	world_observe(world, &(struct obs){.what = OBS_RECOVERY});
	while (world->change_ms != 0) {
		world_run(world, world->agenda.now_ms + STEP_MS);
		start_if_none(world);
		PL_ASSERT(world->agenda.now_ms - world->recovery_ms < RECOVERY_MAX_MS);
	}
}

static void phase_leave(struct world *world)
{
	uint64_t until = world->agenda.now_ms + LEAVE_MAX_MS;

	if (world->client != NULL)
		client_leave(world->client);
	PROC_EACH (proc, world)
		if (proc_lives(proc) && !proc->leaving && !proc->refused)
			proc_leave(proc);
	while (!pl_list_empty(&world->procs) || !client_has_left(world->client)) {
		world_run(world, world->agenda.now_ms + STEP_MS);
		if (world->agenda.now_ms > until)
			check_fail(world, "stuck", "not all have left, after %d s",
			           LEAVE_MAX_MS / 1000);
	}
	world_run(world, world->agenda.now_ms + world->plan.expiry_delay_ms + 1);
	world_observe(world, &(struct obs){.what = OBS_ALL_LEFT});
	/* A grant whose answer was lost may have left a lease behind. */
	world_run(world, world->agenda.now_ms + (uint64_t)world->plan.ttl_s * 1000 +
	                         world->plan.expiry_delay_ms);
	world_observe(world, &(struct obs){.what = OBS_END});
}

bool seed_run(const struct seed_opts *opts, struct seed_result *result)
{
	struct world *world;
	struct plan plan;

	if (!plan_draw(&plan, &opts->request, opts->seed))
		return false;
	world = pl_calloc(1, sizeof *world);
	PL_ASSERT(world != NULL);
	world->failed = on_failed;
	world->ctx = opts;
	world->items_max = (uint64_t)plan.shards * ITEMS_PER_SHARD;
	world_open(world, &plan, opts->seed, &opts->story);
	STORY(&world->story, "plan",
	      "seed %" PRIu64 ": %u shards, %u partitions, TTL %" PRId64 " s", opts->seed,
	      plan.shards, plan.partitions, plan.ttl_s);
	if (plan.scenario.nodes != 0)
		STORY(&world->story, "plan", "%u nodes of %u clusters, %u pods",
		      plan.scenario.nodes, plan.scenario.clusters, plan.scenario.pods);
	phase_faults(world);
	phase_recovery(world);
	result->converged_ms = world->agenda.now_ms - world->recovery_ms;
	phase_leave(world);
	result->digest = world->agenda.digest;
	world_close(world);
	result->cover = world->cover;
	result->extent = (struct extent){.seed = opts->seed,
	                                 .shards = plan.shards,
	                                 .partitions = plan.partitions,
	                                 .clusters = plan.scenario.clusters,
	                                 .nodes = plan.scenario.nodes,
	                                 .pods = plan.scenario.pods};
	free(world);
	return true;
}
