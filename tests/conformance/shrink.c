#include "tests/conformance/shrink.h"

#include <stdlib.h>

#include "store/base/clock.h"

/*
 * First the last steps alone are tried, which often is enough; then runs of steps
 * are left out, halved until they are single ones; then steps are made simpler.
 * Whatever comes behind the difference goes at once.
 */
struct attempt {
	struct shrink *shrink;
	struct pair *pair;
	struct history *history;
	struct difference *out;
	uint64_t end_ms;
	struct step *scratch; /* steps of a candidate; room for the whole history */
};

static bool out_of_time(struct attempt *attempt)
{
	return pl_clock_ms() >= attempt->end_ms;
}

/* The first count steps of the scratch; taken when they differ, too. */
static bool try_candidate(struct attempt *attempt, size_t count)
{
	struct history candidate = {attempt->history->arena, attempt->scratch, count};
	struct difference *found;
	bool differs;

	if (count == 0 || out_of_time(attempt))
		return false;
	found = calloc(1, sizeof *found);
	PL_ASSERT(found != NULL);
	attempt->shrink->runs++;
	differs = pair_differ(attempt->pair, &candidate, found, NULL);
	if (differs) {
		attempt->history->count = found->step + 1;
		memcpy(attempt->history->steps, attempt->scratch,
		       attempt->history->count * sizeof *attempt->scratch);
		*attempt->out = *found;
	}
	free(found);
	return differs;
}

static bool try_without(struct attempt *attempt, size_t first, size_t count)
{
	const struct history *whole = attempt->history;
	size_t behind = whole->count - first - count;

	memcpy(attempt->scratch, whole->steps, first * sizeof *whole->steps);
	memcpy(attempt->scratch + first, whole->steps + first + count,
	       behind * sizeof *whole->steps);
	return try_candidate(attempt, first + behind);
}

/* From the back: what comes late is more likely to be needed, and goes last. */
static bool leave_out(struct attempt *attempt, size_t chunk)
{
	bool shorter = false;
	size_t end = attempt->history->count;

	while (end > 0 && !out_of_time(attempt)) {
		size_t first = end > chunk ? end - chunk : 0;

		if (end <= attempt->history->count)
			shorter |= try_without(attempt, first, end - first);
		end = first;
	}
	return shorter;
}

static bool simplify_step(struct attempt *attempt, size_t at)
{
	bool simpler = false;
	unsigned which = 0;

	while (at < attempt->history->count && !out_of_time(attempt)) {
		const struct history *whole = attempt->history;
		struct step step;

		if (!step_simplify(&whole->steps[at], which, whole->arena, &step))
			break;
		memcpy(attempt->scratch, whole->steps,
		       whole->count * sizeof *whole->steps);
		attempt->scratch[at] = step;
		if (try_candidate(attempt, whole->count))
			simpler = true;
		else
			which++;
	}
	return simpler;
}

static bool simplify_all(struct attempt *attempt)
{
	bool simpler = false;

	for (size_t i = 0; i < attempt->history->count; i++)
		simpler |= simplify_step(attempt, i);
	return simpler;
}

static void shrink_run(struct attempt *attempt)
{
	struct history *history = attempt->history;
	bool again = true;

	for (size_t count = 8; count < history->count; count *= 4)
		if (try_without(attempt, 0, history->count - count))
			break;
	while (again && !out_of_time(attempt)) {
		again = false;
		for (size_t chunk = history->count / 2; chunk > 0; chunk /= 2)
			again |= leave_out(attempt, chunk);
		again |= simplify_all(attempt);
	}
	attempt->shrink->complete = !again;
}

bool shrink_history(struct shrink *shrink, struct pair *pair, struct history *history,
                    struct difference *out)
{
	struct attempt attempt = {
		.shrink = shrink,
		.pair = pair,
		.history = history,
		.out = out,
		.end_ms = pl_clock_ms() + shrink->ms_max,
		.scratch = calloc(history->count + 1, sizeof *history->steps)};
	bool repeats;

	PL_ASSERT(attempt.scratch != NULL);
	shrink->runs = 0;
	shrink->complete = false;
	repeats = try_without(&attempt, history->count, 0);
	if (repeats)
		shrink_run(&attempt);
	free(attempt.scratch);
	return repeats;
}
