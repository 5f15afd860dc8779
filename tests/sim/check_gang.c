/*
 * Large gangs: what their records, the holds in allocs and their pods say to each other,
 * revision by revision.
 *
 *	- a record comes as reserving, goes from phase to phase as it may, and its plan
 *	  stays as it is
 *	- a hold comes while its record reserves, where the plan says, and as large as
 *that; it goes while the record is aborting, or gone; or, of a gang that is bound, for
 *	  its pods
 *	- from the moment in which the record says that the gang is bound, each of its
 *pods that waits has its room on its node
 *	- none of its pods is bound before that, or elsewhere
 *	- nothing else is put on a node meanwhile
 *	- no hold is left when the record goes
 *
 * And when all is calm there are no records and no holds.
 */
#include <inttypes.h>

#include "tests/sim/naive.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"

struct state {
	uint64_t seen;
};

#define FAIL(world, obs, g, ...) fail_gang(world, obs, g, __VA_ARGS__)

PL_PRINTF(4, 5)
_Noreturn static void fail_gang(struct world *world, const struct obs *obs, uint32_t g,
                                const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	check_fail(world, "gang", "g-%u (%s), @%" PRId64 ": %s", g,
	           scene_kind_text[scene_kind(g * SCENE_GROUP)], obs->revision, text);
}

/* -- its record ---------------------------------------------------------------- */

static const char *phase_text(enum stock_gang_phase phase)
{
	static const char *const texts[] = {[STOCK_GANG_NONE] = "gone",
	                                    [STOCK_GANG_RESERVING] = "reserving",
	                                    [STOCK_GANG_BOUND] = "bound",
	                                    [STOCK_GANG_ABORTING] = "aborting",
	                                    [STOCK_GANG_BAD] = "garbage"};

	return texts[phase];
}

static bool may_follow(enum stock_gang_phase was, enum stock_gang_phase is)
{
	switch (was) {
	case STOCK_GANG_NONE:
		return is == STOCK_GANG_RESERVING;
	case STOCK_GANG_RESERVING:
		return is == STOCK_GANG_BOUND || is == STOCK_GANG_ABORTING;
	case STOCK_GANG_BOUND:
	case STOCK_GANG_ABORTING:
	case STOCK_GANG_BAD:
		return is == STOCK_GANG_NONE;
	}
	return false;
}

static bool same_plan(const struct stock_gang *a, const struct stock_gang *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; i < a->count && same; i++)
		same = a->plan[i].pod == b->plan[i].pod &&
		       a->plan[i].node == b->plan[i].node &&
		       a->plan[i].spec_rev == b->plan[i].spec_rev;
	return same;
}

static void check_no_hold(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct stock *stock = world->stock;

	for (uint32_t n = 0; n < stock->nodes; n++)
		if (!stock->node[n].spoilt && stock_hold_of(&stock->node[n], g) != NULL)
			FAIL(world, obs, g,
			     "its record is gone, and n-%u holds room for it", n);
}

/* Who takes over gives up what another began, or finishes it. */
static void count_phase(struct world *world, const struct stock_gang *was,
                        const struct stock_gang *is)
{
	static const enum cover_what ends[][2] = {
		[STOCK_GANG_RESERVING] = {COVER_COUNT, COVER_HEIR_RESERVING},
		[STOCK_GANG_BOUND] = {COVER_LARGE_PLACED, COVER_HEIR_BOUND},
		[STOCK_GANG_ABORTING] = {COVER_LARGE_RELEASED, COVER_HEIR_ABORTING},
		[STOCK_GANG_BAD] = {COVER_COUNT, COVER_COUNT},
	};
	const struct truth_owner *owner = &world->truth.owner[was->partition];
	const struct proc *proc;

	if (is->phase == STOCK_GANG_RESERVING)
		world_hit(world, COVER_LARGE_RESERVING);
	if (is->phase == STOCK_GANG_BOUND)
		world_hit(world, COVER_LARGE_BOUND);
	if (is->phase == STOCK_GANG_ABORTING) {
		world_hit(world, COVER_LARGE_ABORTED);
		proc = proc_of(world, is->shard);
		if (proc != NULL && proc_wall_ms(proc) >= was->until_ms)
			world_hit(world, COVER_LARGE_LATE);
	}
	if (was->phase == STOCK_GANG_NONE)
		return;
	if (is->phase == STOCK_GANG_NONE && ends[was->phase][0] != COVER_COUNT)
		world_hit(world, ends[was->phase][0]);
	if (owner->exists && owner->shard != was->shard &&
	    ends[was->phase][1] != COVER_COUNT)
		world_hit(world, ends[was->phase][1]);
}

