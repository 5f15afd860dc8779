/*
 * A sequence: requests to the store one after another, with pauses between them. An
 * operation that takes several steps embeds one.
 *
 *	         send                 answer
 *	IDLE ------------> CALLING ------------.
 *	  ^  \  pause                 due      |  the step's function
 *	  |   `----------> PAUSED -------------+--> send, pause, or the operation ends
 *	  `------------------------------------'
 *
 * Invariants
 *  - At most one step is under way; its function is called exactly once, never inside
 *    sequence_send or sequence_pause.
 *  - A request that can not be started is answered with the reason, later, as any other.
 *  - After sequence_cancel the step under way and every later one end with PL_CANCELED
 *    (a write that left already may end with PL_UNKNOWN, or have succeeded).
 */
#ifndef COORD_SERVICE_BASE_SEQUENCE_H
#define COORD_SERVICE_BASE_SEQUENCE_H

#include "store/base/timers.h"
#include "store/kv/kv.h"

/* A pause ends with neither result nor err. Both are borrowed for the call, which may
 * free the owner of the sequence after sequence_done. */
typedef void sequence_fn(void *ctx, const struct kv_result *result,
                         const struct pl_err *err);

enum sequence_state { SEQUENCE_IDLE, SEQUENCE_CALLING, SEQUENCE_PAUSED };

struct sequence {
	struct kv *kv;
	uint64_t timeout_ms;
	void *ctx;
	enum sequence_state state;
	bool canceled;
	sequence_fn *next;     /* of the step under way */
	struct kv_call *call;  /* CALLING */
	struct pl_timer timer; /* PAUSED */
	struct pl_err refused; /* PAUSED: why the request could not be started */
};

/* PL_NOMEM. */
PL_NODISCARD enum pl_code sequence_init(struct sequence *sequence, struct kv *kv,
                                        uint64_t timeout_ms, void *ctx,
                                        struct pl_err *err);
/* Asserts that no step is under way. Takes a zeroed sequence. */
void sequence_done(struct sequence *sequence);

void sequence_send(struct sequence *sequence, const struct kv_req *req,
                   sequence_fn *next);
void sequence_pause(struct sequence *sequence, uint64_t ms, sequence_fn *next);
void sequence_cancel(struct sequence *sequence);

#endif
