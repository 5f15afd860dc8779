#include "coord/meta/meta.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/meta/meta_core.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

/*
 * The driver of meta_core.
 *
 * Happy path: the key is listed; if it is absent one transaction creates it; the watch
 * shows it. The value is kept so that it can be parsed again if there was no memory
 * for that.
 *
 * A restored store may write past the revisions that the watch has seen before this is
 * noticed. The new incarnation then stands at a revision that the watch takes for an
 * old one and never shows. So the key is also read from time to time (a look), and the
 * value that is kept may be newer than the watch: so this is a relist and no informer.
 */

enum {
	CALL_MS = 5000,
	REREAD_MS = 500,
	LOOK_MS = 10000,
	BYTES_MAX = 8192,
	RECORD_MAX = 1024,
};

struct meta_watch {
	struct meta_core core;
	struct kv *kv;
	struct relist *relist; /* NULL: it has ended */
	struct kv_call *call;  /* the create in flight */
	struct kv_call *look;  /* the read in flight */
	struct pl_timer timer;
	struct keys_text key;
	meta_fn *fn;
	void *ctx;
	bool stopping;
	bool listed;       /* the list in progress has shown the key */
	bool start_failed; /* the create could not even be started */
	struct pl_err err; /* of the last create, or of the value */
	uint64_t reread_at_ms;
	uint64_t look_at_ms;
	uint32_t shown;      /* number of notes of the watch */
	uint32_t look_shown; /* the same number when the look was sent */
	size_t len; /* length of the value; above the maximum it is too long to be
	             * parsed */
	uint8_t value[BYTES_MAX];
};

static uint64_t now_of(const struct meta_watch *w)
{
	return kv_now_ms(w->kv);
}

static void rearm_timer(struct meta_watch *w)
{
	uint64_t at = w->start_failed ? now_of(w) : meta_deadline_ms(&w->core);

	if (w->stopping)
		return;
	if (w->reread_at_ms < at)
		at = w->reread_at_ms;
	if (w->look_at_ms < at)
		at = w->look_at_ms;
	if (at == UINT64_MAX)
		pl_timer_stop(&w->timer);
	else
		pl_timer_set(&w->timer, at);
}

static void meta_finish(struct meta_watch *w)
{
	static const struct meta_note stopped = {.what = META_STOPPED};
	meta_fn *fn = w->fn;
	void *ctx = w->ctx;

	if (w->relist != NULL || w->call != NULL || w->look != NULL)
		return;
	pl_timer_done(&w->timer);
	free(w);
	fn(ctx, &stopped);
}

/* -- notes ------------------------------------------------------------------------- */

static void report_err(struct meta_watch *w, enum meta_what what,
                       const struct pl_err *err)
{
	struct meta_note note = {.what = what, .err = err};

	if (!w->stopping)
		w->fn(w->ctx, &note);
}

static void report_refused(struct meta_watch *w, enum pl_code code, uint32_t seen)
{
	struct pl_err err = w->err;

	if (code == PL_CONFLICT)
		pl_err_set(&err, code,
		           "the store has %u partitions, wanted are %u: their number is "
		           "fixed when a store is initialised",
		           seen, w->core.partitions);
	report_err(w, META_REFUSED, &err);
}

static void report_trouble(struct meta_watch *w, enum pl_code code)
{
	struct pl_err err = w->err;

	if (code == PL_NOTFOUND)
		pl_err_set(&err, code, "%s was removed; creating it again", w->key.at);
	report_err(w, META_TROUBLE, &err);
}

/* -- creating ---------------------------------------------------------------------- */

static void feed_event(struct meta_watch *w, struct meta_event event);

static void on_created(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct meta_watch *w = ctx;
	struct meta_event event = {.type = META_EV_DONE};

	w->call = NULL;
	if (w->stopping) {
		meta_finish(w);
		return;
	}
	if (result == NULL) {
		pl_err_set(&w->err, err->code, "create %s: %s", w->key.at, err->msg);
		event = (struct meta_event){.type = META_EV_FAILED, .code = err->code};
	}
	feed_event(w, event);
	rearm_timer(w);
}

static enum pl_code send_create(struct meta_watch *w)
{
	struct pl_span key = keys_span(&w->key);
	struct kv_compare absent = kv_if_absent(key);
	struct kv_txn txn = {.compares = &absent, .compare_count = 1, .then_count = 1};
	struct kv_req put;
	struct pl_buf json;
	enum pl_code code;

