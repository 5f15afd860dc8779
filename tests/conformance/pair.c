#include "tests/conformance/pair.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/conformance/show.h"

struct pair_run {
	struct pair *pair;
	struct stream *slot[2][HISTORY_SLOTS]; /* both or none */
	bool settled[HISTORY_SLOTS];           /* has caught up with the present once */
	struct present present;
	struct pl_arena arena; /* memory of one step */
	struct difference *difference;
	struct pl_buf *script;
};

static bool results_differ(struct pair_run *run, const char *what, const char *first,
                           const char *second)
{
	struct difference *out = run->difference;

	(void)snprintf(out->what, sizeof out->what, "%s", what);
	(void)snprintf(out->text[0], DIFFERENCE_TEXT_MAX, "%s", first);
	(void)snprintf(out->text[1], DIFFERENCE_TEXT_MAX, "%s", second);
	return true;
}

/* -- state of both stores ---------------------------------------------- */

static int64_t number_of(const struct names *names, const struct kv_record *record,
                         enum kv_target target)
{
	switch (target) {
	case KV_VERSION:
		return record->version;
	case KV_CREATE_REV:
		return names_revision_in(names, record->create_revision);
	case KV_MOD_REV:
		return names_revision_in(names, record->mod_revision);
	case KV_LEASE:
		return names_lease_in(names, record->lease);
	case KV_VALUE:
		break;
	}
	return 0;
}

/* Asks the first store; zero where there is no key. */
static int64_t present_key(const void *ctx, const struct kv_compare *compare)
{
	const struct pair_run *run = ctx;
	struct subject *subject = run->pair->subject[0];
	struct kv_req req = {.op = KV_GET, .get = {.keys = compare->keys, .limit = 1}};
	const struct answer *answer = subject_call(subject, &req);

	if (answer->code != PL_OK || answer->result->get.count == 0)
		return 0;
	return number_of(subject_names(subject), &answer->result->get.records[0],
	                 compare->target);
}

static void learn_leases(struct pair_run *run, const struct kv_req *req,
                         const struct answer *answer)
{
	const struct names *names = subject_names(run->pair->subject[0]);

	if (answer->code != PL_OK) {
		run->pair->errors++;
		return;
	}
	run->present.revision = answer->result->header.revision - names->base;
	if (req->op == KV_COMPACT)
		run->present.compacted = req->compact.revision;
}

/* -- steps ------------------------------------------------------------- */

static bool call_differs(struct pair_run *run, const struct kv_req *req)
{
	struct pair *pair = run->pair;
	const struct answer *answer[2];

	for (unsigned i = 0; i < 2; i++)
		answer[i] = subject_call(pair->subject[i], req);
	if (strcmp(answer[0]->text, answer[1]->text) != 0)
		return results_differ(run, "the answer", answer[0]->text,
		                      answer[1]->text);
	learn_leases(run, req, answer[0]);
	if (run->script != NULL)
		PL_ASSERT(pl_buf_add_str(run->script, " -> ") == PL_OK &&
		          pl_buf_add_str(run->script, answer[0]->text) == PL_OK);
	return false;
}

static bool lines_differ(struct pair_run *run, const struct stream *const stream[2],
                         size_t count)
{
	static const char *const none = "(nothing more)";

	for (size_t i = stream[0]->checked; i < count; i++) {
		const char *line[2];

		for (unsigned k = 0; k < 2; k++)
			line[k] = i < stream[k]->line_count ? stream[k]->lines[i] : none;
		if (strcmp(line[0], line[1]) != 0)
			return results_differ(run, "what a watch is told", line[0],
			                      line[1]);
	}
	return false;
}

static bool faults_differ(struct pair_run *run, const struct stream *const stream[2])
{
	if (stream[0]->fault[0] == 0 && stream[1]->fault[0] == 0)
		return false;
	return results_differ(run, "a watch breaks a promise",
	                      stream[0]->fault[0] == 0 ? "(keeps it)" : stream[0]->fault,
	                      stream[1]->fault[0] == 0 ? "(keeps it)" : stream[1]->fault);
}

static bool readiness_differs(struct pair_run *run, const struct stream *const stream[2])
{
	char text[2][32];

	if (stream[0]->ready_count == 0 || stream[1]->ready_count == 0)
		return false; /* refused; the lines say how */
	for (unsigned k = 0; k < 2; k++)
		(void)snprintf(
			text[k], sizeof text[k], "ready @%" PRId64,
			names_revision_in(stream[k]->names, stream[k]->ready_revision));
	return strcmp(text[0], text[1]) != 0 &&
	       results_differ(run, "where a watch begins", text[0], text[1]);
}

/* The first lines of both, as many as count (or as the longer has). */
static bool streams_differ(struct pair_run *run, unsigned slot, size_t count)
{
	struct stream *stream[2] = {run->slot[0][slot], run->slot[1][slot]};
	const struct stream *const view[2] = {stream[0], stream[1]};
	size_t longer = stream[0]->line_count > stream[1]->line_count
	                        ? stream[0]->line_count
	                        : stream[1]->line_count;

	if (count > longer)
		count = longer;
	if (faults_differ(run, view) || readiness_differs(run, view) ||
	    lines_differ(run, view, count))
		return true;
	run->pair->events += count > stream[0]->checked ? count - stream[0]->checked : 0;
	for (unsigned k = 0; k < 2; k++)
		stream[k]->checked = count;
	return false;
}

