#include "tests/faultlab/faulty_client.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/base/rng.h"
#include "store/kv/calls.h"
#include "store/kv/rewrite.h"

enum { PERCENT = 3, PAST = 12, SETTLED = 24, RETRY_MS = 2000 };

struct faulty_client {
	struct kv kv;
	struct kv *inner;
	enum client_fault fault;
	struct pl_rng rng;
	uint64_t faults;
	int64_t newest; /* revision seen in any answer */
	kv_closed_fn *closed;
	void *ctx;
};

struct faulty_call {
	struct faulty_client *client;
	kv_done_fn *done;
	void *ctx;
	struct pl_arena arena;
	struct kv_req req; /* the request as the caller made it */
	bool forged;       /* something else was sent */
	bool retried;
};

struct faulty_watch {
	struct faulty_client *client;
	struct kv_watch *inner;
	kv_watch_fn *fn;
	void *ctx;
	bool broken;
};

static struct faulty_client *client_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct faulty_client, kv);
}

static bool fault_now(struct faulty_client *client, enum client_fault fault)
{
	if (client->fault != fault || !pl_rng_chance(&client->rng, PERCENT, 100))
		return false;
	client->faults++;
	return true;
}

static void call_end(struct faulty_call *call, const struct kv_result *result,
                     const struct pl_err *err)
{
	call->done(call->ctx, result, err);
	pl_arena_done(&call->arena);
	free(call);
}

static void forged_answer(struct faulty_call *call, const struct kv_result *sent)
{
	struct kv_result result = {
		.op = call->req.op, .header = sent->header, .sent_ms = sent->sent_ms};

	if (call->req.op == KV_GET) {
		result.get = sent->get;
		if (call->client->fault == CLIENT_FAULT_OLD_ANSWER)
			result.header.revision -= PAST;
	} else if (call->req.op == KV_LEASE_KEEP) {
		result.lease =
			(struct kv_lease_result){.id = call->req.lease.id, .ttl_s = 4};
	}
	call_end(call, &result, NULL);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct faulty_call *call = ctx;
	struct faulty_client *client = call->client;
	struct pl_err other;

	if (result != NULL && result->header.revision > client->newest)
		client->newest = result->header.revision;
	if (err != NULL && err->code == PL_UNKNOWN && kv_req_writes(&call->req)) {
		if (client->fault == CLIENT_FAULT_UNKNOWN_IS_FAILED) {
			client->faults++;
			pl_err_set(&other, PL_UNAVAIL, "no luck");
			call_end(call, NULL, &other);
			return;
		}
		if (client->fault == CLIENT_FAULT_RETRIES_UNKNOWN && !call->retried) {
			call->retried = true;
			client->faults++;
			if (kv_start(client->inner, &call->req, RETRY_MS, on_done, call,
			             NULL, &other) == PL_OK)
				return;
		}
	}
	if (call->forged && result != NULL)
		forged_answer(call, result);
	else
		call_end(call, result, err);
}

/* The request that is sent instead of the caller's. */
static struct kv_req forge_request(struct faulty_client *client, struct faulty_call *call)
{
	struct kv_req sent = call->req;

	if (sent.op == KV_PUT && fault_now(client, CLIENT_FAULT_FORGES_WRITES)) {
		call->forged = true;
		sent = kv_op_get(kv_key(call->req.put.key));
	} else if (sent.op == KV_TXN && sent.txn.compare_count > 0 &&
	           fault_now(client, CLIENT_FAULT_IGNORES_COMPARES)) {
		sent.txn.compare_count = 0;
	} else if (sent.op == KV_GET && sent.get.keys.kind == KV_ONE &&
	           !sent.get.serializable && client->newest > SETTLED &&
	           (fault_now(client, CLIENT_FAULT_OLD_VALUE) ||
	            fault_now(client, CLIENT_FAULT_OLD_ANSWER))) {
		call->forged = true;
		sent.get.revision = client->newest - PAST;
	} else if (sent.op == KV_LEASE_KEEP &&
	           client->fault == CLIENT_FAULT_KEEPS_NO_LEASE) {
		client->faults++;
		call->forged = true;
		sent = kv_op_get(kv_key(PL_SPAN_LIT("/lab/nothing")));
	}
	return sent;
}

static enum pl_code faulty_start(struct kv *kv, const struct kv_req *req,
                                 uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                 struct kv_call **out, struct pl_err *err)
{
	struct faulty_client *client = client_of(kv);
	struct faulty_call *call = pl_calloc(1, sizeof *call);
	struct kv_req sent;
	enum pl_code code;

	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "faulty client");
	*call = (struct faulty_call){.client = client, .done = done, .ctx = ctx};
	pl_arena_init(&call->arena, 0, 0);
	code = kv_req_copy(&call->arena, req, &call->req);
	if (code == PL_OK) {
		sent = forge_request(client, call);
		code = kv_start(client->inner, &sent, timeout_ms, on_done, call, out,
		                err);
	}
	if (code != PL_OK) {
		pl_arena_done(&call->arena);
		free(call);
	}
	return code;
}

