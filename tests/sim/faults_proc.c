/* Faults of a process, its network and its clock. */
#include "tests/sim/client.h"
#include "tests/sim/nemesis_int.h"

struct proc *nemesis_join(struct world *world)
{
	unsigned id = world->ids;

	if (id >= world->truth.shards)
		return NULL;
	world->ids++;
	return proc_start(world,
	                  &(struct proc_opts){.id = id, .host = id / SHARDS_A_HOST});
}

static void on_start_due(void *ctx)
{
	struct pending_start *starts = ctx;
	struct world *world = starts->nemesis->world;

	if (world->plan.one_at_a_time && !world->recovering && world->change_ms != 0) {
		agenda_set(&world->agenda, &starts->item, world->agenda.now_ms + 100);
		return;
	}
	starts->busy = false;
	world_hit(world, COVER_RESTART);
	(void)proc_start(world,
	                 &(struct proc_opts){.id = starts->id, .host = starts->host});
}

static void start_later(struct nemesis *nemesis, const struct proc *proc)
{
	struct world *world = nemesis->world;

	for (unsigned i = 0; i < STARTS_MAX; i++) {
		struct pending_start *starts = &nemesis->starts[i];

		if (starts->busy)
			continue;
		starts->busy = true;
		starts->id = proc->id;
		starts->host = proc->host;
		if (world_chance(world, 1, 8) && world->ids < world->truth.shards) {
			world_hit(world, COVER_RESTART_NEW); /* without its memory */
			starts->id = world->ids++;
		}
		if (world_chance(world, 1, 6))
			starts->host = (unsigned)nemesis_below(nemesis, world->ids);
		agenda_set(&world->agenda, &starts->item,
		           nemesis_now(nemesis) + nemesis_duration_ms(nemesis));
		return;
	}
}

static void do_pause(struct nemesis *nemesis, struct proc *proc, bool suspend)
{
	struct world *world = nemesis->world;
	uint64_t ms = nemesis_duration_ms(nemesis);

	if (simkv_is_paused(proc->sim))
		return;
	STORY(&world->story, proc->name, "%s for %llu ms",
	      suspend ? "is suspended" : "is stopped", (unsigned long long)ms);
	world_hit(world, suspend ? COVER_SUSPEND : COVER_PAUSE);
	if (ms > nemesis_ttl_ms(nemesis))
		world_hit(world, COVER_PAUSE_LONG);
	if (suspend)
		proc->broken_until_ms =
			nemesis_now(nemesis) + ms + 2 * nemesis_ttl_ms(nemesis);
	simkv_pause(proc->sim, suspend);
	agenda_set(&world->agenda, &proc->wake, nemesis_now(nemesis) + ms);
}

static void do_crash(struct nemesis *nemesis, struct proc *proc)
{
	world_hit(nemesis->world, COVER_CRASH);
	start_later(nemesis, proc);
	proc_crash(proc);
}

static void do_leave(struct nemesis *nemesis, struct proc *proc)
{
	if (simkv_is_paused(proc->sim))
		return;
	world_hit(nemesis->world, COVER_LEAVE);
	start_later(nemesis, proc);
	proc_leave(proc);
}

static void do_twin(struct nemesis *nemesis, const struct proc *proc)
{
	unsigned host = proc->host;

	world_hit(nemesis->world, COVER_TWIN);
	if (world_chance(nemesis->world, 1, 2))
		host = (unsigned)nemesis_below(nemesis, nemesis->world->ids);
	(void)proc_start(nemesis->world,
	                 &(struct proc_opts){.id = proc->id, .host = host, .twin = true});
}

void fault_join(struct nemesis *nemesis)
{
	if (proc_count(nemesis->world) < nemesis->world->plan.shards + 3)
		(void)nemesis_join(nemesis->world);
}

/* -- network and clocks -------------------------------------------------- */

