/*
 * No pod that was accepted is lost. Only a request removes a pod; and when the faults
 * have stopped, every pod that fits is bound within a bound. A pod that can not fit has a
 * state that says so and why.
 */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/client.h"
#include "tests/sim/naive.h"
#include "tests/sim/proc.h"

enum { LATE_MS = 4000, EVENT_MAX_MS = 200, MOVED_MS = 1000 };

struct flow_state {
	uint64_t seen;
};

static bool has_gone(const struct mirror_pod *pod)
{
	return !pod->has_spec || (!pod->asked && pod->phase != MIRROR_TERMINATING);
}

/* So many members have gone that the rest is not a gang any more. */
static bool is_small_gang(const struct mirror *mirror, uint32_t i)
{
	uint32_t gang = scenario_gang(i), count = 0, pods[SCENARIO_GANG_PODS];
	uint32_t members = scenario_gang_pods(gang, mirror->pods, pods);

	for (uint32_t k = 0; k < members; k++) {
		const struct mirror_pod *pod = &mirror->pod[pods[k]];

		count += pod->has_spec &&
		         (pod->phase == MIRROR_BOUND || pod->phase <= MIRROR_PENDING);
	}
	return count < scenario_gang_min(gang);
}

/* No node takes the pod, whichever shard owns it, so that it has to wait. */
static bool is_out_of_reach(const struct world *world, uint32_t i)
{
	const struct mirror *mirror = world->mirror;

	for (uint32_t n = 0; n < mirror->nodes; n++)
		if (naive_refuses(mirror, n, i) == NULL && naive_has_room(mirror, n, i))
			return false;
	return true;
}

/* Returns for how many pods as large as the largest of these one zone has room. */
static uint64_t room_in_zone(const struct mirror *mirror, const uint32_t *pods,
                             uint32_t count, unsigned zone)
{
	struct scenario_pod largest = {.cpu_milli = 0};
	uint64_t room = 0;

	for (uint32_t k = 0; k < count; k++) {
		const struct scenario_pod *what = &mirror->pod[pods[k]].what;

		if (what->cpu_milli > largest.cpu_milli)
			largest.cpu_milli = what->cpu_milli;
		if (what->memory_mib > largest.memory_mib)
			largest.memory_mib = what->memory_mib;
	}
	for (uint32_t n = 0; n < mirror->nodes; n++)
		if (mirror->node[n].what.zone == zone &&
		    naive_refuses(mirror, n, pods[0]) == NULL)
			room += naive_room(mirror, n, &largest);
	return room;
}

/* A gang that is to be in one zone can not be placed: the zone of its placed members
 * has no room for the pod, or no zone has room for as many members as have to come
 * together. */
static bool is_out_of_domain(const struct world *world, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	uint32_t gang = scenario_gang(i), pods[SCENARIO_GANG_PODS];
	uint32_t members = scenario_gang_pods(gang, mirror->pods, pods);
	bool full = false, some = false;

	if (!scenario_is_gang(i) || !scenario_gang_has_domain(gang))
		return false;
	for (uint32_t k = 0; k < members; k++) {
		const struct mirror_pod *pod = &mirror->pod[pods[k]];

		if (pod->phase != MIRROR_BOUND || pod->node == MIRROR_NONE)
			continue;
		some = true;
		full = full || room_in_zone(mirror, &i, 1,
		                            mirror->node[pod->node].what.zone) == 0;
	}
	for (unsigned z = 0; z < SCENARIO_ZONES_ALL && !some; z++)
		if (room_in_zone(mirror, pods, members, z) >= scenario_gang_min(gang))
			return false;
	return full || !some;
}

/* The pod is on a node that it may not stay on. */
static bool is_overstaying(const struct world *world, uint32_t i)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];
	const struct mirror_node *node = &world->mirror->node[pod->node];
	uint64_t bears_s = scenario_toleration_s(i), from_ms = node->closed_ms;

	if (!node->what.closed || bears_s == SCENARIO_FOREVER)
		return false;
	if (bears_s == 0)
		return true;
	if (pod->since_ms > from_ms)
		from_ms = pod->since_ms;
	return world->agenda.now_ms - from_ms > bears_s * 1000 + LATE_MS;
}

/* A closed node, which the pod tolerates for a while, has just moved it on; where no
 * other node is free, that repeats. */
static bool was_moved_on(const struct world *world, uint32_t i)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];
	unsigned bears_s = scenario_toleration_s(i);

	return bears_s > 0 && bears_s != SCENARIO_FOREVER && pod->has_spec &&
	       !pod->asked &&
	       (pod->phase == MIRROR_TERMINATING || pod->phase == MIRROR_PENDING) &&
	       strcmp(pod->reason, "taint.noexecute") == 0 &&
	       world->agenda.now_ms - pod->since_ms < MOVED_MS;
}

static bool is_served(const struct world *world, uint32_t i)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];
	enum scenario_kind kind = scenario_kind(i);

	if (pod->phase == MIRROR_BOUND)
		return pod->node != MIRROR_NONE && !is_overstaying(world, i);
	if (pod->phase == MIRROR_SUCCEEDED || pod->phase == MIRROR_FAILED)
		return client_has_run_pod(world->client, i, pod->incarnation);
	if (pod->phase != MIRROR_PENDING)
		return false;
	if (!scenario_must_fit(kind))
		return pod->reason[0] != 0;
	if (scenario_is_gang(i) && is_small_gang(world->mirror, i))
		return true;
	return is_out_of_reach(world, i) || is_out_of_domain(world, i);
}

