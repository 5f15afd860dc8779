/*
 * The states of one lease and of its keep-alives, decided without I/O.
 *
 *	            GRANTED                KEEP unanswered
 *	GRANTING ------------> HELD <----------------------> DOUBT
 *	   |  ^                 |         KEPT                 |
 *	   |  | REGRANT         +---- store: gone ----> LOST <-+
 *	   |  |                 +---- our clock,            |
 *	   |  |                 |     GIVE_UP -----> EXPIRED <-+
 *	   |  +---------------- LOST, EXPIRED
 *	   +--- RELEASE (from anywhere) --> RELEASING --> RELEASED
 *
 * The safe time: the store counts the TTL from a moment between the sending of the
 * request and its answer. The core counts from the sending, less a margin for clocks that
 * drift. Up to the safe time the lease certainly exists. After it the user must not act
 * on the lease, although the store may still have it (a new leader starts the TTL
 * afresh).
 *
 * A grant whose outcome is unknown is repeated with the same id, which the core has
 * chosen. Either the repetition succeeds, or the store has the lease already (PL_EXISTS),
 * and then a keep-alive tells how long it is good for. An id that exists at the first
 * attempt belongs to another lease.
 */
#ifndef STORE_KV_LEASE_CORE_H
#define STORE_KV_LEASE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum lease_event_type {
	LEASE_EV_START,
	LEASE_EV_GRANTED, /* seq, sent_ms, ttl_s */
	LEASE_EV_KEPT,    /* seq, sent_ms, ttl_s */
	LEASE_EV_REVOKED, /* seq */
	LEASE_EV_FAILED,  /* seq, code: of any request with this number */
	LEASE_EV_TIMEOUT, /* lease_deadline_ms() has been reached */
	LEASE_EV_REGRANT, /* after LOST or EXPIRED: get another lease */
	/* end the lease as if it had EXPIRED: its user cannot use it any more */
	LEASE_EV_GIVE_UP,
	LEASE_EV_RELEASE,
};

struct lease_event {
	enum lease_event_type type;
	uint64_t now_ms;
	uint32_t seq;     /* number of the action that is answered */
	uint64_t sent_ms; /* when the answered request was sent */
	int64_t ttl_s;
	enum pl_code code;
};

enum lease_action_type {
	LEASE_DO_GRANT,  /* seq, id, timeout_ms */
	LEASE_DO_KEEP,   /* seq, id, timeout_ms */
	LEASE_DO_REVOKE, /* seq, id, timeout_ms */
	/* Reports to the user, who must have stopped acting before the callback
	 * returns: */
	LEASE_REPORT_HELD,    /* id, safe_until_ms; at each renewal */
	LEASE_REPORT_DOUBT,   /* id, safe_until_ms, code */
	LEASE_REPORT_EXPIRED, /* id */
	LEASE_REPORT_LOST,    /* id */
	/* code: there is no lease yet, and the core goes on trying */
	LEASE_REPORT_TROUBLE,
	/* id; code PL_OK: the lease is gone; else it runs out by itself */
	LEASE_REPORT_RELEASED,
};

struct lease_action {
	enum lease_action_type type;
	uint32_t seq;
	int64_t id;
	uint64_t timeout_ms;
	uint64_t safe_until_ms;
	enum pl_code code;
};

enum { LEASE_ACTIONS_MAX = 4 };

struct lease_actions {
	struct lease_action item[LEASE_ACTIONS_MAX];
	unsigned count;
};

enum lease_state {
	LEASE_IDLE,
	LEASE_GRANTING,
	LEASE_HELD,
	LEASE_DOUBT,
	LEASE_EXPIRED,
	LEASE_LOST,
	LEASE_RELEASING,
	LEASE_RELEASED,
};

/*
 * The grant of the id, in LEASE_GRANTING:
 *
 *	            outcome unknown                 EXISTS
 *	REQUESTED ------------------> DOUBTFUL --------------> CONFIRMING
 *	    |   answered after its own TTL                         ^
 *	    +------------------------------------------------------+
 *
 * Another id begins at REQUESTED.
 */
enum lease_grant {
	LEASE_GRANT_REQUESTED,
	LEASE_GRANT_DOUBTFUL, /* the store may have the lease */
	LEASE_GRANT_CONFIRMING, /* the lease is there, but only a keep-alive can say until when */
};

struct lease_core {
	enum lease_state state;
	struct pl_rng rng; /* of ids and jitter */
	int64_t ttl_s;     /* the TTL that is asked for; at least 1 */
	uint64_t ttl_ms;   /* the TTL that the store has granted */
	uint64_t margin_ms;
	int64_t id;
	enum lease_grant grant; /* in GRANTING */
	uint64_t safe_until_ms;
	uint32_t seq;       /* number of the last request */
	uint32_t stale_seq; /* requests up to this number were about an earlier id */
	bool asked;         /* the last request has not been answered */
	uint32_t failures;  /* failures in a row */
	/* when the next request is due; when asked, when the answer is overdue */
	uint64_t ask_ms;
	uint64_t give_up_ms; /* in RELEASING: when to stop waiting for the store */
};

/* margin_ms 0: a tenth of the TTL. The margin must be less than half of the TTL. */
void lease_core_init(struct lease_core *core, int64_t ttl_s, uint64_t margin_ms,
                     uint64_t seed);

/* Once the deadline has been reached, LEASE_EV_TIMEOUT must come before any answer that
 * waited with it: a process that wakes from a long pause must give the lease up before it
 * reads good news about it. The core asserts this. Actions must be performed in order. */
void lease_step(struct lease_core *core, const struct lease_event *event,
                struct lease_actions *actions);

/* When to feed LEASE_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t lease_deadline_ms(const struct lease_core *core);

/* How long a keep-alive may stay unanswered before it is repeated. */
uint64_t lease_watchdog_ms(const struct lease_core *core);

const char *lease_state_name(enum lease_state state);

#endif
