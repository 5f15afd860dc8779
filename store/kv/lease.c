#include "store/kv/lease.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"

/*
 * The requests of the user are recorded and done from the timer, so that a note may call
 * any function of the lease without the core changing under the notes behind it. A
 * keep-alive that passes its deadline ends its call, which makes a client of etcd use
 * another member for the next one.
 */

enum { TTL_MAX_S = 1 << 30 };

struct lease_call {
	struct pl_list link;
	struct lease *owner;
	struct kv_call *handle;
	enum lease_action_type type;
	uint32_t seq;
};

struct lease {
	struct lease_core core;
	struct kv *kv;
	struct pl_timer timer;
	struct pl_list calls;
	lease_fn *fn;
	void *ctx;
	unsigned wanted;   /* events that the user asked for: 1u << LEASE_EV_START, ... */
	bool start_failed; /* a request could not even be started */
	struct lease_event failure;
	bool ending; /* only the calls in flight are waited for */
	struct lease_note last;
};

static uint64_t now_of(const struct lease *lease)
{
	return kv_now_ms(lease->kv);
}

static void lease_rearm(struct lease *lease)
{
	bool due = lease->wanted != 0 || lease->start_failed;
	uint64_t at = due ? now_of(lease) : lease_deadline_ms(&lease->core);

	if (lease->ending)
		return;
	if (at == UINT64_MAX)
		pl_timer_stop(&lease->timer);
	else
		pl_timer_set(&lease->timer, at);
}

static void lease_finish(struct lease *lease)
{
	struct lease_note last = lease->last;
	lease_fn *fn = lease->fn;
	void *ctx = lease->ctx;

	pl_timer_done(&lease->timer);
	free(lease);
	fn(ctx, &last);
}

static void lease_begin_end(struct lease *lease, enum pl_code code)
{
	lease->ending = true;
	lease->last = (struct lease_note){
		.state = LEASE_RELEASED, .id = lease->core.id, .code = code};
	PL_LIST_EACH (link, &lease->calls)
		kv_cancel(lease->kv, PL_LIST_ITEM(link, struct lease_call, link)->handle);
	if (pl_list_empty(&lease->calls))
		pl_timer_set(&lease->timer, now_of(lease));
	else
		pl_timer_stop(&lease->timer);
}

static void feed_event(struct lease *lease, struct lease_event event);

static struct lease_event event_of(const struct lease_call *call,
                                   const struct kv_result *result,
                                   const struct pl_err *err, uint64_t now_ms)
{
	static const enum lease_event_type good[] = {
		[LEASE_DO_GRANT] = LEASE_EV_GRANTED,
		[LEASE_DO_KEEP] = LEASE_EV_KEPT,
		[LEASE_DO_REVOKE] = LEASE_EV_REVOKED,
	};
	struct lease_event event = {.type = LEASE_EV_FAILED, .seq = call->seq};

	if (result == NULL) {
		event.code = err->code;
		return event;
	}
	event.sent_ms = result->sent_ms < now_ms ? result->sent_ms : now_ms;
	event.ttl_s = result->lease.ttl_s;
	if (call->type != LEASE_DO_REVOKE &&
	    (event.ttl_s <= 0 || event.ttl_s > TTL_MAX_S))
		event.code = PL_PROTO;
	else
		event.type = good[call->type];
	return event;
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct lease_call *call = ctx;
	struct lease *lease = call->owner;
	struct lease_event event = event_of(call, result, err, now_of(lease));

	pl_list_del(&call->link);
	free(call);
	if (!lease->ending) {
		feed_event(lease, event);
		lease_rearm(lease);
	} else if (pl_list_empty(&lease->calls)) {
		lease_finish(lease);
	}
}

static void send_request(struct lease *lease, const struct lease_action *action)
{
	static const enum kv_op ops[] = {
		[LEASE_DO_GRANT] = KV_LEASE_GRANT,
		[LEASE_DO_KEEP] = KV_LEASE_KEEP,
		[LEASE_DO_REVOKE] = KV_LEASE_REVOKE,
	};
	struct kv_req req = {.op = ops[action->type],
	                     .lease = {.id = action->id, .ttl_s = lease->core.ttl_s}};
	struct lease_call *call = pl_malloc(sizeof *call);
	enum pl_code code = PL_NOMEM;

	if (call != NULL) {
		*call = (struct lease_call){
			.owner = lease, .type = action->type, .seq = action->seq};
		code = kv_start(lease->kv, &req, action->timeout_ms, on_done, call,
		                &call->handle, NULL);
	}
	if (code == PL_OK) {
		pl_list_add_tail(&lease->calls, &call->link);
		return;
	}
	free(call);
	lease->start_failed = true;
	lease->failure = (struct lease_event){
		.type = LEASE_EV_FAILED, .seq = action->seq, .code = code};
}

static void report_state(struct lease *lease, const struct lease_action *action,
                         enum lease_state state)
{
	struct lease_note note = {.state = state,
	                          .id = action->id,
	                          .safe_until_ms = action->safe_until_ms,
	                          .code = action->code};

	lease->fn(lease->ctx, &note);
}