	pl_buf_init(&json, RECORD_MAX);
	code = meta_print(&w->core.mine, &json, &w->err);
	put = kv_op_put(key, pl_buf_span(&json));
	txn.then = &put;
	if (code == PL_OK)
		code = kv_txn(w->kv, &txn, CALL_MS, on_created, w, &w->call, &w->err);
	pl_buf_done(&json);
	return code;
}

static void perform_action(struct meta_watch *w, const struct meta_action *action,
                           const struct meta_event *event)
{
	struct meta_note known = {
		.what = META_KNOWN, .meta = &w->core.meta, .changed = action->changed};

	switch (action->type) {
	case META_DO_CREATE:
		w->start_failed = send_create(w) != PL_OK;
		break;
	case META_REPORT_KNOWN:
		w->fn(w->ctx, &known);
		break;
	case META_REPORT_REFUSED:
		report_refused(w, action->code,
		               event->meta == NULL ? 0 : event->meta->partitions);
		break;
	case META_REPORT_TROUBLE:
		report_trouble(w, action->code);
		break;
	}
}

static void step_core(struct meta_watch *w, const struct meta_event *event)
{
	struct meta_actions actions;

	meta_step(&w->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !w->stopping; i++)
		perform_action(w, &actions.item[i], event);
}

/* The clock is checked before anything else. */
static void feed_event(struct meta_watch *w, struct meta_event event)
{
	uint64_t now = now_of(w);

	while (!w->stopping && meta_deadline_ms(&w->core) <= now)
		step_core(w,
		          &(struct meta_event){.type = META_EV_TIMEOUT, .now_ms = now});
	if (w->stopping || event.type == META_EV_TIMEOUT)
		return;
	event.now_ms = now;
	step_core(w, &event);
}

/* -- the value of the key ---------------------------------------------------------- */

static void read_value(struct meta_watch *w)
{
	struct meta_event event = {.type = META_EV_MALFORMED};
	struct meta meta;
	struct pl_err why = {0};
	enum pl_code code;

	w->reread_at_ms = UINT64_MAX;
	if (w->len > BYTES_MAX)
		code = pl_err_set(&why, PL_LIMIT, "%zu bytes are too many", w->len);
	else
		code = meta_parse(pl_span(w->value, w->len), &meta, &why);
	if (code == PL_NOMEM) {
		w->reread_at_ms = now_of(w) + REREAD_MS;
		report_err(w, META_TROUBLE, &why);
		return;
	}
	if (code == PL_OK)
		event = (struct meta_event){.type = META_EV_SEEN, .meta = &meta};
	else
		pl_err_set(&w->err, PL_INVALID, "%s: %s", w->key.at, why.msg);
	feed_event(w, event);
}

static void keep_value(struct meta_watch *w, struct pl_span value)
{
	w->len = value.len;
	if (value.len != 0 && value.len <= BYTES_MAX)
		memcpy(w->value, value.at, value.len);
	read_value(w);
}

static void on_absent(struct meta_watch *w)
{
	w->reread_at_ms = UINT64_MAX;
	feed_event(w, (struct meta_event){.type = META_EV_ABSENT});
}

/* -- reads ------------------------------------------------------------------------- */

static void apply_look(struct meta_watch *w, const struct kv_get_result *get)
{
	struct pl_span value;

	if (get->count == 0) {
		on_absent(w);
		return;
	}
	value = get->records[0].value;
	if (w->len == value.len &&
	    (value.len > BYTES_MAX || pl_span_eq(pl_span(w->value, w->len), value)))
		return;
	keep_value(w, value);
}

static void on_look(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct meta_watch *w = ctx;

	(void)err; /* the next look will find it */
	w->look = NULL;
	if (w->stopping) {
		meta_finish(w);
		return;
	}
	/* If the watch has brought something meanwhile, it is newer than the look, or
	 * will be corrected by the watch. */
	if (result != NULL && w->shown == w->look_shown && w->core.state == META_STANDING)
		apply_look(w, &result->get);
	rearm_timer(w);
}

static void request_look(struct meta_watch *w)
{
	struct kv_get get = {.keys = kv_key(keys_span(&w->key))};

	w->look_at_ms = now_of(w) + LOOK_MS;
	w->look_shown = w->shown;
	if (w->look == NULL &&
	    kv_get(w->kv, &get, CALL_MS, on_look, w, &w->look, NULL) != PL_OK)
		w->look = NULL;
}

