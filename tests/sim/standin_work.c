/*
 * The stand-in for the work of a process: at random moments, on a random partition of its
 * own, a decision, which is a guarded write with the epoch under which it was made. Work
 * in flight is not always done when a partition is to be handed over; and now and then a
 * write is for a partition that the process does not own.
 *
 * It stands in for coord/work in worlds without pods.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "tests/sim/proc.h"

enum { WRITE_TIMEOUT_MS = 2000, PODS = 4, LOAD_MAX = 200, TEXT_SIZE = 96 };

struct standin_write {
	struct proc *proc;
	uint32_t partition;
	int64_t epoch;
};

static void check_quiet(struct proc *proc, uint32_t partition)
{
	struct held_partition *hold = &proc->hold[partition];

	if (hold->state != HOLD_ENDING || hold->answered || hold->inflight != 0 ||
	    simkv_local_ms(proc->sim) < hold->quiet_ms)
		return;
	hold->answered = true;
	shard_quiet(proc->shard, partition, hold->epoch);
}

static void on_written(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct standin_write *write = ctx;
	struct proc *proc = write->proc;
	struct held_partition *hold = &proc->hold[write->partition];
	uint32_t partition = write->partition;
	int64_t epoch = write->epoch;
	bool same = hold->epoch == write->epoch && hold->state != HOLD_NONE;

	free(write);
	if (same)
		hold->inflight--;
	if (proc->ghost || proc->shard == NULL)
		return;
	/* The shard may report it later, too: this epoch is over. */
	if (result == NULL && err->code == PL_FENCED)
		world_observe(proc->world, &(struct obs){.what = OBS_FENCED,
		                                         .proc = proc,
		                                         .partition = partition,
		                                         .epoch = epoch});
	if (result == NULL && err->code != PL_UNKNOWN)
		STORY_WIRE(&proc->world->story, proc->name, "write on %u: %s", partition,
		           err->msg);
	if (same)
		check_quiet(proc, partition);
}

static void put_write(struct proc *proc, uint32_t partition, int64_t epoch)
{
	struct world *world = proc->world;
	struct keys_id id = {
		.kind = KEYS_STATE, .partition = partition, .scope = PL_SPAN_LIT("ns")};
	struct keys_text key;
	char pod[16], text[TEXT_SIZE];
	struct kv *kv = shard_kv(proc->shard);
	struct standin_write *write;
	enum pl_code code;

	if (kv == NULL) /* the process is closing */
		return;
	write = pl_malloc(sizeof *write);
	PL_ASSERT(write != NULL);
	*write = (struct standin_write){proc, partition, epoch};
	(void)snprintf(pod, sizeof pod, "pod-%u", (unsigned)world_below(world, PODS));
	id.name = pl_span_str(pod);
	code = keys_build(&id, &key, NULL);
	PL_ASSERT(code == PL_OK);
	(void)snprintf(text, sizeof text, "%u %" PRId64 " %" PRId64 " %" PRIu64, proc->id,
	               epoch, proc->lease, ++proc->seq);
	code = kv_put(
		shard_kv(proc->shard),
		&(struct kv_put){.key = keys_span(&key), .value = pl_span_str(text)},
		WRITE_TIMEOUT_MS, on_written, write, NULL, NULL);
	if (code == PL_OK && proc->hold[partition].epoch == epoch)
		proc->hold[partition].inflight++;
	if (code == PL_OK)
		return;
	world->cover.count[COVER_BARRED] += code == PL_FENCED;
	free(write);
}

/* Returns an owned partition, drawn at random; UINT32_MAX: none. */
static uint32_t pick_partition(struct proc *proc)
{
	uint64_t start = world_below(proc->world, proc->partitions);

	for (uint32_t i = 0; i < proc->partitions; i++) {
		uint32_t partition = (uint32_t)((start + i) % proc->partitions);

		if (proc->hold[partition].state != HOLD_NONE)
			return partition;
	}
	return UINT32_MAX;
}

static void start_decision(struct proc *proc)
{
	struct world *world = proc->world;
	uint32_t partition = pick_partition(proc);
	int64_t epoch;

	if (world_chance(world, world->plan.unowned_in_1000, 1000)) {
		partition = (uint32_t)world_below(world, proc->partitions);
		put_write(proc, partition, proc->hold[partition].epoch);
		return;
	}
	if (partition == UINT32_MAX)
		return;
	check_quiet(proc, partition);
	epoch = shard_epoch(proc->shard, partition);
	/* Writes in flight may end under the epoch, no new one may begin. */
	if (epoch == 0 || proc->hold[partition].epoch != epoch ||
	    (!shard_may_begin(proc->shard, partition) &&
	     (proc->hold[partition].inflight == 0 || !world_chance(world, 1, 4))))
		return;
	world_hit(world, COVER_DECIDE);
	world_observe(world, &(struct obs){.what = OBS_DECIDE,
	                                   .proc = proc,
	                                   .partition = partition,
	                                   .epoch = epoch});
	put_write(proc, partition, epoch);
}

static void on_work(void *ctx)
{
	struct proc *proc = ctx;
	uint64_t gap = proc->world->plan.work_ms;

	if (proc->ghost || proc->shard == NULL)
		return;
	pl_timer_set(&proc->busy,
	             simkv_local_ms(proc->sim) + 1 + world_below(proc->world, 2 * gap));
	start_decision(proc);
}

void proc_work_start(struct proc *proc)
{
	proc->hold = pl_calloc(proc->partitions, sizeof *proc->hold);
	if (proc->hold == NULL ||
	    pl_timer_init(&proc->busy, kv_timers(simkv_kv(proc->sim)), on_work, proc) !=
	            PL_OK)
		PL_UNREACHABLE("no memory");
	if (proc->work == NULL)
		pl_timer_set(&proc->busy, simkv_local_ms(proc->sim) + 1);
}

void proc_work_owned(struct proc *proc, uint32_t partition, int64_t epoch)
{
	proc->hold[partition] =
		(struct held_partition){.state = HOLD_OWNED, .epoch = epoch};
	if (proc->work != NULL)
		return;
	/* Some partitions are much more work than others. */
	shard_load(proc->shard, partition,
	           (uint32_t)(1 + (partition * 2654435761U >> 16) % LOAD_MAX));
}

void proc_work_end(struct proc *proc, uint32_t partition, int64_t epoch,
                   uint64_t deadline_ms)
{
	struct world *world = proc->world;
	struct held_partition *hold = &proc->hold[partition];
	uint64_t now = simkv_local_ms(proc->sim);

	PL_ASSERT(hold->epoch == epoch && hold->state != HOLD_NONE);
	hold->state = HOLD_ENDING;
	if (proc->work != NULL)
		return; /* on_written reports when the partition is quiet */
	hold->answered = false;
	hold->quiet_ms = now;
	if (world_chance(world, world->plan.linger_in_100, 100)) {
		world_hit(world, COVER_QUIET_LATE);
		hold->quiet_ms = now + world_below(world, 2 * (deadline_ms - now) + 1);
	}
	check_quiet(proc, partition);
}

void proc_work_lost(struct proc *proc, uint32_t partition)
{
	proc->hold[partition] = (struct held_partition){0};
}
