#include "coord/janitor/janitor.h"

#include <stdlib.h>

#include "coord/janitor/janitor_core.h"
#include "coord/janitor/page.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

/*
 * At most one request of the pace and one of the sweep that count. One that the core
 * has given up goes on unheard, and may not touch the page.
 */

enum { CALL_TIMEOUT_MS = 5000 };

enum part { PACE, SWEEP, PARTS };

struct call {
	struct pl_list link;
	struct janitor *owner;
	struct kv_call *handle;
	enum janitor_action_type type;
	bool shards; /* the second half of a page */
	uint32_t seq;
};

struct janitor {
	struct janitor_core core;
	struct page page;
	struct kv *kv;
	const struct elect *elect;
	struct pl_timer timer;
	struct pl_list calls;
	bool failed[PARTS]; /* could not even be started */
	uint32_t failed_seq[PARTS];
	struct pl_err failure[PARTS];
	bool ending;
	janitor_fn *fn;
	void *ctx;
	/* What the event brought that is being told. */
	const struct pl_err *err;
	const struct kv_record *pins;
};

static void rearm(struct janitor *j)
{
	uint64_t now = kv_now_ms(j->kv), at = janitor_deadline_ms(&j->core);

	if (j->ending)
		at = pl_list_empty(&j->calls) ? now : UINT64_MAX;
	else if (j->failed[PACE] || j->failed[SWEEP])
		at = now;
	if (at == UINT64_MAX)
		pl_timer_stop(&j->timer);
	else
		pl_timer_set(&j->timer, at);
}

static void finish(struct janitor *j)
{
	static const struct janitor_note stopped = {.what = JANITOR_STOPPED};
	janitor_fn *fn = j->fn;
	void *ctx = j->ctx;

	pl_timer_done(&j->timer);
	page_done(&j->page);
	free(j);
	fn(ctx, &stopped);
}

static void feed(struct janitor *j, struct janitor_event event);
static void ask_more(struct janitor *j, const struct call *call);

static bool is_current(const struct janitor *j, const struct call *call)
{
	return call->seq == j->core.pace.seq || call->seq == j->core.sweep.seq;
}

static void feed_failure(struct janitor *j, uint32_t seq, const struct pl_err *err)
{
	j->err = err;
	feed(j, (struct janitor_event){
			.type = JANITOR_EV_FAILED, .seq = seq, .code = err->code});
}

static void looked(struct janitor *j, const struct call *call,
                   const struct kv_result *result)
{
	int64_t pins[JANITOR_PINS_MAX];
	const struct kv_get_result *get = &result->get;
	struct janitor_event event = {.type = JANITOR_EV_LOOKED,
	                              .seq = call->seq,
	                              .revision = result->header.revision,
	                              .pins = pins,
	                              .too_many = get->more};

	for (size_t i = 0; i < get->count && i < JANITOR_PINS_MAX; i++)
		pins[event.pin_count++] = get->records[i].create_revision;
	j->pins = get->records;
	feed(j, event);
}

/* A page is complete with its first answer, or with its second. */
static void paged(struct janitor *j, const struct call *call,
                  const struct kv_result *result)
{
	struct pl_err err;

	if (call->shards) {
		page_take_shards(&j->page, result);
	} else if (page_take(&j->page, result, &err) != PL_OK) {
		feed_failure(j, call->seq, &err);
		return;
	} else if (j->page.stage == JANITOR_DIGESTS && j->page.count != 0) {
		ask_more(j, call);
		return;
	}
	feed(j, (struct janitor_event){.type = JANITOR_EV_PAGE,
	                               .seq = call->seq,
	                               .page = page_view(&j->page)});
}

static void removed(struct janitor *j, const struct call *call,
                    const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;

	feed(j, (struct janitor_event){.type = JANITOR_EV_REMOVED,
	                               .seq = call->seq,
	                               .removed = txn->succeeded,
	                               .absent = txn->succeeded ||
	                                         txn->results[0].get.count == 0});
}

static void answered(struct janitor *j, const struct call *call,
                     const struct kv_result *result)
{
	switch (call->type) {
	case JANITOR_DO_LOOK:
		looked(j, call, result);
		break;
	case JANITOR_DO_COMPACT:
		feed(j, (struct janitor_event){.type = JANITOR_EV_COMPACTED,
		                               .seq = call->seq});
		break;
	case JANITOR_DO_PAGE:
		paged(j, call, result);
		break;
	case JANITOR_DO_REMOVE:
		removed(j, call, result);
		break;
	case JANITOR_TELL_COMPACTED:
	case JANITOR_TELL_HELD:
	case JANITOR_TELL_CROWDED:
	case JANITOR_TELL_REMOVED:
	case JANITOR_TELL_TROUBLE:
		PL_UNREACHABLE("not a request");
	}
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct call *call = ctx;
	struct janitor *j = call->owner;

	pl_list_del(&call->link);
	if (!j->ending && is_current(j, call)) {
		if (result != NULL)
			answered(j, call, result);
		else
			feed_failure(j, call->seq, err);
	}
	free(call);
	rearm(j);
}

