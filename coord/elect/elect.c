#include "coord/elect/elect.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/elect/elect_int.h"
#include "store/base/alloc.h"
#include "store/base/hash.h"

/*
 * The driver of elect_core: a watch on one key, and three transactions. Each
 * transaction reads the key if its compares do not hold, so every answer says what the
 * key was at the answer's revision.
 *
 * Wishes of the user are recorded and performed from the timer, on a fresh stack. The
 * session alone goes straight to the core, because its end must take effect at once. A
 * call that the core has given up is ignored and waited for at the end.
 */

enum { VALUE_MAX = 512 };

static uint64_t earlier_ms(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_due(const struct elect *e)
{
	return e->wants_campaign || e->wants_session || e->wants_stop ||
	       e->wants_rewound || e->start_failed;
}

void elect_rearm(struct elect *e)
{
	uint64_t now = kv_now_ms(e->kv), at;

	if (e->ending)
		at = e->relist == NULL && pl_list_empty(&e->calls) ? now : UINT64_MAX;
	else
		at = is_due(e) ? now : elect_deadline_ms(&e->core);
	if (!e->ending && e->relist == NULL)
		at = earlier_ms(at, e->relist_at_ms);
	if (at == UINT64_MAX)
		pl_timer_stop(&e->timer);
	else
		pl_timer_set(&e->timer, at);
}

void elect_report(struct elect *e, const struct elect_note *note)
{
	e->fn(e->ctx, note);
}

static void elect_finish(struct elect *e)
{
	static const struct elect_note stopped = {.what = ELECT_STOPPED};
	elect_fn *fn = e->fn;
	void *ctx = e->ctx;

	pl_timer_done(&e->timer);
	pl_buf_done(&e->value);
	free(e);
	fn(ctx, &stopped);
}

static void begin_stop(struct elect *e)
{
	e->ending = true;
	elect_unwatch(e);
	elect_cancel(e);
}

static void report_trouble(struct elect *e, enum pl_code code)
{
	struct elect_note trouble = {.what = ELECT_TROUBLE, .err = e->err};
	struct pl_err own;

	if (e->err == NULL || e->err->code != code) {
		pl_err_set(&own, code, "%s", e->key.at);
		trouble.err = &own;
	}
	elect_report(e, &trouble);
}

static void report_follow(struct elect *e)
{
	struct elect_note follow = {.what = ELECT_FOLLOW};
	struct holder holder = e->incoming; /* copied, because a note may replace it */
	const struct pl_err *malformed = e->err;

	follow.leader = pl_span_str(holder.shard);
	if (malformed != NULL)
		elect_report(
			e, &(struct elect_note){.what = ELECT_TROUBLE, .err = malformed});
	elect_report(e, &follow);
}

static void perform_action(struct elect *e, const struct elect_action *action)
{
	switch (action->type) {
	case ELECT_DO_CLAIM:
	case ELECT_DO_READ:
	case ELECT_DO_DELETE:
		elect_request(e, action);
		break;
	case ELECT_DO_RELIST:
		elect_watch_again(e);
		break;
	case ELECT_REPORT_LEAD:
		if (e->core.epoch == action->epoch)
			elect_report(e, &(struct elect_note){.what = ELECT_LEAD,
			                                     .epoch = action->epoch});
		break;
	case ELECT_REPORT_STEP_DOWN:
		elect_report(e, &(struct elect_note){.what = ELECT_STEP_DOWN,
		                                     .epoch = action->epoch});
		break;
	case ELECT_REPORT_FOLLOW:
		report_follow(e);
		break;
	case ELECT_REPORT_TROUBLE:
		report_trouble(e, action->code);
		break;
	case ELECT_REPORT_DONE:
		begin_stop(e);
		break;
	}
}

static void step_core(struct elect *e, const struct elect_event *event)
{
	struct elect_actions actions;

	elect_step(&e->core, event, &actions);
	for (unsigned i = 0; i < actions.count; i++)
		perform_action(e, &actions.item[i]);
}

/* The clock is checked before anything else. */
void elect_feed(struct elect *e, struct elect_event event)
{
	uint64_t now = kv_now_ms(e->kv);
	const struct pl_err *err = PL_STEAL(e->err);

	while (!e->ending && elect_deadline_ms(&e->core) <= now)
		step_core(e,
		          &(struct elect_event){.type = ELECT_EV_TIMEOUT, .now_ms = now});
	e->err = err;
	event.now_ms = now;
	if (!e->ending && event.type != ELECT_EV_TIMEOUT)
		step_core(e, &event);
	e->err = NULL;
}

static bool take_flag(bool *flag)
{
	bool was = *flag;

	*flag = false;
	return was;
}

static void feed_wanted(struct elect *e)
{
	struct elect_event event = {.type = ELECT_EV_TIMEOUT};

	if (take_flag(&e->wants_rewound)) {
		elect_watch_again(e);
		event.type = ELECT_EV_WATCH_LOST;
		event.code = PL_REWOUND;
	} else if (take_flag(&e->start_failed)) {
		event.type = ELECT_EV_FAILED;
		event.seq = e->failed_seq;
		event.code = e->failure.code;
		e->err = &e->failure;
	} else if (take_flag(&e->wants_campaign)) {
		event.type = ELECT_EV_CAMPAIGN;
		event.campaign = e->campaign;
		event.rank = e->rank;
	} else if (take_flag(&e->wants_session)) {
		event.type = ELECT_EV_SESSION;
		event.lease = e->lease;
		event.safe_until_ms = e->safe_until_ms;
	} else if (take_flag(&e->wants_stop)) {
		event.type = ELECT_EV_STOP;
		event.resign = e->resign;
	}
	elect_feed(e, event);
}

static void on_timer(void *ctx)
{
	struct elect *e = ctx;

	if (e->ending) {
		elect_finish(e);
		return;
	}
	if (e->relist == NULL && kv_now_ms(e->kv) >= e->relist_at_ms)
		elect_watch(e);
	feed_wanted(e);
	elect_rearm(e);
}

static enum pl_code build_keys(const struct elect_opts *opts, struct keys_text *key,
                               struct keys_text *shard_key, struct pl_err *err)
{
	struct keys_id role = {.kind = KEYS_LEADER, .name = pl_span_str(opts->role)};
	struct keys_id shard = {.kind = KEYS_SHARD, .name = opts->id};
	enum pl_code code = keys_build(&role, key, err);

	return code == PL_OK ? keys_build(&shard, shard_key, err) : code;
}

enum pl_code elect_open(struct kv *kv, const struct elect_opts *opts, elect_fn *fn,
                        void *ctx, struct elect **out, struct pl_err *err)
{
	struct keys_text key, shard_key;
	struct elect *e;
	enum pl_code code = build_keys(opts, &key, &shard_key, err);

	if (code != PL_OK)
		return code;
	e = pl_calloc(1, sizeof *e);
	if (e == NULL)
		return pl_err_set(err, PL_NOMEM, "election");
	pl_buf_init(&e->value, VALUE_MAX);
	code = holder_print(opts->id, &e->value, err);
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
	e->shard_key = shard_key;
	e->seed = opts->seed;
	e->fn = fn;
	e->ctx = ctx;
	elect_rearm(e);
	*out = e;
	return PL_OK;
}

/* The end of a session takes effect at once; a new lease waits for the timer. */
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
	elect_feed(e, event);
	elect_rearm(e);
}

