#include "tests/faultlab/truth.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"

bool hist_event_eq(const struct hist_event *a, const struct hist_event *b)
{
	return a->revision == b->revision && a->key == b->key &&
	       a->is_delete == b->is_delete && a->create_revision == b->create_revision &&
	       a->version == b->version && a->lease == b->lease &&
	       hist_value_eq(a->value, b->value);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_revision(const void *a, const void *b)
{
	const struct hist_event *x = a, *y = b;

	if (x->revision != y->revision)
		return x->revision < y->revision ? -1 : 1;
	return compare_numbers(x->key, y->key);
}

static int by_key(const void *a, const void *b, void *ctx)
{
	const struct truth *truth = ctx;
	uint32_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	if (truth->event[x].key != truth->event[y].key)
		return compare_numbers(truth->event[x].key, truth->event[y].key);
	return compare_numbers(x, y);
}

size_t truth_find(const struct truth *truth, int64_t revision)
{
	size_t low = 0, high = truth->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (truth->event[mid].revision < revision)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* How many entries of by_key are of a lesser key, or of this one and at most
 * that revision. */
static size_t key_rank(const struct truth *truth, hist_key key, int64_t revision)
{
	size_t low = 0, high = truth->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct hist_event *event = &truth->event[truth->by_key[mid]];

		if (event->key < key ||
		    (event->key == key && event->revision <= revision))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct hist_event *truth_last(const struct truth *truth, hist_key key,
                                    int64_t revision)
{
	size_t rank = key_rank(truth, key, revision);
	const struct hist_event *event;

	if (rank == 0)
		return NULL;
	event = &truth->event[truth->by_key[rank - 1]];
	return event->key == key ? event : NULL;
}

int64_t truth_mod(const struct truth *truth, hist_key key, int64_t revision)
{
	const struct hist_event *event = truth_last(truth, key, revision);

	return event == NULL || event->is_delete ? 0 : event->revision;
}

const struct hist_event *truth_before(const struct truth *truth,
                                      const struct hist_event *event)
{
	const struct hist_event *before =
		truth_last(truth, event->key, event->revision - 1);

	return before == NULL || before->is_delete ? NULL : before;
}

/* One writer, one store: each change is the next revision. */
static void check_contiguous(const struct truth *truth, struct check_report *report)
{
	const struct hist *hist = truth->hist;
	int64_t last = hist->base_revision;

	for (size_t i = 0; i < truth->count; i++) {
		int64_t revision = truth->event[i].revision;

		report->revisions += revision != last;
		if (revision > last + 1)
			check_add(report, CHECK_TRUTH, 0, revision,
			          "nothing between revisions %" PRId64 " and %" PRId64,
			          last, revision);
		if (i > 0 && revision == last &&
		    truth->event[i].key == truth->event[i - 1].key)
			check_add(report, CHECK_TRUTH, 0, revision,
			          "one key twice at one revision");
		last = revision;
	}
	if (last != hist->final_revision)
		check_add(report, CHECK_TRUTH, 0, last,
		          "ends at %" PRId64 ", the store is at %" PRId64, last,
		          hist->final_revision);
}

static void check_chain(const struct truth *truth, const struct hist_event *event,
                        struct check_report *report)
{
	const struct hist_event *before = truth_before(truth, event);
	int64_t version = before == NULL ? 1 : before->version + 1;
	int64_t created = before == NULL ? event->revision : before->create_revision;
	struct hist_value list = before == NULL ? (struct hist_value){0} : before->value;

	if (event->is_delete) {
		if (before == NULL)
			check_add(report, CHECK_CHAIN, 0, event->revision,
			          "deleted what was not there");
		return;
	}
	if (event->version != version || event->create_revision != created)
		check_add(report, CHECK_CHAIN, event->value.writer, event->revision,
		          "version %" PRId64 " created at %" PRId64 ", want %" PRId64
		          " at %" PRId64,
		          event->version, event->create_revision, version, created);
	if (hist_class_of(event->key) == HIST_LIST &&
	    !hist_value_eq(event->value, hist_value_add(list, event->value.writer)))
		check_add(report, CHECK_LIST, event->value.writer, event->revision,
		          "%u elements after %u", event->value.count, list.count);
}

static void note_seen(struct truth *truth)
{
	const struct hist *hist = truth->hist;

	for (unsigned s = 0; s < hist->stream_count; s++) {
		const struct hist_stream *stream = &hist->stream[s];

		for (size_t n = 0; n < stream->note_count; n++) {
			const struct hist_note *note = &stream->note[n];

			if (note->what != HIST_EVENTS || note->count == 0)
				continue;
			for (size_t i = 0; i < note->count; i++) {
				int64_t revision =
					stream->event[note->first + i].revision;
				size_t at = truth_find(truth, revision);

				for (; at < truth->count &&
				       truth->event[at].revision == revision;
				     at++)
					if (note->ms < truth->seen_ms[at])
						truth->seen_ms[at] = note->ms;
			}
		}
	}
}

static enum pl_code truth_alloc(struct truth *truth, size_t events, size_t ops)
{
	truth->event = pl_calloc(events + 1, sizeof *truth->event);
	truth->by_key = pl_calloc(events + 1, sizeof *truth->by_key);
	truth->seen_ms = pl_calloc(events + 1, sizeof *truth->seen_ms);
	truth->explained = pl_calloc(events + 1, sizeof *truth->explained);
	truth->applied = pl_calloc(ops + 1, sizeof *truth->applied);
	if (truth->event == NULL || truth->by_key == NULL || truth->seen_ms == NULL ||
	    truth->explained == NULL || truth->applied == NULL)
		return PL_NOMEM;
	return PL_OK;
}

enum pl_code truth_init(struct truth *truth, const struct hist *hist,
                        struct check_report *report)
{
	const struct hist_stream *full = &hist->stream[0];

	*truth = (struct truth){.hist = hist};
	PL_ASSERT(hist->stream_count > 0);
	if (truth_alloc(truth, full->event_count, hist->op_count) != PL_OK) {
		truth_done(truth);
		return PL_NOMEM;
	}
	for (size_t i = 0; i < full->event_count; i++)
		if (full->event[i].revision <= hist->final_revision)
			truth->event[truth->count++] = full->event[i];
	/* In order already, unless the watcher is at fault. */
	qsort(truth->event, truth->count, sizeof *truth->event, by_revision);
	for (size_t i = 0; i < truth->count; i++) {
		truth->by_key[i] = (uint32_t)i;
		truth->seen_ms[i] = UINT64_MAX;
	}
	qsort_r(truth->by_key, truth->count, sizeof *truth->by_key, by_key, truth);
	note_seen(truth);
	check_contiguous(truth, report);
	for (size_t i = 0; i < truth->count; i++)
		check_chain(truth, &truth->event[i], report);
	return PL_OK;
}

void truth_done(struct truth *truth)
{
	free(truth->event);
	free(truth->by_key);
	free(truth->seen_ms);
	free(truth->explained);
	free(truth->applied);
}