/* Waits for what one has and the other has not: much sooner than progress. */
static bool lines_met_differ(struct pair_run *run, unsigned slot)
{
	size_t count = 0;

	if (run->slot[0][slot] == NULL)
		return false;
	for (unsigned k = 0; k < 2; k++)
		if (run->slot[k][slot]->line_count > count)
			count = run->slot[k][slot]->line_count;
	for (unsigned k = 0; k < 2; k++)
		subject_wait_lines(run->pair->subject[k], run->slot[k][slot], count);
	return streams_differ(run, slot, SIZE_MAX);
}

static bool meeting_differs(struct pair_run *run)
{
	struct kv_req all = {.op = KV_GET, .get = {.keys = {.kind = KV_PREFIX}}};

	for (unsigned k = 0; k < 2; k++)
		subject_catch_up_all(run->pair->subject[k], run->slot[k], HISTORY_SLOTS);
	for (unsigned slot = 0; slot < HISTORY_SLOTS; slot++) {
		run->settled[slot] = true;
		if (run->slot[0][slot] != NULL && streams_differ(run, slot, SIZE_MAX))
			return true;
	}
	return call_differs(run, &all);
}

/* Before a compaction: a watch that is still behind might find its past gone, or
 * not; and what a key was before is looked up when an event is sent. */
static bool past_differs(struct pair_run *run)
{
	struct pl_buf *script = run->script;
	bool differs;

	for (unsigned slot = 0; slot < HISTORY_SLOTS; slot++)
		if (run->slot[0][slot] != NULL && !run->settled[slot]) {
			run->script = NULL; /* the compaction's own line */
			differs = meeting_differs(run);
			run->script = script;
			return differs;
		}
	for (unsigned slot = 0; slot < HISTORY_SLOTS; slot++)
		if (lines_met_differ(run, slot))
			return true;
	return false;
}

static void slot_close(struct pair_run *run, unsigned slot)
{
	for (unsigned k = 0; k < 2; k++) {
		subject_unwatch(run->pair->subject[k], run->slot[k][slot]);
		stream_free(run->slot[k][slot]);
		run->slot[k][slot] = NULL;
	}
}

static bool unwatch_differs(struct pair_run *run, unsigned slot)
{
	if (run->slot[0][slot] == NULL)
		return false;
	if (lines_met_differ(run, slot))
		return true;
	slot_close(run, slot);
	return false;
}

/* Lines that both have had until then; the end is of our making. */
static bool drop_differs(struct pair_run *run, unsigned slot)
{
	size_t count = SIZE_MAX;

	if (run->slot[0][slot] == NULL)
		return false;
	for (unsigned k = 0; k < 2; k++) {
		struct stream *stream = run->slot[k][slot];

		subject_unwatch(run->pair->subject[k], stream);
		if (stream->line_count - 1 < count)
			count = stream->line_count - 1;
	}
	if (streams_differ(run, slot, count))
		return true;
	slot_close(run, slot);
	return false;
}

static bool watch_differs(struct pair_run *run, const struct step *step)
{
	if (unwatch_differs(run, step->slot))
		return true;
	run->settled[step->slot] = false;
	for (unsigned k = 0; k < 2; k++) {
		struct subject *subject = run->pair->subject[k];
		struct stream *stream = subject_watch(subject, &step->watch);

		run->slot[k][step->slot] = stream;
		/* The revision of "from now on" depends on when the watch is ready. */
		subject_wait_ready(subject, stream);
	}
	return false;
}

static bool step_differs(struct pair_run *run, const struct step *step)
{
	switch (step->kind) {
	case STEP_CALL:
		if (step->req.op == KV_COMPACT && past_differs(run))
			return true;
		return call_differs(run, &step->req);
	case STEP_WATCH:
		return watch_differs(run, step);
	case STEP_UNWATCH:
		return unwatch_differs(run, step->slot);
	case STEP_DROP:
		return drop_differs(run, step->slot);
	case STEP_MEET:
		return meeting_differs(run);
	}
	PL_UNREACHABLE("kind of step");
}

static bool run_differs(struct pair_run *run, const struct history *history)
{
	bool differs;

	for (size_t i = 0; i < history->count; i++) {
		struct step step;

		pl_arena_reset(&run->arena);
		run->difference->step = i;
		step = step_resolve(&history->steps[i], &run->present, &run->arena);
		if (run->script != NULL) {
			show_text(run->script, "%5zu  ", i + 1);
			show_step(run->script, &step);
		}
		run->pair->steps++;
		differs = step_differs(run, &step);
		if (run->script != NULL)
			show_text(run->script, "\n");
		if (differs)
			return true;
	}
	run->script = NULL;
	run->difference->step = history->count == 0 ? 0 : history->count - 1;
	return meeting_differs(run);
}

bool pair_differ(struct pair *pair, const struct history *history, struct difference *out,
                 struct pl_buf *script)
{
	struct pair_run run = {.pair = pair, .difference = out, .script = script};
	bool differs;

	for (unsigned k = 0; k < 2; k++)
		subject_reset(pair->subject[k]);
	run.present.key = present_key;
	run.present.ctx = &run;
	pl_arena_init(&run.arena, 0, 0);
	differs = run_differs(&run, history);
	pair->revisions += (uint64_t)run.present.revision;
	pl_arena_done(&run.arena);
	return differs;
}
