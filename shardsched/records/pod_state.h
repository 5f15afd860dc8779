/*
 * A pod's state: the value of /schedules/<p>/<namespace>/<pod>/state, the pod's lock.
 *
 *	{"v":1,"uid":"...","phase":"Bound","cluster":"east","node":"n-7","shard":"east-0",
 *	 "epoch":"123","attempts":1,"since":"2026-11-21T09:00:00.000Z"}
 *	{"v":1,"uid":"...","phase":"Pending","attempts":4,"reason":"fit.cpu",
 *	 "message":"12 nodes lack 2 cpu","since":...}
 *
 *	{"v":1,"uid":"...","phase":"Terminating","cluster":"east","node":"n-7",...
 *	 "ask":"delete","ended":"Gone","next":"Pending","since":...}
 *	{"v":1,"uid":"...","phase":"Failed","ask":"delete","awaits":"finalizers","since":...}
 *	{"v":1,"uid":"...","phase":"Pending","nominated":{"cluster":"east","node":"n-7"},
 *	 "reason":"preempting","message":"room is made on ...","since":...}
 *
 * Empty members and zeros are left out, except since.
 *
 *	Pending --> Bound --> Terminating --> (keys deleted, or Pending: next)
 *	   ^          | \___________________/
 *	   |          |    \--> Succeeded, Failed, when the pod has ended
 *	   +----------+
 *
 * Only shards change the phase. Other writers leave the phase as it is and add a member:
 * ask, to have the pod deleted or evicted; ended, when the member that runs the pod
 * reports its end. state_transition says what follows from them.
 *
 * A pod that is deleted while it has finalizers awaits them: it gives its place back as any
 * other, and its keys stay until the writer that takes the last finalizer away deletes them.
 *
 * A pod has no state before the first decision: that decision compares the spec.
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

/* A request of another writer. */
#define STATE_ASK_MAP(X)    \
	X(NONE, "")         \
	X(DELETE, "delete") \
	X(EVICT, "evict") /* the pod is to be placed again */

/* The end of the pod, as its member reports it. */
#define STATE_ENDED_MAP(X)        \
	X(NOT, "")                \
	X(SUCCEEDED, "Succeeded") \
	X(FAILED, "Failed")       \
	X(GONE, "Gone") /* the pod was stopped, or is not known to the member */

#define STATE_ASK_ENUM(ask, word) STATE_ASK_##ask,
enum state_ask { STATE_ASK_MAP(STATE_ASK_ENUM) STATE_ASKS };
#define STATE_ENDED_ENUM(ended, word) STATE_ENDED_##ended,
enum state_ended { STATE_ENDED_MAP(STATE_ENDED_ENUM) STATE_ENDEDS };

enum {
	STATE_MESSAGE_MAX = 1024, /* longer messages are cut */
	STATE_WORD_MAX = 256,     /* uid, reason */
	STATE_BYTES_MAX = 16384,
};

/* Spans are borrowed; an empty span stands for an absent member. */
struct pod_state {
	enum state_phase phase;
	enum state_ask ask;
	enum state_ended ended; /* only while the pod has a place */
	bool next_pending;      /* Terminating: the pod is placed again; else it is
				 * removed */
	bool awaits_finalizers; /* ask delete: the keys are not the shards' to delete */
	uint32_t attempts;
	struct pl_span uid;
	struct pl_span cluster, node; /* the pod's place, or its last one */
	/* Pending: the node on which room is reserved for the pod, as far as its owner
	 * knows. */
	struct pl_span nominated_cluster, nominated_node;
	struct pl_span shard;   /* the shard that decided */
	int64_t epoch;          /* of that shard; 0: no decision yet */
	struct pl_span reason;  /* a code of reason.h, or the name of the evicting user */
	struct pl_span message; /* a sentence for people */
	int64_t since_ms;       /* start of the phase by the wall clock */
};

/* Adds the value, or nothing. PL_INVALID: the state is impossible: a bound or terminating
 * pod without a place; a pending pod with one; an ended pod without a place; next pending
 * without terminating; nominated without pending; finalizers awaited that was not asked to
 * go; a name that no key has. PL_LIMIT,
 * PL_NOMEM. */
PL_NODISCARD enum pl_code state_print(const struct pod_state *state, struct pl_buf *out,
                                      struct pl_err *err);
/* Contract as of alloc_parse. */
PL_NODISCARD enum pl_code state_parse(struct pl_span value, struct pl_arena *arena,
                                      struct pod_state *out, struct pl_err *err);

const char *state_phase_word(enum state_phase phase);
/* "" for none. */
const char *state_ask_word(enum state_ask ask);
const char *state_ended_word(enum state_ended ended);

/* The step that a shard has to take with the pod. */
enum state_transition {
	STATE_TRANSITION_NONE,      /* nothing */
	STATE_TRANSITION_TERMINATE, /* the pod is marked as leaving, and keeps its place
				     * until it has ended */
	/* The pod gives its place back: */
	STATE_TRANSITION_REMOVE,  /* the pod's keys are deleted */
	STATE_TRANSITION_PENDING, /* the pod is placed again */
	STATE_TRANSITION_FINISH,  /* the pod gets the phase in which it ended */
};
enum state_transition state_transition(const struct pod_state *state);

/* The pod takes room on its node. */
static inline bool state_has_place(const struct pod_state *state)
{
	return state->phase == STATE_BOUND || state->phase == STATE_TERMINATING;
}

#endif
