#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/check.h"
#include "store/kv/keys.h"
#include "store/kv/rewrite.h"
#include "tests/sim/simkv_int.h"

/*
 * A call has two halves: the request that travels, and the caller that waits. Whichever
 * ends first, the other goes on: a write whose caller has given up still arrives.
 */

enum stage {
	GOING,    /* to the store */
	AT_STORE, /* the store has the request */
	COMING,   /* back, with an answer */
	GONE,     /* lost, or delivered */
};

enum { CALL_ARENA = 1024, CALL_BYTES = 64 };

struct simkv_call {
	struct pl_list link;
	struct simkv *owner; /* NULL: the process has died */
	bool reported;       /* the caller does not wait any more */
	struct agenda *agenda;
	struct simstore *store;
	struct simstore_job job;
	enum stage stage;
	struct agenda_item wire;
	struct agenda_item report; /* reports an end without an answer */
	struct pl_timer deadline;
	struct pl_arena arena;
	kv_done_fn *done;
	void *ctx;
	size_t bytes;
	uint64_t sent_ms;
	int64_t seen_before;
	bool lose_answer;
	bool has_result;
	struct kv_result result;
	struct pl_err err;
};

static void call_free(struct simkv_call *call)
{
	PL_ASSERT(call->reported && call->stage == GONE);
	pl_list_del(&call->link);
	agenda_stop(call->agenda, &call->wire);
	agenda_stop(call->agenda, &call->report);
	pl_arena_done(&call->arena);
	free(call);
}

static bool is_linear(const struct kv_req *req)
{
	return req->op != KV_STATUS && !(req->op == KV_GET && req->get.serializable);
}

/* The answering store is older than the one that was seen before. */
static void note_rewind(struct simkv *sim, const struct simkv_call *call)
{
	int64_t revision = call->result.header.revision;

	if (is_linear(&call->job.req) && revision < call->seen_before) {
		sim->counts->rewound++;
		sim->seen_revision = revision;
		simkv_watches_end(sim, PL_REWOUND, "the store's revision went back");
	} else if (revision > sim->seen_revision) {
		sim->seen_revision = revision;
	}
}

/* Calls the callback last. */
static void call_report(struct simkv_call *call)
{
	struct simkv *sim = call->owner;

	call->reported = true;
	pl_list_del(&call->link);
	pl_list_add_tail(&sim->orphans, &call->link);
	pl_timer_done(&call->deadline);
	agenda_stop(call->agenda, &call->report);
	sim->bytes -= call->bytes;
	if (call->has_result)
		note_rewind(sim, call);
	else
		sim->counts->unknown += call->err.code == PL_UNKNOWN;
	simkv_ended(sim);
	STORY_WIRE(sim->story, sim->name, "   %s: %s", kv_op_name(call->job.req.op),
	           call->has_result ? "answered" : call->err.msg);
	call->done(call->ctx, call->has_result ? &call->result : NULL,
	           call->has_result ? NULL : &call->err);
	if (call->stage == COMING || (call->stage == GOING && !call->job.writes)) {
		agenda_stop(call->agenda, &call->wire);
		call->stage = GONE;
	}
	if (call->stage == GONE)
		call_free(call);
}

static void call_fail(struct simkv_call *call, enum pl_code code, const char *why)
{
	call->has_result = false;
	(void)pl_err_set(&call->err, code, "%s: %s", kv_op_name(call->job.req.op), why);
	if (call->job.writes)
		(void)pl_err_unknown(&call->err);
}

static void call_fail_soon(struct simkv_call *call, enum pl_code code, const char *why)
{
	call_fail(call, code, why);
	if (call->stage == COMING) {
		agenda_stop(call->agenda, &call->wire);
		call->stage = GONE;
	}
	call->lose_answer = true;
	pl_timer_stop(&call->deadline);
	agenda_set(call->agenda, &call->report, call->agenda->now_ms);
}

static void on_report(void *ctx)
{
	struct simkv_call *call = ctx;

	if (simkv_awake(call->owner, &call->report))
		call_report(call);
}

static void on_deadline(void *ctx)
{
	struct simkv_call *call = ctx;

	call_fail(call, PL_TIMEOUT, "no answer in time");
	call_report(call);
}

/* Frees the call if its caller does not wait, or loses it if the caller still does. */
static void call_drop(struct simkv_call *call)
{
	call->stage = GONE;
	if (call->reported)
		call_free(call);
}

static void on_served(struct simstore_job *job, const struct kv_result *result,
                      const struct pl_err *err)
{
	struct simkv_call *call = PL_CONTAINER_OF(job, struct simkv_call, job);
	struct simkv *sim = call->owner;

	if (call->reported || call->lose_answer) {
		if (sim != NULL && result != NULL && result->op == KV_TXN)
			*(result->txn.succeeded ? &sim->counts->unanswered_committed
			                        : &sim->counts->unanswered_failed) += 1;
		call_drop(call);
		return;
	}
	call->has_result = result != NULL;
	if (result == NULL)
		call->err = *err;
	else if (kv_result_copy(&call->arena, result, &call->result) != PL_OK)
		PL_UNREACHABLE("no memory");
	call->result.sent_ms = call->sent_ms;
	call->stage = COMING;
	agenda_set(call->agenda, &call->wire, call->agenda->now_ms + simkv_delay(sim));
}