static void faulty_cancel(struct kv *kv, struct kv_call *call)
{
	kv_cancel(client_of(kv)->inner, call);
}

static void pass_note(struct faulty_watch *watch, const struct kv_watch_note *note)
{
	watch->fn(watch->ctx, note);
}

static void on_end(struct faulty_watch *watch, const struct kv_watch_note *note)
{
	struct kv_watch_note end = *note;
	struct pl_err err;

	if (watch->broken) {
		pl_err_set(&err, PL_UNAVAIL, "tired");
		end.err = &err;
	}
	pass_note(watch, &end);
	free(watch);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct faulty_watch *watch = ctx;
	struct faulty_client *client = watch->client;

	if (note->what == KV_WATCH_END) {
		on_end(watch, note);
		return;
	}
	if (note->what == KV_WATCH_EVENTS && fault_now(client, CLIENT_FAULT_DROPS_EVENTS))
		return;
	if (note->what == KV_WATCH_EVENTS &&
	    fault_now(client, CLIENT_FAULT_REPEATS_EVENTS))
		pass_note(watch, note);
	if (note->what == KV_WATCH_EVENTS && !watch->broken &&
	    fault_now(client, CLIENT_FAULT_ENDS_WATCHES)) {
		watch->broken = true;
		kv_unwatch(client->inner, watch->inner);
		return;
	}
	if (note->what == KV_WATCH_PROGRESS &&
	    client->fault == CLIENT_FAULT_FALSE_PROGRESS) {
		struct kv_watch_note more = *note;

		client->faults++;
		more.revision += PAST;
		pass_note(watch, &more);
		return;
	}
	pass_note(watch, note);
}

static enum pl_code faulty_watch(struct kv *kv, const struct kv_watch_req *req,
                                 kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                 struct pl_err *err)
{
	struct faulty_watch *watch = pl_calloc(1, sizeof *watch);
	enum pl_code code;

	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "faulty client");
	*watch = (struct faulty_watch){.client = client_of(kv), .fn = fn, .ctx = ctx};
	code = kv_watch(client_of(kv)->inner, req, on_note, watch, &watch->inner, err);
	if (code == PL_OK && out != NULL)
		*out = watch->inner;
	if (code != PL_OK)
		free(watch);
	return code;
}

/* The handle is the inner one; a watch that has been broken off is ending. */
static void faulty_unwatch(struct kv *kv, struct kv_watch *watch)
{
	if (client_of(kv)->fault != CLIENT_FAULT_ENDS_WATCHES)
		kv_unwatch(client_of(kv)->inner, watch);
}

static enum pl_code faulty_progress(struct kv *kv, struct kv_watch *watch,
                                    int64_t revision, struct pl_err *err)
{
	if (client_of(kv)->fault == CLIENT_FAULT_ENDS_WATCHES)
		return PL_OK;
	return kv_progress(client_of(kv)->inner, watch, revision, err);
}

static struct kv_limits faulty_limits(struct kv *kv)
{
	return kv_limits(client_of(kv)->inner);
}

static size_t faulty_room(struct kv *kv)
{
	return kv_room(client_of(kv)->inner);
}

static void faulty_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	kv_when_room(client_of(kv)->inner, waiter);
}

static uint64_t faulty_now_ms(struct kv *kv)
{
	return kv_now_ms(client_of(kv)->inner);
}

static struct pl_timers *faulty_timers(struct kv *kv)
{
	return kv_timers(client_of(kv)->inner);
}

static void on_closed(void *ctx)
{
	struct faulty_client *client = ctx;
	kv_closed_fn *closed = client->closed;
	void *closed_ctx = client->ctx;

	free(client);
	closed(closed_ctx);
}

static void faulty_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct faulty_client *client = client_of(kv);

	client->closed = closed;
	client->ctx = ctx;
	kv_close(client->inner, on_closed, client);
}

static const struct kv_ops faulty_ops = {
	.name = "faulty client",
	.start = faulty_start,
	.cancel = faulty_cancel,
	.watch = faulty_watch,
	.unwatch = faulty_unwatch,
	.progress = faulty_progress,
	.limits = faulty_limits,
	.room = faulty_room,
	.when_room = faulty_when_room,
	.now_ms = faulty_now_ms,
	.timers = faulty_timers,
	.close = faulty_close,
};

enum pl_code faulty_client_open(struct kv *kv, enum client_fault fault, uint64_t seed,
                                struct kv **out, struct pl_err *err)
{
	struct faulty_client *client = pl_calloc(1, sizeof *client);

	if (client == NULL)
		return pl_err_set(err, PL_NOMEM, "faulty client");
	client->kv.ops = &faulty_ops;
	client->inner = kv;
	client->fault = fault;
	pl_rng_init(&client->rng, seed);
	*out = &client->kv;
	return PL_OK;
}

uint64_t faulty_client_faults(const struct kv *kv)
{
	const char *at = (const char *)kv;
	const struct faulty_client *client =
		(const void *)(at - offsetof(struct faulty_client, kv));

	return client->faults;
}