static enum part part_of(enum janitor_action_type type)
{
	return type == JANITOR_DO_LOOK || type == JANITOR_DO_COMPACT ? PACE : SWEEP;
}

static void fail_later(struct janitor *j, enum part part, uint32_t seq,
                       const struct pl_err *err)
{
	j->failed[part] = true;
	j->failed_seq[part] = seq;
	j->failure[part] = *err;
}

static void start(struct janitor *j, const struct kv_req *req, struct call like)
{
	struct call *call = pl_malloc(sizeof *call);
	struct pl_err err = {.code = PL_NOMEM, .msg = "janitor"};

	if (call != NULL) {
		*call = like;
		call->owner = j;
		if (kv_start(j->kv, req, CALL_TIMEOUT_MS, on_done, call, &call->handle,
		             &err) == PL_OK) {
			pl_list_add_tail(&j->calls, &call->link);
			return;
		}
	}
	free(call);
	fail_later(j, part_of(like.type), like.seq, &err);
}

static void ask_more(struct janitor *j, const struct call *call)
{
	struct page_req req;
	struct call second = {.type = call->type, .shards = true, .seq = call->seq};

	if (page_ask_shards(&j->page, &req))
		start(j, &req.req, second);
}

static void do_look(struct janitor *j, struct call like)
{
	struct keys_id id = {.kind = KEYS_PIN};
	struct keys_text prefix;
	struct kv_req req;
	enum pl_code code = keys_prefix(&id, 1, &prefix, NULL);

	PL_ASSERT(code == PL_OK);
	req = kv_op_get(kv_prefix(keys_span(&prefix)));
	req.get.keys_only = true;
	req.get.limit = JANITOR_PINS_MAX;
	start(j, &req, like);
}

static void do_compact(struct janitor *j, int64_t revision, struct call like)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};

	start(j, &req, like);
}

static void do_remove(struct janitor *j, size_t item, struct call like)
{
	struct kv_compare compares[ELECT_COMPARES + PAGE_COMPARES_MAX];
	struct kv_keys key = kv_key(keys_span(&j->page.keys[item]));
	struct kv_req then = kv_op_delete(key), otherwise = kv_op_get(key);
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = compares,
	                             .then = &then,
	                             .then_count = 1,
	                             .otherwise = &otherwise,
	                             .otherwise_count = 1}};
	struct pl_err err;
	size_t count = elect_guard(j->elect, compares);

	if (count == 0) {
		pl_err_set(&err, PL_FENCED, "not leading");
		fail_later(j, SWEEP, like.seq, &err);
		return;
	}
	otherwise.get.keys_only = true;
	req.txn.compare_count = count + page_compares(&j->page, item, compares + count);
	start(j, &req, like);
}

static void tell(struct janitor *j, enum janitor_what what, int64_t revision,
                 struct pl_span key, const struct pl_err *err)
{
	struct janitor_note note = {
		.what = what, .revision = revision, .key = key, .err = err};

	j->fn(j->ctx, &note);
}

static void tell_removed(struct janitor *j, const struct janitor_action *action)
{
	static const struct {
		enum pl_code code;
		const char *text;
	} whys[] = {
		[JANITOR_NO_LEASE] = {PL_NOLEASE,
	                              "has no lease: nobody can be behind it"},
		[JANITOR_NO_SHARD] = {PL_NOTFOUND, "its shard is gone"},
		[JANITOR_OLD_VERSION] = {PL_LIMIT, "beyond the history that is kept"},
	};
	struct keys_text key = j->page.keys[action->item];
	struct pl_err why;

	pl_err_set(&why, whys[action->why].code, "%s", whys[action->why].text);
	tell(j, JANITOR_REMOVED, 0, keys_span(&key), &why);
}

static void tell_trouble(struct janitor *j, enum pl_code code)
{
	struct pl_err err = {.code = code, .cause = code};

	if (j->err != NULL && j->err->code == code)
		err = *j->err;
	else
		pl_err_set(&err, code, "janitor: %s", pl_code_name(code));
	tell(j, JANITOR_TROUBLE, 0, pl_span(NULL, 0), &err);
}

static void tell_crowded(struct janitor *j)
{
	struct pl_err err;

	pl_err_set(&err, PL_LIMIT, "more than %d pins: nothing is compacted",
	           JANITOR_PINS_MAX);
	tell(j, JANITOR_TROUBLE, 0, pl_span(NULL, 0), &err);
}

/* A note before it may have ended what this was to be asked for. */
static bool is_wanted(const struct janitor *j, uint32_t seq)
{
	return !j->ending && (seq == j->core.pace.seq || seq == j->core.sweep.seq);
}

