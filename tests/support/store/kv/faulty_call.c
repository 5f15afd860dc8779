#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/check.h"
#include "store/kv/keys.h"
#include "store/kv/rewrite.h"
#include "tests/support/store/kv/faulty_impl.h"

/*
 * A call has up to three deadlines, on one timer:
 *
 *	forward_ms   the request reaches the wrapped kv
 *	report_ms    the outcome is reported
 *	deadline_ms  the outcome is reported although there is none
 *
 * A call that has been reported lives on until the wrapped kv is done with it: a write
 * that its caller has given up may still be applied.
 */

struct faulty_plan {
	uint64_t request_ms, answer_ms;
	uint64_t late_ms; /* 0: not late */
	enum pl_code refuse;
	bool lose;
	bool after_note;
	bool any;
};

struct faulty_call {
	struct pl_list link;
	struct faulty *owner;
	struct pl_timer timer;
	struct pl_arena arena;
	struct kv_req req; /* only while the request waits to be forwarded */
	struct faulty_plan plan;
	struct kv_call *inner;
	kv_done_fn *done;
	void *ctx;
	uint64_t started_ms, timeout_ms;
	uint64_t forward_ms, report_ms, deadline_ms;
	bool writes;
	bool pending; /* the wrapped kv has the request */
	bool reported;
	bool has_result;
	struct kv_result result;
	struct pl_err err;
};

static bool keys_match(struct kv_keys keys, struct pl_span prefix)
{
	return pl_span_starts(keys.from, prefix);
}

static bool ops_match(const struct kv_req *ops, size_t count, struct pl_span prefix);

static bool req_matches(const struct kv_req *req, /* NOLINT(misc-no-recursion) */
                        struct pl_span prefix)
{
	switch (req->op) {
	case KV_GET:
		return keys_match(req->get.keys, prefix);
	case KV_PUT:
		return pl_span_starts(req->put.key, prefix);
	case KV_DELETE:
		return keys_match(req->del.keys, prefix);
	case KV_TXN:
		for (size_t i = 0; i < req->txn.compare_count; i++)
			if (keys_match(req->txn.compares[i].keys, prefix))
				return true;
		return ops_match(req->txn.then, req->txn.then_count, prefix) ||
		       ops_match(req->txn.otherwise, req->txn.otherwise_count, prefix);
	case KV_COMPACT:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	return false;
}

/* The recursion is as deep as the caller nested its transaction. */
static bool ops_match(const struct kv_req *ops, /* NOLINT(misc-no-recursion) */
                      size_t count, struct pl_span prefix)
{
	for (size_t i = 0; i < count; i++)
		if (req_matches(&ops[i], prefix))
			return true;
	return false;
}

static void plan_add(struct faulty *f, const struct faulty_rule *rule,
                     struct faulty_plan *plan)
{
	plan->any = true;
	switch (rule->what) {
	case FAULTY_SLOW_REQUEST:
		plan->request_ms += faulty_delay(f, rule);
		break;
	case FAULTY_SLOW_ANSWER:
		plan->answer_ms += faulty_delay(f, rule);
		break;
	case FAULTY_REFUSE:
		PL_ASSERT(rule->code != PL_OK);
		plan->refuse = rule->code;
		plan->answer_ms += faulty_delay(f, rule);
		break;
	case FAULTY_LOSE_ANSWER:
		plan->lose = true;
		break;
	case FAULTY_APPLY_LATE:
		plan->late_ms = faulty_delay(f, rule) + 1;
		break;
	case FAULTY_AFTER_NOTE:
		plan->after_note = true;
		plan->answer_ms += faulty_delay(f, rule);
		break;
	case FAULTY_SLOW_NOTE:
	case FAULTY_STALL_WATCH:
	case FAULTY_MERGE_NOTES:
	case FAULTY_END_WATCH:
	case FAULTY_WHAT_COUNT:
		PL_UNREACHABLE("a rule for watches");
	}
}

static struct faulty_plan plan_make(struct faulty *f, const struct kv_req *req)
{
	struct faulty_plan plan = {0};

