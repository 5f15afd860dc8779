/*
 * Large gangs: their records, the reservations in allocs and their pods have to agree,
 * revision by revision.
 *
 *	- a record begins as reserving, goes from phase to phase in order, and its plan
 *	  does not change
 *	- a reservation is written while its record reserves, where and as large as the
 *	  plan says; it is removed while the record aborts or is gone, or, for a gang
 *	  that is bound, when its pod takes its place
 *	- from the moment at which the record says that the gang is bound, each of its
 *	  pending pods has its room on its node
 *	- none of its pods is bound before that, or elsewhere
 *	- no other pod takes that room meanwhile
 *	- no reservation is left when the record is deleted
 *
 * In the recovery phase there are no records and no reservations.
 */
#include <inttypes.h>

#include "tests/sim/naive.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"

struct gang_state {
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
	           scenario_kind_text[scenario_kind(g * SCENARIO_GROUP)], obs->revision,
	           text);
}

/* -- the record ---------------------------------------------------------------- */

static const char *phase_text(enum mirror_gang_phase phase)
{
	static const char *const texts[] = {[MIRROR_GANG_NONE] = "gone",
	                                    [MIRROR_GANG_RESERVING] = "reserving",
	                                    [MIRROR_GANG_BOUND] = "bound",
	                                    [MIRROR_GANG_ABORTING] = "aborting",
	                                    [MIRROR_GANG_BAD] = "garbage"};

	return texts[phase];
}

static bool may_follow(enum mirror_gang_phase was, enum mirror_gang_phase is)
{
	switch (was) {
	case MIRROR_GANG_NONE:
		return is == MIRROR_GANG_RESERVING;
	case MIRROR_GANG_RESERVING:
		return is == MIRROR_GANG_BOUND || is == MIRROR_GANG_ABORTING;
	case MIRROR_GANG_BOUND:
	case MIRROR_GANG_ABORTING:
	case MIRROR_GANG_BAD:
		return is == MIRROR_GANG_NONE;
	}
	return false;
}

static bool same_plan(const struct mirror_gang *a, const struct mirror_gang *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; i < a->count && same; i++)
		same = a->plan[i].pod == b->plan[i].pod &&
		       a->plan[i].node == b->plan[i].node &&
		       a->plan[i].spec_rev == b->plan[i].spec_rev;
	return same;
}

static void check_no_reservation(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct mirror *mirror = world->mirror;

	for (uint32_t n = 0; n < mirror->nodes; n++)
		if (!mirror->node[n].corrupted &&
		    mirror_reservation_of(&mirror->node[n], g) != NULL)
			FAIL(world, obs, g,
			     "its record is gone, and n-%u has a reservation", n);
}

/* A shard that takes over aborts what another began, or finishes it. */
static void count_phase(struct world *world, const struct mirror_gang *was,
                        const struct mirror_gang *is)
{
	static const enum cover_what ends[][2] = {
		[MIRROR_GANG_RESERVING] = {COVER_COUNT, COVER_TAKEOVER_RESERVING},
		[MIRROR_GANG_BOUND] = {COVER_LARGE_PLACED, COVER_TAKEOVER_BOUND},
		[MIRROR_GANG_ABORTING] = {COVER_LARGE_RELEASED, COVER_TAKEOVER_ABORTING},
		[MIRROR_GANG_BAD] = {COVER_COUNT, COVER_COUNT},
	};
	const struct truth_owner *owner = &world->truth.owner[was->partition];
	const struct proc *proc;

	if (is->phase == MIRROR_GANG_RESERVING)
		world_hit(world, COVER_LARGE_RESERVING);
	if (is->phase == MIRROR_GANG_BOUND)
		world_hit(world, COVER_LARGE_BOUND);
	if (is->phase == MIRROR_GANG_ABORTING) {
		world_hit(world, COVER_LARGE_ABORTED);
		proc = proc_of(world, is->shard);
		if (proc != NULL && proc_wall_ms(proc) >= was->until_ms)
			world_hit(world, COVER_LARGE_LATE);
	}
	if (was->phase == MIRROR_GANG_NONE)
		return;
	if (is->phase == MIRROR_GANG_NONE && ends[was->phase][0] != COVER_COUNT)
		world_hit(world, ends[was->phase][0]);
	if (owner->exists && owner->shard != was->shard &&
	    ends[was->phase][1] != COVER_COUNT)
		world_hit(world, ends[was->phase][1]);
}

