/*
 * Watchers against the truth: every revision once, whole, in order and without a
 * gap; promises of progress kept; a compacted watch told so, with a reason, and
 * its new listing right.
 */
#include <inttypes.h>

#include "tests/faultlab/truth.h"

enum { FROM_NOW = -1 };

struct walk {
	struct truth *truth;
	struct check_report *report;
	const struct hist_stream *stream;
	int64_t covered; /* seen everything up to here; FROM_NOW: not known yet */
	bool running;
};

static bool is_watched(const struct walk *walk, const struct hist_event *event)
{
	return walk->stream->class == HIST_ALL ||
	       hist_class_of(event->key) == walk->stream->class;
}

/* The first watched change after covered, up to the revision. 0: none. */
static int64_t first_missed(const struct walk *walk, int64_t until)
{
	const struct truth *truth = walk->truth;

	for (size_t i = truth_find(truth, walk->covered + 1);
	     i < truth->count && truth->event[i].revision <= until; i++)
		if (is_watched(walk, &truth->event[i]))
			return truth->event[i].revision;
	return 0;
}

static void add_gap(struct walk *walk, enum check_rule rule, int64_t until, uint64_t ms)
{
	int64_t revision = walk->covered == FROM_NOW ? 0 : first_missed(walk, until);

	if (revision == 0)
		return;
	check_add(walk->report, rule, 0, revision,
	          "%s: knew all up to %" PRId64 ", then %" PRId64 " without %" PRId64,
	          walk->stream->name, walk->covered, until, revision)
		->ms = ms;
}

/* The events of one revision must be those of the truth, in its order (by key:
 * within a transaction etcd's order is that of the operations, which we write in
 * the order of their keys, or of a lease's sorted keys). */
static void judge_revision(struct walk *walk, const struct hist_event *event,
                           size_t count, uint64_t ms)
{
	const struct truth *truth = walk->truth;
	int64_t revision = event->revision;
	size_t at = truth_find(truth, revision), matched = 0;

	for (; at < truth->count && truth->event[at].revision == revision; at++) {
		if (!is_watched(walk, &truth->event[at]))
			continue;
		if (matched < count && hist_event_eq(&truth->event[at], &event[matched]))
			matched++;
		else
			break;
	}
	if (matched == count &&
	    (at == truth->count || truth->event[at].revision != revision))
		return;
	check_add(walk->report, matched == count ? CHECK_GAP : CHECK_FALSE_EVENT, 0,
	          revision, "%s: %zu events at %" PRId64 ", %zu of them as it was",
	          walk->stream->name, count, revision, matched)
		->ms = ms;
}

static void on_events(struct walk *walk, const struct hist_note *note)
{
	const struct hist_event *event = &walk->stream->event[note->first];
	int64_t final = walk->truth->hist->final_revision;
	size_t count;

	walk->report->stream_events += note->count;
	if (!walk->running)
		check_add(walk->report, CHECK_ORDER, 0, event->revision,
		          "%s: told of %" PRId64 " after its end", walk->stream->name,
		          event->revision)
			->ms = note->ms;
	for (size_t i = 0; i < note->count && event[i].revision <= final; i += count) {
		int64_t revision = event[i].revision;

		for (count = 1;
		     i + count < note->count && event[i + count].revision == revision;)
			count++;
		if (walk->covered == FROM_NOW)
			walk->covered = revision - 1;
		if (revision <= walk->covered) {
			check_add(walk->report, CHECK_ORDER, 0, revision,
			          "%s: %" PRId64 " after %" PRId64, walk->stream->name,
			          revision, walk->covered)
				->ms = note->ms;
			continue;
		}
		add_gap(walk, CHECK_GAP, revision - 1, note->ms);
		judge_revision(walk, &event[i], count, note->ms);
		walk->covered = revision;
	}
}

static void on_promise(struct walk *walk, const struct hist_note *note)
{
	int64_t final = walk->truth->hist->final_revision;

	add_gap(walk, CHECK_PROMISE, note->revision < final ? note->revision : final,
	        note->ms);
	if (note->revision > walk->covered)
		walk->covered = note->revision;
}

static void on_relist(struct walk *walk, const struct hist_note *note)
{
	walk->report->relists++;
	if (note->revision < walk->covered)
		check_add(walk->report, CHECK_RELIST, 0, note->revision,
		          "%s: at %" PRId64 ", %" PRId64 " was known", walk->stream->name,
		          note->revision, walk->covered)
			->ms = note->ms;
	if (note->revision <= walk->truth->hist->final_revision)
		check_records(walk->truth, &walk->stream->event[note->first], note->count,
		              note->revision, walk->stream->class, CHECK_RELIST,
		              walk->stream->name, walk->report);
	walk->covered = note->revision;
}

/* Compacted is only true of a watch that still needed what was thrown away. */
static bool was_compacted(const struct walk *walk, const struct hist_note *note)
{
	const struct hist *hist = walk->truth->hist;

	for (size_t i = 0; i < hist->compacted_count; i++)
		if (hist->compacted[i] > walk->covered &&
		    hist->compacted[i] >= note->compact_revision)
			return true;
	return false;
}

static void on_end(struct walk *walk, const struct hist_note *note)
{
	walk->running = false;
	if (note->code == PL_COMPACTED)
		walk->report->compacted++;
	/* This store is never restored: REWOUND is a false alarm. */
	if (note->code == PL_CANCELED ||
	    (walk->stream->relists && note->code != PL_REWOUND) ||
	    (note->code == PL_COMPACTED && was_compacted(walk, note)))
		return;
	check_add(walk->report, CHECK_BROKEN_OFF, 0, walk->covered,
	          "%s: %s at %" PRId64 ", compacted at %" PRId64, walk->stream->name,
	          pl_code_name(note->code), walk->covered, note->compact_revision)
		->ms = note->ms;
}

static void walk_stream(struct walk *walk)
{
	const struct hist_stream *stream = walk->stream;

	walk->covered = FROM_NOW;
	for (size_t i = 0; i < stream->note_count; i++) {
		const struct hist_note *note = &stream->note[i];

		switch (note->what) {
		case HIST_START:
			walk->running = true;
			if (note->revision > 0 && walk->covered == FROM_NOW)
				walk->covered = note->revision - 1;
			break;
		case HIST_READY:
			if (walk->covered == FROM_NOW)
				walk->covered = note->revision;
			break;
		case HIST_EVENTS:
			on_events(walk, note);
			break;
		case HIST_PROGRESS:
			on_promise(walk, note);
			break;
		case HIST_RELIST:
			on_relist(walk, note);
			break;
		case HIST_END:
			on_end(walk, note);
			break;
		}
	}
	if (stream->whole)
		add_gap(walk, CHECK_GAP, walk->truth->hist->final_revision, 0);
}

void check_streams(struct truth *truth, struct check_report *report)
{
	for (unsigned i = 0; i < truth->hist->stream_count; i++) {
		struct walk walk = {.truth = truth,
		                    .report = report,
		                    .stream = &truth->hist->stream[i]};

		walk_stream(&walk);
	}
}
