/*
 * Disruption budgets, revision by revision.
 *
 *	- who asks a healthy pod to move, or makes it end for a more important one, puts
 *in the same transaction each budget that covers it: one healthy less for each such pod,
 *and a note of each; nothing else of it, and no note that was there is lost
 *	- people ask only as far as budgets allow
 *	- who counts changes nothing but the count and which notes are left; a note goes
 *	  only when the pod's state is not the one any more that was given up; and never
 *	  are more counted as healthy than may have been so
 *	- what is allowed follows from the rest
 *
 * And when all is calm each says what a count from the start does, and has no notes.
 *
 * That a budget is overdrawn by preemption as the last resort only is not judged: what
 * else there was to choose is nowhere to be seen.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/world.h"

/* A count may be so old. */
enum { OLD_MS = 20000 };

/* A pod with some labels. */
struct looks {
	uint64_t healthy_ms; /* when it was so for the last time */
	bool taken;          /* and then somebody took it, asking its budgets */
};

struct state {
	struct looks (*pod)[SCENE_LOOKS];
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

/* -- who is taken ---------------------------------------------------------------- */

static bool is_evicted(const struct stock_pod *pod)
{
	return pod->phase == STOCK_BOUND && pod->asked && !pod->unwanted;
}

static bool is_taken(const struct stock *stock, uint32_t i)
{
	const struct stock_pod *pod = &stock->pod[i];

	return stock_is_healthy(&stock->was_pod[i]) && !pod->bad_spec &&
	       (is_evicted(pod) || (pod->phase == STOCK_TERMINATING &&
	                            strcmp(pod->reason, "preempted") == 0));
}

static bool is_taken_of(const struct stock *stock, uint32_t b, uint32_t i)
{
	return scene_budget_covers(b, i, stock_life(&stock->was_pod[i])) &&
	       is_taken(stock, i);
}

static uint32_t taken_of(const struct stock *stock, uint32_t b)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		count += is_taken_of(stock, b, stock->touched_pod[k]);
	}
	return count;
}

static bool has_note(const struct stock_budget *budget, uint32_t pod, int64_t state_rev)
{
	for (uint32_t i = 0; i < budget->notes; i++)
		if (budget->note[i].pod == pod && budget->note[i].state_rev == state_rev)
			return true;
	return false;
}

/* By these: a note of each, and all that there were, but of the same pods. */
static void check_notes(struct world *world, const struct obs *obs, uint32_t b)
{
	const struct stock *stock = world->stock;
	const struct stock_budget *is = &stock->budget[b], *was = &stock->was_budget[b];

	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (is_taken_of(stock, b, i) &&
		    !has_note(is, i, stock->was_pod[i].state_rev))
			FAIL(world, obs, b, "p-%u goes, and no note says so", i);
	}
	for (uint32_t k = 0; k < was->notes; k++) {
		uint32_t i = was->note[k].pod;

		if (!has_note(is, i, was->note[k].state_rev) &&
		    (i == STOCK_NONE || !stock->is_touched_pod[i]))
			FAIL(world, obs, b, "the note of p-%u is lost", i);
	}
}

static void count_taken(struct world *world, const struct obs *obs,
                        const struct stock_budget *was, uint32_t count)
{
	world_hit(world, obs->whose > 0 ? COVER_BUDGET_PREEMPTED : COVER_BUDGET_ASKED);
	if (was->counted && was->allowed == count)
		world_hit(world, COVER_BUDGET_LAST);
	if (was->allowed < count)
		world_hit(world, COVER_BUDGET_OVERDRAWN);
}

static void check_taken(struct world *world, const struct obs *obs, uint32_t b,
                        uint32_t count)
{
	const struct stock_budget *is = &world->stock->budget[b],
				  *was = &world->stock->was_budget[b];
	uint32_t left = was->healthy > count ? was->healthy - count : 0;

	if (is->rev != obs->revision)
		FAIL(world, obs, b, "%u of its pods go, and it stays as it is", count);
	if (obs->whose == DEPOT_CLERK && !world->calm && was->allowed < count)
		FAIL(world, obs, b, "%u of its pods are asked to go, and it allows %u",
		     count, was->allowed);
	if (is->bad || is->counted != was->counted || is->expected != was->expected ||
	    is->desired != was->desired || is->what.version != was->what.version)
		FAIL(world, obs, b, "%u of its pods go, and more of it is another",
		     count);
	if (is->healthy != left)
		FAIL(world, obs, b,
		     "%u of its pods go, and of %u that were healthy %u are left", count,
		     was->healthy, is->healthy);
	check_notes(world, obs, b);
	count_taken(world, obs, was, count);
}

/* -- who counts --------------------------------------------------------------------- */

/* In some life that it covers. */
static bool may_be_healthy(const struct world *world, const struct state *state,
                           uint32_t b, uint32_t i)
{
	const struct stock_pod *pod = &world->stock->pod[i];
	uint64_t now = world->agenda.now_ms;

	for (uint32_t look = 0; look < SCENE_LOOKS; look++) {
		const struct looks *was = &state->pod[i][look];
		bool lately = was->healthy_ms != 0 && now - was->healthy_ms < OLD_MS &&
		              !was->taken;
		bool is = stock_is_healthy(pod) && stock_life(pod) % SCENE_LOOKS == look;

		if (scene_budget_covers(b, i, look) && (lately || pod->spoilt || is))
			return true;
	}
	return false;
}

/* Of those that it covers, who may have been healthy by any view that is not too old. */
static uint32_t healthy_most(const struct world *world, const struct state *state,
                             uint32_t b)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < world->stock->pods; i++)
		count += may_be_healthy(world, state, b, i);
	return count;
}

