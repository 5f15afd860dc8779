/*
 * Disruption budgets, revision by revision.
 *
 *	- a transaction that asks a healthy pod to move, or terminates it for a more
 *	  important one, also writes each budget that covers it: one healthy pod less
 *	  and one note for each such pod; nothing else of the budget changes, and no
 *	  older note is lost
 *	- users ask only as far as budgets allow
 *	- the counter changes nothing but the count and the remaining notes; a note is
 *	  removed only when the pod's state is no longer the one that was given up; and
 *	  never are more pods counted as healthy than may have been so
 *	- what is allowed follows from the rest
 *
 * In the recovery phase each budget holds what a count from the start gives, and no
 * notes.
 *
 * Preemption that overdraws a budget as the last resort is not judged: the store does
 * not show which other victims there were.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/world.h"

/* A count may be based on a view so old. */
enum { OLD_MS = 20000 };

/* A pod with one of the sets of labels. */
struct label_set {
	uint64_t healthy_ms; /* last time at which the pod was healthy */
	bool taken;          /* the pod was disrupted then, and its budgets were asked */
};

struct budget_state {
	struct label_set (*pod)[SCENARIO_LABEL_SETS];
	uint32_t pods;
};

#define FAIL(world, obs, b, ...) fail_budget(world, obs, b, __VA_ARGS__)

PL_PRINTF(4, 5)
_Noreturn static void fail_budget(struct world *world, const struct obs *obs, uint32_t b,
                                  const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	check_fail(world, "budget", "b-%u, @%" PRId64 ": %s", b, obs->revision, text);
}

static uint32_t allowed_of(uint32_t expected, uint32_t desired, uint32_t healthy)
{
	return expected > 0 && healthy > desired ? healthy - desired : 0;
}

/* -- disruptions ----------------------------------------------------------------- */

static bool is_evicted(const struct mirror_pod *pod)
{
	return pod->phase == MIRROR_BOUND && pod->asked && !pod->unwanted;
}

static bool is_taken(const struct mirror *mirror, uint32_t i)
{
	const struct mirror_pod *pod = &mirror->pod[i];

	return mirror_is_healthy(&mirror->was_pod[i]) && !pod->bad_spec &&
	       (is_evicted(pod) || (pod->phase == MIRROR_TERMINATING &&
	                            strcmp(pod->reason, "preempted") == 0));
}

static bool is_taken_of(const struct mirror *mirror, uint32_t b, uint32_t i)
{
	return scenario_budget_covers(b, i, mirror_labels(&mirror->was_pod[i])) &&
	       is_taken(mirror, i);
}

static uint32_t taken_of(const struct mirror *mirror, uint32_t b)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		count += is_taken_of(mirror, b, mirror->touched_pod[k]);
	}
	return count;
}

static bool has_note(const struct mirror_budget *budget, uint32_t pod, int64_t state_rev)
{
	for (uint32_t i = 0; i < budget->notes; i++)
		if (budget->note[i].pod == pod && budget->note[i].state_rev == state_rev)
			return true;
	return false;
}

/* The disrupted pods have a note each; all older notes are kept, except notes of the same
 * pods. */
static void check_notes(struct world *world, const struct obs *obs, uint32_t b)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_budget *is = &mirror->budget[b],
				   *was = &mirror->was_budget[b];

	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (is_taken_of(mirror, b, i) &&
		    !has_note(is, i, mirror->was_pod[i].state_rev))
			FAIL(world, obs, b, "p-%u is disrupted without a note", i);
	}
	for (uint32_t k = 0; k < was->notes; k++) {
		uint32_t i = was->note[k].pod;

		if (!has_note(is, i, was->note[k].state_rev) &&
		    (i == MIRROR_NONE || !mirror->is_touched_pod[i]))
			FAIL(world, obs, b, "the note of p-%u is lost", i);
	}
}

static void count_taken(struct world *world, const struct obs *obs,
                        const struct mirror_budget *was, uint32_t count)
{
	world_hit(world, obs->writer > 0 ? COVER_BUDGET_PREEMPTED : COVER_BUDGET_ASKED);
	if (was->counted && was->allowed == count)
		world_hit(world, COVER_BUDGET_LAST);
	if (was->allowed < count)
		world_hit(world, COVER_BUDGET_OVERDRAWN);
}

