/* Watchers, and what each of them was told. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/faultlab/load_int.h"

enum { CHURN_MIN_MS = 100, CHURN_MAX_MS = 1500, FROM_NOW = -1, PATIENCE_MS = 3600000 };

static void on_note(void *ctx, const struct kv_watch_note *note);

struct hist_event event_of_record(const struct kv_record *record, bool is_delete)
{
	struct hist_event event = {.revision = record->mod_revision,
	                           .is_delete = is_delete,
	                           .create_revision = record->create_revision,
	                           .version = record->version,
	                           .lease = record->lease};

	/* A key that is not the load's stays 0, which the judge reports as a stranger. */
	if (!hist_key_parse(record->key, &event.key))
		event.key = 0;
	if (is_delete)
		event.create_revision = event.version = event.lease = 0;
	else if (!hist_value_parse(record->value, &event.value))
		event.value = (struct hist_value){0};
	return event;
}

static struct hist_note *note_add(struct load_watcher *watcher, enum hist_note_what what,
                                  int64_t revision)
{
	return hist_note_add(watcher->load->hist, watcher->stream, what, revision,
	                     load_now(watcher->load));
}

static void record_events(struct load_watcher *watcher, int64_t revision,
                          const struct kv_event *events, size_t count)
{
	note_add(watcher, HIST_EVENTS, revision);
	for (size_t i = 0; i < count; i++) {
		struct hist_event event =
			event_of_record(&events[i].record, events[i].is_delete);

		hist_event_add(watcher->load->hist, watcher->stream, &event);
		if (event.revision > watcher->covered)
			watcher->covered = event.revision;
	}
}

static void cover_revision(struct load_watcher *watcher, int64_t revision)
{
	if (revision > watcher->covered)
		watcher->covered = revision;
}

/* A refused start is tried again: it has no room, or no memory, for a moment. */
static void watcher_run(struct load_watcher *watcher)
{
	char prefix[HIST_KEY_SIZE];
	struct kv_watch_req req = {
		.keys = kv_prefix(hist_class_prefix(watcher->class, prefix)),
		.from_revision = watcher->covered == FROM_NOW ? 0 : watcher->covered + 1};

	if (kv_watch(watcher->kv, &req, on_note, watcher, &watcher->watch, NULL) == PL_OK)
		note_add(watcher, HIST_START, req.from_revision);
	else
		watcher->watch = NULL;
}

static void churn_later(struct load_watcher *watcher)
{
	struct load *load = watcher->load;

	if (watcher->churns && load->phase != LOAD_CLOSE)
		pl_timer_set(&watcher->restart,
		             load_now(load) + pl_rng_between(&load->rng, CHURN_MIN_MS,
		                                             CHURN_MAX_MS));
}

static void on_churn(void *ctx)
{
	struct load_watcher *watcher = ctx;

	if (watcher->watch == NULL)
		watcher_run(watcher);
	else if (watcher->load->phase == LOAD_RUN)
		kv_unwatch(watcher->kv, watcher->watch);
	churn_later(watcher);
}

static void on_end(struct load_watcher *watcher, const struct kv_watch_note *note)
{
	struct hist_note *end = note_add(watcher, HIST_END, 0);

	end->code = note->err->code;
	end->compact_revision = note->compact_revision;
	watcher->watch = NULL;
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct load_watcher *watcher = ctx;

	switch (note->what) {
	case KV_WATCH_READY:
		note_add(watcher, HIST_READY, note->revision);
		if (watcher->covered == FROM_NOW)
			cover_revision(watcher, note->revision);
		break;
	case KV_WATCH_EVENTS:
		record_events(watcher, note->revision, note->events, note->count);
		break;
	case KV_WATCH_PROGRESS:
		note_add(watcher, HIST_PROGRESS, note->revision);
		cover_revision(watcher, note->revision);
		break;
	case KV_WATCH_END:
		on_end(watcher, note);
		break;
	}
}

static void page_add(struct load_watcher *watcher, const struct relist_note *note)
{
	size_t need = watcher->page_count + note->count;

	if (need > watcher->page_cap) {
		struct hist_event *at =
			pl_realloc(watcher->page, 2 * need * sizeof *watcher->page);

		PL_ASSERT(at != NULL);
		watcher->page = at;
		watcher->page_cap = 2 * need;
	}
	for (size_t i = 0; i < note->count; i++)
		watcher->page[watcher->page_count++] =
			event_of_record(&note->records[i], false);
}

/* A listing counts when it is complete. */
static void page_end(struct load_watcher *watcher)
{
	struct load *load = watcher->load;

	note_add(watcher, HIST_RELIST, watcher->page_revision);
	for (size_t i = 0; i < watcher->page_count; i++)
		hist_event_add(load->hist, watcher->stream, &watcher->page[i]);
	note_add(watcher, HIST_START, watcher->page_revision + 1);
	watcher->covered = watcher->page_revision;
	load->relists++;
}

