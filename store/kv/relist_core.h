/*
 * List and watch without a gap, decided without I/O.
 *
 *	OPENING --the watch stands--> LISTING --last page--> WATCHING
 *	   ^                             |                      |
 *	   |                             |     the watch ended, fell silent,
 *	   +------ LOST(reason) ---------+     or the store is another
 *	   +------ LOST(reason) --------------------------------+
 *	           the list's revision was compacted, the store rewound
 *
 * The watch is opened first, from now on: one that begins in the past costs etcd a
 * reading of all that has happened since, whatever the keys. What it brings while the
 * list is read is held by the driver, and told after END but for what the list has
 * shown. Nothing is missed: the list is asked for once the watch stands, by a
 * linearizable read, so it is no older than that. Nothing depends on it either: if it
 * does not stand in time, ends, or brings more than can be held, it is given up, and
 * another begins at the list's revision when that is there.
 *
 * A store that was restored from a snapshot gives itself away by another cluster
 * id, or by a linearizable read at a lower revision than was seen before. The
 * watch alone would not show it: etcd lets a watch from a revision to come wait
 * in silence. So a small read is made from time to time, and whenever the watch
 * had to be resumed; and the watch has to show that it is as far as that read.
 */
#ifndef STORE_KV_RELIST_CORE_H
#define STORE_KV_RELIST_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum relist_event_type {
	RELIST_EV_START,
	RELIST_EV_PAGE, /* cluster_id, revision, more */
	RELIST_EV_PAGE_FAILED,
	RELIST_EV_READY,    /* cluster_id */
	RELIST_EV_EVENTS,   /* cluster_id, revision */
	RELIST_EV_PROGRESS, /* cluster_id, revision */
	RELIST_EV_DEFERRED, /* revision: EVENTS of before END, given back */
	RELIST_EV_ENDED,    /* code: the watch, or it could not be started, or held */
	RELIST_EV_CHECKED,  /* cluster_id, revision */
	RELIST_EV_CHECK_FAILED,
	RELIST_EV_TIMEOUT,
};

struct relist_event {
	enum relist_event_type type;
	uint64_t now_ms;
	uint64_t cluster_id;
	int64_t revision; /* of the header; of the note, for EVENTS and PROGRESS */
	bool more;
	enum pl_code code;
};

enum relist_action_type {
	RELIST_DO_FETCH,    /* revision 0: the first page; else the next one, at it */
	RELIST_DO_WATCH,    /* revision: from there; 0: from now on */
	RELIST_DO_UNWATCH,  /* hears nothing more of it, nor of a read in flight */
	RELIST_DO_CHECK,    /* a small linearizable read */
	RELIST_DO_PROGRESS, /* revision: ask the watch whether it is that far */
	RELIST_DO_RELEASE,  /* feed HELD for all that is held */
	/* To be told to the user, with what the event brought: */
	RELIST_REPORT_BEGIN, /* revision */
	RELIST_REPORT_PAGE,
	RELIST_REPORT_END, /* revision */
	RELIST_REPORT_EVENTS,
	RELIST_REPORT_PROGRESS,
	RELIST_REPORT_LOST,    /* code */
	RELIST_REPORT_TROUBLE, /* code: an attempt failed and will be repeated */
};

struct relist_action {
	enum relist_action_type type;
	int64_t revision;
	enum pl_code code;
};

enum { RELIST_ACTIONS_MAX = 6 };

struct relist_actions {
	struct relist_action item[RELIST_ACTIONS_MAX];
	unsigned count;
};

enum relist_state { RELIST_IDLE, RELIST_OPENING, RELIST_LISTING, RELIST_WATCHING };

struct relist_core {
	enum relist_state state;
	struct pl_rng rng;
	uint64_t check_ms, stall_ms;
	uint64_t cluster_id;    /* 0: not known */
	int64_t seen_revision;  /* the store was there */
	int64_t asked_revision; /* and here when the read in flight left: it is no older.
	                         * The watch may overtake its answer */
	int64_t list_revision;  /* 0: no page yet */
	int64_t heard_revision; /* the watch has brought everything up to here */
	int64_t watch_revision; /* told to the user up to here */
	uint32_t failures;      /* in a row */
	/* LISTING; UINT64_MAX: in flight. OPENING: when to do without the watch, or to
	 * ask for one. */
	uint64_t fetch_at_ms;
	uint64_t check_at_ms;  /* WATCHING; UINT64_MAX: in flight */
	uint64_t stall_at_ms;  /* UINT64_MAX: the watch owes nothing */
	int64_t want_revision; /* the watch has to get there */
	bool has_watch;
	bool was_ready;
	bool resumed; /* while the list was read */
};

/* check_ms 0: 10 s. stall_ms 0: 10 s. */
void relist_core_init(struct relist_core *core, uint64_t check_ms, uint64_t stall_ms,
                      uint64_t seed);

/* The actions must be performed in order. A page, an end of the watch or a check
 * is fed only as the answer to the last request of its kind. EVENTS that are fed before
 * the watch's list has ended are held, until RELEASE or the end of the watch. */
void relist_step(struct relist_core *core, const struct relist_event *event,
                 struct relist_actions *actions);

/* When to feed RELIST_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t relist_deadline_ms(const struct relist_core *core);

#endif