static const char *phase_text(enum mirror_phase phase)
{
	static const char *const texts[] = {
		[MIRROR_NO_STATE] = "nothing",     [MIRROR_PENDING] = "pending",
		[MIRROR_BOUND] = "bound",          [MIRROR_TERMINATING] = "ending",
		[MIRROR_SUCCEEDED] = "succeeded",  [MIRROR_FAILED] = "failed",
		[MIRROR_BAD_STATE] = "in no phase"};

	return texts[phase];
}

/* From then on nothing is excused. */
static void clear_corrupted(struct mirror *mirror)
{
	mirror->rules_corrupted = false;
	for (uint32_t i = 0; i < mirror->nodes; i++)
		mirror->node[i].corrupted = false;
	for (uint32_t i = 0; i < mirror->pods; i++)
		mirror->pod[i].corrupted = false;
	for (uint32_t i = 0; i < mirror->gangs; i++)
		mirror->gang_corrupted[i] = false;
}

/* Each shard schedules the pods of all its partitions. */
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

/* A lost answer is waited for until its timeout, and events of that write are held back
 * until then. */
static bool no_answer_is_due(struct world *world, char *why, size_t size)
{
	PROC_EACH (proc, world) {
		unsigned unanswered = proc_lives(proc) ? simkv_unanswered(proc->sim) : 0;

		if (unanswered == 0)
			continue;
		(void)snprintf(why, size, "%s waits for %u answers that were lost",
		               proc->name, unanswered);
		return false;
	}
	return true;
}

bool flow_is_done(struct world *world, char *why, size_t size)
{
	struct mirror *mirror = world->mirror;

	if (mirror == NULL)
		return true;
	if (!client_is_satisfied(world->client, why, size) ||
	    !all_are_open(world, why, size))
		return false;
	clear_corrupted(mirror);
	if (!no_answer_is_due(world, why, size) || !gangs_are_done(world, why, size) ||
	    !budgets_are_done(world, why, size))
		return false;
	for (uint32_t i = 0; i < mirror->pods; i++) {
		const struct mirror_pod *pod = &mirror->pod[i];
		enum scenario_kind kind = scenario_kind(i);

		if (was_moved_on(world, i))
			continue;
		if (!has_gone(pod)) {
			(void)snprintf(why, size,
			               "p-%u (%s) is %s, and was asked to leave", i,
			               scenario_kind_text[kind], phase_text(pod->phase));
			return false;
		}
		if (!client_wants_pod(world->client, i))
			continue;
		if (pod->has_spec && is_served(world, i))
			continue;
		if (pod->has_spec && pod->phase == MIRROR_BOUND) {
			(void)snprintf(why, size, "p-%u (%s) is on n-%u, which is closed",
			               i, scenario_kind_text[kind], pod->node);
			return false;
		}
		(void)snprintf(why, size, "p-%u (%s) %s %s %s", i,
		               scenario_kind_text[kind],
		               pod->has_spec ? "is" : "is not there, and",
		               phase_text(pod->phase), pod->reason);
		return false;
	}
	return true;
}

static bool is_waiting(const struct mirror_pod *pod)
{
	return pod->has_spec && !pod->asked &&
	       (pod->phase == MIRROR_NO_STATE || pod->phase == MIRROR_PENDING);
}

/* A pending pod is in the queue of its partition's shard, and no other pod is; members of
 * incomplete gangs need not be. */
static void check_queue(struct world *world, const struct proc *proc)
{
	const struct mirror *mirror = world->mirror;
	struct queue_stats stats;
	uint32_t queued = 0, waiting = 0, gangs = 0, moving = 0;

	if (!proc_lives(proc) || proc->work == NULL || work_sched(proc->work) == NULL)
		return;
	sched_queue_stats(work_sched(proc->work), &stats);
	for (unsigned place = QUEUE_OUT + 1; place < QUEUE_PLACES; place++)
		queued += stats.pods[place];
	for (uint32_t i = 0; i < mirror->pods; i++) {
		if (world->truth.owner[mirror->pod[i].partition].shard != proc->id)
			continue;
		/* The shard may not have heard of that yet. */
		moving += world->agenda.now_ms - mirror->pod[i].since_ms < EVENT_MAX_MS;
		if (!is_waiting(&mirror->pod[i]))
			continue;
		waiting++;
		gangs += scenario_is_gang(i);
	}
	if (queued > waiting + moving || queued + gangs + moving < waiting)
		check_fail(world, "flow", "%s has %u pods in its queue, and %u wait",
		           proc->name, queued, waiting);
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	const struct mirror *mirror = world->mirror;
	struct flow_state *state = me;

	if (obs->what == OBS_CONVERGED && mirror != NULL && world->recovering)
		PROC_EACH (proc, world)
			check_queue(world, proc);
	if (obs->what != OBS_MIRROR)
		return;
	state->seen++;
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (obs->writer == SIMSTORE_CLIENT && mirror->pod[i].ended &&
		    !mirror->was_pod[i].ended)
			client_note_ended(world->client, i);
		if (mirror->was_pod[i].has_spec && !mirror->pod[i].has_spec &&
		    !mirror->pod[i].corrupted && !mirror->was_pod[i].unwanted &&
		    !client_removes_pod(world->client, i))
			check_fail(world, "flow",
			           "p-%u (%s), @%" PRId64
			           ": it is gone, and no request removed it",
			           i, scenario_kind_text[scenario_kind(i)],
			           obs->revision);
	}
}

const struct check check_flow = {"flow", sizeof(struct flow_state), observe, NULL};
