/*
 * No pod that was accepted is lost. Nobody but who is asked to takes a pod away; and when
 * the faults have stopped, every pod for which there is room is bound within a bound.
 * What can not fit is told so, at once, with why.
 */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/clerk.h"
#include "tests/sim/naive.h"
#include "tests/sim/proc.h"

enum { LATE_MS = 4000, HEARD_MS = 200, MOVED_MS = 1000 };

struct state {
	uint64_t seen;
};

static bool has_gone(const struct stock_pod *pod)
{
	return !pod->has_spec || (!pod->asked && pod->phase != STOCK_TERMINATING);
}

/* So many have gone that the rest is no gang any more. */
static bool is_small_gang(const struct stock *stock, uint32_t i)
{
	uint32_t gang = scene_gang(i), count = 0, pods[SCENE_GANG_PODS];
	uint32_t members = scene_gang_pods(gang, stock->pods, pods);

	for (uint32_t k = 0; k < members; k++) {
		const struct stock_pod *pod = &stock->pod[pods[k]];

		count += pod->has_spec &&
		         (pod->phase == STOCK_BOUND || pod->phase <= STOCK_PENDING);
	}
	return count < scene_gang_min(gang);
}

/* Whoever owns them: no node takes it, and it has to wait. */
static bool is_out_of_reach(const struct world *world, uint32_t i)
{
	const struct stock *stock = world->stock;

	for (uint32_t n = 0; n < stock->nodes; n++)
		if (naive_refuses(stock, n, i) == NULL && naive_has_room(stock, n, i))
			return false;
	return true;
}

/* For how many as large as the largest of them there is room in one zone. */
static uint64_t room_in_zone(const struct stock *stock, const uint32_t *pods,
                             uint32_t count, unsigned zone)
{
	struct scene_pod largest = {.cpu_milli = 0};
	uint64_t room = 0;

	for (uint32_t k = 0; k < count; k++) {
		const struct scene_pod *what = &stock->pod[pods[k]].what;

		if (what->cpu_milli > largest.cpu_milli)
			largest.cpu_milli = what->cpu_milli;
		if (what->memory_mib > largest.memory_mib)
			largest.memory_mib = what->memory_mib;
	}
	for (uint32_t n = 0; n < stock->nodes; n++)
		if (stock->node[n].what.zone == zone &&
		    naive_refuses(stock, n, pods[0]) == NULL)
			room += naive_room(stock, n, &largest);
	return room;
}

/* Of a gang that is to be in one zone: a zone in which others of it are has no room for
 * it, or none has for as many as have to come together. */
static bool is_out_of_domain(const struct world *world, uint32_t i)
{
	const struct stock *stock = world->stock;
	uint32_t gang = scene_gang(i), pods[SCENE_GANG_PODS];
	uint32_t members = scene_gang_pods(gang, stock->pods, pods);
	bool full = false, some = false;

	if (!scene_is_gang(i) || !scene_gang_has_domain(gang))
		return false;
	for (uint32_t k = 0; k < members; k++) {
		const struct stock_pod *pod = &stock->pod[pods[k]];

		if (pod->phase != STOCK_BOUND || pod->node == STOCK_NONE)
			continue;
		some = true;
		full = full ||
		       room_in_zone(stock, &i, 1, stock->node[pod->node].what.zone) == 0;
	}
	for (unsigned z = 0; z < SCENE_ZONES_ALL && !some; z++)
		if (room_in_zone(stock, pods, members, z) >= scene_gang_min(gang))
			return false;
	return full || !some;
}

/* It is where it may not be any more. */
static bool overstays(const struct world *world, uint32_t i)
{
	const struct stock_pod *pod = &world->stock->pod[i];
	const struct stock_node *node = &world->stock->node[pod->node];
	uint64_t bears_s = scene_bears_s(i), from_ms = node->closed_ms;

	if (!node->what.closed || bears_s == SCENE_FOR_EVER)
		return false;
	if (bears_s == 0)
		return true;
	if (pod->since_ms > from_ms)
		from_ms = pod->since_ms;
	return world->agenda.now_ms - from_ms > bears_s * 1000 + LATE_MS;
}

/* A closed node, which it bears for a while, has just sent it on; where nothing else is
 * free, that comes again and again. */
static bool is_sent_on(const struct world *world, uint32_t i)
{
	const struct stock_pod *pod = &world->stock->pod[i];
	unsigned bears_s = scene_bears_s(i);

	return bears_s > 0 && bears_s != SCENE_FOR_EVER && pod->has_spec && !pod->asked &&
	       (pod->phase == STOCK_TERMINATING || pod->phase == STOCK_PENDING) &&
	       strcmp(pod->reason, "taint.noexecute") == 0 &&
	       world->agenda.now_ms - pod->since_ms < MOVED_MS;
}

static bool is_served(const struct world *world, uint32_t i)
{
	const struct stock_pod *pod = &world->stock->pod[i];
	enum scene_kind kind = scene_kind(i);

	if (pod->phase == STOCK_BOUND)
		return pod->node != STOCK_NONE && !overstays(world, i);
	if (pod->phase == STOCK_SUCCEEDED || pod->phase == STOCK_FAILED)
		return clerk_has_run_pod(world->clerk, i, pod->life);
	if (pod->phase != STOCK_PENDING)
		return false;
	if (!scene_must_fit(kind))
		return pod->reason[0] != 0;
	if (scene_is_gang(i) && is_small_gang(world->stock, i))
		return true;
	return is_out_of_reach(world, i) || is_out_of_domain(world, i);
}