static void check_counted(struct world *world, const struct state *state,
                          const struct obs *obs, uint32_t b)
{
	const struct stock *stock = world->stock;
	const struct stock_budget *is = &stock->budget[b], *was = &stock->was_budget[b];

	if (!is->counted || is->create_rev != was->create_rev ||
	    is->what.version != was->what.version)
		FAIL(world, obs, b, "who counts makes it another");
	if (is->desired != scene_budget_desired(&is->what, is->expected))
		FAIL(world, obs, b, "%u of %u are to be healthy, it says %u",
		     scene_budget_desired(&is->what, is->expected), is->expected,
		     is->desired);
	for (uint32_t k = 0; k < is->notes; k++)
		if (!has_note(was, is->note[k].pod, is->note[k].state_rev))
			FAIL(world, obs, b, "who counts notes that p-%u goes",
			     is->note[k].pod);
	for (uint32_t k = 0; k < was->notes; k++) {
		uint32_t i = was->note[k].pod;

		if (i == STOCK_NONE || has_note(is, i, was->note[k].state_rev) ||
		    stock->pod[i].spoilt)
			continue;
		world_hit(world, COVER_BUDGET_STRUCK);
		if (stock->pod[i].state_rev == was->note[k].state_rev)
			FAIL(world, obs, b,
			     "the note of p-%u goes, whose state is as it was then", i);
	}
	if (is->healthy > healthy_most(world, state, b))
		FAIL(world, obs, b, "%u are counted as healthy, and %u can have been so",
		     is->healthy, healthy_most(world, state, b));
	if (was->counted && is->allowed > was->allowed)
		world_hit(world, COVER_BUDGET_RAISED);
}

/* -- all of it ---------------------------------------------------------------------- */

/* What it was is nowhere to be seen. */
static bool is_blurred(const struct stock *stock, uint32_t b)
{
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];
		bool covers = false;

		for (uint32_t look = 0; look < SCENE_LOOKS; look++)
			covers = covers || scene_budget_covers(b, i, look);
		if (stock->pod[i].spoilt && covers)
			return true;
	}
	return false;
}

static void check_budget_of(struct world *world, const struct state *state,
                            const struct obs *obs, uint32_t b)
{
	const struct stock *stock = world->stock;
	const struct stock_budget *is = &stock->budget[b], *was = &stock->was_budget[b];
	uint32_t count = was->exists && !was->bad ? taken_of(stock, b) : 0;

	if (is_blurred(stock, b))
		return;
	if (count > 0)
		check_taken(world, obs, b, count);
	if (!stock->touched_budget[b])
		return;
	if (is->exists && is->bad)
		FAIL(world, obs, b, "it makes no sense");
	if (is->counted &&
	    is->allowed != allowed_of(is->expected, is->desired, is->healthy))
		FAIL(world, obs, b, "of %u, %u to be healthy and %u so, %u may go",
		     is->expected, is->desired, is->healthy, is->allowed);
	if (obs->whose > 0 && (!is->exists || !was->exists))
		FAIL(world, obs, b, "a shard %s it", is->exists ? "makes" : "deletes");
	if (obs->whose > 0 && count == 0)
		check_counted(world, state, obs, b);
}

/* How it is from now on. */
static void follow(const struct stock *stock, struct state *state, uint64_t now_ms)
{
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		const struct stock_pod *was = &stock->was_pod[i], *is = &stock->pod[i];

		if (stock_is_healthy(was))
			state->pod[i][stock_life(was) % SCENE_LOOKS] =
				(struct looks){now_ms, is_taken(stock, i)};
		if (stock_is_healthy(is))
			state->pod[i][stock_life(is) % SCENE_LOOKS] =
				(struct looks){now_ms, false};
	}
}

static void forget(const struct world *world, struct state *state)
{
	for (uint32_t i = 0; i < state->pods; i++)
		for (uint32_t look = 0; look < SCENE_LOOKS; look++)
			state->pod[i][look] = (struct looks){world->agenda.now_ms, false};
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;

	if (world->stock == NULL || (obs->what != OBS_STOCK && obs->what != OBS_RESTORED))
		return;
	if (state->pods == 0) {
		state->pods = world->stock->pods;
		state->pod = pl_calloc(state->pods, sizeof *state->pod);
		PL_ASSERT(state->pod != NULL);
	}
	if (obs->what == OBS_RESTORED) {
		forget(world, state);
		return;
	}
	for (uint32_t b = 0; b < SCENE_BUDGETS && obs->whose != DEPOT_NOBODY; b++)
		check_budget_of(world, state, obs, b);
	follow(world->stock, state, world->agenda.now_ms);
}

static void done(void *me)
{
	struct state *state = me;

	free(state->pod);
}

/* -- when all is calm -----------------------------------------------------------------
 */

static bool is_expected(const struct stock_pod *pod)
{
	return pod->has_spec && !pod->unwanted && pod->phase != STOCK_SUCCEEDED &&
	       pod->phase != STOCK_FAILED;
}

bool budgets_are_done(const struct world *world, char *why, size_t size)
{
	const struct stock *stock = world->stock;

	for (uint32_t b = 0; b < SCENE_BUDGETS; b++) {
		const struct stock_budget *budget = &stock->budget[b];
		uint32_t expected = 0, healthy = 0, desired;

		if (!budget->exists)
			continue;
		for (uint32_t i = 0; i < stock->pods; i++) {
			bool counts =
				scene_budget_covers(b, i, stock_life(&stock->pod[i]));

			expected += counts && is_expected(&stock->pod[i]);
			healthy += counts && stock_is_healthy(&stock->pod[i]);
		}
		desired = scene_budget_desired(&budget->what, expected);
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

const struct check check_budget = {"budget", sizeof(struct state), see, done};
