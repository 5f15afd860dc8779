/*
 *	IDLE --next--> FLYING --answer--> next ...            DRY
 *	                 |  ^
 *	   unknown, away v  | after a while, the same request
 *	                WAITING
 *
 * Fails: an error that sending again does not mend, or the patience is over. Then nothing
 * new is begun, what flies is awaited, and done tells the first failure.
 */
#include "coord/writes/writes.h"

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

enum slot_state { SLOT_IDLE, SLOT_FLYING, SLOT_WAITING, SLOT_DRY };

struct slot {
	struct writes *writes;
	enum slot_state state;
	struct pl_arena arena;
	struct kv_req req;
	struct pl_timer timer;
	struct kv_call *call;
	uint64_t since_ms; /* the first try */
	uint64_t pause_ms;
	bool again; /* some try may have been applied */
};

struct writes {
	struct kv *kv;
	struct writes_opts opts;
	struct pl_timer end; /* done is called from here */
	unsigned flying;
	bool failed;
	struct pl_err err;
	unsigned slots; /* that are made */
	struct slot slot[];
};

static void writes_free(struct writes *writes)
{
	for (unsigned i = 0; i < writes->slots; i++) {
		pl_timer_done(&writes->slot[i].timer);
		pl_arena_done(&writes->slot[i].arena);
	}
	pl_timer_done(&writes->end);
	free(writes);
}

static void on_end(void *ctx)
{
	struct writes *writes = ctx;
	void (*done)(void *, const struct pl_err *) = writes->opts.done;
	struct pl_err err = writes->err;
	bool failed = writes->failed;
	void *user = writes->opts.ctx;

	PL_ASSERT(writes->flying == 0);
	writes_free(writes);
	done(user, failed ? &err : NULL);
}

/* Nothing is in flight, and nothing will be. */
static bool is_over(const struct writes *writes)
{
	if (writes->flying > 0)
		return false;
	for (unsigned i = 0; i < writes->slots && !writes->failed; i++)
		if (writes->slot[i].state != SLOT_DRY)
			return false;
	return true;
}

static void end_if_over(struct writes *writes)
{
	if (!is_over(writes) || pl_timer_is_set(&writes->end))
		return;
	for (unsigned i = 0; i < writes->slots; i++)
		pl_timer_stop(&writes->slot[i].timer);
	pl_timer_set(&writes->end, kv_now_ms(writes->kv));
}

static void fail(struct writes *writes, const struct pl_err *err)
{
	if (!writes->failed)
		writes->err = *err;
	writes->failed = true;
}

/* Sending again may help. PL_TIMEOUT of a write comes as PL_UNKNOWN. */
static bool is_passing(enum pl_code code)
{
	return code == PL_UNKNOWN || code == PL_BUSY || code == PL_UNAVAIL ||
	       code == PL_TIMEOUT || code == PL_NOLEADER || code == PL_THROTTLED;
}

static void did_not_go(struct slot *slot, const struct pl_err *err)
{
	struct writes *writes = slot->writes;
	uint64_t now_ms = kv_now_ms(writes->kv);
	struct pl_err last = *err;

	slot->state = SLOT_WAITING;
	if (err->code == PL_UNKNOWN)
		slot->again = true;
	if (is_passing(err->code) && !writes->failed &&
	    now_ms - slot->since_ms < writes->opts.patience_ms) {
		pl_timer_set(&slot->timer, now_ms + slot->pause_ms);
		slot->pause_ms = slot->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS
		                                                   : slot->pause_ms * 2;
		return;
	}
	if (slot->again && last.code != PL_UNKNOWN)
		(void)pl_err_unknown(&last);
	fail(writes, &last);
	end_if_over(writes);
}

static void run(struct slot *slot);

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct slot *slot = ctx;
	struct writes *writes = slot->writes;

	slot->call = NULL;
	writes->flying--;
	if (err != NULL) {
		did_not_go(slot, err);
		return;
	}
	slot->state = SLOT_IDLE;
	writes->opts.answer(writes->opts.ctx, (unsigned)(slot - writes->slot), result,
	                    slot->again);
	run(slot);
}

static void send(struct slot *slot)
{
	struct writes *writes = slot->writes;
	struct pl_err err = {0};

	slot->state = SLOT_FLYING;
	writes->flying++;
	if (kv_start(writes->kv, &slot->req, writes->opts.timeout_ms, on_done, slot,
	             &slot->call, &err) == PL_OK)
		return;
	writes->flying--;
	did_not_go(slot, &err);
}

static void run(struct slot *slot)
{
	struct writes *writes = slot->writes;
	unsigned number = (unsigned)(slot - writes->slot);

	PL_ASSERT(slot->state == SLOT_IDLE);
	pl_arena_reset(&slot->arena);
	if (!writes->failed &&
	    !writes->opts.next(writes->opts.ctx, number, &slot->arena, &slot->req))
		slot->state = SLOT_DRY;
	if (writes->failed || slot->state == SLOT_DRY) {
		end_if_over(writes);
		return;
	}
	slot->since_ms = kv_now_ms(writes->kv);
	slot->pause_ms = PAUSE_FIRST_MS;
	slot->again = false;
	send(slot);
}

/* The first turn, or one more try. */
static void on_timer(void *ctx)
{
	struct slot *slot = ctx;

	if (slot->state == SLOT_IDLE)
		run(slot);
	else if (slot->writes->failed)
		end_if_over(slot->writes);
	else
		send(slot);
}

static bool slot_init(struct writes *writes, struct slot *slot)
{
	slot->writes = writes;
	if (pl_timer_init(&slot->timer, kv_timers(writes->kv), on_timer, slot) != PL_OK)
		return false;
	pl_arena_init(&slot->arena, ARENA_CHUNK, ARENA_MAX);
	writes->slots++;
	return true;
}

enum pl_code writes_open(struct kv *kv, const struct writes_opts *opts,
                         struct writes **out, struct pl_err *err)
{
	unsigned slots = opts->slots == 0 ? SLOTS_DEFAULT : opts->slots;
	struct writes *writes;

	PL_ASSERT(slots <= WRITES_SLOTS_MAX);
	writes = pl_calloc(1, sizeof *writes + slots * sizeof writes->slot[0]);
	if (writes == NULL)
		return pl_err_set(err, PL_NOMEM, "writes");
	writes->kv = kv;
	writes->opts = *opts;
	if (opts->timeout_ms == 0)
		writes->opts.timeout_ms = TIMEOUT_DEFAULT_MS;
	if (opts->patience_ms == 0)
		writes->opts.patience_ms = PATIENCE_DEFAULT_MS;
	if (pl_timer_init(&writes->end, kv_timers(kv), on_end, writes) != PL_OK)
		goto fail;
	for (unsigned i = 0; i < slots; i++)
		if (!slot_init(writes, &writes->slot[i]))
			goto fail;
	for (unsigned i = 0; i < slots; i++)
		pl_timer_set(&writes->slot[i].timer, kv_now_ms(kv));
	*out = writes;
	return PL_OK;
fail:
	writes_free(writes);
	return pl_err_set(err, PL_NOMEM, "writes");
}

void writes_cancel(struct writes *writes, const struct pl_err *why)
{
	struct pl_err err;

	if (why == NULL) {
		(void)pl_err_set(&err, PL_CANCELED, "canceled");
		why = &err;
	}
	fail(writes, why);
	for (unsigned i = 0; i < writes->slots; i++)
		if (writes->slot[i].call != NULL)
			kv_cancel(writes->kv, writes->slot[i].call);
	end_if_over(writes);
}
