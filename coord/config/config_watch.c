#include "coord/config/config_watch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/config/config_core.h"
#include "coord/config/record.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

/*
 * Bodies are read into a second arena beside the one that is applied, and only those
 * that the core wants; what is applied is swapped in when the core says so. In each
 * page and note the currents are looked at first, so that it wants the right ones.
 */

enum { READ_TIMEOUT_MS = 10000 };

struct read {
	struct pl_list link;
	struct config_watch *owner;
	enum config_name name;
	uint64_t version;
	struct kv_call *call;
	bool dropped;
};

struct slot {
	struct pl_arena arena[2];
	unsigned live; /* of them, what value is in; the other has the candidate */
	struct config_value value, candidate;
	struct pl_err why;     /* the candidate or current is no good */
	struct pl_err refused; /* told; PL_OK: current is applied */
	struct read *read;
	bool read_failed; /* could not even be started */
	struct pl_err failure;
};

struct config_watch {
	struct config_core core;
	struct kv *kv;
	struct relist *relist; /* NULL once it has stopped */
	struct pl_timer timer;
	struct pl_list reads;
	struct pl_arena scratch; /* for current, with its room: reading it can not fail
	                          * for want of memory, and be taken for garbage */
	struct slot slot[CONFIG_NAME_COUNT];
	const struct pl_err *lost;
	bool stopping;
	config_fn *fn;
	void *ctx;
};

static void feed(struct config_watch *w, struct config_event event);

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

static void finish(struct config_watch *w)
{
	static const struct config_note stopped = {.what = CONFIG_STOPPED};
	config_fn *fn = w->fn;
	void *ctx = w->ctx;

	watch_free(w);
	fn(ctx, &stopped);
}

static bool has_ended(const struct config_watch *w)
{
	return w->stopping && w->relist == NULL && pl_list_empty(&w->reads);
}

static void rearm(struct config_watch *w)
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

static void tell(struct config_watch *w, enum config_what what, enum config_name name,
                 const struct pl_err *err)
{
	struct config_note note = {.what = what, .name = name, .err = err};

	if (what == CONFIG_APPLIED || what == CONFIG_REFUSED)
		note.version = w->core.track[name].wanted;
	if (what == CONFIG_APPLIED)
		note.value = &w->slot[name].value;
	w->fn(w->ctx, &note);
}

/* Room for a candidate beside what is applied. */
static struct pl_arena *candidate_arena(struct slot *slot)
{
	struct pl_arena *arena = &slot->arena[1 - slot->live];

	pl_arena_reset(arena);
	return arena;
}

static enum config_body body_look(struct config_watch *w, enum config_name name,
                                  uint64_t version, struct pl_span json)
{
	struct slot *slot = &w->slot[name];

	switch (config_record_value(name, version, json, candidate_arena(slot),
	                            &slot->candidate, &slot->why)) {
	case PL_OK:
		return CONFIG_VALID;
	case PL_NOMEM:
		return CONFIG_UNSEEN;
	default:
		return CONFIG_INVALID;
	}
}

static enum config_body body_absent(struct config_watch *w, enum config_name name,
                                    uint64_t version)
{
	(void)pl_err_set(&w->slot[name].why, PL_NOTFOUND,
	                 "version %" PRIu64 ": is not there", version);
	return CONFIG_ABSENT;
}

static struct read *read_end(struct read *read)
{
	struct config_watch *w = read->owner;

	if (w->slot[read->name].read == read)
		w->slot[read->name].read = NULL;
	pl_list_del(&read->link);
	return read;
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct read *read = read_end(ctx);
	struct config_watch *w = read->owner;
	struct config_event event = {.type = CONFIG_EV_READ_FAILED,
	                             .name = read->name,
	                             .version = read->version};
	bool dropped = read->dropped;

	free(read);
	if (has_ended(w)) {
		finish(w);
		return;
	}
	if (dropped)
		return;
	if (err == NULL && result->get.count == 0) {
		event.body = body_absent(w, event.name, event.version);
		event.revision = result->header.revision;
	} else if (err == NULL) {
		event.body = body_look(w, event.name, event.version,
		                       result->get.records[0].value);
		event.revision = result->get.records[0].mod_revision;
	}
	if (event.body != CONFIG_UNSEEN)
		event.type = CONFIG_EV_READ;
	else
		w->slot[event.name].failure =
			err != NULL ? *err : w->slot[event.name].why;
	feed(w, event);
	rearm(w);
}

static void do_read(struct config_watch *w, enum config_name name, uint64_t version)
{
	struct slot *slot = &w->slot[name];
	struct read *read = pl_calloc(1, sizeof *read);
	struct keys_text key;

	PL_ASSERT(slot->read == NULL);
	(void)pl_err_set(&slot->failure, PL_NOMEM, "read a version");
	config_version_key(name, version, &key);
	if (read == NULL ||
	    kv_get(w->kv, &(struct kv_get){.keys = kv_key(keys_span(&key))},
	           READ_TIMEOUT_MS, on_read, read, &read->call,
	           &slot->failure) != PL_OK) {
		free(read);
		slot->read_failed = true;
		return;
	}
	read->owner = w;
	read->name = name;
	read->version = version;
	pl_list_add_tail(&w->reads, &read->link);
	slot->read = read;
}

