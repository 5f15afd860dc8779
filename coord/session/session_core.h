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
 * The record is put only against the mod revision and lease that were seen, so
 * that what arrives late never undoes what came after it. An unknown outcome is
 * settled by reading: a record on our lease is ours.
 *
 * Whose a record is that is not on our lease, and what follows:
 *   ours (an earlier lease of this instance), or of a process of this host and boot
 *   that is gone: its lease is revoked; where it has none the record is taken over;
 *   another's, or garbled: its lease is looked at. Gone: we try again. Renewed, and
 *   then once more: its owner lives, and we are refused. (Once is not enough: a new
 *   leader of the store renews every lease, those of the dead included.) Without a
 *   lease nothing can be known; an operator has to remove it.
 *
 * While STANDING the record is read when there was nothing to put for refresh_ms:
 * so one that was removed or replaced by hand is noticed.
 */
#ifndef COORD_SESSION_SESSION_CORE_H
#define COORD_SESSION_SESSION_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum session_owner {
	SESSION_OURS,     /* on our lease */
	SESSION_OURS_OLD, /* our instance, on another lease or none */
	SESSION_DEAD,     /* its process is gone for certain */
	SESSION_ANOTHER,
	SESSION_MALFORMED,
};

enum session_event_type {
	SESSION_EV_HELD,          /* lease, until_ms; at each renewal */
	SESSION_EV_DOUBT,         /* lease, code */
	SESSION_EV_LEASE_GONE,    /* lease, code */
	SESSION_EV_LEASE_TROUBLE, /* code: none is granted */
	/* Answers, by seq: */
	SESSION_EV_PUT,     /* revision: created, or put */
	SESSION_EV_FOUND,   /* owner, lease, create_revision, revision (mod): by a read,
	                     * or a create or put whose compares did not hold */
	SESSION_EV_ABSENT,  /* the same */
	SESSION_EV_TTL,     /* left_s, sent_ms */
	SESSION_EV_NOLEASE, /* the other's: by a look at it, or it is revoked */
	SESSION_EV_FAILED,  /* code */
	SESSION_EV_PUBLISH, /* urgent: the record has something new to say */
	SESSION_EV_LOOK,    /* something may have happened to the record */
	SESSION_EV_REFRESH, /* refresh_ms is another one */
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
	SESSION_REQUEST_CREATE, /* when absent, under lease */
	SESSION_REQUEST_READ,
	SESSION_REQUEST_PUT,    /* against revision and seen_lease, under lease */
	SESSION_REQUEST_TTL,    /* of lease */
	SESSION_REQUEST_REVOKE, /* lease */
};

enum session_action_type {
	SESSION_DO_REQUEST, /* ask, seq, lease, revision, seen_lease */
	SESSION_DO_AGAIN,   /* another lease is wanted */
	SESSION_DO_GIVE_UP, /* lease: it lives, and is to be revoked */
	/* To be told to the user, who must have stopped acting before DOWN returns: */
	SESSION_REPORT_UP,      /* lease, until_ms, revision: of creation */
	SESSION_REPORT_DOUBT,   /* lease, until_ms, code */
	SESSION_REPORT_DOWN,    /* lease, code: PL_EXISTS, the id is another's now */
	SESSION_REPORT_TROUBLE, /* code, why */
	SESSION_REPORT_REFUSED,
};

enum session_why {
	SESSION_WHY_LEASE,     /* not granted, or not kept */
	SESSION_WHY_REQUEST,   /* one about the record failed */
	SESSION_WHY_REMOVED,   /* the record is gone, our lease is not */
	SESSION_WHY_TAKEN,     /* the record is another's, whose lease is watched */
	SESSION_WHY_UNCERTAIN, /* the record is another's and has no lease */
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

/* The record in our way. */
struct session_other {
	int64_t lease;
	int64_t revision;    /* 0: not told about it */
	uint64_t gone_by_ms; /* if it is not renewed; UINT64_MAX: not looked at yet */
	unsigned renewals;
};

struct session_core {
	enum session_state state;
	struct pl_rng rng; /* jitter */
	uint64_t pace_ms;  /* between looks */
	uint64_t refresh_ms;
	bool up;          /* told, and not told otherwise since */
	int64_t lease;    /* 0: none */
	int64_t given_up; /* the last one that we gave up */
	uint64_t until_ms;
	int64_t create_revision; /* STANDING: of the record as it was last seen */
	int64_t revision;
	int64_t seen_lease;
	struct session_other other;
	enum session_request_kind asked; /* in flight */
	enum session_request_kind next;  /* at next_ms, when nothing is in flight */
	uint64_t next_ms;
	uint32_t seq;
	uint32_t failures; /* in a row */
	uint64_t hold_ms;  /* after a failure nothing goes before that */
	uint64_t refresh_at_ms;
	bool unsure; /* STANDING: the record is to be read before anything else */
	/* Counts of SAY: now, in the put in flight, in the store (0: who knows), and
	 * the last urgent one. */
	uint64_t wanted, sent, stored, urgent;
};

/* ttl_ms is that of our lease. */
void session_core_init(struct session_core *core, uint64_t ttl_ms, uint64_t refresh_ms,
                       uint64_t seed);

/* Once the deadline is reached SESSION_EV_TIMEOUT goes first, before anything that
 * waited with it. Asserted. Actions must be performed in order. */
void session_step(struct session_core *core, const struct session_event *event,
                  struct session_actions *actions);

/* When to feed SESSION_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t session_deadline_ms(const struct session_core *core);

const char *session_state_name(enum session_state state);

#endif
