/*
 * One role and who holds its key, decided without I/O.
 *
 *	          free, our turn            created, or found under our lease
 *	WAITING ----------------> CLAIMING ------------------------------> LEADING
 *	   ^ ^                       | taken                                 | not
 *standing | +------ gone --- FOLLOWING                                      v
 *	   +----------------------------------- gone ------------------- RESIGNING
 *	from LEADING to OUT, at once: session down or no longer safe, key gone or
 *	another's, store rewound
 *
 * What is known of the key comes from a watch and from the answers to our own
 * requests, each true at a revision: the newer one counts. Whoever finds the key
 * under its own living lease leads, however that came about: the answer may have
 * been lost, or the claim applied long after it was sent. With one exception: what
 * was to be given up is never taken up again, because the delete that was sent for
 * it may still arrive.
 */
#ifndef COORD_ELECT_ELECT_CORE_H
#define COORD_ELECT_ELECT_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum elect_event_type {
	ELECT_EV_SESSION,  /* lease, safe_until_ms; lease 0: down */
	ELECT_EV_CAMPAIGN, /* stand, rank */
	ELECT_EV_SEEN,     /* key: from the watch, which is complete from here on */
	ELECT_EV_BLIND,    /* code: the watch is lost; PL_REWOUND: so are revisions */
	ELECT_EV_ANSWER,   /* seq, key: as it is now that our request was served */
	ELECT_EV_FAILED,   /* seq, code */
	ELECT_EV_STOP,     /* resign */
	ELECT_EV_TIMEOUT,  /* elect_deadline_ms() was reached */
};

/* The key as it was at a revision. */
struct elect_key {
	int64_t revision;
	int64_t create_revision; /* 0: there is none */
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
	uint32_t seq; /* of the action that this answers */
	struct elect_key key;
	enum pl_code code;
};

enum elect_action_type {
	ELECT_DO_CLAIM,  /* seq, lease: create the key if it is absent, else read it */
	ELECT_DO_READ,   /* seq */
	ELECT_DO_DELETE, /* seq, lease (0: a key that has none), epoch: if those are its
	                  * own, else read it */
	ELECT_DO_RELIST, /* the store is another one: watch anew */
	/* To be told to the user: */
	ELECT_REPORT_LEAD,      /* epoch */
	ELECT_REPORT_STEP_DOWN, /* epoch; must have stopped acting before it returns */
	ELECT_REPORT_FOLLOW,  /* epoch: of whoever it is in this event's key; 0: nobody */
	ELECT_REPORT_TROUBLE, /* code */
	ELECT_REPORT_DONE,    /* after STOP: nothing more is wanted */
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
	ELECT_OUT, /* no session, not standing, or not knowing what the key is */
	ELECT_FOLLOWING,
	ELECT_WAITING,
	ELECT_CLAIMING, /* or reading what became of a claim */
	ELECT_LEADING,
	ELECT_RESIGNING,
	ELECT_DONE,
};

enum elect_op { ELECT_OP_NONE, ELECT_OP_CLAIM, ELECT_OP_READ, ELECT_OP_DELETE };

struct elect_core {
	struct pl_rng rng; /* jitter */
	int64_t lease;     /* 0: none that is safe */
	uint64_t safe_until_ms;
	bool campaign;
	uint32_t rank;

	bool known;  /* key is */
	bool synced; /* the watch is complete: what is absent is free */
	struct elect_key key;
	struct elect_key told; /* the last holder; create_revision -1: none yet */

	int64_t epoch;  /* leading */
	int64_t resign; /* create revision of the key that has to go */
	int64_t resign_lease;

	enum elect_op op; /* in flight */
	uint32_t seq;
	int64_t asked_revision; /* known when it left: no answer can be older */
	bool doubt;             /* a claim of this lease has an unknown outcome */
	uint32_t failures;      /* in a row */
	uint64_t retry_ms;      /* nothing is asked before that */
	bool waiting;           /* free since, and our turn comes later by jitter */
	uint64_t since_ms;
	uint64_t jitter;

	bool stopping;
	bool done;
	uint64_t give_up_ms;
};

void elect_core_init(struct elect_core *core, uint64_t seed);

/* Once the deadline is reached ELECT_EV_TIMEOUT goes first, before any answer that
 * waited with it. Asserted. Actions must be performed in order. */
void elect_step(struct elect_core *core, const struct elect_event *event,
                struct elect_actions *actions);

/* When to feed ELECT_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t elect_deadline_ms(const struct elect_core *core);

enum elect_state elect_state(const struct elect_core *core);
const char *elect_state_name(enum elect_state state);

#endif