static void check_taken(struct world *world, const struct obs *obs, uint32_t b,
                        uint32_t count)
{
	const struct mirror_budget *is = &world->mirror->budget[b],
				   *was = &world->mirror->was_budget[b];
	uint32_t left = was->healthy > count ? was->healthy - count : 0;

	if (is->rev != obs->revision)
		FAIL(world, obs, b, "%u of its pods are disrupted, and it is not lowered",
		     count);
	if (obs->writer == SIMSTORE_CLIENT && !world->recovering && was->allowed < count)
		FAIL(world, obs, b, "%u of its pods are evicted, and it allows %u", count,
		     was->allowed);
	if (is->bad || is->counted != was->counted || is->expected != was->expected ||
	    is->desired != was->desired || is->what.version != was->what.version)
		FAIL(world, obs, b,
		     "%u of its pods are disrupted, and other fields change", count);
	if (is->healthy != left)
		FAIL(world, obs, b,
		     "%u of its pods are disrupted, and of %u healthy ones %u are left",
		     count, was->healthy, is->healthy);
	check_notes(world, obs, b);
	count_taken(world, obs, was, count);
}

/* -- counting ----------------------------------------------------------------------- */

/* The pod may be healthy in an incarnation that the budget covers. */
static bool may_be_healthy(const struct world *world, const struct budget_state *state,
                           uint32_t b, uint32_t i)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];
	uint64_t now = world->agenda.now_ms;

	for (uint32_t look = 0; look < SCENARIO_LABEL_SETS; look++) {
		const struct label_set *was = &state->pod[i][look];
		bool lately = was->healthy_ms != 0 && now - was->healthy_ms < OLD_MS &&
		              !was->taken;
		bool is = mirror_is_healthy(pod) &&
		          mirror_labels(pod) % SCENARIO_LABEL_SETS == look;

		if (scenario_budget_covers(b, i, look) &&
		    (lately || pod->corrupted || is))
			return true;
	}
	return false;
}

/* Returns how many covered pods may have been healthy by any view that is not too old. */
static uint32_t healthy_most(const struct world *world, const struct budget_state *state,
                             uint32_t b)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < world->mirror->pods; i++)
		count += may_be_healthy(world, state, b, i);
	return count;
}

static void check_counted(struct world *world, const struct budget_state *state,
                          const struct obs *obs, uint32_t b)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_budget *is = &mirror->budget[b],
				   *was = &mirror->was_budget[b];

	if (!is->counted || is->create_rev != was->create_rev ||
	    is->what.version != was->what.version)
		FAIL(world, obs, b, "the counter changes more than the count");
	if (is->desired != scenario_budget_desired(&is->what, is->expected))
		FAIL(world, obs, b, "%u of %u have to be healthy, its value says %u",
		     scenario_budget_desired(&is->what, is->expected), is->expected,
		     is->desired);
	for (uint32_t k = 0; k < is->notes; k++)
		if (!has_note(was, is->note[k].pod, is->note[k].state_rev))
			FAIL(world, obs, b, "the counter adds a note of p-%u",
			     is->note[k].pod);
	for (uint32_t k = 0; k < was->notes; k++) {
		uint32_t i = was->note[k].pod;

		if (i == MIRROR_NONE || has_note(is, i, was->note[k].state_rev) ||
		    mirror->pod[i].corrupted)
			continue;
		world_hit(world, COVER_BUDGET_NOTE_GONE);
		if (mirror->pod[i].state_rev == was->note[k].state_rev)
			FAIL(world, obs, b,
			     "the note of p-%u is removed, whose state has not changed",
			     i);
	}
	if (is->healthy > healthy_most(world, state, b))
		FAIL(world, obs, b, "%u are counted as healthy, and at most %u were",
		     is->healthy, healthy_most(world, state, b));
	if (was->counted && is->allowed > was->allowed)
		world_hit(world, COVER_BUDGET_RAISED);
}

/* -- a revision --------------------------------------------------------------------- */

/* The store does not show what the budget was before. */
static bool is_uncertain(const struct mirror *mirror, uint32_t b)
{
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];
		bool covers = false;

		for (uint32_t look = 0; look < SCENARIO_LABEL_SETS; look++)
			covers = covers || scenario_budget_covers(b, i, look);
		if (mirror->pod[i].corrupted && covers)
			return true;
	}
	return false;
}

