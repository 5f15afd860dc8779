/*
 * Real time: the answer of a call is not older than any revision that a client knew
 * of before the call was started, and a write that was started then has a later one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/faultlab/truth.h"

/* A client knew of the revision from that tick on. */
struct known {
	uint64_t tick;
	int64_t revision;
};

static int by_tick(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->tick < y->tick ? -1 : x->tick > y->tick;
}

static size_t collect_known(const struct hist *hist, struct known *known)
{
	size_t count = 0;

	for (size_t i = 0; i < hist->op_count; i++)
		if (hist->op[i].outcome == HIST_OK || hist->op[i].outcome == HIST_REFUSED)
			known[count++] = (struct known){hist->op[i].end_tick,
			                                hist->op[i].revision};
	for (unsigned s = 0; s < hist->stream_count; s++) {
		const struct hist_stream *stream = &hist->stream[s];

		for (size_t n = 0; n < stream->note_count; n++) {
			const struct hist_note *note = &stream->note[n];

			if (note->what == HIST_EVENTS && note->count > 0)
				known[count++] = (struct known){
					note->tick,
					stream->event[note->first + note->count - 1]
						.revision};
		}
	}
	return count;
}

static void judge_time(const struct truth *truth, const struct hist_op *op,
                       int64_t newest, struct check_report *report)
{
	int64_t applied = truth->applied[op->id];

	if ((op->outcome == HIST_OK || op->outcome == HIST_REFUSED) &&
	    !op->serializable && op->revision < newest)
		check_add(report, CHECK_TIME, op->id, op->revision,
		          "answered from %" PRId64 ", %" PRId64 " was known before",
		          op->revision, newest)
			->ms = op->end_ms;
	if (applied != 0 && applied <= newest)
		check_add(report, CHECK_TIME, op->id, applied,
		          "applied at %" PRId64 ", %" PRId64 " was known before", applied,
		          newest)
			->ms = op->start_ms;
}

void check_time(struct truth *truth, struct check_report *report)
{
	const struct hist *hist = truth->hist;
	size_t max = hist->op_count, count, next = 0;
	struct known *known;
	int64_t newest = 0;

	for (unsigned s = 0; s < hist->stream_count; s++)
		max += hist->stream[s].note_count;
	known = pl_calloc(max + 1, sizeof *known);
	PL_ASSERT(known != NULL);
	count = collect_known(hist, known);
	qsort(known, count, sizeof *known, by_tick);
	/* Operations are in the order in which they started. */
	for (size_t i = 0; i < hist->op_count; i++) {
		for (; next < count && known[next].tick < hist->op[i].start_tick; next++)
			if (known[next].revision > newest)
				newest = known[next].revision;
		judge_time(truth, &hist->op[i], newest, report);
	}
	free(known);
}
