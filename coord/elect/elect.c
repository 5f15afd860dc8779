#include "coord/elect/elect.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/elect/elect_core.h"
#include "coord/elect/leader.h"
#include "store/base/alloc.h"
#include "store/base/hash.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

/*
 * A watch on one key, and three transactions. Each brings the key as it is when its
 * compares do not hold, so every answer says what the key was at its revision.
 *
 * What the user wants is noted down and done from the timer, on a fresh stack; the
 * session alone goes straight to the core, because its end can not wait.
 * A call that the core has given up goes on unheard, and is waited for at the end.
 */

enum { CALL_TIMEOUT_MS = 2000, REOPEN_MS = 1000, VALUE_MAX = 512, CALLS_MAX = 64 };

struct call {
	struct pl_list link;
	struct elect *owner;
	struct kv_call *handle;
	enum elect_action_type type;
	uint32_t seq;
	int64_t lease;
};

struct elect {
	struct elect_core core;
	struct kv *kv;
	struct pl_timer timer;
	struct relist *relist; /* NULL: none; one is opened from the timer */
	bool relist_stopping;
	uint64_t relist_at_ms;
	struct pl_list calls;
	unsigned call_count;
	elect_fn *fn;
	void *ctx;
	struct keys_text key;
	char id[LEADER_SHARD_SIZE];
	struct pl_buf value; /* ours */
	uint64_t seed;
	/* Wanted by the user. */
	bool wants_stand, wants_session, wants_stop, wants_rewound;
	int64_t lease;
	uint64_t safe_until_ms;
	bool stand, resign;
	uint32_t rank;
	/* A request that could not be started. */
	bool start_failed;
	uint32_t failed_seq;
	struct pl_err failure;
	/* What the event brought that is being told. */
	struct leader incoming;
	const struct pl_err *err;
	struct leader holder;
	/* The list under way. */
	struct elect_key listed;
	struct leader listed_holder;
	bool listed_garbled;
	struct pl_err listed_err;
	bool ending;
};

static uint64_t now_of(const struct elect *e)
{
	return kv_now_ms(e->kv);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_due(const struct elect *e)
{
	return e->wants_stand || e->wants_session || e->wants_stop || e->wants_rewound ||
	       e->start_failed;
}

static void rearm(struct elect *e)
{
	uint64_t now = now_of(e), at;

	if (e->ending)
		at = e->relist == NULL && pl_list_empty(&e->calls) ? now : UINT64_MAX;
	else
		at = is_due(e) ? now : elect_deadline_ms(&e->core);
	if (!e->ending && e->relist == NULL)
		at = least(at, e->relist_at_ms);
	if (at == UINT64_MAX)
		pl_timer_stop(&e->timer);
	else
		pl_timer_set(&e->timer, at);
}

static void note(struct elect *e, const struct elect_note *note)
{
	e->fn(e->ctx, note);
}

static void finish(struct elect *e)
{
	static const struct elect_note stopped = {.what = ELECT_STOPPED};
	elect_fn *fn = e->fn;
	void *ctx = e->ctx;

	pl_timer_done(&e->timer);
	pl_buf_done(&e->value);
	free(e);
	fn(ctx, &stopped);
}

static void begin_end(struct elect *e)
{
	e->ending = true;
	if (e->relist != NULL && !e->relist_stopping) {
		e->relist_stopping = true;
		relist_stop(e->relist);
	}
	PL_LIST_EACH (link, &e->calls)
		kv_cancel(e->kv, PL_LIST_ITEM(link, struct call, link)->handle);
}

static void feed(struct elect *e, struct elect_event event);

/* Who holds it, in incoming. One that says nothing sensible is somebody all the
 * same. False: err says why. */
static bool read_holder(struct elect *e, struct pl_span value, struct pl_err *err)
{
	struct pl_err why = {0};

	e->incoming = (struct leader){.shard = "?"};
	if (leader_parse(value, &e->incoming, &why) == PL_OK)
		return true;
	pl_err_set(err, why.code, "%s: %s", e->key.at, why.msg);
	return false;
}

static struct elect_key key_of(struct elect *e, const struct kv_record *record,
                               int64_t revision, struct pl_err *err)
{
	e->incoming = (struct leader){0};
	if (record == NULL)
		return (struct elect_key){.revision = revision};
	if (!read_holder(e, record->value, err))
		e->err = err;
	return (struct elect_key){.revision = revision,
	                          .create_revision = record->create_revision,
	                          .lease = record->lease};
}

static const struct kv_record *first_record(const struct kv_get_result *get)
{
	return get->count == 0 ? NULL : &get->records[0];
}

/* What the key is now that the request was served. */
static struct elect_key answer_key(struct elect *e, const struct call *call,
                                   const struct kv_result *result, struct pl_err *err)
{
	int64_t revision = result->header.revision;
	struct elect_key own = {revision, revision, call->lease};

	if (call->type == ELECT_DO_READ)
		return key_of(e, first_record(&result->get), revision, err);
	if (!result->txn.succeeded)
		return key_of(e, first_record(&result->txn.results[0].get), revision,
		              err);
	if (call->type == ELECT_DO_DELETE)
		return key_of(e, NULL, revision, err);
	return own;
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct call *call = ctx;
	struct elect *e = call->owner;
	struct elect_event event = {.type = ELECT_EV_FAILED, .seq = call->seq};
	struct pl_err garbled;

	pl_list_del(&call->link);
	e->call_count--;
	if (!e->ending) {
		e->err = err;
		if (result != NULL) {
			event.type = ELECT_EV_ANSWER;
			event.key = answer_key(e, call, result, &garbled);
		} else {
			event.code = err->code;
		}
		feed(e, event);
	}
	free(call);
	rearm(e);
}

static enum pl_code start(struct elect *e, const struct kv_req *req, struct call *call,
                          struct pl_err *err)
{
	return kv_start(e->kv, req, CALL_TIMEOUT_MS, on_done, call, &call->handle, err);
}

static enum pl_code start_txn(struct elect *e, const struct kv_compare *compares,
                              size_t count, const struct kv_req *then, struct call *call,
                              struct pl_err *err)
{
	struct kv_req otherwise = kv_op_get(kv_key(keys_span(&e->key)));
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = compares,
	                             .compare_count = count,
	                             .then = then,
	                             .then_count = 1,
	                             .otherwise = &otherwise,
	                             .otherwise_count = 1}};

	return start(e, &req, call, err);
}

