/* The real work of a process: coord/work over its shard. */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/proc.h"

static int64_t wall_ms(void *ctx)
{
	const struct proc *proc = ctx;

	return proc_wall_ms(proc);
}

static void on_work(void *ctx, const struct work_note *note)
{
	struct proc *proc = ctx;
	struct world *world = proc->world;

	if (proc->ghost)
		return;
	switch (note->what) {
	case WORK_OPENED:
		world_hit(world, COVER_OPENED);
		STORY(&world->story, proc->name,
		      "places pods of %u, after %" PRIu64 " ms", note->partition,
		      note->took_ms);
		return;
	case WORK_MALFORMED:
		world_hit(world, COVER_KEY_EXCLUDED);
		STORY(&world->story, proc->name, "excludes " PL_SPAN_FMT ": %s",
		      PL_SPAN_ARG(note->key), note->err->msg);
		return;
	case WORK_TROUBLE:
		if (strcmp(note->part, "sched") != 0)
			world_hit(world, COVER_FEED_LOST);
		STORY(&world->story, proc->name, "has trouble with %s: %s", note->part,
		      note->err->msg);
		return;
	}
}

void proc_real_open(struct proc *proc)
{
	struct world *world = proc->world;
	uint64_t seed = pl_rng_next(&world->rng) | 1;
	struct work_opts opts = {.sched = {.shard = proc->id_text,
	                                   .seed = seed,
	                                   .batch_size = world->plan.batch,
	                                   .statuses = (uint32_t)(seed >> 8) % 5,
	                                   .reads = (uint32_t)(seed >> 16) % 4},
	                         .turn_pods = world->plan.turn_pods,
	                         .wall_ms = wall_ms};
	struct pl_err err = {0};

	if (work_open(simkv_kv(proc->sim), proc->shard, &opts, on_work, proc, &proc->work,
	              &err) != PL_OK)
		PL_UNREACHABLE(err.msg);
}

static void count(struct proc *proc)
{
	struct cover *cover = &proc->world->cover;
	struct sched_figures figures;

	if (work_sched(proc->work) == NULL)
		return;
	sched_figures(work_sched(proc->work), &figures);
	cover->count[COVER_DECIDED] += figures.decided;
	cover->count[COVER_PLACED] += figures.placed;
	cover->count[COVER_TXN_FAILED] += figures.txns_failed;
	cover->count[COVER_TXN_UNKNOWN] += figures.txns_unknown;
	cover->count[COVER_TXN_FENCED] += figures.txns_fenced;
	cover->count[COVER_CONFLICT] += figures.conflicts;
	cover->count[COVER_ECHO] += figures.echoes;
}

static void on_closed(void *ctx)
{
	struct proc *proc = ctx;

	proc->work = NULL;
	agenda_set(&proc->world->agenda, &proc->reap, proc->world->agenda.now_ms);
}

void proc_real_close(struct proc *proc)
{
	count(proc);
	work_close(proc->work, on_closed, proc);
}
