/*
 * Which partitions a shard owns, decided without I/O.
 *
 * For each partition there is one fact: the newest that is known of its owner key,
 * with the revision of the store at which it was so. Lists, watch events and answers
 * all bring facts, in any order; one that is not newer changes nothing. What is done
 * follows from the fact, the session and the target:
 *
 *	            target is ours, key absent        created: epoch = revision
 *	  ABSENT/OTHER ------------------> CLAIMING ---------------------------> OWNED
 *	       ^  ^                           | taken, failed                      |
 *	       |  +---------------------------+                     target another's,
 *	       |            deleted                     quiet, or deadline      settled
 *	       +------------------------- RELEASING <--------- QUIESCING <---------+
 *
 *	  an unknown outcome of either: READING, then what the read says
 *	  the key has our lease, and its epoch was never given up: OWNED, from anywhere
 *	  key gone or another's, session down, fenced, rewound: LOST, from OWNED and
 *	  QUIESCING
 *
 * Acting (OWNED, QUIESCING) means: the newest fact is a key with our lease, and the
 * epoch is its create revision. LOST is told before the release leaves; an epoch of
 * which a release has left, or that was fenced, is never acted on again, because the
 * release may be applied at any time. A claim that was applied unknown to us shows
 * itself by our lease, however late.
 */
#ifndef COORD_CLAIMS_CLAIMS_CORE_H
#define COORD_CLAIMS_CLAIMS_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/list.h"
#include "store/base/rng.h"

enum claims_target {
	CLAIMS_UNTOLD, /* there has been no assignment yet */
	CLAIMS_MINE,
	CLAIMS_OTHERS,
	CLAIMS_NOBODYS, /* kept by whoever has it, unless he leaves */
};

enum claims_event_type {
	CLAIMS_EV_SESSION,  /* lease, safe_until_ms; lease 0: down */
	CLAIMS_EV_SYNCED,   /* every partition's key has been fed */
	CLAIMS_EV_UNSYNCED, /* some change may not have been */
	CLAIMS_EV_SEEN,     /* partition, revision, epoch, lease (0: not a shard's) */
	CLAIMS_EV_GONE,     /* partition, revision */
	CLAIMS_EV_TARGET,   /* partition, target */
	CLAIMS_EV_LEAVING,  /* on */
	CLAIMS_EV_QUIET,    /* partition, epoch: nothing is in flight any more */
	CLAIMS_EV_FENCED,   /* partition, epoch */
	CLAIMS_EV_REWOUND,  /* revisions start anew; requests in flight are forgotten */
	CLAIMS_EV_TUNE,     /* handover_ms, settle_ms */
	/* Answers: partition, seq of the action */
	CLAIMS_EV_CLAIMED,  /* revision: created then */
	CLAIMS_EV_RELEASED, /* revision: deleted then */
	CLAIMS_EV_FOUND,    /* a read, or the compares did not hold: revision, epoch (0:
	                     * no key), lease */
	CLAIMS_EV_FAILED,   /* it did not happen */
	CLAIMS_EV_UNKNOWN,  /* perhaps, perhaps later */
	CLAIMS_EV_TIMEOUT,
	CLAIMS_EV_CLOSE, /* gives everything up, and does nothing any more */
};

struct claims_event {
	enum claims_event_type type;
	uint64_t now_ms;
	uint32_t partition;
	uint32_t seq;
	int64_t revision;
	int64_t epoch;
	int64_t lease;
	uint64_t safe_until_ms;
	enum claims_target target;
	bool on;
	uint64_t handover_ms, settle_ms;
};

enum claims_why {
	CLAIMS_HANDED_OVER, /* released by us */
	CLAIMS_KEPT,        /* not, for want of somebody to take it: OWNED follows */
	CLAIMS_GONE,        /* the key is gone, or another's */
	CLAIMS_SESSION,     /* the session is down */
	CLAIMS_FENCED,      /* a write of ours was */
	CLAIMS_REWOUND,     /* the store went back in time */
	CLAIMS_CLOSED,
};