static void on_relist(void *ctx, const struct relist_note *note)
{
	struct load_watcher *watcher = ctx;

	switch (note->what) {
	case RELIST_BEGIN:
		watcher->page_count = 0;
		watcher->page_revision = note->revision;
		break;
	case RELIST_PAGE:
		page_add(watcher, note);
		break;
	case RELIST_END:
		page_end(watcher);
		break;
	case RELIST_EVENTS:
		record_events(watcher, note->revision, note->events, note->count);
		break;
	case RELIST_PROGRESS:
		note_add(watcher, HIST_PROGRESS, note->revision);
		cover_revision(watcher, note->revision);
		break;
	case RELIST_LOST:
		note_add(watcher, HIST_END, 0)->code = note->err->code;
		break;
	case RELIST_TROUBLE:
		break;
	case RELIST_STOPPED:
		watcher->relist = NULL;
		break;
	}
}

static struct load_watcher *watcher_new(struct load *load, struct kv *kv,
                                        const char *name, enum hist_class class)
{
	struct load_watcher *watcher = &load->watcher[load->watcher_count];

	PL_ASSERT(load->watcher_count < LOAD_WATCHERS_MAX);
	load->watcher_count++;
	*watcher = (struct load_watcher){
		.load = load,
		.kv = kv,
		.class = class,
		.covered = FROM_NOW,
		.stream = hist_stream_add(load->hist, name, class, true)};
	return watcher;
}

enum pl_code watcher_add(struct load *load, struct kv *kv, const char *name,
                         enum hist_class class, int64_t from)
{
	struct load_watcher *watcher = watcher_new(load, kv, name, class);

	watcher->covered = from == 0 ? FROM_NOW : from - 1;
	watcher_run(watcher);
	return watcher->watch == NULL ? PL_NOMEM : PL_OK;
}

enum pl_code watcher_add_relist(struct load *load, struct kv *kv, const char *name,
                                enum hist_class class, bool impatient)
{
	struct load_watcher *watcher = watcher_new(load, kv, name, class);
	char prefix[HIST_KEY_SIZE];
	struct relist_opts opts = {
		.keys = kv_prefix(hist_class_prefix(class, prefix)),
		.page_keys = 50, /* many pages, so that faults fall between them */
		.call_timeout_ms = 2000,
		.check_ms = impatient ? 3000 : PATIENCE_MS,
		.stall_ms = impatient ? 7000 : PATIENCE_MS,
		.seed = pl_rng_next(&load->rng) | 1};

	load->hist->stream[watcher->stream].relists = true;
	return relist_open(kv, &opts, on_relist, watcher, &watcher->relist, NULL);
}

enum pl_code watcher_churn(struct load_watcher *watcher)
{
	enum pl_code code = pl_timer_init(&watcher->restart, kv_timers(watcher->kv),
	                                  on_churn, watcher);

	watcher->churns = code == PL_OK;
	churn_later(watcher);
	return code;
}

/* Progress keeps watchers of few events from falling behind a compaction. */
void watchers_progress(struct load *load)
{
	for (unsigned i = 0; i < load->watcher_count; i++) {
		struct load_watcher *watcher = &load->watcher[i];
		struct pl_err err;

		/* A refusal is no loss: it is asked again soon. */
		if (watcher->watch != NULL &&
		    kv_progress(watcher->kv, watcher->watch, 0, &err) != PL_OK)
			continue;
	}
}

int64_t watchers_covered(const struct load *load)
{
	int64_t least = INT64_MAX;

	for (unsigned i = 0; i < load->watcher_count; i++)
		if (load->watcher[i].relist == NULL && load->watcher[i].covered < least)
			least = load->watcher[i].covered;
	return least == INT64_MAX ? FROM_NOW : least;
}

/* A relist says what it has seen when it sees something: all that concerns it. */
static int64_t last_of_class(const struct hist *hist, enum hist_class class)
{
	const struct hist_stream *full = &hist->stream[0];

	for (size_t i = full->event_count; i-- > 0;)
		if (full->event[i].revision <= hist->final_revision &&
		    (class == HIST_ALL || hist_class_of(full->event[i].key) == class))
			return full->event[i].revision;
	return 0;
}

bool watchers_caught_up(const struct load *load, int64_t revision)
{
	for (unsigned i = 0; i < load->watcher_count; i++) {
		const struct load_watcher *watcher = &load->watcher[i];
		int64_t need = watcher->relist == NULL
		                       ? revision
		                       : last_of_class(load->hist, watcher->class);

		if (watcher->covered < need)
			return false;
	}
	return true;
}

void watchers_stop(struct load *load)
{
	for (unsigned i = 0; i < load->watcher_count; i++)
		if (load->watcher[i].relist != NULL && !load->watcher[i].stopped) {
			load->watcher[i].stopped = true;
			relist_stop(load->watcher[i].relist);
		}
}

bool watchers_stopped(const struct load *load)
{
	for (unsigned i = 0; i < load->watcher_count; i++)
		if (load->watcher[i].relist != NULL)
			return false;
	return true;
}

/* Watches that kv_close ends need no unwatch. */
void watchers_done(struct load *load)
{
	for (unsigned i = 0; i < load->watcher_count; i++) {
		pl_timer_done(&load->watcher[i].restart);
		free(load->watcher[i].page);
		load->watcher[i].page = NULL;
	}
}
