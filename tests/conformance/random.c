#include "tests/conformance/random.h"

#include <inttypes.h>

#include "tests/conformance/gen.h"
#include "tests/conformance/show.h"
#include "tests/conformance/shrink.h"

static void report_text(struct pl_buf *report, const char *text)
{
	PL_ASSERT(pl_buf_add_str(report, text) == PL_OK);
}

static void report_found(struct pair *pair, const struct random_found *found,
                         const struct shrink *shrink, const struct history *history,
                         struct pl_buf *report)
{
	struct difference again;

	show_text(report, "seed %" PRIu64 ": the stores differ after %zu steps\n",
	          found->seed, found->steps_before);
	if (found->repeats) {
		show_text(report, "shortest history found (%u runs%s), %zu steps:\n",
		          found->runs, shrink->complete ? "" : ", time was up",
		          found->steps);
		/* Run once more, for the numbers and the answers before it. */
		(void)pair_differ(pair, history, &again, report);
	} else {
		report_text(report, "it does not repeat: a matter of time?\n");
	}
	show_text(report, "%s differs:\n", found->difference.what);
	for (unsigned k = 0; k < 2; k++) {
		show_text(report, "%7s: ", pair->name[k]);
		report_text(report, found->difference.text[k]);
		report_text(report, "\n");
	}
}

static bool history_differs(struct pair *pair, const struct random_opts *opts,
                            uint64_t seed, size_t steps, struct random_found *out,
                            struct pl_buf *report)
{
	struct shrink shrink = {.ms_max = opts->shrink_ms_max};
	struct pl_arena arena;
	struct history history;
	bool differs;

	pl_arena_init(&arena, 1 << 20, 0);
	history = gen_history(seed, steps, &arena);
	differs = pair_differ(pair, &history, &out->difference, NULL);
	if (differs) {
		out->seed = seed;
		history.count = out->difference.step + 1;
		out->steps_before = history.count;
		out->repeats = shrink_history(&shrink, pair, &history, &out->difference);
		out->steps = history.count;
		out->runs = shrink.runs;
		report_found(pair, out, &shrink, &history, report);
	}
	pl_arena_done(&arena);
	return differs;
}

bool random_differ(struct pair *pair, const struct random_opts *opts,
                   struct random_found *out, struct pl_buf *report)
{
	uint64_t seed = opts->seed;

	for (uint64_t done = 0; done < opts->steps; seed++) {
		uint64_t left = opts->steps - done;
		size_t steps =
			left < RANDOM_HISTORY_STEPS ? (size_t)left : RANDOM_HISTORY_STEPS;

		if (history_differs(pair, opts, seed, steps, out, report))
			return true;
		done += steps;
	}
	return false;
}