static void check_record(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct stock_gang *was = &world->stock->was_gang[g],
				*is = &world->stock->gang[g];

	STORY(&world->story, "judge", "@%" PRId64 " g-%u is %s, %u pods", obs->revision,
	      g, phase_text(is->phase), is->count);
	if (obs->whose <= 0)
		FAIL(world, obs, g, "its record is %s, by no shard",
		     phase_text(is->phase));
	if (!was->blurred && !may_follow(was->phase, is->phase))
		FAIL(world, obs, g, "its record is %s, and was %s", phase_text(is->phase),
		     phase_text(was->phase));
	if (!was->blurred && was->phase != STOCK_GANG_NONE &&
	    is->phase != STOCK_GANG_NONE && !same_plan(was, is))
		FAIL(world, obs, g, "its plan is another, now that it is %s",
		     phase_text(is->phase));
	/* What was sent long ago may come into a store that was restored. */
	if (is->phase == STOCK_GANG_NONE && was->blurred)
		world->stock->gang_spoilt[g] = true;
	else if (is->phase == STOCK_GANG_NONE)
		check_no_hold(world, obs, g);
	count_phase(world, was, is);
	nemesis_gang(world, is);
}

/* -- what is held for it ------------------------------------------------------- */

static bool is_more(const struct stock_sum *a, const struct stock_sum *b)
{
	return a->cpu_milli > b->cpu_milli || a->memory_bytes > b->memory_bytes ||
	       a->pods > b->pods;
}

static void sum_add(struct stock_sum *to, const struct stock_sum *sum)
{
	to->cpu_milli += sum->cpu_milli;
	to->memory_bytes += sum->memory_bytes;
	to->pods += sum->pods;
}

static bool waits(const struct stock *stock, const struct stock_planned *is)
{
	const struct stock_pod *pod = &stock->pod[is->pod];

	return !is->over && !pod->spoilt && pod->spec_rev == is->spec_rev &&
	       (pod->phase == STOCK_NO_STATE || pod->phase == STOCK_PENDING);
}

static void check_comes(struct world *world, const struct obs *obs, uint32_t n,
                        const struct stock_hold *hold)
{
	const struct stock *stock = world->stock;
	const struct stock_gang *gang = &stock->gang[hold->gang];
	struct stock_sum sum = {0};
	bool over = false;

	if (gang->phase != STOCK_GANG_RESERVING || stock->is_touched_gang[hold->gang])
		FAIL(world, obs, hold->gang, "room is held on n-%u, and its record is %s",
		     n, phase_text(gang->phase));
	for (uint32_t i = 0; i < gang->count; i++) {
		if (gang->plan[i].node != n)
			continue;
		if (!gang->plan[i].over &&
		    naive_refuses(stock, n, gang->plan[i].pod) != NULL)
			FAIL(world, obs, hold->gang,
			     "room is held on n-%u for p-%u, and %s", n,
			     gang->plan[i].pod,
			     naive_refuses(stock, n, gang->plan[i].pod));
		sum_add(&sum, &gang->plan[i].sum);
		over = over || gang->plan[i].over;
	}
	if (sum.pods == 0)
		FAIL(world, obs, hold->gang, "room is held on n-%u, which is not planned",
		     n);
	if (!over && !gang->blurred &&
	    (is_more(&sum, &hold->sum) || is_more(&hold->sum, &sum)))
		FAIL(world, obs, hold->gang,
		     "%" PRId64 "m for %" PRId64
		     " pods are held on n-%u, planned are %" PRId64 "m for %" PRId64,
		     hold->sum.cpu_milli, hold->sum.pods, n, sum.cpu_milli, sum.pods);
}

static void check_holds(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct stock *stock = world->stock;
	const struct stock_node *node = &stock->node[n], *was = &stock->was_node[n];

	for (uint32_t k = 0; k < node->gang_holds; k++) {
		const struct stock_hold *hold = &node->gang_hold[k];
		const struct stock_hold *before = stock_hold_of(was, hold->gang);

		if (!stock->gang_spoilt[hold->gang] &&
		    (before == NULL || is_more(&hold->sum, &before->sum)))
			check_comes(world, obs, n, hold);
	}
	for (uint32_t k = 0; k < was->gang_holds; k++) {
		const struct stock_hold *before = &was->gang_hold[k];
		const struct stock_hold *hold = stock_hold_of(node, before->gang);

		if (!stock->gang_spoilt[before->gang] &&
		    stock->gang[before->gang].phase == STOCK_GANG_RESERVING &&
		    (hold == NULL || is_more(&before->sum, &hold->sum)))
			FAIL(world, obs, before->gang,
			     "what is held on n-%u goes, and its record is reserving", n);
	}
}

