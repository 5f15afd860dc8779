/*
 *	IDLE --next--> FLYING --answer--> next ...            DRY
 *	                 |  ^
 *	   unknown, away v  | after a while, the same request
 *	                WAITING
 *
 * Failure modes: an error that sending again can not cure, or the patience is over.
 * Then no new request begins, those in flight are waited for, and done reports the
 * first failure.
 */
#include "coord/bulk/bulk_writer.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum {
	SLOTS_DEFAULT = 8,
	TIMEOUT_DEFAULT_MS = 5000,
	PATIENCE_DEFAULT_MS = 30000,
	PAUSE_FIRST_MS = 20,
	PAUSE_MAX_MS = 2000,
	ARENA_CHUNK = 64 << 10,
	ARENA_MAX = 64 << 20,
};

enum bulk_slot_state { SLOT_IDLE, SLOT_FLYING, SLOT_WAITING, SLOT_DRY };

struct bulk_slot {
	struct bulk_writer *writer;
	enum bulk_slot_state state;
	struct pl_arena arena;
	struct kv_req req;
	struct pl_timer timer;
	struct kv_call *call;
	uint64_t since_ms; /* time of the first attempt */
	uint64_t pause_ms;
	bool again; /* an earlier attempt may have been applied */
};

struct bulk_writer {
	struct kv *kv;
	struct bulk_opts opts;
	struct pl_timer end; /* the timer that calls done */
	unsigned flying;
	bool failed;
	struct pl_err err;
	unsigned slots; /* slots that were initialised */
	struct bulk_slot slot[];
};

static void bulk_free(struct bulk_writer *writer)
{
	for (unsigned i = 0; i < writer->slots; i++) {
		pl_timer_done(&writer->slot[i].timer);
		pl_arena_done(&writer->slot[i].arena);
	}
	pl_timer_done(&writer->end);
	free(writer);
}

static void on_end(void *ctx)
{
	struct bulk_writer *writer = ctx;
	void (*done)(void *, const struct pl_err *) = writer->opts.done;
	struct pl_err err = writer->err;
	bool failed = writer->failed;
	void *user = writer->opts.ctx;

	PL_ASSERT(writer->flying == 0);
	bulk_free(writer);
	done(user, failed ? &err : NULL);
}

/* Whether nothing is in flight, and nothing will be. */
static bool is_over(const struct bulk_writer *writer)
{
	if (writer->flying > 0)
		return false;
	for (unsigned i = 0; i < writer->slots && !writer->failed; i++)
		if (writer->slot[i].state != SLOT_DRY)
			return false;
	return true;
}

static void end_if_over(struct bulk_writer *writer)
{
	if (!is_over(writer) || pl_timer_is_set(&writer->end))
		return;
	for (unsigned i = 0; i < writer->slots; i++)
		pl_timer_stop(&writer->slot[i].timer);
	pl_timer_set(&writer->end, kv_now_ms(writer->kv));
}

static void bulk_fail(struct bulk_writer *writer, const struct pl_err *err)
{
	if (!writer->failed)
		writer->err = *err;
	writer->failed = true;
}

/* Whether sending again may help. A write that times out ends as PL_UNKNOWN. */
static bool is_passing(enum pl_code code)
{
	return code == PL_UNKNOWN || code == PL_BUSY || code == PL_UNAVAIL ||
	       code == PL_TIMEOUT || code == PL_NOLEADER || code == PL_THROTTLED;
}

static void send_later(struct bulk_slot *slot, const struct pl_err *err)
{
	struct bulk_writer *writer = slot->writer;
	uint64_t now_ms = kv_now_ms(writer->kv);
	struct pl_err last = *err;

	slot->state = SLOT_WAITING;
	if (err->code == PL_UNKNOWN)
		slot->again = true;
	if (is_passing(err->code) && !writer->failed &&
	    now_ms - slot->since_ms < writer->opts.patience_ms) {
		pl_timer_set(&slot->timer, now_ms + slot->pause_ms);
		slot->pause_ms = slot->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS
		                                                   : slot->pause_ms * 2;
		return;
	}
	if (slot->again && last.code != PL_UNKNOWN)
		(void)pl_err_unknown(&last);
	bulk_fail(writer, &last);
	end_if_over(writer);
}

