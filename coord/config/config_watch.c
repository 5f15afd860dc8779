#include "coord/config/config_watch.h"

#include <stdlib.h>

#include "coord/config/config_watch_int.h"
#include "store/base/alloc.h"
#include "store/kv/keys.h"

/*
 * The driver of config_core: list and watch /config/, feed the core, apply what it
 * decides.
 *
 * Each configuration has two arenas: one with the applied value, one with the
 * candidate. Only versions that the core wants are parsed, into the second one; when
 * the core applies the candidate the arenas are swapped. Of each page and note the
 * currents are fed first, so that the core wants the right versions.
 *
 * This is a relist and no informer (cache.h). An informer would hold every version of the
 * history, up to 1,000 of each configuration with up to 1 MiB each, where the core wants
 * one. Without values it would have nothing to apply, and each version would be read once
 * more; of the currents alone, it would not see a version that comes after its current.
 */

static void watch_free(struct config_watch *w)
{
	pl_timer_done(&w->timer);
	pl_arena_done(&w->scratch);
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		pl_arena_done(&w->slot[i].arena[0]);
		pl_arena_done(&w->slot[i].arena[1]);
	}
	free(w);
}

void watch_finish(struct config_watch *w)
{
	static const struct config_note stopped = {.what = CONFIG_STOPPED};
	config_fn *fn = w->fn;
	void *ctx = w->ctx;

	watch_free(w);
	fn(ctx, &stopped);
}

bool watch_has_ended(const struct config_watch *w)
{
	return w->stopping && w->relist == NULL && pl_list_empty(&w->reads);
}

void watch_rearm(struct config_watch *w)
{
	uint64_t at = config_deadline_ms(&w->core);

	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		if (w->slot[i].read_failed)
			at = kv_now_ms(w->kv);
	}
	if (w->stopping || at == UINT64_MAX)
		pl_timer_stop(&w->timer);
	else
		pl_timer_set(&w->timer, at);
}

static void report_note(struct config_watch *w, enum config_what what,
                        enum config_name name, const struct pl_err *err)
{
	struct config_note note = {.what = what, .name = name, .err = err};

	if (what == CONFIG_APPLIED || what == CONFIG_REFUSED)
		note.version = w->core.track[name].wanted;
	if (what == CONFIG_APPLIED)
		note.value = &w->slot[name].value;
	w->fn(w->ctx, &note);
}

static void apply_candidate(struct config_watch *w, enum config_name name,
                            uint64_t version)
{
	struct config_slot *slot = &w->slot[name];

	slot->refused = (struct pl_err){0};
	if (version == 0) {
		config_default(name, &slot->value);
	} else {
		slot->value = slot->candidate;
		slot->live = 1 - slot->live;
	}
	report_note(w, CONFIG_APPLIED, name, NULL);
}

static void perform_action(struct config_watch *w, const struct config_action *action)
{
	struct config_slot *slot = &w->slot[action->name];

	switch (action->type) {
	case CONFIG_DO_READ:
		watch_read(w, action->name, action->version);
		break;
	case CONFIG_DO_UNREAD:
		watch_unread(w, action->name);
		break;
	case CONFIG_REPORT_APPLIED:
		apply_candidate(w, action->name, action->version);
		break;
	case CONFIG_REPORT_REFUSED:
		slot->refused = slot->why;
		report_note(w, CONFIG_REFUSED, action->name, &slot->refused);
		break;
	case CONFIG_REPORT_SYNCED:
		report_note(w, CONFIG_SYNCED, action->name, NULL);
		break;
	case CONFIG_REPORT_LOST:
		report_note(w, CONFIG_LOST, action->name, w->lost);
		break;
	}
}

static void step_core(struct config_watch *w, const struct config_event *event)
{
	struct config_actions actions;

	config_step(&w->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !w->stopping; i++)
		perform_action(w, &actions.item[i]);
	if (event->type == CONFIG_EV_READ_FAILED && !w->stopping)
		report_note(w, CONFIG_TROUBLE, event->name,
		            &w->slot[event->name].failure);
}

/* After the user has stopped the watch in a note, no more actions are performed. */
void watch_feed(struct config_watch *w, struct config_event event)
{
	struct config_event due = {.type = CONFIG_EV_TIMEOUT, .now_ms = kv_now_ms(w->kv)};

	event.now_ms = due.now_ms;
	if (event.type != CONFIG_EV_TIMEOUT && config_deadline_ms(&w->core) <= due.now_ms)
		step_core(w, &due);
	if (!w->stopping)
		step_core(w, &event);
}

static void on_timer(void *ctx)
{
	struct config_watch *w = ctx;
	struct config_event event = {.type = CONFIG_EV_TIMEOUT};

	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		if (!w->slot[i].read_failed)
			continue;
		w->slot[i].read_failed = false;
		event.type = CONFIG_EV_READ_FAILED;
		event.name = (enum config_name)i;
		break;
	}
	watch_feed(w, event);
	watch_rearm(w);
}

/* One key of a page or note. gone: the key was deleted. */
struct seen_version {
	enum keys_kind kind;
	enum config_name name;
	uint64_t version;
	struct pl_span json;
	int64_t revision;
	bool gone;
};

static bool seen_as(const struct kv_record *record, bool gone, enum keys_kind kind,
                    struct seen_version *out)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != kind ||
	    config_name_parse(id.name, &out->name, NULL) != PL_OK)
		return false;
	out->kind = id.kind;
	out->version = id.version;
	out->json = record->value;
	out->revision = record->mod_revision;
	out->gone = gone;
	return true;
}