/* It is bound: who waits has his room. */
static void check_backed(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct stock *stock = world->stock;
	const struct stock_gang *gang = &stock->gang[g];

	for (uint32_t i = 0; i < gang->count; i++) {
		const struct stock_node *node = &stock->node[gang->plan[i].node];
		const struct stock_hold *hold = stock_hold_of(node, g);
		struct stock_sum sum = {0}, has = {0};

		if (gang->plan[i].lost || node->spoilt || !node->has_alloc)
			continue;
		if (hold != NULL)
			has = hold->sum;
		for (uint32_t k = 0; k < gang->count; k++)
			if (gang->plan[k].node == gang->plan[i].node &&
			    waits(stock, &gang->plan[k]))
				sum_add(&sum, &gang->plan[k].sum);
		if (is_more(&sum, &has))
			FAIL(world, obs, g,
			     "it is bound, %" PRId64
			     " of its pods wait for n-%u, and %" PRId64 "m for %" PRId64
			     " are held there",
			     sum.pods, gang->plan[i].node, has.cpu_milli, has.pods);
	}
}

/* -- and who comes --------------------------------------------------------------- */

static void check_closed(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct stock *stock = world->stock;
	const struct stock_node *node = &stock->node[n], *was = &stock->was_node[n];

	for (uint32_t k = 0; k < node->listed && was->gang_holds > 0; k++) {
		uint32_t i = node->list[k].pod;

		if (i == STOCK_NONE || stock_lists(was, i) || stock->pod[i].spoilt)
			continue;
		if (!scene_is_gang(i) || stock_hold_of(was, scene_gang(i)) == NULL)
			FAIL(world, obs, was->gang_hold[0].gang,
			     "room is held on n-%u, and p-%u is put there", n, i);
	}
}

static void check_bound(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	const struct stock_pod *pod = &stock->pod[i];
	const struct stock_gang *gang = &stock->gang[scene_gang(i)];
	const struct stock_planned *is = stock_planned_of(gang, i);

	if (gang->phase == STOCK_GANG_NONE)
		return;
	if (gang->phase != STOCK_GANG_BOUND)
		FAIL(world, obs, scene_gang(i),
		     "p-%u is bound, and its gang's record is %s", i,
		     phase_text(gang->phase));
	if (is == NULL || is->node != pod->node)
		FAIL(world, obs, scene_gang(i),
		     "p-%u is bound to n-%u, as is not planned", i, pod->node);
}

static void see_stock(struct world *world, const struct obs *obs)
{
	const struct stock *stock = world->stock;

	for (uint32_t k = 0; k < stock->touched_gangs; k++)
		if (!stock->gang_spoilt[stock->touched_gang[k]])
			check_record(world, obs, stock->touched_gang[k]);
	for (uint32_t k = 0; k < stock->touched_nodes; k++) {
		uint32_t n = stock->touched_node[k];

		if (stock->node[n].spoilt)
			continue;
		check_holds(world, obs, n);
		if (obs->whose > 0)
			check_closed(world, obs, n);
	}
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (scene_is_gang(i) && !stock->pod[i].spoilt &&
		    !stock->gang_spoilt[scene_gang(i)] &&
		    stock->pod[i].phase == STOCK_BOUND &&
		    stock->was_pod[i].phase != STOCK_BOUND)
			check_bound(world, obs, i);
	}
	for (uint32_t g = 0; g < stock->gangs; g++)
		if (stock->gang[g].phase == STOCK_GANG_BOUND && !stock->gang[g].blurred &&
		    !stock->gang_spoilt[g])
			check_backed(world, obs, g);
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;

	if (obs->what != OBS_STOCK || obs->whose == DEPOT_NOBODY)
		return;
	state->seen++;
	see_stock(world, obs);
}

bool gangs_are_done(const struct world *world, char *why, size_t size)
{
	const struct stock *stock = world->stock;

	for (uint32_t g = 0; g < stock->gangs; g++)
		if (stock->gang[g].phase != STOCK_GANG_NONE) {
			(void)snprintf(why, size, "g-%u has a record: %s", g,
			               phase_text(stock->gang[g].phase));
			return false;
		}
	for (uint32_t n = 0; n < stock->nodes; n++)
		if (stock->node[n].gang_holds > 0) {
			(void)snprintf(why, size, "n-%u holds room for g-%u", n,
			               stock->node[n].gang_hold[0].gang);
			return false;
		}
	return true;
}

const struct check check_gang = {"gang", sizeof(struct state), see, NULL};