static const char *phase_text(enum stock_phase phase)
{
	static const char *const texts[] = {
		[STOCK_NO_STATE] = "nothing",     [STOCK_PENDING] = "pending",
		[STOCK_BOUND] = "bound",          [STOCK_TERMINATING] = "ending",
		[STOCK_SUCCEEDED] = "succeeded",  [STOCK_FAILED] = "failed",
		[STOCK_BAD_STATE] = "in no phase"};

	return texts[phase];
}

/* From then on nothing is excused any more. */
static void unspoil(struct stock *stock)
{
	stock->rules_spoilt = false;
	for (uint32_t i = 0; i < stock->nodes; i++)
		stock->node[i].spoilt = false;
	for (uint32_t i = 0; i < stock->pods; i++)
		stock->pod[i].spoilt = false;
	for (uint32_t i = 0; i < stock->gangs; i++)
		stock->gang_spoilt[i] = false;
}

/* Each shard decides about all that it owns. */
static bool all_are_open(struct world *world, char *why, size_t size)
{
	PROC_EACH (proc, world) {
		uint32_t owned = 0;

		for (uint32_t p = 0; p < world->truth.partitions; p++)
			owned += world->truth.owner[p].exists &&
			         world->truth.owner[p].shard == proc->id;
		if (!proc_lives(proc) || proc->work == NULL ||
		    work_opened(proc->work) == owned)
			continue;
		(void)snprintf(why, size, "%s places pods of %u partitions, of %u",
		               proc->name, work_opened(proc->work), owned);
		return false;
	}
	return true;
}

/* An answer that the faults have lost is waited for until its time is over, and the news
 * of what was written waits with it. */
static bool all_have_heard(struct world *world, char *why, size_t size)
{
	PROC_EACH (proc, world) {
		unsigned unheard = proc_lives(proc) ? simkv_unheard(proc->sim) : 0;

		if (unheard == 0)
			continue;
		(void)snprintf(why, size, "%s waits for %u answers that were lost",
		               proc->name, unheard);
		return false;
	}
	return true;
}

bool flow_is_done(struct world *world, char *why, size_t size)
{
	struct stock *stock = world->stock;

	if (stock == NULL)
		return true;
	if (!clerk_is_content(world->clerk, why, size) || !all_are_open(world, why, size))
		return false;
	unspoil(stock);
	if (!all_have_heard(world, why, size) || !gangs_are_done(world, why, size) ||
	    !budgets_are_done(world, why, size))
		return false;
	for (uint32_t i = 0; i < stock->pods; i++) {
		const struct stock_pod *pod = &stock->pod[i];
		enum scene_kind kind = scene_kind(i);

		if (is_sent_on(world, i))
			continue;
		if (!has_gone(pod)) {
			(void)snprintf(why, size, "p-%u (%s) is %s, and was asked to go",
			               i, scene_kind_text[kind], phase_text(pod->phase));
			return false;
		}
		if (!clerk_wants_pod(world->clerk, i))
			continue;
		if (pod->has_spec && is_served(world, i))
			continue;
		if (pod->has_spec && pod->phase == STOCK_BOUND) {
			(void)snprintf(why, size, "p-%u (%s) is on n-%u, which is closed",
			               i, scene_kind_text[kind], pod->node);
			return false;
		}
		(void)snprintf(why, size, "p-%u (%s) %s %s %s", i, scene_kind_text[kind],
		               pod->has_spec ? "is" : "is not there, and",
		               phase_text(pod->phase), pod->reason);
		return false;
	}
	return true;
}

static bool is_waiting(const struct stock_pod *pod)
{
	return pod->has_spec && !pod->asked &&
	       (pod->phase == STOCK_NO_STATE || pod->phase == STOCK_PENDING);
}

/* Who waits is in his shard's queue, and nobody else is; but gangs that are not complete
 * need not be. */
static void check_queue(struct world *world, const struct proc *proc)
{
	const struct stock *stock = world->stock;
	struct queue_stats stats;
	uint32_t queued = 0, waiting = 0, gangs = 0, moving = 0;

	if (!proc_lives(proc) || proc->work == NULL || work_sched(proc->work) == NULL)
		return;
	sched_queue_stats(work_sched(proc->work), &stats);
	for (unsigned place = QUEUE_OUT + 1; place < QUEUE_PLACES; place++)
		queued += stats.pods[place];
	for (uint32_t i = 0; i < stock->pods; i++) {
		if (world->truth.owner[stock->pod[i].partition].shard != proc->id)
			continue;
		/* Of that it may not have heard yet. */
		moving += world->agenda.now_ms - stock->pod[i].since_ms < HEARD_MS;
		if (!is_waiting(&stock->pod[i]))
			continue;
		waiting++;
		gangs += scene_is_gang(i);
	}
	if (queued > waiting + moving || queued + gangs + moving < waiting)
		check_fail(world, "flow", "%s has %u pods in its queue, and %u wait",
		           proc->name, queued, waiting);
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	const struct stock *stock = world->stock;
	struct state *state = me;

	if (obs->what == OBS_SETTLED && stock != NULL && world->calm)
		PROC_EACH (proc, world)
			check_queue(world, proc);
	if (obs->what != OBS_STOCK)
		return;
	state->seen++;
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (obs->whose == DEPOT_CLERK && stock->pod[i].ended &&
		    !stock->was_pod[i].ended)
			clerk_heard(world->clerk, i);
		if (stock->was_pod[i].has_spec && !stock->pod[i].has_spec &&
		    !stock->pod[i].spoilt && !stock->was_pod[i].unwanted &&
		    !clerk_removes_pod(world->clerk, i))
			check_fail(world, "flow",
			           "p-%u (%s), @%" PRId64
			           ": it is gone, and nobody wanted that",
			           i, scene_kind_text[scene_kind(i)], obs->revision);
	}
}

const struct check check_flow = {"flow", sizeof(struct state), see, NULL};