static void check_budget_of(struct world *world, const struct budget_state *state,
                            const struct obs *obs, uint32_t b)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_budget *is = &mirror->budget[b],
				   *was = &mirror->was_budget[b];
	uint32_t count = was->exists && !was->bad ? taken_of(mirror, b) : 0;

	if (is_uncertain(mirror, b))
		return;
	if (count > 0)
		check_taken(world, obs, b, count);
	if (!mirror->touched_budget[b])
		return;
	if (is->exists && is->bad)
		FAIL(world, obs, b, "its value is malformed");
	if (is->counted &&
	    is->allowed != allowed_of(is->expected, is->desired, is->healthy))
		FAIL(world, obs, b,
		     "of %u, %u have to be healthy and %u are, %u may be disrupted",
		     is->expected, is->desired, is->healthy, is->allowed);
	if (obs->writer > 0 && (!is->exists || !was->exists))
		FAIL(world, obs, b, "a shard %s it", is->exists ? "makes" : "deletes");
	if (obs->writer > 0 && count == 0)
		check_counted(world, state, obs, b);
}

/* Remembers how the pods are from now on. */
static void remember_pods(const struct mirror *mirror, struct budget_state *state,
                          uint64_t now_ms)
{
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		const struct mirror_pod *was = &mirror->was_pod[i], *is = &mirror->pod[i];

		if (mirror_is_healthy(was))
			state->pod[i][mirror_labels(was) % SCENARIO_LABEL_SETS] =
				(struct label_set){now_ms, is_taken(mirror, i)};
		if (mirror_is_healthy(is))
			state->pod[i][mirror_labels(is) % SCENARIO_LABEL_SETS] =
				(struct label_set){now_ms, false};
	}
}

static void reset_healthy(const struct world *world, struct budget_state *state)
{
	for (uint32_t i = 0; i < state->pods; i++)
		for (uint32_t look = 0; look < SCENARIO_LABEL_SETS; look++)
			state->pod[i][look] =
				(struct label_set){world->agenda.now_ms, false};
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct budget_state *state = me;

	if (world->mirror == NULL ||
	    (obs->what != OBS_MIRROR && obs->what != OBS_RESTORED))
		return;
	if (state->pods == 0) {
		state->pods = world->mirror->pods;
		state->pod = pl_calloc(state->pods, sizeof *state->pod);
		PL_ASSERT(state->pod != NULL);
	}
	if (obs->what == OBS_RESTORED) {
		reset_healthy(world, state);
		return;
	}
	for (uint32_t b = 0; b < SCENARIO_BUDGETS && obs->writer != SIMSTORE_NO_WRITER;
	     b++)
		check_budget_of(world, state, obs, b);
	remember_pods(world->mirror, state, world->agenda.now_ms);
}

static void done(void *me)
{
	struct budget_state *state = me;

	free(state->pod);
}

/* -- recovery phase -------------------------------------------------------------------- */

static bool is_expected(const struct mirror_pod *pod)
{
	return pod->has_spec && !pod->unwanted && pod->phase != MIRROR_SUCCEEDED &&
	       pod->phase != MIRROR_FAILED;
}

bool budgets_are_done(const struct world *world, char *why, size_t size)
{
	const struct mirror *mirror = world->mirror;

	for (uint32_t b = 0; b < SCENARIO_BUDGETS; b++) {
		const struct mirror_budget *budget = &mirror->budget[b];
		uint32_t expected = 0, healthy = 0, desired;

		if (!budget->exists)
			continue;
		for (uint32_t i = 0; i < mirror->pods; i++) {
			bool counts = scenario_budget_covers(
				b, i, mirror_labels(&mirror->pod[i]));

			expected += counts && is_expected(&mirror->pod[i]);
			healthy += counts && mirror_is_healthy(&mirror->pod[i]);
		}
		desired = scenario_budget_desired(&budget->what, expected);
		if (budget->counted && budget->notes == 0 &&
		    budget->expected == expected && budget->healthy == healthy &&
		    budget->desired == desired)
			continue;
		(void)snprintf(
			why, size,
			"b-%u covers %u, %u of them healthy, and says %u, %u, with "
			"%u notes%s",
			b, expected, healthy, budget->expected, budget->healthy,
			budget->notes, budget->counted ? "" : ", uncounted");
		return false;
	}
	return true;
}

const struct check check_budget = {"budget", sizeof(struct budget_state), observe, done};