static void check_record(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct mirror_gang *was = &world->mirror->was_gang[g],
				 *is = &world->mirror->gang[g];

	STORY(&world->story, "judge", "@%" PRId64 " g-%u is %s, %u pods", obs->revision,
	      g, phase_text(is->phase), is->count);
	if (obs->writer <= 0)
		FAIL(world, obs, g, "its record is %s, by no shard",
		     phase_text(is->phase));
	if (!was->uncertain && !may_follow(was->phase, is->phase))
		FAIL(world, obs, g, "its record is %s, and was %s", phase_text(is->phase),
		     phase_text(was->phase));
	if (!was->uncertain && was->phase != MIRROR_GANG_NONE &&
	    is->phase != MIRROR_GANG_NONE && !same_plan(was, is))
		FAIL(world, obs, g, "its plan changed when it became %s",
		     phase_text(is->phase));
	/* A late request may be applied to a store that was restored. */
	if (is->phase == MIRROR_GANG_NONE && was->uncertain)
		world->mirror->gang_corrupted[g] = true;
	else if (is->phase == MIRROR_GANG_NONE)
		check_no_reservation(world, obs, g);
	count_phase(world, was, is);
	nemesis_gang(world, is);
}

/* -- reservations -------------------------------------------------------------- */

static bool is_more(const struct mirror_sum *a, const struct mirror_sum *b)
{
	return a->cpu_milli > b->cpu_milli || a->memory_bytes > b->memory_bytes ||
	       a->pods > b->pods;
}

static void sum_add(struct mirror_sum *to, const struct mirror_sum *sum)
{
	to->cpu_milli += sum->cpu_milli;
	to->memory_bytes += sum->memory_bytes;
	to->pods += sum->pods;
}

static bool is_pending(const struct mirror *mirror, const struct mirror_planned *is)
{
	const struct mirror_pod *pod = &mirror->pod[is->pod];

	return !is->over && !pod->corrupted && pod->spec_rev == is->spec_rev &&
	       (pod->phase == MIRROR_NO_STATE || pod->phase == MIRROR_PENDING);
}

static void check_comes(struct world *world, const struct obs *obs, uint32_t n,
                        const struct mirror_reservation *reservation)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_gang *gang = &mirror->gang[reservation->gang];
	struct mirror_sum sum = {0};
	bool over = false;

	if (gang->phase != MIRROR_GANG_RESERVING ||
	    mirror->is_touched_gang[reservation->gang])
		FAIL(world, obs, reservation->gang,
		     "n-%u has a reservation, and the record is %s", n,
		     phase_text(gang->phase));
	for (uint32_t i = 0; i < gang->count; i++) {
		if (gang->plan[i].node != n)
			continue;
		if (!gang->plan[i].over &&
		    naive_refuses(mirror, n, gang->plan[i].pod) != NULL)
			FAIL(world, obs, reservation->gang,
			     "n-%u has a reservation for p-%u, and %s", n,
			     gang->plan[i].pod,
			     naive_refuses(mirror, n, gang->plan[i].pod));
		sum_add(&sum, &gang->plan[i].sum);
		over = over || gang->plan[i].over;
	}
	if (sum.pods == 0)
		FAIL(world, obs, reservation->gang,
		     "n-%u has a reservation without a plan", n);
	if (!over && !gang->uncertain &&
	    (is_more(&sum, &reservation->sum) || is_more(&reservation->sum, &sum)))
		FAIL(world, obs, reservation->gang,
		     "%" PRId64 "m for %" PRId64
		     " pods are reserved on n-%u, planned are %" PRId64 "m for %" PRId64,
		     reservation->sum.cpu_milli, reservation->sum.pods, n, sum.cpu_milli,
		     sum.pods);
}

static void check_reservations(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_node *node = &mirror->node[n], *was = &mirror->was_node[n];

	for (uint32_t k = 0; k < node->gang_reservations; k++) {
		const struct mirror_reservation *reservation = &node->gang_reservation[k];
		const struct mirror_reservation *before =
			mirror_reservation_of(was, reservation->gang);

		if (!mirror->gang_corrupted[reservation->gang] &&
		    (before == NULL || is_more(&reservation->sum, &before->sum)))
			check_comes(world, obs, n, reservation);
	}
	for (uint32_t k = 0; k < was->gang_reservations; k++) {
		const struct mirror_reservation *before = &was->gang_reservation[k];
		const struct mirror_reservation *reservation =
			mirror_reservation_of(node, before->gang);

		if (!mirror->gang_corrupted[before->gang] &&
		    mirror->gang[before->gang].phase == MIRROR_GANG_RESERVING &&
		    (reservation == NULL || is_more(&before->sum, &reservation->sum)))
			FAIL(world, obs, before->gang,
			     "the reservation on n-%u is removed while the record is reserving",
			     n);
	}
}