void elect_campaign(struct elect *e, bool campaign, uint32_t rank)
{
	e->wants_campaign = true;
	e->campaign = campaign;
	e->rank = rank;
	elect_rearm(e);
}

void elect_rewound(struct elect *e)
{
	e->wants_rewound = true;
	elect_rearm(e);
}

uint64_t elect_hash(const char *role, struct pl_span id)
{
	char text[KEYS_SIZE_MAX + HOLDER_SHARD_SIZE];
	int len;

	/* An id that is too long for a name comes from a key that was made by hand; any
	 * rank will do. */
	if (id.len >= HOLDER_SHARD_SIZE)
		id.len = HOLDER_SHARD_SIZE - 1;
	len = snprintf(text, sizeof text, "%s/" PL_SPAN_FMT, role, PL_SPAN_ARG(id));
	PL_ASSERT(len > 0 && (size_t)len < sizeof text);
	return pl_hash(pl_span(text, (size_t)len));
}

int64_t elect_epoch(const struct elect *e)
{
	bool leaving = e->ending || e->wants_stop || e->wants_rewound ||
	               (e->wants_campaign && !e->campaign);

	/* the timer may be late, so the clock decides */
	if (leaving || e->core.safe_until_ms <= kv_now_ms(e->kv))
		return 0;
	return e->core.epoch;
}

size_t elect_guard(const struct elect *e, struct kv_compare out[ELECT_COMPARES])
{
	int64_t epoch = elect_epoch(e);

	if (epoch == 0)
		return 0;
	elect_compares(e, epoch, e->core.lease, out);
	return ELECT_COMPARES;
}

void elect_stop(struct elect *e, bool resign)
{
	e->wants_stop = true;
	e->resign = resign;
	elect_rearm(e);
}