static void compares_of(const struct elect *e, int64_t epoch, int64_t lease,
                        struct kv_compare out[ELECT_COMPARES])
{
	struct pl_span key = keys_span(&e->key);

	out[0] = kv_if_create_rev(key, KV_EQ, epoch);
	out[1] = kv_if_lease(key, KV_EQ, lease);
}

static enum pl_code start_call(struct elect *e, const struct elect_action *action,
                               struct call *call, struct pl_err *err)
{
	struct pl_span key = keys_span(&e->key);
	struct kv_req get = kv_op_get(kv_key(key));
	struct kv_req put = kv_op_put_leased(key, pl_buf_span(&e->value), action->lease);
	struct kv_req del = kv_op_delete(kv_key(key));
	struct kv_compare compares[ELECT_COMPARES] = {kv_if_create_rev(key, KV_EQ, 0)};

	if (action->type == ELECT_DO_READ)
		return start(e, &get, call, err);
	if (action->type == ELECT_DO_CLAIM)
		return start_txn(e, compares, 1, &put, call, err);
	compares_of(e, action->epoch, action->lease, compares);
	return start_txn(e, compares, ELECT_COMPARES, &del, call, err);
}

/* A note before it may have ended the session that this was to be asked for. */
static bool still_wanted(const struct elect *e, const struct elect_action *action)
{
	return e->core.op != ELECT_OP_NONE && e->core.seq == action->seq;
}

static void ask(struct elect *e, const struct elect_action *action)
{
	struct call *call = NULL;
	struct pl_err err = {.code = PL_NOMEM, .msg = "election"};

	if (!still_wanted(e, action))
		return;
	if (e->call_count == CALLS_MAX)
		pl_err_set(&err, PL_BUSY, "election: %d requests in flight", CALLS_MAX);
	else
		call = pl_malloc(sizeof *call);
	if (call != NULL) {
		*call = (struct call){.owner = e,
		                      .type = action->type,
		                      .seq = action->seq,
		                      .lease = action->lease};
		if (start_call(e, action, call, &err) == PL_OK) {
			pl_list_add_tail(&e->calls, &call->link);
			e->call_count++;
			return;
		}
	}
	free(call);
	e->start_failed = true;
	e->failed_seq = action->seq;
	e->failure = err;
}

static void watch_anew(struct elect *e)
{
	e->relist_at_ms = now_of(e);
	if (e->relist == NULL || e->relist_stopping)
		return;
	e->relist_stopping = true;
	relist_stop(e->relist);
}

static void tell_trouble(struct elect *e, enum pl_code code)
{
	struct elect_note trouble = {.what = ELECT_TROUBLE, .err = e->err};
	struct pl_err own;

	if (e->err == NULL || e->err->code != code) {
		pl_err_set(&own, code, "%s", e->key.at);
		trouble.err = &own;
	}
	note(e, &trouble);
}