/* The gang is bound: each pending member has its room. */
static void check_backed(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_gang *gang = &mirror->gang[g];

	for (uint32_t i = 0; i < gang->count; i++) {
		const struct mirror_node *node = &mirror->node[gang->plan[i].node];
		const struct mirror_reservation *reservation =
			mirror_reservation_of(node, g);
		struct mirror_sum sum = {0}, has = {0};

		if (gang->plan[i].lost || node->corrupted || !node->has_alloc)
			continue;
		if (reservation != NULL)
			has = reservation->sum;
		for (uint32_t k = 0; k < gang->count; k++)
			if (gang->plan[k].node == gang->plan[i].node &&
			    is_pending(mirror, &gang->plan[k]))
				sum_add(&sum, &gang->plan[k].sum);
		if (is_more(&sum, &has))
			FAIL(world, obs, g,
			     "it is bound, %" PRId64
			     " of its pods are pending for n-%u, and %" PRId64
			     "m for %" PRId64 " are reserved there",
			     sum.pods, gang->plan[i].node, has.cpu_milli, has.pods);
	}
}

/* -- bindings -------------------------------------------------------------------- */

static void check_closed(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_node *node = &mirror->node[n], *was = &mirror->was_node[n];

	for (uint32_t k = 0; k < node->listed && was->gang_reservations > 0; k++) {
		uint32_t i = node->list[k].pod;

		if (i == MIRROR_NONE || mirror_lists(was, i) || mirror->pod[i].corrupted)
			continue;
		if (!scenario_is_gang(i) ||
		    mirror_reservation_of(was, scenario_gang(i)) == NULL)
			FAIL(world, obs, was->gang_reservation[0].gang,
			     "n-%u has a reservation, and p-%u is bound there", n, i);
	}
}

static void check_bound(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_pod *pod = &mirror->pod[i];
	const struct mirror_gang *gang = &mirror->gang[scenario_gang(i)];
	const struct mirror_planned *is = mirror_planned_of(gang, i);

	if (gang->phase == MIRROR_GANG_NONE)
		return;
	if (gang->phase != MIRROR_GANG_BOUND)
		FAIL(world, obs, scenario_gang(i),
		     "p-%u is bound, and its gang's record is %s", i,
		     phase_text(gang->phase));
	if (is == NULL || is->node != pod->node)
		FAIL(world, obs, scenario_gang(i),
		     "p-%u is bound to n-%u, against the plan", i, pod->node);
}

static void observe_mirror(struct world *world, const struct obs *obs)
{
	const struct mirror *mirror = world->mirror;

	for (uint32_t k = 0; k < mirror->touched_gangs; k++)
		if (!mirror->gang_corrupted[mirror->touched_gang[k]])
			check_record(world, obs, mirror->touched_gang[k]);
	for (uint32_t k = 0; k < mirror->touched_nodes; k++) {
		uint32_t n = mirror->touched_node[k];

		if (mirror->node[n].corrupted)
			continue;
		check_reservations(world, obs, n);
		if (obs->writer > 0)
			check_closed(world, obs, n);
	}
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (scenario_is_gang(i) && !mirror->pod[i].corrupted &&
		    !mirror->gang_corrupted[scenario_gang(i)] &&
		    mirror->pod[i].phase == MIRROR_BOUND &&
		    mirror->was_pod[i].phase != MIRROR_BOUND)
			check_bound(world, obs, i);
	}
	for (uint32_t g = 0; g < mirror->gangs; g++)
		if (mirror->gang[g].phase == MIRROR_GANG_BOUND &&
		    !mirror->gang[g].uncertain && !mirror->gang_corrupted[g])
			check_backed(world, obs, g);
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct gang_state *state = me;

	if (obs->what != OBS_MIRROR || obs->writer == SIMSTORE_NO_WRITER)
		return;
	state->seen++;
	observe_mirror(world, obs);
}

bool gangs_are_done(const struct world *world, char *why, size_t size)
{
	const struct mirror *mirror = world->mirror;

	for (uint32_t g = 0; g < mirror->gangs; g++)
		if (mirror->gang[g].phase != MIRROR_GANG_NONE) {
			(void)snprintf(why, size, "g-%u has a record: %s", g,
			               phase_text(mirror->gang[g].phase));
			return false;
		}
	for (uint32_t n = 0; n < mirror->nodes; n++)
		if (mirror->node[n].gang_reservations > 0) {
			(void)snprintf(why, size, "n-%u has a reservation for g-%u", n,
			               mirror->node[n].gang_reservation[0].gang);
			return false;
		}
	return true;
}

const struct check check_gang = {"gang", sizeof(struct gang_state), observe, NULL};
