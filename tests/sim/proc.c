#include "tests/sim/proc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/nemesis.h"

static bool pid_lives(void *ctx, int64_t pid)
{
	struct proc *me = ctx;

	PROC_EACH (proc, me->world)
		if (proc->pid == pid && proc->host == me->host)
			return proc_lives(proc);
	return false;
}

static int64_t wall_ms(void *ctx)
{
	const struct proc *proc = ctx;

	return proc_wall_ms(proc);
}

static void on_kv_closed(void *ctx)
{
	struct proc *proc = ctx;

	agenda_set(&proc->world->agenda, &proc->reap, proc->world->agenda.now_ms);
}

/* Ends in steps: the shard, its kv, the memory. Work in flight ends in between. */
static void on_reap(void *ctx)
{
	struct proc *proc = ctx;

	if (proc->shard != NULL) {
		shard_abandon(proc->shard);
		return;
	}
	if (proc->work != NULL)
		return; /* on_reap is called again when the kv is closed */
	if (!proc->kv_closing) {
		proc->kv_closing = true;
		simkv_resume(proc->sim);
		kv_close(simkv_kv(proc->sim), on_kv_closed, proc);
		return;
	}
	agenda_stop(&proc->world->agenda, &proc->wake);
	agenda_stop(&proc->world->agenda, &proc->heal);
	agenda_stop(&proc->world->agenda, &proc->turn);
	simkv_free(proc->sim);
	pl_list_del(&proc->link);
	free(proc->hold);
	free(proc);
}

static void on_wake(void *ctx)
{
	struct proc *proc = ctx;

	if (!simkv_is_paused(proc->sim))
		return;
	STORY(&proc->world->story, proc->name, "wakes");
	simkv_resume(proc->sim);
}

static void on_heal(void *ctx)
{
	struct proc *proc = ctx;

	STORY(&proc->world->story, proc->name, "can be reached again");
	agenda_stop(&proc->world->agenda, &proc->turn);
	if (proc->falls_behind) {
		nemesis_left_behind(proc->world);
		simkv_break(proc->sim, false);
	}
	for (unsigned way = 0; way < SIMKV_WAYS; way++)
		simkv_cut(proc->sim, way, false);
}

/* Messages that were held back arrive at last, and from now on nothing gets through: the
 * process has nothing but outdated good news. */
static void on_turn(void *ctx)
{
	struct proc *proc = ctx;

	STORY(&proc->world->story, proc->name, "gets late answers, and then no more");
	simkv_cut(proc->sim, SIMKV_ANSWERS, false);
	simkv_cut(proc->sim, SIMKV_REQUESTS, true);
}

static struct simkv *kv_for(struct proc *proc)
{
	struct world *world = proc->world;
	const struct plan *plan = &world->plan;
	int32_t drift = 0;
	struct simlink recovering = {
		.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};

	if (plan->drift_max_ppm != 0)
		drift = (int32_t)world_below(world, UINT64_C(2) * plan->drift_max_ppm) -
		        (int32_t)plan->drift_max_ppm;
	return simkv_new(&(struct simkv_opts){
		.agenda = &world->agenda,
		.store = &world->store,
		.story = &world->story,
		.name = proc->name,
		.clock = {.true_ms = world->agenda.now_ms,
	                  .local_ms = 1000 + world_below(world, 1000000),
	                  .ppm = drift},
		.link = world->recovering ? recovering : plan->link,
		.seed = pl_rng_next(&world->rng),
		.writer = proc->pid,
		.room_bytes = plan->room_bytes,
		.counts = &world->counts});
}

static void open_shard(struct proc *proc)
{
	struct world *world = proc->world;
	struct shard_opts opts = {
		.id = proc->id_text,
		.host = proc->host_text,
		.boot = proc->boot_text,
		.version = "0.1.0",
		.api = "127.0.0.1:1",
		.zone = "z",
		.pid = proc->pid,
		.partitions = world->plan.partitions,
		.ttl_s = world->plan.ttl_s,
		.seed = pl_rng_next(&world->rng) | 1,
		.pid_lives = pid_lives,
		.wall_ms = wall_ms,
		.ctx = proc,
	};
	struct pl_err err = {0};

	if (shard_open(simkv_kv(proc->sim), &opts, proc_on_note, &proc->shard, &err) !=
	    PL_OK)
		PL_UNREACHABLE(err.msg);
	if (world->mirror != NULL)
		proc_real_open(proc);
}