static void tell_follow(struct elect *e)
{
	struct elect_note follow = {.what = ELECT_FOLLOW};
	const struct pl_err *garbled = e->err;

	e->holder = e->incoming;
	follow.leader = pl_span_str(e->holder.shard);
	if (garbled != NULL)
		note(e, &(struct elect_note){.what = ELECT_TROUBLE, .err = garbled});
	note(e, &follow);
}

static void perform(struct elect *e, const struct elect_action *action)
{
	switch (action->type) {
	case ELECT_DO_CLAIM:
	case ELECT_DO_READ:
	case ELECT_DO_DELETE:
		ask(e, action);
		break;
	case ELECT_DO_RELIST:
		watch_anew(e);
		break;
	case ELECT_TELL_LEAD:
		if (e->core.epoch == action->epoch)
			note(e, &(struct elect_note){.what = ELECT_LEAD,
			                             .epoch = action->epoch});
		break;
	case ELECT_TELL_STEP_DOWN:
		note(e, &(struct elect_note){.what = ELECT_STEP_DOWN,
		                             .epoch = action->epoch});
		break;
	case ELECT_TELL_FOLLOW:
		tell_follow(e);
		break;
	case ELECT_TELL_TROUBLE:
		tell_trouble(e, action->code);
		break;
	case ELECT_TELL_DONE:
		begin_end(e);
		break;
	}
}

static void step(struct elect *e, const struct elect_event *event)
{
	struct elect_actions actions;

	elect_step(&e->core, event, &actions);
	for (unsigned i = 0; i < actions.count; i++)
		perform(e, &actions.item[i]);
}

/* The clock is heard before anything else. */
static void feed(struct elect *e, struct elect_event event)
{
	uint64_t now = now_of(e);
	const struct pl_err *err = PL_STEAL(e->err);

	while (!e->ending && elect_deadline_ms(&e->core) <= now)
		step(e, &(struct elect_event){.type = ELECT_EV_TIMEOUT, .now_ms = now});
	e->err = err;
	event.now_ms = now;
	if (!e->ending && event.type != ELECT_EV_TIMEOUT)
		step(e, &event);
	e->err = NULL;
}

static void see(struct elect *e, const struct kv_record *record, int64_t revision)
{
	struct pl_err garbled;
	struct elect_event event = {.type = ELECT_EV_SEEN,
	                            .key = key_of(e, record, revision, &garbled)};

	feed(e, event);
}

static void see_events(struct elect *e, const struct relist_note *n)
{
	for (size_t i = 0; i < n->count && !e->ending; i++) {
		const struct kv_event *event = &n->events[i];

		see(e, event->is_delete ? NULL : &event->record, n->revision);
	}
}

static void list_page(struct elect *e, const struct relist_note *n)
{
	for (size_t i = 0; i < n->count; i++) {
		e->listed = key_of(e, &n->records[i], n->revision, &e->listed_err);
		e->listed_holder = e->incoming;
		e->listed_garbled = PL_STEAL(e->err) != NULL;
	}
}

static void list_end(struct elect *e, const struct relist_note *n)
{
	struct elect_event event = {.type = ELECT_EV_SEEN, .key = e->listed};

	event.key.revision = n->revision;
	e->incoming = e->listed_holder;
	e->err = e->listed_garbled ? &e->listed_err : NULL;
	feed(e, event);
}

static void list_begin(struct elect *e)
{
	e->listed = (struct elect_key){0};
	e->listed_holder = (struct leader){0};
	e->listed_garbled = false;
}

static void on_lost(struct elect *e, const struct pl_err *err)
{
	e->err = err;
	feed(e, (struct elect_event){.type = ELECT_EV_BLIND, .code = err->code});
}

static void on_relist(void *ctx, const struct relist_note *n)
{
	struct elect *e = ctx;

	switch (n->what) {
	case RELIST_BEGIN:
		list_begin(e);
		break;
	case RELIST_PAGE:
		list_page(e, n);
		break;
	case RELIST_END:
		list_end(e, n);
		break;
	case RELIST_EVENTS:
		see_events(e, n);
		break;
	case RELIST_PROGRESS:
		break;
	case RELIST_LOST:
		on_lost(e, n->err);
		break;
	case RELIST_TROUBLE:
		note(e, &(struct elect_note){.what = ELECT_TROUBLE, .err = n->err});
		break;
	case RELIST_STOPPED:
		e->relist = NULL;
		e->relist_stopping = false;
		break;
	}
	rearm(e);
}

static void open_relist(struct elect *e)
{
	struct relist_opts opts = {.keys = kv_key(keys_span(&e->key)), .seed = ++e->seed};
	struct pl_err err;

	if (relist_open(e->kv, &opts, on_relist, e, &e->relist, &err) == PL_OK)
		return;
	e->relist_at_ms = now_of(e) + REOPEN_MS;
	note(e, &(struct elect_note){.what = ELECT_TROUBLE, .err = &err});
}

