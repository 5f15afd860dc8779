/*
 * One shard's lease and its record under it, decided without I/O.
 *
 *	LEASING --HELD--> JOINING --CREATED, or it is ours--> STANDING
 *	   ^ ^               |  ^                                |
 *	   | |               |  | its lease is gone, revoked     |
 *	   | |               |  v                                |
 *	   | |               +--- another's ---> WAITING --- it lives --> ENDED (refused)
 *	   | |                                                   |
 *	   | +-- another's: DOWN, and our lease is given up -----+
 *	   +---- our lease is gone, from anywhere
 *
 * The record is put only against the mod revision and lease that were seen, so a put
 * that arrives late never undoes a later one. An unknown outcome is settled by
 * reading: a record under our lease is ours.
 *
 * A record that is not under our lease belongs to
 *   - an earlier lease of this instance, or a process of this host and boot that has
 *     ended: its lease is revoked; without a lease the record is taken over;
 *   - another shard, or it does not parse: its lease is looked at. If the lease ends
 *     the shard tries again. If it is renewed twice its owner lives, and the shard is
 *     refused. (One renewal is not enough: a new leader of the store renews every lease,
 *     even those of shards that have died.) A record without a lease has to be removed by
 *     an operator.
 *
 * While STANDING the record is read if nothing was put for refresh_ms, so a record
 * that was removed or replaced by hand is noticed.
 */
#ifndef COORD_SESSION_SESSION_CORE_H
#define COORD_SESSION_SESSION_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum session_owner {
	SESSION_OURS,     /* under our lease */
	SESSION_OURS_OLD, /* of our instance, under another lease or none */
	SESSION_DEAD,     /* of a process that has certainly ended */
	SESSION_ANOTHER,
	SESSION_MALFORMED,
};

enum session_event_type {
	SESSION_EV_HELD,          /* lease, until_ms: granted, and again at each
	                           * renewal */
	SESSION_EV_DOUBT,         /* lease, code */
	SESSION_EV_LEASE_GONE,    /* lease, code */
	SESSION_EV_LEASE_TROUBLE, /* code: no lease is granted */
	/* Answers, with the seq of the request: */
	SESSION_EV_PUT,     /* revision: created, or put */
	SESSION_EV_FOUND,   /* owner, lease, create_revision, revision (mod): answer of
	                     * a read, or of a create or put whose compares did not
	                     * hold */
	SESSION_EV_ABSENT,  /* the same, without a record */
	SESSION_EV_TTL,     /* left_s, sent_ms */
	SESSION_EV_NOLEASE, /* the other lease does not exist any more, or it was
	                     * revoked */
	SESSION_EV_FAILED,  /* code */
	SESSION_EV_PUBLISH, /* urgent: the record has changed */
	SESSION_EV_LOOK,    /* something may have happened to the record */
	SESSION_EV_REFRESH, /* refresh_ms has changed */
	SESSION_EV_TIMEOUT, /* session_deadline_ms() was reached */
};

struct session_event {
	enum session_event_type type;
	uint64_t now_ms;
	uint32_t seq;
	int64_t lease;
	uint64_t until_ms;
	enum session_owner owner;
	int64_t create_revision;
	int64_t revision;
	int64_t left_s;
	uint64_t sent_ms;
	uint64_t refresh_ms;
	bool urgent;
	enum pl_code code;
};

enum session_request_kind {
	SESSION_REQUEST_NOTHING,
	SESSION_REQUEST_CREATE, /* create the record under lease if it is absent */
	SESSION_REQUEST_READ,
	SESSION_REQUEST_PUT,    /* put it under lease against revision and seen_lease */
	SESSION_REQUEST_TTL,    /* read the time that is left of lease */
	SESSION_REQUEST_REVOKE, /* revoke lease */
};

enum session_action_type {
	SESSION_DO_REQUEST, /* request, seq, lease, revision, seen_lease */
	SESSION_DO_AGAIN,   /* get another lease */
	SESSION_DO_GIVE_UP, /* lease: revoke it although it lives */
	/* Reported to the user, which must have stopped acting before DOWN returns: */
	SESSION_REPORT_UP,      /* lease, until_ms, revision: of creation */
	SESSION_REPORT_DOUBT,   /* lease, until_ms, code */
	SESSION_REPORT_DOWN,    /* lease, code: PL_EXISTS, another shard has the id now */
	SESSION_REPORT_TROUBLE, /* code, why */
	SESSION_REPORT_REFUSED,
};

enum session_why {
	SESSION_WHY_LEASE,     /* not granted, or not kept */
	SESSION_WHY_REQUEST,   /* a request about the record failed */
	SESSION_WHY_REMOVED,   /* the record is gone, our lease is not */
	SESSION_WHY_TAKEN,     /* another shard has the record, and its lease is
	                        * watched */
	SESSION_WHY_UNCERTAIN, /* another shard has the record, and it has no lease */
};

struct session_action {
	enum session_action_type type;
	enum session_request_kind request;
	uint32_t seq;
	int64_t lease;
	int64_t seen_lease;
	int64_t revision;
	uint64_t until_ms;
	enum session_why why;
	enum pl_code code;
};

enum { SESSION_ACTIONS_MAX = 4 };

struct session_actions {
	struct session_action item[SESSION_ACTIONS_MAX];
	unsigned count;
};

enum session_state {
	SESSION_LEASING,
	SESSION_JOINING,
	SESSION_WAITING,
	SESSION_STANDING,
	SESSION_ENDED,
};

/* The record of another shard under our id. */
struct session_other {
	int64_t lease;
	int64_t revision;    /* 0: none has been seen */
	uint64_t gone_by_ms; /* when it ends if it is not renewed; UINT64_MAX: not
	                      * known yet */
	unsigned renewals;
};

struct session_core {
	enum session_state state;
	struct pl_rng rng; /* jitter */
	uint64_t pace_ms;  /* interval between looks */
	uint64_t refresh_ms;
	bool up;          /* UP was reported, and DOWN was not reported since */
	int64_t lease;    /* 0: none */
	int64_t given_up; /* the last lease that was given up */
	uint64_t until_ms;
	int64_t create_revision; /* STANDING: of the record as it was seen last */
	int64_t revision;
	int64_t seen_lease;
	struct session_other other;
	enum session_request_kind asked; /* the request in flight */
	enum session_request_kind next;  /* the next request, due at next_ms once none
	                                  * is in flight */
	uint64_t next_ms;
	uint32_t seq;
	uint32_t failures; /* in a row */
	uint64_t hold_ms;  /* nothing is requested before this time */
	uint64_t refresh_at_ms;
	bool unsure; /* STANDING: the record has to be read before anything else */
	/* Numbers of PUBLISH events: the last one, the one in the put in flight, the one
	 * in the store (0: unknown), and the last urgent one. */
	uint64_t wanted, sent, stored, urgent;
};

/* ttl_ms is that of our lease. */
void session_core_init(struct session_core *core, uint64_t ttl_ms, uint64_t refresh_ms,
                       uint64_t seed);

/* Once the deadline is reached SESSION_EV_TIMEOUT must be fed first, before anything
 * that waited with it (asserted). Actions must be performed in order. */
void session_step(struct session_core *core, const struct session_event *event,
                  struct session_actions *actions);

/* When to feed SESSION_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t session_deadline_ms(const struct session_core *core);

const char *session_state_name(enum session_state state);

#endif
