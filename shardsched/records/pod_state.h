/*
 * What is with a pod: the value of /schedules/<p>/<namespace>/<pod>/state, the pod's
 * lock.
 *
 *	{"v":1,"uid":"...","phase":"Bound","cluster":"east","node":"n-7","shard":"east-0",
 *	 "epoch":"123","attempts":1,"since":"2026-11-21T09:00:00.000Z"}
 *	{"v":1,"uid":"...","phase":"Pending","attempts":4,"reason":"fit.cpu",
 *	 "message":"12 nodes lack 2 cpu","since":...}
 *
 *	{"v":1,"uid":"...","phase":"Terminating","cluster":"east","node":"n-7",...
 *	 "ask":"delete","ended":"Gone","next":"Pending","since":...}
 *	{"v":1,"uid":"...","phase":"Pending","nominated":{"cluster":"east","node":"n-7"},
 *	 "reason":"preempting","message":"room is made on ...","since":...}
 *
 * What is empty or 0 is left out, but since.
 *
 *	Pending --> Bound --> Terminating --> (keys deleted, or Pending: next)
 *	   ^          | \___________________/
 *	   |          |    \--> Succeeded, Failed, when it has ended
 *	   +----------+
 *
 * Phases are changed by shards only. What others want or know is said beside the phase,
 * which stays: ask, by whoever wants the pod gone or moved; ended, by the member that
 * runs it. state_transition says what follows.
 *
 * There is none before the first decision: whoever decides compares the spec then.
 */
#ifndef SHARDSCHED_RECORDS_POD_STATE_H
#define SHARDSCHED_RECORDS_POD_STATE_H

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

/* What somebody outside wants. */
#define STATE_ASK_MAP(X)    \
	X(NONE, "")         \
	X(DELETE, "delete") \
	X(EVICT, "evict") /* to be placed again */

/* What the member says: it does not run any more. */
#define STATE_ENDED_MAP(X)        \
	X(NOT, "")                \
	X(SUCCEEDED, "Succeeded") \
	X(FAILED, "Failed")       \
	X(GONE, "Gone") /* was stopped, or is not known there any more */

#define STATE_ASK_ENUM(ask, word) STATE_ASK_##ask,
enum state_ask { STATE_ASK_MAP(STATE_ASK_ENUM) STATE_ASKS };
#define STATE_ENDED_ENUM(ended, word) STATE_ENDED_##ended,
enum state_ended { STATE_ENDED_MAP(STATE_ENDED_ENUM) STATE_ENDEDS };

enum {
	STATE_MESSAGE_MAX = 1024, /* longer ones are cut */
	STATE_WORD_MAX = 256,     /* uid, reason */
	STATE_BYTES_MAX = 16384,
};

/* Spans are borrowed, empty where there is nothing to say. */
struct pod_state {
	enum state_phase phase;
	enum state_ask ask;
	enum state_ended ended; /* while it has a place */
	bool next_pending;      /* Terminating: it is placed again; else it goes */
	uint32_t attempts;
	struct pl_span uid;
	struct pl_span cluster, node; /* where it is, or was */
	/* Pending: where room is held for it, as far as its owner knows. */
	struct pl_span nominated_cluster, nominated_node;
	struct pl_span shard;   /* who decided */
	int64_t epoch;          /* under which; 0: nobody yet */
	struct pl_span reason;  /* a code of reason.h, or who evicted it */
	struct pl_span message; /* for people */
	int64_t since_ms;       /* on the wall's clock: of this phase */
};

/* Adds the value, or nothing. PL_INVALID: no such state can be: a bound or terminating
 * pod without a place, a pending one with one, one that has ended without a place or is
 * to be placed again without terminating, one that is nominated and does not wait, a name
 * that no key has. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code state_print(const struct pod_state *state, struct pl_buf *out,
                                      struct pl_err *err);
/* As alloc_parse. */
PL_NODISCARD enum pl_code state_parse(struct pl_span value, struct pl_arena *arena,
                                      struct pod_state *out, struct pl_err *err);

const char *state_phase_word(enum state_phase phase);
/* "": none. */
const char *state_ask_word(enum state_ask ask);
const char *state_ended_word(enum state_ended ended);

/* What a shard is to make of it. */
enum state_transition {
	STATE_TRANSITION_NONE,      /* nothing */
	STATE_TRANSITION_TERMINATE, /* it leaves, and keeps its place until it has ended */
	/* It gives its place back: */
	STATE_TRANSITION_REMOVE,  /* its keys go */
	STATE_TRANSITION_PENDING, /* it is placed again */
	STATE_TRANSITION_FINISH,  /* it becomes what it ended as */
};
enum state_transition state_transition(const struct pod_state *state);

/* It takes room on its node. */
static inline bool state_has_place(const struct pod_state *state)
{
	return state->phase == STATE_BOUND || state->phase == STATE_TERMINATING;
}

#endif