enum claims_action_type {
	CLAIMS_DO_CLAIM,       /* partition, seq, lease */
	CLAIMS_DO_RELEASE,     /* partition, seq, epoch, lease */
	CLAIMS_DO_READ,        /* partition, seq: a linearizable one */
	CLAIMS_REPORT_OWNED,   /* partition, epoch */
	CLAIMS_REPORT_QUIESCE, /* partition, epoch, deadline_ms */
	CLAIMS_REPORT_LOST,    /* partition, epoch, why */
};

struct claims_action {
	enum claims_action_type type;
	uint32_t partition;
	uint32_t seq;
	int64_t epoch;
	int64_t lease;
	uint64_t deadline_ms;
	enum claims_why why;
};

enum { CLAIMS_ACTIONS_MAX = 8 };

/* max: so many at most, 0 included; the rest stays due. Whoever performs them one by
 * one never tells what is not so any more. */
struct claims_actions {
	struct claims_action item[CLAIMS_ACTIONS_MAX];
	unsigned max;
	unsigned count;
};

enum claims_state {
	CLAIMS_STATE_UNSEEN, /* nothing is known of the key */
	CLAIMS_STATE_ABSENT,
	CLAIMS_STATE_OTHER,
	CLAIMS_STATE_CLAIMING,
	CLAIMS_STATE_OWNED,
	CLAIMS_STATE_QUIESCING,
	CLAIMS_STATE_RELEASING,
	CLAIMS_STATE_READING,
};

enum claims_request {
	CLAIMS_REQUEST_NONE,
	CLAIMS_REQUEST_CLAIM,
	CLAIMS_REQUEST_RELEASE,
	CLAIMS_REQUEST_READ
};

struct claims_slot {
	struct pl_list link; /* in todo or hungry, or in none */
	/* The fact. */
	int64_t revision;  /* 0: nothing is known */
	int64_t key_epoch; /* 0: no key */
	int64_t key_lease;
	int64_t epoch;      /* acted under; 0: not ours */
	int64_t given_up;   /* never to be acted under again */
	int64_t lost_epoch; /* 0: no LOST is owed */
	uint64_t at_ms; /* not acting: next try; OWNED: the move; QUIESCING: deadline */
	uint32_t seq;   /* of the request in flight */
	uint8_t failures;
	uint8_t request; /* enum claims_request, in flight */
	uint8_t target;  /* enum claims_target */
	uint8_t why;     /* enum claims_why, of lost_epoch */
	bool quiescing;
	bool quiet;
	bool doubt; /* a claim or release may have been applied: to be read */
	bool busy;  /* counted in core.busy */
};

struct claims_core {
	struct claims_slot *slot;
	uint32_t partitions;
	struct pl_rng rng;
	uint64_t handover_ms, settle_ms;
	int64_t lease; /* 0: down */
	uint64_t safe_until_ms;
	bool synced, leaving, closed;
	uint32_t inflight, inflight_max;
	uint32_t seq;
	uint32_t owned; /* acting */
	uint32_t busy;  /* something is to be done, or under way */
	struct pl_list todo;
	struct pl_list blocked; /* wait for inflight to fall */
	uint64_t next_ms;       /* no slot's time is earlier */
};

struct claims_core_opts {
	struct claims_slot *slots; /* borrowed, of so many */
	uint32_t partitions;
	uint32_t inflight;
	uint64_t handover_ms, settle_ms;
	uint64_t seed;
};

/* The core may not be moved afterwards. */
void claims_core_init(struct claims_core *core, const struct claims_core_opts *opts);

/* The clock is heard before the event: from safe_until_ms on nothing is ours.
 * Actions must be performed in order. */
void claims_step(struct claims_core *core, const struct claims_event *event,
                 struct claims_actions *actions);

/* When to feed CLAIMS_EV_TIMEOUT. 0: at once. UINT64_MAX: never. */
uint64_t claims_deadline_ms(const struct claims_core *core);

enum claims_state claims_core_state(const struct claims_core *core, uint32_t partition);
const char *claims_state_name(enum claims_state state);

/* The epoch to act under; 0: none. */
int64_t claims_core_epoch(const struct claims_core *core, uint32_t partition,
                          uint64_t now_ms);
bool claims_core_may_begin(const struct claims_core *core, uint32_t partition,
                           uint64_t now_ms);
/* Up (or leaving), in sync, and nothing is to be done or under way. */
bool claims_core_settled(const struct claims_core *core);

#endif