/* -- the watch --------------------------------------------------------------------- */

static void on_events(struct meta_watch *w, const struct relist_note *note)
{
	/* Only the last of several changes counts. */
	const struct kv_event *event = &note->events[note->count - 1];

	if (event->is_delete)
		on_absent(w);
	else
		keep_value(w, event->record.value);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct meta_watch *w = ctx;

	w->shown += note->what != RELIST_PROGRESS && note->what != RELIST_TROUBLE;
	switch (note->what) {
	case RELIST_BEGIN:
		w->listed = false;
		break;
	case RELIST_PAGE:
		w->listed = note->count != 0;
		if (w->listed)
			keep_value(w, note->records[0].value);
		break;
	case RELIST_END:
		if (!w->listed)
			on_absent(w);
		break;
	case RELIST_EVENTS:
		if (note->count != 0)
			on_events(w, note);
		break;
	case RELIST_PROGRESS:
		break;
	case RELIST_LOST:
		w->reread_at_ms = UINT64_MAX;
		feed_event(w, (struct meta_event){.type = META_EV_LOST});
		report_err(w, META_TROUBLE, note->err);
		break;
	case RELIST_TROUBLE:
		report_err(w, META_TROUBLE, note->err);
		break;
	case RELIST_STOPPED:
		w->relist = NULL;
		meta_finish(w);
		return;
	}
	rearm_timer(w);
}

static void on_timer(void *ctx)
{
	struct meta_watch *w = ctx;
	struct meta_event event = {.type = META_EV_TIMEOUT};

	if (w->start_failed) {
		w->start_failed = false;
		event = (struct meta_event){.type = META_EV_FAILED, .code = w->err.code};
	}
	feed_event(w, event);
	if (!w->stopping && w->reread_at_ms <= now_of(w))
		read_value(w);
	if (!w->stopping && w->look_at_ms <= now_of(w))
		request_look(w);
	rearm_timer(w);
}

/* -- life -------------------------------------------------------------------------- */

static enum pl_code open_relist(struct meta_watch *w, uint64_t seed, struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_META};
	struct relist_opts opts = {.seed = seed};
	enum pl_code code = keys_build(&id, &w->key, err);

	opts.keys = kv_key(keys_span(&w->key));
	if (code == PL_OK)
		code = relist_open(w->kv, &opts, on_note, w, &w->relist, err);
	return code;
}

enum pl_code meta_open(struct kv *kv, const struct meta_opts *opts, meta_fn *fn,
                       void *ctx, struct meta_watch **out, struct pl_err *err)
{
	struct meta mine = {.partitions = opts->partitions,
	                    .created_ms = opts->created_ms};
	uint64_t seed = opts->seed != 0 ? opts->seed : pl_rng_seed_random();
	struct meta_watch *w;
	enum pl_code code;

	if (opts->partitions > KEYS_PARTITIONS_MAX)
		return pl_err_set(err, PL_INVALID, "%u partitions: at most %d",
		                  opts->partitions, KEYS_PARTITIONS_MAX);
	if (mine.partitions == 0)
		mine.partitions = META_PARTITIONS_DEFAULT;
	(void)snprintf(mine.version, sizeof mine.version, "%s",
	               opts->version == NULL ? "" : opts->version);
	w = pl_calloc(1, sizeof *w);
	if (w == NULL)
		return pl_err_set(err, PL_NOMEM, "meta");
	w->kv = kv;
	w->fn = fn;
	w->ctx = ctx;
	w->reread_at_ms = UINT64_MAX;
	w->look_at_ms = kv_now_ms(kv) + LOOK_MS;
	meta_core_init(&w->core, opts->partitions, &mine, seed);
	code = pl_timer_init(&w->timer, kv_timers(kv), on_timer, w);
	if (code == PL_OK)
		code = open_relist(w, seed, err);
	else
		pl_err_set(err, code, "meta");
	if (code != PL_OK) {
		pl_timer_done(&w->timer);
		free(w);
		return code;
	}
	*out = w;
	return PL_OK;
}

void meta_stop(struct meta_watch *w)
{
	if (w->stopping)
		return;
	w->stopping = true;
	pl_timer_stop(&w->timer);
	if (w->call != NULL)
		kv_cancel(w->kv, w->call);
	if (w->look != NULL)
		kv_cancel(w->kv, w->look);
	relist_stop(w->relist);
}