struct proc *proc_start(struct world *world, const struct proc_opts *opts)
{
	struct proc *proc = pl_calloc(1, sizeof *proc);

	PL_ASSERT(proc != NULL && opts->id < world->truth.shards);
	proc->world = world;
	proc->id = opts->id;
	proc->host = opts->host;
	proc->twin = opts->twin;
	proc->pid = ++world->pids;
	proc->started_ms = world->agenda.now_ms;
	if (world->plan.wall_max_ms != 0 &&
	    (!world->recovering || world->plan.wall_stays))
		proc->wall_ms = world_wall_draw(world);
	(void)snprintf(proc->id_text, sizeof proc->id_text, "s%u", opts->id);
	(void)snprintf(proc->host_text, sizeof proc->host_text, "h%u", opts->host);
	(void)snprintf(proc->boot_text, sizeof proc->boot_text, "b%u", opts->host);
	(void)snprintf(proc->name, sizeof proc->name, "s%u/%" PRId64, opts->id,
	               proc->pid);
	agenda_item_init(&proc->reap, on_reap, proc);
	agenda_item_init(&proc->wake, on_wake, proc);
	agenda_item_init(&proc->heal, on_heal, proc);
	agenda_item_init(&proc->turn, on_turn, proc);
	STORY(&world->story, proc->name, "starts on host %s", proc->host_text);
	proc->sim = kv_for(proc);
	pl_list_add_tail(&world->procs, &proc->link);
	open_shard(proc);
	world_touch(world);
	world_observe(world, &(struct obs){.what = OBS_STARTED, .proc = proc});
	return proc;
}

void proc_leave(struct proc *proc)
{
	PL_ASSERT(proc_lives(proc) && !proc->leaving);
	STORY(&proc->world->story, proc->name, "is asked to leave");
	proc->leaving = true;
	proc->leave_ms = proc->world->agenda.now_ms;
	world_touch(proc->world);
	shard_leave(proc->shard);
}

void proc_crash(struct proc *proc)
{
	PL_ASSERT(proc_lives(proc));
	STORY(&proc->world->story, proc->name, "dies");
	proc->ghost = true;
	proc->died_ms = proc->world->agenda.now_ms;
	world_touch(proc->world);
	world_observe(proc->world, &(struct obs){.what = OBS_DIED, .proc = proc});
	simkv_crash(proc->sim);
	shard_abandon(proc->shard);
}

struct proc *proc_first(const struct world *world)
{
	return pl_list_empty(&world->procs)
	               ? NULL
	               : PL_LIST_ITEM(world->procs.next, struct proc, link);
}

struct proc *proc_next(const struct proc *proc)
{
	return proc->link.next == &proc->world->procs
	               ? NULL
	               : PL_LIST_ITEM(proc->link.next, struct proc, link);
}

struct proc *proc_of(struct world *world, unsigned id)
{
	PROC_EACH (proc, world)
		if (proc->id == id && proc_lives(proc) && !proc->refused)
			return proc;
	return NULL;
}

unsigned proc_count(struct world *world)
{
	unsigned count = 0;

	PROC_EACH (proc, world)
		count += proc_lives(proc) && !proc->leaving && !proc->refused;
	return count;
}

unsigned proc_active(struct world *world)
{
	unsigned count = proc_count(world);

	if (world->drained != 0 && proc_of(world, world->drained - 1) != NULL)
		count--;
	return count;
}

struct proc *proc_any(struct world *world)
{
	unsigned count = proc_count(world);
	uint64_t pick = count == 0 ? 0 : world_below(world, count);

	PROC_EACH (proc, world) {
		if (!proc_lives(proc) || proc->leaving || proc->refused)
			continue;
		if (pick-- == 0)
			return proc;
	}
	return NULL;
}