static void on_wire(void *ctx)
{
	struct simkv_call *call = ctx;

	if (call->stage == GOING) {
		if (call->owner != NULL &&
		    !simkv_passes(call->owner, SIMKV_REQUESTS, &call->wire))
			return;
		call->stage = AT_STORE;
		simstore_ask(call->store, &call->job);
		return;
	}
	PL_ASSERT(call->stage == COMING);
	if (simkv_passes(call->owner, SIMKV_ANSWERS, &call->wire) &&
	    simkv_awake(call->owner, &call->wire)) {
		call->stage = GONE;
		call_report(call);
	}
}

/* Draws what the network does to the request. */
static void call_send(struct simkv *sim, struct simkv_call *call)
{
	const struct simlink *link = &sim->link;
	uint64_t delay = simkv_delay(sim);

	delay += sim->store->slow_ms == 0
	                 ? 0
	                 : pl_rng_below(&sim->rng, sim->store->slow_ms + 1);
	if (pl_rng_chance(&sim->rng, link->lose_request_in_1000, 1000)) {
		sim->counts->lost_requests++;
		call->stage = GONE;
		return;
	}
	if (pl_rng_chance(&sim->rng, link->lose_answer_in_1000, 1000)) {
		sim->counts->lost_answers++;
		call->lose_answer = true;
	}
	if (pl_rng_chance(&sim->rng, link->late_in_1000, 1000)) {
		sim->counts->late++;
		delay += pl_rng_below(&sim->rng, (uint64_t)link->late_max_ms + 1);
	}
	agenda_set(sim->agenda, &call->wire, sim->agenda->now_ms + delay);
}

static struct simkv_call *call_new(struct simkv *sim, const struct kv_req *req)
{
	struct simkv_call *call = pl_calloc(1, sizeof *call);

	PL_ASSERT(call != NULL);
	pl_arena_init(&call->arena, CALL_ARENA, 0);
	if (kv_req_copy(&call->arena, req, &call->job.req) != PL_OK ||
	    pl_timer_init(&call->deadline, &sim->timers, on_deadline, call) != PL_OK)
		PL_UNREACHABLE("no memory");
	call->owner = sim;
	call->agenda = sim->agenda;
	call->store = sim->store;
	call->job.writes = kv_req_writes(req);
	call->job.writer = sim->writer;
	call->job.done = on_served;
	pl_list_init(&call->job.link);
	agenda_item_init(&call->wire, on_wire, call);
	agenda_item_init(&call->report, on_report, call);
	call->bytes = kv_req_bytes(req) + CALL_BYTES;
	call->sent_ms = simkv_local_ms(sim);
	call->seen_before = sim->seen_revision;
	return call;
}

static enum pl_code check_req(struct simkv *sim, const struct kv_req *req,
                              struct pl_err *err)
{
	enum pl_code code = kv_check_req(req, err);
	size_t bytes = kv_req_bytes(req) + CALL_BYTES;

	if (code != PL_OK)
		return code;
	if (sim->closing || sim->dead)
		return pl_err_set(err, PL_CANCELED, "closed");
	if ((sim->bytes != 0 && sim->bytes + bytes > sim->room_bytes) ||
	    pl_rng_chance(&sim->rng, sim->link.busy_in_1000, 1000)) {
		sim->counts->busy++;
		return pl_err_set(err, PL_BUSY, "no room");
	}
	return PL_OK;
}

enum pl_code simkv_start(struct kv *kv, const struct kv_req *req, uint64_t timeout_ms,
                         kv_done_fn *done, void *ctx, struct kv_call **out,
                         struct pl_err *err)
{
	struct simkv *sim = simkv_of(kv);
	enum pl_code code = check_req(sim, req, err);
	struct simkv_call *call;

	if (code != PL_OK)
		return code;
	call = call_new(sim, req);
	call->done = done;
	call->ctx = ctx;
	sim->bytes += call->bytes;
	sim->counts->requests++;
	pl_list_add_tail(&sim->calls, &call->link);
	pl_timer_set(&call->deadline, call->sent_ms + timeout_ms);
	call_send(sim, call);
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

void simkv_cancel(struct kv *kv, struct kv_call *handle)
{
	struct simkv_call *call = (struct simkv_call *)(void *)handle;

	PL_ASSERT(call->owner == simkv_of(kv) && !call->reported);
	call_fail_soon(call, PL_CANCELED, "canceled");
}

void simkv_calls_end(struct simkv *sim, enum pl_code code, const char *why)
{
	PL_LIST_EACH (link, &sim->calls)
		call_fail_soon(PL_LIST_ITEM(link, struct simkv_call, link), code, why);
}

unsigned simkv_unanswered(const struct simkv *sim)
{
	unsigned count = 0;

	PL_LIST_EACH (link, &sim->calls) {
		const struct simkv_call *call =
			PL_LIST_ITEM(link, struct simkv_call, link);

		count += call->job.req.op == KV_TXN &&
		         (call->lose_answer || call->stage == GONE);
	}
	return count;
}

/* The requests still arrive. */
void simkv_orphans_leave(struct simkv *sim)
{
	PL_LIST_EACH (link, &sim->orphans) {
		PL_LIST_ITEM(link, struct simkv_call, link)->owner = NULL;
		pl_list_del(link);
	}
}

void simkv_calls_break(struct simkv *sim, bool forget)
{
	PL_LIST_EACH (link, &sim->calls) {
		struct simkv_call *call = PL_LIST_ITEM(link, struct simkv_call, link);

		if (call->stage == GOING && (forget || pl_rng_chance(&sim->rng, 1, 2))) {
			agenda_stop(call->agenda, &call->wire);
			call->stage = GONE;
		}
		call_fail_soon(call, PL_UNAVAIL, "the connection broke");
	}
}