static void request(struct janitor *j, const struct janitor_action *action)
{
	struct call like = {.type = action->type, .seq = action->seq};
	struct page_req req;

	if (!is_wanted(j, action->seq))
		return;
	if (action->type == JANITOR_DO_LOOK) {
		do_look(j, like);
	} else if (action->type == JANITOR_DO_COMPACT) {
		do_compact(j, action->revision, like);
	} else if (action->type == JANITOR_DO_REMOVE) {
		do_remove(j, action->item, like);
	} else {
		page_ask(&j->page, action->stage, action->config, action->next, &req);
		start(j, &req.req, like);
	}
}

static void perform(struct janitor *j, const struct janitor_action *action)
{
	switch (action->type) {
	case JANITOR_DO_LOOK:
	case JANITOR_DO_COMPACT:
	case JANITOR_DO_PAGE:
	case JANITOR_DO_REMOVE:
		request(j, action);
		break;
	case JANITOR_TELL_COMPACTED:
		tell(j, JANITOR_COMPACTED, action->revision, pl_span(NULL, 0), NULL);
		break;
	case JANITOR_TELL_HELD:
		tell(j, JANITOR_HELD, action->revision, j->pins[action->item].key, NULL);
		break;
	case JANITOR_TELL_CROWDED:
		tell_crowded(j);
		break;
	case JANITOR_TELL_REMOVED:
		tell_removed(j, action);
		break;
	case JANITOR_TELL_TROUBLE:
		tell_trouble(j, action->code);
		break;
	}
}

static void step(struct janitor *j, const struct janitor_event *event)
{
	struct janitor_actions actions;

	janitor_step(&j->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !j->ending; i++)
		perform(j, &actions.item[i]);
}

/* The clock is heard before anything else. */
static void feed(struct janitor *j, struct janitor_event event)
{
	uint64_t now = kv_now_ms(j->kv);

	event.now_ms = now;
	if (event.type != JANITOR_EV_TIMEOUT && janitor_deadline_ms(&j->core) <= now)
		step(j,
		     &(struct janitor_event){.type = JANITOR_EV_TIMEOUT, .now_ms = now});
	if (!j->ending)
		step(j, &event);
	j->err = NULL;
	j->pins = NULL;
}

static bool failure_take(struct janitor *j)
{
	for (unsigned i = 0; i < PARTS; i++) {
		if (!j->failed[i])
			continue;
		j->failed[i] = false;
		feed_failure(j, j->failed_seq[i], &j->failure[i]);
		return true;
	}
	return false;
}

static void on_timer(void *ctx)
{
	struct janitor *j = ctx;

	if (j->ending) {
		finish(j);
		return;
	}
	if (!failure_take(j))
		feed(j, (struct janitor_event){.type = JANITOR_EV_TIMEOUT});
	rearm(j);
}

static struct janitor_tune tune_of(const struct config_coord *coord)
{
	return (struct janitor_tune){.enabled = coord->janitor.enabled,
	                             .interval_ms = coord->janitor.interval_ms,
	                             .keep_revisions = coord->janitor.keep_revisions,
	                             .pin_max_ms = coord->janitor.pin_max_ms,
	                             .config_history = coord->janitor.config_history};
}

enum pl_code janitor_open(struct kv *kv, const struct elect *elect, uint64_t seed,
                          janitor_fn *fn, void *ctx, struct janitor **out,
                          struct pl_err *err)
{
	struct janitor *j = pl_calloc(1, sizeof *j);
	struct config_value value;
	struct janitor_tune tune;

	if (j == NULL)
		return pl_err_set(err, PL_NOMEM, "janitor");
	if (pl_timer_init(&j->timer, kv_timers(kv), on_timer, j) != PL_OK) {
		free(j);
		return pl_err_set(err, PL_NOMEM, "janitor");
	}
	config_default(CONFIG_COORD, &value);
	tune = tune_of(&value.coord);
	janitor_core_init(&j->core, &tune, CONFIG_NAME_COUNT, seed);
	page_init(&j->page);
	pl_list_init(&j->calls);
	j->kv = kv;
	j->elect = elect;
	j->fn = fn;
	j->ctx = ctx;
	*out = j;
	return PL_OK;
}

/* These three tell nothing: what follows from them waits for the timer. */
static void change(struct janitor *j, struct janitor_event event)
{
	if (j->ending)
		return;
	feed(j, event);
	rearm(j);
}

void janitor_config(struct janitor *j, const struct config_coord *coord)
{
	change(j,
	       (struct janitor_event){.type = JANITOR_EV_TUNE, .tune = tune_of(coord)});
}

void janitor_lead(struct janitor *j, bool leading)
{
	change(j, (struct janitor_event){.type = JANITOR_EV_LEAD, .leading = leading});
}

void janitor_rewound(struct janitor *j)
{
	change(j, (struct janitor_event){.type = JANITOR_EV_REWOUND});
}

void janitor_stop(struct janitor *j)
{
	if (j->ending)
		return;
	j->ending = true;
	PL_LIST_EACH (link, &j->calls)
		kv_cancel(j->kv, PL_LIST_ITEM(link, struct call, link)->handle);
	rearm(j);
}
