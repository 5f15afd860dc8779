/*
 * A remote list: the nodes and allocs of a partition of another shard, listed once at one
 * revision, to look for a node there. Each partition has one.
 *
 * State: what is asked of the driver (remote_list.c asserts the arrows).
 *
 *	        request                next
 *	IDLE <-----------> WANTED -------------> RUNNING --a record is not kept--> SPOILED
 *	 ^       drop        ^                      |                                 |
 *	 |                   | end, failed          +-------------- drop -------------+
 *	 |                   |                      v                                 |
 *	 |              MOOT_WANTED <-request-> MOOT |                                |
 *	 |                             drop          |                                |
 *	 +--------------------- end, failed ---------+--------------------------------+
 *
 * MOOT is a list whose partition changed hands while it ran: whatever it brings is
 * ignored. A SPOILED or failed list counts as a failure and is requested again.
 *
 * Contents: UNKNOWN, KNOWN once a list is complete, STALE when a commit showed that it is
 * outdated. Nodes of an UNKNOWN partition are in the cache only if the fleet view, or a
 * running list, has brought them.
 *
 * Invariants: the partition of a list that is not IDLE or MOOT is not owned; struct
 * remote_lists counts the lists that are wanted, out (RUNNING and after) and not UNKNOWN.
 */
#ifndef SHARDSCHED_SHARD_REMOTE_REMOTE_LIST_H
#define SHARDSCHED_SHARD_REMOTE_REMOTE_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct pl_err;
struct sched;

enum remote_list_state {
	LIST_IDLE,
	LIST_WANTED,
	LIST_RUNNING,
	LIST_SPOILED,
	LIST_MOOT,
	LIST_MOOT_WANTED,
	LIST_STATES
};

enum remote_list_contents { LIST_UNKNOWN, LIST_KNOWN, LIST_STALE };

struct remote_list {
	enum remote_list_state state;
	enum remote_list_contents contents;
	bool needed;           /* one certain node of the partition has to be known */
	bool holds_fleet_view; /* the list uses the view: needed, but keeps failing */
	bool all_read;         /* nothing is left for remote_read_nodes */
	uint8_t failures;      /* in a row */
	uint32_t read;         /* nodes that were read since the list is known */
	int64_t revision;      /* that it was listed at */
	uint64_t after_ms;     /* a wanted list does not begin before */
	uint64_t began_ms;     /* when the driver was asked for it last */
	uint64_t at_ms;        /* when it was complete */
	uint64_t fresh_ms;     /* so long after at_ms it is good for deciding */
	uint64_t used_ms;      /* when a node was last looked for in it */
};

struct remote_lists {
	uint32_t wanted, out, known;
	uint32_t next;   /* partition at which the search for the next list begins */
	uint64_t due_ms; /* when a list may have grown too old; 0: none is known */
};

static inline bool remote_list_is_known(const struct remote_list *list)
{
	return list->contents != LIST_UNKNOWN;
}

/* The partition is to be listed, or listed again. */
void remote_list_request(struct sched *sched, uint32_t partition);
/* The next list that the driver is to begin. */
bool remote_list_next(struct sched *sched, uint32_t *partition);
/* The partition changes hands: whatever was or is being listed is void. */
void remote_list_drop(struct sched *sched, uint32_t partition);
void remote_lists_run(struct sched *sched);
uint64_t remote_lists_deadline_ms(const struct sched *sched);

/* The partition is known, and its list young enough to place a pod by it; an older list
 * is requested again. */
bool remote_list_is_fresh(struct sched *sched, uint32_t partition);
/* The list is fresh, or would be requested by remote_list_is_fresh. */
bool remote_list_is_due(const struct sched *sched, uint32_t partition);
/* A commit showed that the list is outdated. */
void remote_list_set_stale(struct sched *sched, uint32_t partition);

/* The nodes of the partition are known, by its list or by the fleet view. */
bool remote_knows(const struct sched *sched, uint32_t partition);
/* The nodes are known or being listed. Events of other partitions are not kept: nothing would
 * bring them up to date, or end them. */
bool remote_follows(const struct sched *sched, uint32_t partition);
void remote_reconcile(struct sched *sched, uint32_t partition);
/* Forgets the nodes of a partition that is not owned. */
void remote_forget(struct sched *sched, uint32_t partition);

/* -- remote_list_fail.c --------------------------------------------------------- */

/* One certain node of the partition has to be known: by a list, or, where lists keep
 * failing, by the fleet view. */
void remote_list_require(struct sched *sched, uint32_t partition);
/* So many failures in a row that no pod waits for the next list. */
bool remote_list_keeps_failing(const struct sched *sched, uint32_t partition);
/* A list failed: it is requested again, to begin after a pause. */
void remote_list_on_failed(struct sched *sched, uint32_t partition,
                           const struct pl_err *why);
/* A list did not fail, or the partition has another owner: failures count from 0. */
void remote_list_ok(struct sched *sched, uint32_t partition);

#endif