static void apply_current(struct config_watch *w, const struct seen_version *seen)
{
	struct config_event event = {.type = CONFIG_EV_CURRENT,
	                             .name = seen->name,
	                             .revision = seen->revision,
	                             .is = CONFIG_NONE};
	struct pl_err why = {0};

	if (!seen->gone && config_current_parse(seen->json, &w->scratch, &event.version,
	                                        &why) == PL_OK) {
		event.is = CONFIG_NAMED;
	} else if (!seen->gone) {
		event.is = CONFIG_BROKEN;
		w->slot[seen->name].why = why;
	}
	watch_feed(w, event);
}

static void apply_body(struct config_watch *w, const struct seen_version *seen)
{
	struct config_event event = {.type = CONFIG_EV_BODY,
	                             .name = seen->name,
	                             .revision = seen->revision,
	                             .version = seen->version};

	if (!config_core_wants(&w->core, seen->name, seen->version))
		return;
	event.body = seen->gone
	                     ? watch_body_absent(w, seen->name, seen->version)
	                     : watch_body_look(w, seen->name, seen->version, seen->json);
	watch_feed(w, event);
}

static void apply_records(struct config_watch *w, const struct relist_note *note)
{
	static const enum keys_kind kinds[] = {KEYS_CONFIG_CURRENT, KEYS_CONFIG};
	struct seen_version seen;

	for (size_t i = 0; i < 2 * note->count && !w->stopping; i++) {
		enum keys_kind kind = kinds[i / note->count];
		size_t at = i % note->count;
		const struct kv_record *record = note->what == RELIST_PAGE
		                                         ? &note->records[at]
		                                         : &note->events[at].record;
		bool gone = note->what == RELIST_EVENTS && note->events[at].is_delete;

		if (!seen_as(record, gone, kind, &seen))
			continue;
		if (kind == KEYS_CONFIG_CURRENT)
			apply_current(w, &seen);
		else
			apply_body(w, &seen);
	}
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct config_watch *w = ctx;
	struct config_event event = {.revision = note->revision};

	switch (note->what) {
	case RELIST_STOPPED:
		w->relist = NULL;
		if (watch_has_ended(w))
			watch_finish(w);
		return;
	case RELIST_PROGRESS:
		return;
	case RELIST_TROUBLE:
		report_note(w, CONFIG_TROUBLE, CONFIG_COORD, note->err);
		return;
	case RELIST_BEGIN:
		event.type = CONFIG_EV_BEGIN;
		break;
	case RELIST_PAGE:
		apply_records(w, note);
		watch_rearm(w);
		return;
	case RELIST_END:
		event.type = CONFIG_EV_END;
		break;
	case RELIST_EVENTS:
		apply_records(w, note);
		event.type = CONFIG_EV_BATCH;
		break;
	case RELIST_LOST:
		event.type = CONFIG_EV_LOST;
		event.rewound = note->err->code == PL_REWOUND;
		w->lost = note->err;
		break;
	}
	if (!w->stopping)
		watch_feed(w, event);
	w->lost = NULL;
	watch_rearm(w);
}

static enum pl_code list_start(struct config_watch *w, uint64_t seed, struct pl_err *err)
{
	struct keys_text prefix;
	struct relist_opts opts = {.seed = seed};

	if (keys_prefix(&(struct keys_id){.kind = KEYS_CONFIG}, 1, &prefix, NULL) !=
	    PL_OK)
		PL_UNREACHABLE("prefix of the configurations");
	opts.keys = kv_prefix(keys_span(&prefix));
	return relist_open(w->kv, &opts, on_note, w, &w->relist, err);
}

enum pl_code config_watch_open(struct kv *kv, uint64_t seed, config_fn *fn, void *ctx,
                               struct config_watch **out, struct pl_err *err)
{
	struct config_watch *w = pl_calloc(1, sizeof *w);
	enum pl_code code;

	if (w == NULL)
		return pl_err_set(err, PL_NOMEM, "watch of configurations");
	w->kv = kv;
	w->fn = fn;
	w->ctx = ctx;
	pl_list_init(&w->reads);
	config_core_init(&w->core, seed);
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		config_default((enum config_name)i, &w->slot[i].value);
		pl_arena_init(&w->slot[i].arena[0], 0, 0);
		pl_arena_init(&w->slot[i].arena[1], 0, 0);
	}
	pl_arena_init(&w->scratch, CONFIG_CURRENT_ROOM, 0);
	code = pl_arena_alloc(&w->scratch, CONFIG_CURRENT_ROOM / 2) == NULL ? PL_NOMEM
	                                                                    : PL_OK;
	if (code == PL_OK)
		code = pl_timer_init(&w->timer, kv_timers(kv), on_timer, w);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "watch of configurations");
	else
		code = list_start(w, seed, err);
	if (code != PL_OK) {
		watch_free(w);
		return code;
	}
	*out = w;
	return PL_OK;
}

void config_watch_stop(struct config_watch *w)
{
	if (w->stopping)
		return;
	w->stopping = true;
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++)
		watch_unread(w, (enum config_name)i);
	pl_timer_stop(&w->timer);
	relist_stop(w->relist);
}

const struct config_value *config_watch_value(const struct config_watch *watch,
                                              enum config_name name)
{
	return &watch->slot[name].value;
}

uint64_t config_watch_version(const struct config_watch *watch, enum config_name name)
{
	return watch->core.track[name].applied;
}

const struct pl_err *config_watch_refused(const struct config_watch *watch,
                                          enum config_name name)
{
	const struct config_slot *slot = &watch->slot[name];

	return slot->refused.code == PL_OK ? NULL : &slot->refused;
}
