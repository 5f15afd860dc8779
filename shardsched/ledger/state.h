/*
 * What is with a pod: the value of /schedules/<p>/<namespace>/<pod>/state, the pod's
 * lock.
 *
 *	{"v":1,"uid":"...","phase":"Bound","cluster":"east","node":"n-7","shard":"east-0",
 *	 "epoch":"123","attempts":1,"since":"2026-11-21T09:00:00.000Z"}
 *	{"v":1,"uid":"...","phase":"Pending","attempts":4,"reason":"fit.cpu",
 *	 "message":"12 nodes lack 2 cpu","since":...}
 *
 * What is empty or 0 is left out, but since.
 *
 *	Pending --> Bound --> Terminating --> (key deleted with the spec)
 *	   ^          |  \--> Succeeded, Failed
 *	   +--evicted-+
 *
 * There is none before the first decision: whoever decides compares the spec then.
 */
#ifndef SHARDSCHED_LEDGER_STATE_H
#define SHARDSCHED_LEDGER_STATE_H

#include "store/base/arena.h"
#include "store/base/buf.h"

/* X(PHASE, word) */
#define STATE_PHASE_MAP(X)            \
	X(PENDING, "Pending")         \
	X(BOUND, "Bound")             \
	X(TERMINATING, "Terminating") \
	X(SUCCEEDED, "Succeeded")     \
	X(FAILED, "Failed")

#define STATE_PHASE_ENUM(phase, word) STATE_##phase,
enum state_phase { STATE_PHASE_MAP(STATE_PHASE_ENUM) STATE_PHASES };

enum {
	STATE_MESSAGE_MAX = 1024, /* longer ones are cut */
	STATE_WORD_MAX = 256,     /* uid, reason */
	STATE_BYTES_MAX = 16384,
};

/* Spans are borrowed, empty where there is nothing to say. */
struct pod_state {
	enum state_phase phase;
	uint32_t attempts;
	struct pl_span uid;
	struct pl_span cluster, node; /* while it has a place */
	struct pl_span shard;         /* who decided */
	int64_t epoch;                /* under which; 0: nobody yet */
	struct pl_span reason;        /* a code of reason.h, or who evicted it */
	struct pl_span message;       /* for people */
	int64_t since_ms;             /* on the wall's clock: of this phase */
};

/* Adds the value, or nothing. PL_INVALID: no such state can be: a bound or terminating
 * pod without a place, a pending one with one, a name that no key has. PL_LIMIT,
 * PL_NOMEM. */
PL_NODISCARD enum pl_code state_print(const struct pod_state *state, struct pl_buf *out,
                                      struct pl_err *err);
/* As alloc_parse. */
PL_NODISCARD enum pl_code state_parse(struct pl_span value, struct pl_arena *arena,
                                      struct pod_state *out, struct pl_err *err);

const char *state_phase_word(enum state_phase phase);

/* It takes room on its node. */
static inline bool state_has_place(const struct pod_state *state)
{
	return state->phase == STATE_BOUND || state->phase == STATE_TERMINATING;
}

#endif
