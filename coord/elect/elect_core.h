/*
 * One role and the holder of its key, decided without I/O.
 *
 *	          free, our turn            created, or found under our lease
 *	WAITING ----------------> CLAIMING ------------------------------> LEADING
 *	   ^ ^                       | taken                                 | not a
 *	   | |                       v                                       | candidate
 *	   | +------ gone --- FOLLOWING                                      v
 *	   +----------------------------------- gone ------------------- RESIGNING
 *
 *	from LEADING to OUT, at once: session down or no longer safe, key gone or
 *	another's, store rewound
 *
 * The core knows the key from a watch and from the answers to its own requests. Each
 * fact holds at a revision, and the newest one counts.
 *
 * Invariants:
 *   - A shard that finds the key under its own living lease leads, whatever happened
 *     before: the answer of a claim may have been lost, or the claim was applied long
 *     after it was sent.
 *   - A key that was to be deleted is never led under again, because the delete that
 *     was sent for it may still arrive.
 */
#ifndef COORD_ELECT_ELECT_CORE_H
#define COORD_ELECT_ELECT_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum elect_event_type {
	ELECT_EV_SESSION,    /* lease, safe_until_ms; lease 0: down */
	ELECT_EV_CAMPAIGN,   /* campaign, rank */
	ELECT_EV_SEEN,       /* key, from the watch, which is complete from here on */
	ELECT_EV_WATCH_LOST, /* code: the watch is lost; PL_REWOUND: revisions start
	                    * again */
	ELECT_EV_ANSWER,     /* seq and key, as it was when the request was served */
	ELECT_EV_FAILED,     /* seq, code */
	ELECT_EV_STOP,       /* resign */
	ELECT_EV_TIMEOUT,    /* elect_deadline_ms() was reached */
};

/* The key as it was at a revision. */
struct elect_key {
	int64_t revision;
	int64_t create_revision; /* 0: there is no key */
	int64_t lease;
};

struct elect_event {
	enum elect_event_type type;
	uint64_t now_ms;
	int64_t lease;
	uint64_t safe_until_ms;
	bool campaign;
	bool resign;
	uint32_t rank;
	uint32_t seq; /* seq of the action that this answers */
	struct elect_key key;
	enum pl_code code;
};

enum elect_action_type {
	ELECT_DO_CLAIM,  /* seq, lease: create the key if it is absent, else read it */
	ELECT_DO_READ,   /* seq */
	ELECT_DO_DELETE, /* seq, lease (0: of a key without one), epoch: delete the key
	                  * if both match, else read it */
	ELECT_DO_RELIST, /* the store is another one: open the watch again */
	/* Reported to the user: */
	ELECT_REPORT_LEAD,      /* epoch */
	ELECT_REPORT_STEP_DOWN, /* epoch; the user must have stopped acting before it
	                         * returns */
	ELECT_REPORT_FOLLOW,    /* epoch of the leader in this event's key; 0: there is
	                       * no leader */
	ELECT_REPORT_TROUBLE,   /* code */
	ELECT_REPORT_DONE,      /* after STOP: nothing more is wanted */
};

struct elect_action {
	enum elect_action_type type;
	uint32_t seq;
	int64_t lease;
	int64_t epoch;
	enum pl_code code;
};

enum { ELECT_ACTIONS_MAX = 6 };

struct elect_actions {
	struct elect_action item[ELECT_ACTIONS_MAX];
	unsigned count;
};

enum elect_state {
	ELECT_OUT, /* no session, no candidate, or the key is unknown */
	ELECT_FOLLOWING,
	ELECT_WAITING,
	ELECT_CLAIMING, /* or reading the outcome of a claim */
	ELECT_LEADING,
	ELECT_RESIGNING,
	ELECT_DONE,
};

enum elect_op { ELECT_OP_NONE, ELECT_OP_CLAIM, ELECT_OP_READ, ELECT_OP_DELETE };

/* RUNNING --stop--> STOPPING --nothing in flight, or given up--> STOPPED */
enum elect_phase { ELECT_PHASE_RUNNING, ELECT_PHASE_STOPPING, ELECT_PHASE_STOPPED };

struct elect_core {
	struct pl_rng rng; /* jitter */
	int64_t lease;     /* 0: there is no safe lease */
	uint64_t safe_until_ms;
	bool campaign;
	uint32_t rank;

	bool known;  /* key is valid */
	bool synced; /* the watch is complete, so an absent key is free */
	struct elect_key key;
	struct elect_key reported; /* the last leader reported; create_revision -1: none
	                        * yet */

	int64_t epoch;  /* 0: not leading */
	int64_t resign; /* create revision of the key to be deleted; 0: none */
	int64_t resign_lease;

	enum elect_op op; /* the request in flight */
	uint32_t seq;
	int64_t asked_revision; /* revision known when the request was sent: no answer
	                         * can be older */
	bool doubt;             /* a claim with this lease has an unknown outcome */
	uint32_t failures;      /* in a row */
	uint64_t retry_ms;      /* nothing is requested before this time */
	bool waiting;           /* the key is free since since_ms, and our turn comes
	                         * jitter later */
	uint64_t since_ms;
	uint64_t jitter;

	enum elect_phase phase;
	uint64_t give_up_ms; /* STOPPING: requests in flight are awaited until then */
};

void elect_core_init(struct elect_core *core, uint64_t seed);

/* Once the deadline is reached ELECT_EV_TIMEOUT must be fed first, before any answer
 * that waited with it (asserted). Actions must be performed in order. */
void elect_step(struct elect_core *core, const struct elect_event *event,
                struct elect_actions *actions);

/* When to feed ELECT_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t elect_deadline_ms(const struct elect_core *core);

enum elect_state elect_state(const struct elect_core *core);
const char *elect_state_name(enum elect_state state);

#endif