	for (size_t i = 0; i < f->rule_count; i++) {
		const struct faulty_rule *rule = &f->rules[i];

		if (rule->what >= FAULTY_SLOW_NOTE)
			continue;
		if (rule->ops != 0 && (rule->ops & 1u << req->op) == 0)
			continue;
		if (rule->prefix.len != 0 && !req_matches(req, rule->prefix))
			continue;
		if (faulty_fires(f, i))
			plan_add(f, rule, &plan);
	}
	return plan;
}

static uint64_t min_ms(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void call_arm(struct faulty_call *call)
{
	uint64_t next =
		min_ms(call->forward_ms, min_ms(call->report_ms, call->deadline_ms));

	if (next == FAULTY_NEVER)
		pl_timer_stop(&call->timer);
	else
		pl_timer_set(&call->timer, next);
}

static void call_detach(struct faulty_call *call)
{
	pl_list_del(&call->link);
	pl_timer_done(&call->timer);
}

static void call_free(struct faulty_call *call)
{
	pl_arena_done(&call->arena);
	free(call);
}

static void call_fail(struct faulty_call *call, enum pl_code code, const char *why)
{
	call->has_result = false;
	pl_err_set(&call->err, code, "%s: injected: %s", kv_op_name(call->req.op), why);
}

static void call_no_answer(struct faulty_call *call, const char *why)
{
	call_fail(call, call->writes ? PL_UNKNOWN : PL_TIMEOUT, why);
}

/* Reports the outcome. The caller must not touch the call afterwards. */
static void call_report(struct faulty_call *call)
{
	bool over;

	call->reported = true;
	call->report_ms = FAULTY_NEVER;
	call->deadline_ms = FAULTY_NEVER;
	if (call->owner->closing || !call->writes)
		call->forward_ms = FAULTY_NEVER;
	over = !call->pending && call->forward_ms == FAULTY_NEVER;
	if (over)
		call_detach(call);
	else
		call_arm(call);
	faulty_reported(call->owner);
	call->done(call->ctx, call->has_result ? &call->result : NULL,
	           call->has_result ? NULL : &call->err);
	if (over)
		call_free(call);
}

static void call_defer(struct faulty_call *call, const struct kv_result *result,
                       const struct pl_err *err)
{
	call->has_result = false;
	if (err != NULL)
		call->err = *err;
	else if (kv_result_copy(&call->arena, result, &call->result) == PL_OK)
		call->has_result = true;
	else
		call_no_answer(call, "no memory for the answer");
	call->result.sent_ms = call->started_ms;
	call->report_ms = kv_now_ms(call->owner->wrapper.inner) + call->plan.answer_ms;
	call_arm(call);
}

static void call_pass(struct faulty_call *call, const struct kv_result *result,
                      const struct pl_err *err)
{
	kv_done_fn *done = call->done;
	void *ctx = call->ctx;
	struct kv_result answer;

	if (result != NULL) {
		answer = *result;
		answer.sent_ms = min_ms(result->sent_ms, call->started_ms);
		result = &answer;
	}
	faulty_reported(call->owner);
	call_detach(call);
	call_free(call);
	done(ctx, result, err);
}

static void on_inner(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct faulty_call *call = ctx;

	call->pending = false;
	if (call->reported) {
		call_detach(call);
		call_free(call);
	} else if (call->report_ms != FAULTY_NEVER) {
		return; /* canceled meanwhile; the timer reports it */
	} else if (call->plan.lose) {
		call_no_answer(call, "answer lost");
		call_report(call);
	} else if (call->plan.answer_ms != 0) {
		call_defer(call, result, err);
	} else {
		call_pass(call, result, err);
	}
}

static enum pl_code call_forward(struct faulty_call *call, const struct kv_req *req,
                                 struct pl_err *err)
{
	enum pl_code code;

	call->forward_ms = FAULTY_NEVER;
	code = kv_start(call->owner->wrapper.inner, req, call->timeout_ms, on_inner, call,
	                &call->inner, err);
	call->pending = code == PL_OK;
	return code;
}

static void on_timer(void *ctx)
{
	struct faulty_call *call = ctx;
	uint64_t now = kv_now_ms(call->owner->wrapper.inner);

	if (call->forward_ms <= now &&
	    call_forward(call, &call->req, &call->err) != PL_OK && !call->reported)
		call->report_ms = now;
	if (call->report_ms <= now) {
		call_report(call);
	} else if (call->deadline_ms <= now) {
		call_no_answer(call, "deadline passed");
		call_report(call);
	} else if (call->reported && !call->pending && call->forward_ms == FAULTY_NEVER) {
		call_detach(call);
		call_free(call);
	} else {
		call_arm(call);
	}
}

/* Sets the deadlines of a request that is not simply forwarded. */
static void call_schedule(struct faulty_call *call)
{
	struct faulty *f = call->owner;
	uint64_t now = call->started_ms;

	if (call->plan.refuse != PL_OK) {
		call_fail(call, call->plan.refuse, "refused");
		call->report_ms = now + call->plan.answer_ms;
	} else if (call->plan.late_ms != 0) {
		call_no_answer(call, "to be applied late");
		call->forward_ms = now + call->plan.late_ms;
		call->report_ms = now + pl_rng_below(&f->rng, call->plan.late_ms);
	} else {
		call->forward_ms = now + call->plan.request_ms;
	}
	call_arm(call);
}

static enum pl_code call_new(struct faulty *f, const struct kv_req *req,
                             struct faulty_call **out)
{
	struct faulty_call *call = pl_calloc(1, sizeof *call);

	if (call == NULL)
		return PL_NOMEM;
	if (pl_timer_init(&call->timer, kv_timers(f->wrapper.inner), on_timer, call) !=
	    PL_OK) {
		free(call);
		return PL_NOMEM;
	}
	pl_list_init(&call->link);
	pl_arena_init(&call->arena, 1024, 0);
	call->owner = f;
	call->req.op = req->op;
	call->writes = kv_req_writes(req);
	call->started_ms = kv_now_ms(f->wrapper.inner);
	call->forward_ms = FAULTY_NEVER;
	call->report_ms = FAULTY_NEVER;
	call->deadline_ms = FAULTY_NEVER;
	*out = call;
	return PL_OK;
}

static enum pl_code call_go(struct faulty_call *call, const struct kv_req *req,
                            struct pl_err *err)
{
	const struct faulty_plan *plan = &call->plan;

	if (plan->any)
		call->deadline_ms = call->started_ms + call->timeout_ms;
	if (plan->refuse == PL_OK && plan->late_ms == 0 && plan->request_ms == 0) {
		enum pl_code code = call_forward(call, req, err);

		if (code == PL_OK)
			call_arm(call);
		return code;
	}
	if (kv_req_copy(&call->arena, req, &call->req) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
	call_schedule(call);
	return PL_OK;
}

enum pl_code faulty_start(struct kv *kv, const struct kv_req *req, uint64_t timeout_ms,
                          kv_done_fn *done, void *ctx, struct kv_call **out,
                          struct pl_err *err)
{
	struct faulty *f = PL_CONTAINER_OF(kv, struct faulty, wrapper.kv);
	struct faulty_plan plan;
	struct faulty_call *call;
	enum pl_code code = kv_check_req(req, err); /* a bad request fails at once */

	if (code != PL_OK)
		return code;
	if (f->closing)
		return pl_err_set(err, PL_CANCELED, "closed");
	plan = plan_make(f, req);
	if (plan.refuse == PL_BUSY)
		return pl_err_set(err, PL_BUSY, "injected: no room");
	code = call_new(f, req, &call);
	if (code != PL_OK)
		return pl_err_set(err, code, "%s", kv_op_name(req->op));
	call->plan = plan;
	call->timeout_ms = timeout_ms;
	call->done = done;
	call->ctx = ctx;
	code = call_go(call, req, err);
	if (code != PL_OK) {
		pl_timer_done(&call->timer);
		call_free(call);
		return code;
	}
	pl_list_add_tail(&f->calls, &call->link);
	f->unreported++;
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

/* To its caller, a write that waits to be forwarded has been sent already. */
static void call_cut(struct faulty_call *call)
{
	call_fail(call, call->writes ? PL_UNKNOWN : PL_CANCELED, "canceled");
	call->report_ms = kv_now_ms(call->owner->wrapper.inner);
	if (!call->writes)
		call->forward_ms = FAULTY_NEVER;
	call_arm(call);
}

void faulty_cancel(struct kv *kv, struct kv_call *handle)
{
	struct faulty_call *call = (struct faulty_call *)(void *)handle;

	PL_ASSERT(!call->reported);
	if (call->pending && !call->plan.any)
		kv_cancel(PL_CONTAINER_OF(kv, struct faulty, wrapper.kv)->wrapper.inner,
		          call->inner);
	else
		call_cut(call);
}

void faulty_calls_on_note(struct faulty *f)
{
	PL_LIST_EACH (link, &f->calls) {
		struct faulty_call *call = PL_LIST_ITEM(link, struct faulty_call, link);

		if (call->plan.after_note && !call->reported &&
		    call->report_ms != FAULTY_NEVER) {
			call->report_ms = kv_now_ms(f->wrapper.inner);
			call_arm(call);
		}
	}
}

void faulty_calls_close(struct faulty *f)
{
	PL_LIST_EACH (link, &f->calls) {
		struct faulty_call *call = PL_LIST_ITEM(link, struct faulty_call, link);

		if (!call->reported) {
			call_cut(call);
		} else if (!call->pending) {
			call_detach(call);
			call_free(call);
		}
	}
}
