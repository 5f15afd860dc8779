#include "coord/service/base/sequence.h"

static void end_step(struct sequence *sequence, const struct kv_result *result,
                     const struct pl_err *err)
{
	sequence_fn *next = sequence->next;
	struct pl_err canceled;

	sequence->state = SEQUENCE_IDLE;
	sequence->call = NULL;
	if (sequence->canceled && result == NULL && err == NULL) {
		(void)pl_err_set(&canceled, PL_CANCELED, "canceled");
		err = &canceled;
	}
	next(sequence->ctx, result, err);
}

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	end_step(ctx, result, err);
}

static void on_due(void *ctx)
{
	struct sequence *sequence = ctx;
	struct pl_err refused = sequence->refused;

	sequence->refused = (struct pl_err){0};
	end_step(sequence, NULL, refused.code == PL_OK ? NULL : &refused);
}

enum pl_code sequence_init(struct sequence *sequence, struct kv *kv, uint64_t timeout_ms,
                           void *ctx, struct pl_err *err)
{
	enum pl_code code;

	*sequence = (struct sequence){.kv = kv, .timeout_ms = timeout_ms, .ctx = ctx};
	code = pl_timer_init(&sequence->timer, kv_timers(kv), on_due, sequence);
	return code == PL_OK ? code : pl_err_set(err, code, "a timer");
}

void sequence_done(struct sequence *sequence)
{
	PL_ASSERT(sequence->state == SEQUENCE_IDLE);
	pl_timer_done(&sequence->timer);
}

void sequence_pause(struct sequence *sequence, uint64_t ms, sequence_fn *next)
{
	PL_ASSERT(sequence->state == SEQUENCE_IDLE);
	sequence->state = SEQUENCE_PAUSED;
	sequence->next = next;
	pl_timer_set(&sequence->timer,
	             kv_now_ms(sequence->kv) + (sequence->canceled ? 0 : ms));
}

void sequence_send(struct sequence *sequence, const struct kv_req *req, sequence_fn *next)
{
	PL_ASSERT(sequence->state == SEQUENCE_IDLE);
	if (sequence->canceled) {
		sequence_pause(sequence, 0, next);
		return;
	}
	sequence->next = next;
	if (kv_start(sequence->kv, req, sequence->timeout_ms, on_answer, sequence,
	             &sequence->call, &sequence->refused) == PL_OK) {
		sequence->state = SEQUENCE_CALLING;
		sequence->refused = (struct pl_err){0};
		return;
	}
	sequence_pause(sequence, 0, next);
}

void sequence_cancel(struct sequence *sequence)
{
	if (sequence->canceled)
		return;
	sequence->canceled = true;
	if (sequence->state == SEQUENCE_CALLING)
		kv_cancel(sequence->kv, sequence->call);
	else if (sequence->state == SEQUENCE_PAUSED)
		pl_timer_set(&sequence->timer, kv_now_ms(sequence->kv));
}
