/*
 * One lease and how it is kept, decided without I/O.
 *
 *	            GRANTED                KEEP unanswered
 *	GRANTING ------------> HELD <----------------------> DOUBT
 *	   |  ^                 |         KEPT                 |
 *	   |  | AGAIN           +---- store: gone ----> LOST <-+
 *	   |  |                 +---- our clock,            |
 *	   |  |                 |     GIVE_UP -----> EXPIRED <-+
 *	   |  +---------------- LOST, EXPIRED
 *	   +--- RELEASE (from anywhere) --> RELEASING --> RELEASED
 *
 * Safe until: the store counts the TTL from a moment between our sending and its
 * answer, so we count from the sending, less a margin for clocks that drift. Up
 * to then the lease exists for certain; from then on nobody may act on it,
 * although the store may still have it (a new leader starts the TTL afresh).
 *
 * A grant whose outcome is unknown is repeated with the id that we picked: either
 * it works, or the store has it already (PL_EXISTS), and then a keep-alive tells
 * how long it is good for. An id that exists at the first try is somebody else's.
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
	LEASE_EV_FAILED,  /* seq, code: whatever was asked under this number */
	LEASE_EV_TIMEOUT, /* lease_deadline_ms() was reached */
	LEASE_EV_REGRANT, /* after LOST or EXPIRED: another lease */
	LEASE_EV_GIVE_UP, /* as if it had EXPIRED: the user can not use it any more */
	LEASE_EV_RELEASE,
};

struct lease_event {
	enum lease_event_type type;
	uint64_t now_ms;
	uint32_t seq;     /* of the action that this answers */
	uint64_t sent_ms; /* when the answered request left */
	int64_t ttl_s;
	enum pl_code code;
};

enum lease_action_type {
	LEASE_DO_GRANT,  /* seq, id, timeout_ms */
	LEASE_DO_KEEP,   /* seq, id, timeout_ms */
	LEASE_DO_REVOKE, /* seq, id, timeout_ms */
	/* To be told to the user, who must have stopped acting before it returns: */
	LEASE_REPORT_HELD,    /* id, safe_until_ms; at each renewal */
	LEASE_REPORT_DOUBT,   /* id, safe_until_ms, code */
	LEASE_REPORT_EXPIRED, /* id */
	LEASE_REPORT_LOST,    /* id */
	LEASE_REPORT_TROUBLE, /* code: no lease yet; goes on trying */
	LEASE_REPORT_RELEASED, /* id; code: PL_OK, it is gone; else it runs out by itself */
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

struct lease_core {
	enum lease_state state;
	struct pl_rng rng; /* ids and jitter */
	int64_t ttl_s;     /* asked for; at least 1 */
	uint64_t ttl_ms;   /* granted */
	uint64_t margin_ms;
	int64_t id;
	bool doubtful_grant; /* an earlier grant of this id has an unknown outcome */
	bool confirming;     /* the grant stands, a keep-alive has to say until when */
	uint64_t safe_until_ms;
	uint32_t seq;        /* of the last request */
	uint32_t stale_seq;  /* up to here requests were about an earlier id */
	bool asked;          /* it has not been answered */
	uint32_t failures;   /* in a row */
	uint64_t ask_ms;     /* next request; or the watchdog, when asked */
	uint64_t give_up_ms; /* RELEASING */
};

/* margin_ms 0: a tenth of the TTL. It must be less than half of the TTL. */
void lease_core_init(struct lease_core *core, int64_t ttl_s, uint64_t margin_ms,
                     uint64_t seed);

/* Once the deadline is reached LEASE_EV_TIMEOUT goes first, before any answer
 * that waited with it: who wakes from a long pause must give the lease up before
 * reading good news about it. Asserted. Actions must be performed in order. */
void lease_step(struct lease_core *core, const struct lease_event *event,
                struct lease_actions *actions);

/* When to feed LEASE_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t lease_deadline_ms(const struct lease_core *core);

/* How long a keep-alive may stay unanswered before it is repeated. */
uint64_t lease_watchdog_ms(const struct lease_core *core);

const char *lease_state_name(enum lease_state state);

#endif