static void perform_action(struct lease *lease, const struct lease_action *action)
{
	switch (action->type) {
	case LEASE_DO_GRANT:
	case LEASE_DO_KEEP:
	case LEASE_DO_REVOKE:
		send_request(lease, action);
		break;
	case LEASE_REPORT_HELD:
		report_state(lease, action, LEASE_HELD);
		break;
	case LEASE_REPORT_DOUBT:
		report_state(lease, action, LEASE_DOUBT);
		break;
	case LEASE_REPORT_EXPIRED:
		report_state(lease, action, LEASE_EXPIRED);
		break;
	case LEASE_REPORT_LOST:
		report_state(lease, action, LEASE_LOST);
		break;
	case LEASE_REPORT_TROUBLE:
		report_state(lease, action, LEASE_GRANTING);
		break;
	case LEASE_REPORT_RELEASED:
		lease_begin_end(lease, action->code);
		break;
	}
}

static void step_core(struct lease *lease, const struct lease_event *event)
{
	struct lease_actions actions;

	lease_step(&lease->core, event, &actions);
	/* A lease that is abandoned in one of its notes sends nothing more. */
	for (unsigned i = 0; i < actions.count && !lease->ending; i++)
		perform_action(lease, &actions.item[i]);
}

/* The core learns of the time before it learns of anything else. */
static void feed_event(struct lease *lease, struct lease_event event)
{
	uint64_t now = now_of(lease);

	while (!lease->ending && lease_deadline_ms(&lease->core) <= now)
		step_core(lease,
		          &(struct lease_event){.type = LEASE_EV_TIMEOUT, .now_ms = now});
	if (lease->ending || event.type == LEASE_EV_TIMEOUT)
		return;
	event.now_ms = now;
	step_core(lease, &event);
}

/* The first of what the user wants, which is then done with. */
static void take_wanted(struct lease *lease, enum lease_event_type *out)
{
	static const enum lease_event_type order[] = {LEASE_EV_START, LEASE_EV_RELEASE,
	                                              LEASE_EV_GIVE_UP, LEASE_EV_REGRANT};

	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
		if ((lease->wanted & 1u << order[i]) == 0)
			continue;
		lease->wanted &= ~(1u << order[i]);
		*out = order[i];
		return;
	}
}

static void want_event(struct lease *lease, enum lease_event_type type)
{
	lease->wanted |= 1u << type;
	lease_rearm(lease);
}

static void on_timer(void *ctx)
{
	struct lease *lease = ctx;
	struct lease_event event = {.type = LEASE_EV_TIMEOUT};

	if (lease->ending) {
		lease_finish(lease);
		return;
	}
	if (lease->start_failed) {
		lease->start_failed = false;
		event = lease->failure;
	} else {
		take_wanted(lease, &event.type);
	}
	feed_event(lease, event);
	lease_rearm(lease);
}

enum pl_code lease_open(struct kv *kv, const struct lease_opts *opts, lease_fn *fn,
                        void *ctx, struct lease **out, struct pl_err *err)
{
	struct lease *lease;
	enum pl_code code;

	if (opts->ttl_s <= 0 || opts->ttl_s > TTL_MAX_S ||
	    opts->margin_ms >= (uint64_t)opts->ttl_s * 500)
		return pl_err_set(
			err, PL_INVALID, "lease of %lld s with a margin of %llu ms",
			(long long)opts->ttl_s, (unsigned long long)opts->margin_ms);
	lease = pl_calloc(1, sizeof *lease);
	if (lease == NULL)
		return pl_err_set(err, PL_NOMEM, "lease");
	code = pl_timer_init(&lease->timer, kv_timers(kv), on_timer, lease);
	if (code != PL_OK) {
		free(lease);
		return pl_err_set(err, code, "lease");
	}
	lease_core_init(&lease->core, opts->ttl_s, opts->margin_ms,
	                opts->seed != 0 ? opts->seed : pl_rng_seed_random());
	pl_list_init(&lease->calls);
	lease->kv = kv;
	lease->fn = fn;
	lease->ctx = ctx;
	want_event(lease, LEASE_EV_START);
	*out = lease;
	return PL_OK;
}

void lease_regrant(struct lease *lease)
{
	want_event(lease, LEASE_EV_REGRANT);
}

void lease_give_up(struct lease *lease)
{
	want_event(lease, LEASE_EV_GIVE_UP);
}

void lease_release(struct lease *lease)
{
	want_event(lease, LEASE_EV_RELEASE);
}

void lease_abandon(struct lease *lease)
{
	if (!lease->ending)
		lease_begin_end(lease, PL_CANCELED);
}

int64_t lease_id(const struct lease *lease)
{
	return lease_safe_until_ms(lease) != 0 ? lease->core.id : 0;
}

uint64_t lease_safe_until_ms(const struct lease *lease)
{
	enum lease_state state = lease->core.state;

	if (lease->ending || (state != LEASE_HELD && state != LEASE_DOUBT))
		return 0;
	/* The timer may be late, but the clock is not. */
	return lease->core.safe_until_ms > now_of(lease) ? lease->core.safe_until_ms : 0;
}