static void run_slot(struct bulk_slot *slot);

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct bulk_slot *slot = ctx;
	struct bulk_writer *writer = slot->writer;

	slot->call = NULL;
	writer->flying--;
	if (err != NULL) {
		send_later(slot, err);
		return;
	}
	slot->state = SLOT_IDLE;
	writer->opts.answer(writer->opts.ctx, (unsigned)(slot - writer->slot), result,
	                    slot->again);
	run_slot(slot);
}

static void send_request(struct bulk_slot *slot)
{
	struct bulk_writer *writer = slot->writer;
	struct pl_err err = {0};

	slot->state = SLOT_FLYING;
	writer->flying++;
	if (kv_start(writer->kv, &slot->req, writer->opts.timeout_ms, on_done, slot,
	             &slot->call, &err) == PL_OK)
		return;
	writer->flying--;
	send_later(slot, &err);
}

static void run_slot(struct bulk_slot *slot)
{
	struct bulk_writer *writer = slot->writer;
	unsigned number = (unsigned)(slot - writer->slot);

	PL_ASSERT(slot->state == SLOT_IDLE);
	pl_arena_reset(&slot->arena);
	if (!writer->failed &&
	    !writer->opts.next(writer->opts.ctx, number, &slot->arena, &slot->req))
		slot->state = SLOT_DRY;
	if (writer->failed || slot->state == SLOT_DRY) {
		end_if_over(writer);
		return;
	}
	slot->since_ms = kv_now_ms(writer->kv);
	slot->pause_ms = PAUSE_FIRST_MS;
	slot->again = false;
	send_request(slot);
}

/* The first turn of a slot, or another attempt. */
static void on_timer(void *ctx)
{
	struct bulk_slot *slot = ctx;

	if (slot->state == SLOT_IDLE)
		run_slot(slot);
	else if (slot->writer->failed)
		end_if_over(slot->writer);
	else
		send_request(slot);
}

static bool slot_init(struct bulk_writer *writer, struct bulk_slot *slot)
{
	slot->writer = writer;
	if (pl_timer_init(&slot->timer, kv_timers(writer->kv), on_timer, slot) != PL_OK)
		return false;
	pl_arena_init(&slot->arena, ARENA_CHUNK, ARENA_MAX);
	writer->slots++;
	return true;
}

enum pl_code bulk_open(struct kv *kv, const struct bulk_opts *opts,
                       struct bulk_writer **out, struct pl_err *err)
{
	unsigned slots = opts->slots == 0 ? SLOTS_DEFAULT : opts->slots;
	struct bulk_writer *writer;

	PL_ASSERT(slots <= BULK_SLOTS_MAX);
	writer = pl_calloc(1, sizeof *writer + slots * sizeof writer->slot[0]);
	if (writer == NULL)
		return pl_err_set(err, PL_NOMEM, "writes");
	writer->kv = kv;
	writer->opts = *opts;
	if (opts->timeout_ms == 0)
		writer->opts.timeout_ms = TIMEOUT_DEFAULT_MS;
	if (opts->patience_ms == 0)
		writer->opts.patience_ms = PATIENCE_DEFAULT_MS;
	if (pl_timer_init(&writer->end, kv_timers(kv), on_end, writer) != PL_OK)
		goto fail;
	for (unsigned i = 0; i < slots; i++)
		if (!slot_init(writer, &writer->slot[i]))
			goto fail;
	for (unsigned i = 0; i < slots; i++)
		pl_timer_set(&writer->slot[i].timer, kv_now_ms(kv));
	*out = writer;
	return PL_OK;
fail:
	bulk_free(writer);
	return pl_err_set(err, PL_NOMEM, "writes");
}

void bulk_cancel(struct bulk_writer *writer, const struct pl_err *why)
{
	struct pl_err err;

	if (why == NULL) {
		(void)pl_err_set(&err, PL_CANCELED, "canceled");
		why = &err;
	}
	bulk_fail(writer, why);
	for (unsigned i = 0; i < writer->slots; i++)
		if (writer->slot[i].call != NULL)
			kv_cancel(writer->kv, writer->slot[i].call);
	end_if_over(writer);
}
