/*
 * Which partitions a shard owns, decided without I/O.
 *
 * For each partition there is one fact: the newest known state of its owner key, with
 * the revision of the store at which it held. Lists, watch events and answers bring
 * facts in any order; a fact that is not newer changes nothing. The fact, the session
 * and the target decide what is done:
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
 * Invariants:
 *   - The shard acts on a partition (OWNED, QUIESCING) only while the newest fact is a
 *     key with its lease; the epoch is the key's create revision.
 *   - LOST is reported before the release is sent.
 *   - An epoch for which a release was sent, or that was fenced, is never acted on
 *     again, because the release may be applied at any time.
 *   - A claim whose outcome stayed unknown shows itself by our lease on the key,
 *     however late.
 *   - The epochs that a shard reports grow, until the store goes back in time: whatever
 *     is older than the newest fact is refused, an answer to a claim, too. Between
 *     shards they grow as long as keys go by a release or with their lease, of which
 *     the owner knows first. A key that is deleted by hand goes without its owner: until
 *     a fact says so, the owner acts under that epoch, or even reports it when another
 *     shard has reported a newer one. The guard refuses its writes.
 */
#ifndef COORD_CLAIMS_CLAIMS_CORE_H
#define COORD_CLAIMS_CLAIMS_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/list.h"
#include "store/base/rng.h"

enum claims_target {
	CLAIMS_UNREPORTED, /* no assignment is known yet */
	CLAIMS_MINE,
	CLAIMS_OTHERS,
	CLAIMS_NOBODYS, /* falls to no member: its owner keeps it unless it leaves */
};

enum claims_event_type {
	CLAIMS_EV_SESSION,  /* carries lease and safe_until_ms; lease 0: the session is
	                     * down */
	CLAIMS_EV_SYNCED,   /* every partition's key has been fed */
	CLAIMS_EV_UNSYNCED, /* some changes may be missing from here on */
	CLAIMS_EV_SEEN,     /* carries partition, revision, epoch and lease (0: no
	                     * shard's lease) */
	CLAIMS_EV_GONE,     /* carries partition and revision */
	CLAIMS_EV_TARGET,   /* carries partition and target */
	CLAIMS_EV_LEAVING,  /* carries on: the shard leaves */
	CLAIMS_EV_QUIET,    /* carries partition and epoch: nothing is in flight any
	                     * more */
	CLAIMS_EV_FENCED,   /* carries partition and epoch */
	CLAIMS_EV_REWOUND,  /* revisions start again; requests in flight are forgotten */
	CLAIMS_EV_TUNE,     /* carries handover_ms and settle_ms */
	/* Answers carry partition and the seq of the action. */
	CLAIMS_EV_CLAIMED,  /* created at revision */
	CLAIMS_EV_RELEASED, /* deleted at revision */
	CLAIMS_EV_FOUND,    /* answer of a read, or the compares did not hold:
	                     * revision, epoch (0: there is no key) and lease */
	CLAIMS_EV_FAILED,   /* the request was not applied */
	CLAIMS_EV_UNKNOWN,  /* the request may have been applied, or may be applied
	                     * later */
	CLAIMS_EV_TIMEOUT,
	CLAIMS_EV_CLOSE, /* gives up every partition and does nothing any more */
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
	CLAIMS_HANDED_OVER, /* released by this shard */
	CLAIMS_KEPT,        /* not released, because no other member takes it: OWNED
	                     * follows */
	CLAIMS_GONE,        /* the key is deleted, or belongs to another shard */
	CLAIMS_SESSION,     /* the session is down */
	CLAIMS_FENCED,      /* a write under the epoch was refused */
	CLAIMS_REWOUND,     /* the store went back in time */
	CLAIMS_CLOSED,
};

enum claims_action_type {
	CLAIMS_DO_CLAIM,       /* carries partition, seq and lease */
	CLAIMS_DO_RELEASE,     /* carries partition, seq, epoch and lease */
	CLAIMS_DO_READ,        /* carries partition and seq: a linearizable read */
	CLAIMS_REPORT_OWNED,   /* carries partition and epoch */
	CLAIMS_REPORT_QUIESCE, /* carries partition, epoch and deadline_ms */
	CLAIMS_REPORT_LOST,    /* carries partition, epoch and why */
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

/* At most max actions (0 is allowed) are put in; the rest stays due. A caller that
 * performs them one by one never reports what has changed since. */
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
	struct pl_list link; /* in core.todo, in core.blocked, or in neither */
	/* The fact: */
	int64_t revision;  /* 0: nothing is known */
	int64_t key_epoch; /* create revision of the key; 0: there is no key */
	int64_t key_lease;
	int64_t epoch;      /* the epoch that the shard acts under; 0: not owned */
	int64_t given_up;   /* the last epoch that was given up, never to be acted
	                     * under again */
	int64_t lost_epoch; /* epoch of a LOST that is still to be reported; 0: none */
	uint64_t at_ms;     /* time of the next try (not acting), of the handover (OWNED),
	                 * or the deadline (QUIESCING) */
	uint32_t seq;       /* seq of the request in flight */
	uint8_t failures;
	uint8_t request; /* enum claims_request: the request in flight */
	uint8_t target;  /* enum claims_target */
	uint8_t why;     /* enum claims_why of lost_epoch */
	bool quiescing;
	bool quiet;
	bool doubt; /* a claim or release may have been applied, so the key has to be
	             * read */
	bool busy;  /* counted in core.busy */
};

struct claims_core {
	struct claims_slot *slot;
	uint32_t partitions;
	struct pl_rng rng;
	uint64_t handover_ms, settle_ms;
	int64_t lease; /* 0: the session is down */
	uint64_t safe_until_ms;
	bool synced, leaving, closed;
	uint32_t inflight, inflight_max;
	uint32_t seq;
	uint32_t owned; /* slots that the shard acts on */
	uint32_t busy;  /* slots with something to do or in flight */
	struct pl_list todo;
	struct pl_list blocked; /* slots that wait until fewer requests are in flight */
	uint64_t next_ms;       /* no slot's time is earlier */
};

struct claims_core_opts {
	struct claims_slot *slots; /* borrowed; one a partition */
	uint32_t partitions;
	uint32_t inflight;
	uint64_t handover_ms, settle_ms;
	uint64_t seed;
};

/* The core must not move afterwards. */
void claims_core_init(struct claims_core *core, const struct claims_core_opts *opts);

/* The clock is checked before the event: from safe_until_ms on nothing is owned.
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
/* Whether the session is up (or the shard is leaving), the keys are in sync, and
 * nothing is to be done or in flight. */
bool claims_core_settled(const struct claims_core *core);

#endif