static bool take(bool *flag)
{
	bool was = *flag;

	*flag = false;
	return was;
}

static void do_wanted(struct elect *e)
{
	struct elect_event event = {.type = ELECT_EV_TIMEOUT};

	if (take(&e->wants_rewound)) {
		watch_anew(e);
		event.type = ELECT_EV_BLIND;
		event.code = PL_REWOUND;
	} else if (take(&e->start_failed)) {
		event.type = ELECT_EV_FAILED;
		event.seq = e->failed_seq;
		event.code = e->failure.code;
		e->err = &e->failure;
	} else if (take(&e->wants_stand)) {
		event.type = ELECT_EV_STAND;
		event.stand = e->stand;
		event.rank = e->rank;
	} else if (take(&e->wants_session)) {
		event.type = ELECT_EV_SESSION;
		event.lease = e->lease;
		event.safe_until_ms = e->safe_until_ms;
	} else if (take(&e->wants_stop)) {
		event.type = ELECT_EV_STOP;
		event.resign = e->resign;
	}
	feed(e, event);
}

static void on_timer(void *ctx)
{
	struct elect *e = ctx;

	if (e->ending) {
		finish(e);
		return;
	}
	if (e->relist == NULL && now_of(e) >= e->relist_at_ms)
		open_relist(e);
	do_wanted(e);
	rearm(e);
}

static enum pl_code check_names(const struct elect_opts *opts, struct keys_text *key,
                                struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_LEADER, .name = pl_span_str(opts->role)};
	enum pl_code code = keys_build(&id, key, err);

	return code == PL_OK ? names_check(NAMES_SHARD, opts->id, err) : code;
}

enum pl_code elect_open(struct kv *kv, const struct elect_opts *opts, elect_fn *fn,
                        void *ctx, struct elect **out, struct pl_err *err)
{
	struct keys_text key;
	struct elect *e;
	enum pl_code code = check_names(opts, &key, err);

	if (code != PL_OK)
		return code;
	e = pl_calloc(1, sizeof *e);
	if (e == NULL)
		return pl_err_set(err, PL_NOMEM, "election");
	pl_buf_init(&e->value, VALUE_MAX);
	code = leader_print(opts->id, &e->value, err);
	if (code == PL_OK &&
	    pl_timer_init(&e->timer, kv_timers(kv), on_timer, e) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "election");
	if (code != PL_OK) {
		pl_buf_done(&e->value);
		free(e);
		return code;
	}
	elect_core_init(&e->core, opts->seed);
	pl_list_init(&e->calls);
	e->kv = kv;
	e->key = key;
	e->seed = opts->seed;
	e->fn = fn;
	e->ctx = ctx;
	rearm(e);
	*out = e;
	return PL_OK;
}

/* Bad news at once; a lease that is not ours yet may wait for the timer. */
void elect_session(struct elect *e, int64_t lease, uint64_t safe_until_ms)
{
	struct elect_event event = {.type = ELECT_EV_SESSION};

	if (e->ending)
		return;
	e->wants_session = lease != 0 && lease != e->core.lease;
	e->lease = lease;
	e->safe_until_ms = safe_until_ms;
	if (lease != 0 && lease == e->core.lease) {
		event.lease = lease;
		event.safe_until_ms = safe_until_ms;
	}
	feed(e, event);
	rearm(e);
}

void elect_stand(struct elect *e, bool stand, uint32_t rank)
{
	e->wants_stand = true;
	e->stand = stand;
	e->rank = rank;
	rearm(e);
}

void elect_rewound(struct elect *e)
{
	e->wants_rewound = true;
	rearm(e);
}

uint64_t elect_hash(const char *role, struct pl_span id)
{
	char text[KEYS_SIZE_MAX + LEADER_SHARD_SIZE];
	int len = snprintf(text, sizeof text, "%s/" PL_SPAN_FMT, role, PL_SPAN_ARG(id));

	PL_ASSERT(len > 0 && (size_t)len < sizeof text);
	return pl_hash(pl_span(text, (size_t)len));
}

int64_t elect_epoch(const struct elect *e)
{
	bool leaving = e->ending || e->wants_stop || e->wants_rewound ||
	               (e->wants_stand && !e->stand);

	/* The timer may be late, the clock is not. */
	if (leaving || e->core.safe_until_ms <= now_of(e))
		return 0;
	return e->core.epoch;
}

size_t elect_guard(const struct elect *e, struct kv_compare out[ELECT_COMPARES])
{
	int64_t epoch = elect_epoch(e);

	if (epoch == 0)
		return 0;
	compares_of(e, epoch, e->core.lease, out);
	return ELECT_COMPARES;
}

void elect_stop(struct elect *e, bool resign)
{
	e->wants_stop = true;
	e->resign = resign;
	rearm(e);
}
