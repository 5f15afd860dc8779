/*
 * The states of list and watch, decided without I/O, so that no change is missed.
 *
 *	OPENING --the watch stands--> LISTING --last page--> WATCHING
 *	   ^                             |                      |
 *	   |                             |     the watch ended, fell silent,
 *	   +------ LOST(reason) ---------+     or the store is another
 *	   +------ LOST(reason) --------------------------------+
 *	           the list's revision was compacted, the store rewound
 *
 * The watch is opened first, from now on, because a watch that begins in the past makes
 * etcd read everything that has happened since, whatever the keys are. The driver defers
 * the watch's events while the list is read, and reports them after END, except for those
 * that the list has shown. Nothing is missed: the list is read once the watch stands, by
 * a linearizable read, so it is not older than the watch. The list does not depend on the
 * watch either: a watch that does not stand in time, ends, or brings more than can be
 * deferred is given up, and another one begins at the list's revision.
 *
 * A store that was restored from a snapshot shows itself by another cluster id, or by a
 * linearizable read at a lower revision than was seen before. The watch alone would not
 * show it, because etcd lets a watch from a future revision wait silently. So the core
 * asks for a small read from time to time, and whenever the watch was resumed, and the
 * watch has to show that it is as far as that read.
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
	/* revision: EVENTS from before END, given back by the driver */
	RELIST_EV_DEFERRED,
	/* code: the watch ended, could not be started, or could not be deferred */
	RELIST_EV_ENDED,
	RELIST_EV_CHECKED, /* cluster_id, revision */
	RELIST_EV_CHECK_FAILED,
	RELIST_EV_TIMEOUT,
};

struct relist_event {
	enum relist_event_type type;
	uint64_t now_ms;
	uint64_t cluster_id;
	int64_t revision; /* of the header; in EVENTS and PROGRESS of the note */
	bool more;
	enum pl_code code;
};

enum relist_action_type {
	/* revision 0: the first page; else the next page at that revision */
	RELIST_DO_FETCH,
	RELIST_DO_WATCH, /* revision: the first one to be watched; 0: from now on */
	/* the core hears nothing more of the watch, nor of a read in flight */
	RELIST_DO_UNWATCH,
	RELIST_DO_CHECK,    /* a small linearizable read */
	RELIST_DO_PROGRESS, /* revision: ask the watch whether it is that far */
	RELIST_DO_RELEASE,  /* feed DEFERRED for all deferred events */
	/* Notes to the user, with the content of the event: */
	RELIST_REPORT_BEGIN, /* revision */
	RELIST_REPORT_PAGE,
	RELIST_REPORT_END, /* revision */
	RELIST_REPORT_EVENTS,
	RELIST_REPORT_PROGRESS,
	RELIST_REPORT_LOST,    /* code */
	RELIST_REPORT_TROUBLE, /* code: an attempt has failed and will be repeated */
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

/*
 * The watch of a relist:
 *
 *	NONE --DO_WATCH--> OPENED --READY--> READY --READY again--> RESUMED
 *	  ^                   |                |                       |
 *	  +-- UNWATCH, ended -+----------------+-----------------------+
 */
enum relist_watch_state {
	RELIST_WATCH_NONE,
	RELIST_WATCH_OPENED,
	RELIST_WATCH_READY,
	RELIST_WATCH_RESUMED, /* perhaps on another store, so a check is due */
};

enum relist_state { RELIST_IDLE, RELIST_OPENING, RELIST_LISTING, RELIST_WATCHING };

struct relist_core {
	enum relist_state state;
	struct pl_rng rng;
	uint64_t check_ms, stall_ms;
	uint64_t cluster_id;   /* 0: not known */
	int64_t seen_revision; /* the highest revision at which the store was seen */
	/* the same when the read in flight was sent: the read is not older. The watch may
	 * overtake the read's answer */
	int64_t asked_revision;
	int64_t list_revision;  /* 0: no page yet */
	int64_t heard_revision; /* the watch has delivered everything up to here */
	int64_t watch_revision; /* the user has been told everything up to here */
	uint32_t failures;      /* failures in a row */
	/* In LISTING, when to send the next read; UINT64_MAX: it is in flight. In
	 * OPENING, when to go on without a watch, or when to open one. */
	uint64_t fetch_at_ms;
	uint64_t check_at_ms; /* in WATCHING; UINT64_MAX: the check is in flight */
	/* when a watch that lags is given up; UINT64_MAX: it does not lag */
	uint64_t stall_at_ms;
	int64_t want_revision; /* the watch has to get here */
	enum relist_watch_state watch;
};

/* check_ms 0: 10 s. stall_ms 0: 10 s. */
void relist_core_init(struct relist_core *core, uint64_t check_ms, uint64_t stall_ms,
                      uint64_t seed);

/* The actions must be performed in order. A page, an end of the watch or a check is fed
 * only as the answer to the last request of its kind. EVENTS before the end of the list
 * are deferred by the driver, until RELEASE or the end of the watch. */
void relist_step(struct relist_core *core, const struct relist_event *event,
                 struct relist_actions *actions);

/* When to feed RELIST_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t relist_deadline_ms(const struct relist_core *core);

#endif