static void do_cut(struct nemesis *nemesis, struct proc *proc)
{
	struct world *world = nemesis->world;
	uint64_t ways = nemesis_below(nemesis, 5);
	uint64_t ms = nemesis_duration_ms(nemesis);

	world_hit(world, COVER_CUT);
	proc->falls_behind =
		world->plan.weight[FAULT_COMPACT] != 0 && world_chance(world, 1, 2);
	if (ways == SIMKV_WAYS) {
		uint64_t late = nemesis_below(nemesis, nemesis_ttl_ms(nemesis) / 3);

		STORY(&world->story, proc->name, "is to get its answers %llu ms late",
		      (unsigned long long)late);
		simkv_cut(proc->sim, SIMKV_ANSWERS, true);
		simkv_cut(proc->sim, SIMKV_NOTES, true);
		agenda_set(&world->agenda, &proc->turn, nemesis_now(nemesis) + late);
		ms += late;
	} else if (ways < SIMKV_WAYS) {
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
	agenda_set(&world->agenda, &proc->heal, nemesis_now(nemesis) + ms);
}

static void do_break(struct nemesis *nemesis, struct proc *one)
{
	world_hit(nemesis->world, COVER_BREAK);
	if (world_chance(nemesis->world, 1, 2)) {
		STORY(&nemesis->world->story, one->name, "loses its connection");
		simkv_break(one->sim, false);
		return;
	}
	nemesis_story(nemesis, "all connections break");
	PROC_EACH (proc, nemesis->world)
		simkv_break(proc->sim, false);
}

static void do_drift(struct nemesis *nemesis, struct proc *proc)
{
	uint64_t most = world_chance(nemesis->world, 1, 4) ? WILD_PPM : 20000;
	int32_t ppm = (int32_t)nemesis_below(nemesis, 2 * most) - (int32_t)most;

	world_hit(nemesis->world, COVER_DRIFT);
	STORY(&nemesis->world->story, proc->name, "has a clock that drifts by %d ppm",
	      ppm);
	if (ppm < -SAFE_PPM)
		proc->broken_until_ms = UINT64_MAX;
	else if (proc->broken_until_ms == UINT64_MAX)
		proc->broken_until_ms =
			nemesis_now(nemesis) + 2 * nemesis_ttl_ms(nemesis);
	simkv_drift(proc->sim, ppm);
}

static void do_jump(struct nemesis *nemesis, struct proc *proc)
{
	uint64_t ms = nemesis_duration_ms(nemesis);

	world_hit(nemesis->world, COVER_JUMP);
	STORY(&nemesis->world->story, proc->name, "has a clock that jumps by %llu ms",
	      (unsigned long long)ms);
	simkv_jump(proc->sim, ms);
}

/* A user or a time server sets the wall clock: it jumps. */
static void do_wall(struct nemesis *nemesis, struct proc *proc)
{
	struct world *world = nemesis->world;
	int64_t ahead = world_chance(world, 1, 4) ? 0 : world_wall_draw(world);

	world_hit(world, COVER_WALL);
	if (world->client != NULL && world_chance(world, 1, 6)) {
		STORY(&world->story, "client", "has a wall clock that is %lld ms ahead",
		      (long long)ahead);
		client_set_wall(world->client, ahead);
		return;
	}
	STORY(&world->story, proc->name, "has a wall clock that is %lld ms ahead",
	      (long long)ahead);
	proc->wall_ms = ahead;
}

/* -- faults of the owner of a large gang ---------------------------------- */

static void on_kill_item(void *ctx)
{
	struct nemesis *nemesis = ctx;
	struct proc *proc = proc_of(nemesis->world, nemesis->victim);

	if (proc != NULL)
		do_crash(nemesis, proc);
}

/* Kills the owner at once, or during the steps that follow. */
void nemesis_gang(struct world *world, const struct mirror_gang *gang)
{
	static const enum cover_what hits[] = {
		[MIRROR_GANG_RESERVING] = COVER_KILLED_RESERVING,
		[MIRROR_GANG_BOUND] = COVER_KILLED_BOUND,
		[MIRROR_GANG_ABORTING] = COVER_KILLED_ABORTING};
	struct nemesis *nemesis = world->nemesis;

	if (nemesis == NULL || world->recovering || world->plan.weight[FAULT_GANG] == 0 ||
	    gang->phase < MIRROR_GANG_RESERVING || gang->phase > MIRROR_GANG_ABORTING ||
	    !world_chance(world, gang->phase == MIRROR_GANG_ABORTING ? 4 : 1, 8))
		return;
	nemesis->victim = gang->shard;
	world_hit(world, hits[gang->phase]);
	agenda_set(&world->agenda, &nemesis->kill_item,
	           nemesis_now(nemesis) + 1 + nemesis_below(nemesis, 40));
}

void fault_of_proc(struct nemesis *nemesis, enum fault fault, struct proc *proc)
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
	if (fault == FAULT_WALL)
		do_wall(nemesis, proc);
}

void faults_proc_init(struct nemesis *nemesis)
{
	agenda_item_init(&nemesis->kill_item, on_kill_item, nemesis);
	for (unsigned i = 0; i < STARTS_MAX; i++) {
		nemesis->starts[i].nemesis = nemesis;
		agenda_item_init(&nemesis->starts[i].item, on_start_due,
		                 &nemesis->starts[i]);
	}
}