static void do_unread(struct config_watch *w, enum config_name name)
{
	struct read *read = PL_STEAL(w->slot[name].read);

	w->slot[name].read_failed = false;
	if (read == NULL)
		return;
	read->dropped = true;
	kv_cancel(w->kv, read->call);
}

static void do_apply(struct config_watch *w, enum config_name name, uint64_t version)
{
	struct slot *slot = &w->slot[name];

	slot->refused = (struct pl_err){0};
	if (version == 0) {
		config_default(name, &slot->value);
	} else {
		slot->value = slot->candidate;
		slot->live = 1 - slot->live;
	}
	tell(w, CONFIG_APPLIED, name, NULL);
}

static void perform(struct config_watch *w, const struct config_action *action)
{
	struct slot *slot = &w->slot[action->name];

	switch (action->type) {
	case CONFIG_DO_READ:
		do_read(w, action->name, action->version);
		break;
	case CONFIG_DO_UNREAD:
		do_unread(w, action->name);
		break;
	case CONFIG_TELL_APPLIED:
		do_apply(w, action->name, action->version);
		break;
	case CONFIG_TELL_REFUSED:
		slot->refused = slot->why;
		tell(w, CONFIG_REFUSED, action->name, &slot->refused);
		break;
	case CONFIG_TELL_SYNCED:
		tell(w, CONFIG_SYNCED, action->name, NULL);
		break;
	case CONFIG_TELL_LOST:
		tell(w, CONFIG_LOST, action->name, w->lost);
		break;
	}
}

static void step(struct config_watch *w, const struct config_event *event)
{
	struct config_actions actions;

	config_step(&w->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !w->stopping; i++)
		perform(w, &actions.item[i]);
	if (event->type == CONFIG_EV_READ_FAILED && !w->stopping)
		tell(w, CONFIG_TROUBLE, event->name, &w->slot[event->name].failure);
}

/* A user that stops in the middle of its notes hears no more of them. */
static void feed(struct config_watch *w, struct config_event event)
{
	struct config_event due = {.type = CONFIG_EV_TIMEOUT, .now_ms = kv_now_ms(w->kv)};

	event.now_ms = due.now_ms;
	if (event.type != CONFIG_EV_TIMEOUT && config_deadline_ms(&w->core) <= due.now_ms)
		step(w, &due);
	if (!w->stopping)
		step(w, &event);
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
	feed(w, event);
	rearm(w);
}

/* One key of a page or note; gone: it was deleted. */
struct seen {
	enum keys_kind kind;
	enum config_name name;
	uint64_t version;
	struct pl_span json;
	int64_t revision;
	bool gone;
};

static bool seen_as(const struct kv_record *record, bool gone, enum keys_kind kind,
                    struct seen *out)
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

static void take_current(struct config_watch *w, const struct seen *seen)
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
	feed(w, event);
}

static void take_body(struct config_watch *w, const struct seen *seen)
{
	struct config_event event = {.type = CONFIG_EV_BODY,
	                             .name = seen->name,
	                             .revision = seen->revision,
	                             .version = seen->version};

	if (!config_core_wants(&w->core, seen->name, seen->version))
		return;
	event.body = seen->gone ? body_absent(w, seen->name, seen->version)
	                        : body_look(w, seen->name, seen->version, seen->json);
	feed(w, event);
}

static void take_all(struct config_watch *w, const struct relist_note *note)
{
	static const enum keys_kind kinds[] = {KEYS_CONFIG_CURRENT, KEYS_CONFIG};
	struct seen seen;

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
			take_current(w, &seen);
		else
			take_body(w, &seen);
	}
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct config_watch *w = ctx;
	struct config_event event = {.revision = note->revision};

	switch (note->what) {
	case RELIST_STOPPED:
		w->relist = NULL;
		if (has_ended(w))
			finish(w);
		return;
	case RELIST_PROGRESS:
		return;
	case RELIST_TROUBLE:
		tell(w, CONFIG_TROUBLE, CONFIG_COORD, note->err);
		return;
	case RELIST_BEGIN:
		event.type = CONFIG_EV_BEGIN;
		break;
	case RELIST_PAGE:
		take_all(w, note);
		rearm(w);
		return;
	case RELIST_END:
		event.type = CONFIG_EV_END;
		break;
	case RELIST_EVENTS:
		take_all(w, note);
		event.type = CONFIG_EV_BATCH;
		break;
	case RELIST_LOST:
		event.type = CONFIG_EV_LOST;
		event.rewound = note->err->code == PL_REWOUND;
		w->lost = note->err;
		break;
	}
	if (!w->stopping)
		feed(w, event);
	w->lost = NULL;
	rearm(w);
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
		do_unread(w, (enum config_name)i);
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
	const struct slot *slot = &watch->slot[name];

	return slot->refused.code == PL_OK ? NULL : &slot->refused;
}
