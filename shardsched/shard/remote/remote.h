/*
 * What a shard knows of nodes that it does not own; inside the core.
 *
 *	whole.c    the whole view: all nodes, followed in one order
 *	visits.c   partitions of others, listed once; remote_lists_fail.c  or not
 *	offers.c   their digests; admits.c  what these admit; digests.c  the own one
 *	abroad.c   pods that find nothing at home; reads.c  nodes for them that are read
 *	errands.c  commits on others' nodes
 */
#ifndef SHARDSCHED_SHARD_REMOTE_REMOTE_H
#define SHARDSCHED_SHARD_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "shardsched/records/digest.h"
#include "shardsched/shard/txn/conflicts.h"
#include "store/base/list.h"
#include "store/kv/types.h"

struct shard_txn;
struct cycle_outcome;
struct registered_class;
struct queue_class;
struct queue_event;
struct sched;
struct sched_node;
struct sched_pod;
struct spec;

/* -- whole.c --------------------------------------------------------- */

struct fleet_view {
	unsigned users;
	uint64_t until_ms; /* kept so long though there are none */
	bool begun;        /* the driver has it */
	bool known;        /* it was listed, as long ago as it may be */
	bool missed;       /* something of it could not be kept, since it began */
	uint8_t generation;
	/* Everything up to it has come in; 0: it is being listed, or is to be anew. */
	int64_t revision;
};

/* It is wanted by one more, or one less: what takes long to get is kept for a while. */
void fleet_view_acquire(struct sched *sched);
void fleet_view_release(struct sched *sched);

/* Everything that happened up to that revision is in the snapshot, on whatever node: a
 * lock that was last put at or before it may be compared by what is decided now. 0: the
 * view is not there (yet). */
int64_t fleet_view_applied_rev(const struct sched *sched);
bool fleet_view_is_wanted(const struct sched *sched);
/* It is used now: wanted for a while. */
void fleet_view_touch(struct sched *sched);
uint64_t fleet_view_deadline_ms(const struct sched *sched);
void fleet_view_begin(struct sched *sched);
void fleet_view_records(struct sched *sched, const struct kv_record *records,
                        size_t count);
void fleet_view_end(struct sched *sched, int64_t revision);
void fleet_view_events(struct sched *sched, const struct kv_event *events, size_t count,
                       int64_t revision);
void fleet_view_lost(struct sched *sched);
/* What it has told, or was to tell again, could not be kept: nothing is decided by it
 * until it was listed anew. */
void fleet_view_incomplete(struct sched *sched);
/* Likewise, if it was not heard that it is to be. */
void fleet_view_repair(struct sched *sched);
/* Nothing is known of it any more. */
void fleet_view_forget(struct sched *sched);

/* -- visits.c -------------------------------------------------------- */

struct remote_list {
	bool wanted; /* to be begun */
	bool out;    /* the driver lists it */
	bool moot;   /* owned since: what comes of it is nothing */
	bool failed; /* some of it could not be kept */
	bool known;
	bool stale;            /* a commit on it failed */
	bool needed;           /* a node there has to be known */
	bool holds_fleet_view; /* on the whole view, for that */
	uint8_t failures;      /* in a row */
	bool all_read; /* whatever is known of it: there is nothing more to read */
	uint32_t read; /* nodes, since it is known */
	int64_t revision;
	uint64_t after_ms; /* not to be begun before */
	uint64_t began_ms; /* when it was begun to be listed */
	uint64_t at_ms;    /* when it was listed */
	uint64_t fresh_ms; /* so long what was seen is good for deciding */
	uint64_t used_ms;  /* when somebody last looked for a node there */
};

struct remote_lists {
	uint32_t wanted, out, known;
	uint32_t next; /* partition, to be fair */
	uint64_t due_ms;
};

/* The partition is to be listed (again). */
void remote_list_request(struct sched *sched, uint32_t partition);
bool remote_list_next(struct sched *sched, uint32_t *partition);
/* It changes hands: nothing that was visited is meant any more. */
void remote_list_drop(struct sched *sched, uint32_t partition);
void remote_lists_run(struct sched *sched);
uint64_t remote_lists_deadline_ms(const struct sched *sched);

/* Known, and young enough to put a pod there; if not, it is to be listed again. */
bool remote_list_is_fresh(struct sched *sched, uint32_t partition);
/* It is that, or would be listed if somebody asked. */
bool remote_list_is_due(const struct sched *sched, uint32_t partition);
/* Its nodes are known, though somebody else owns them. */
bool remote_knows(const struct sched *sched, uint32_t partition);
/* Likewise, or they are being listed. What is heard of others is not kept: nothing would
 * bring it up to date, or end it. */
bool remote_follows(const struct sched *sched, uint32_t partition);
void remote_reconcile(struct sched *sched, uint32_t partition);
/* Nodes of a partition that is not owned. */
void remote_forget(struct sched *sched, uint32_t partition);

/* -- remote_lists_fail.c ---------------------------------------------------- */

/* It has to be known: by a visit, or if these fail by the whole view. */
void remote_list_require(struct sched *sched, uint32_t partition);
/* So often that nobody waits for the next one. */
bool remote_list_keeps_failing(const struct sched *sched, uint32_t partition);
/* One did, and why: it is made again, later. */
void remote_list_on_failed(struct sched *sched, uint32_t partition,
                           const struct pl_err *why);
/* One did not, or who owns it is another. */
void remote_list_ok(struct sched *sched, uint32_t partition);

/* -- offers.c, admits.c ---------------------------------------------- */

struct remote_digest;

/* What the digest of its owner says of a partition. */
struct digest_entry {
	const struct remote_digest *from;
	const struct digest_partition *is; /* NULL: nothing */
	uint64_t hash;
	uint32_t number; /* of what was said; it grows */
};

void digest_index_begin(struct sched *sched);
void digest_index_records(struct sched *sched, const struct kv_record *records,
                          size_t count);
void digest_index_end(struct sched *sched);
void digest_index_events(struct sched *sched, const struct kv_event *events,
                         size_t count);
void digest_index_forget(struct sched *sched);
/* When its owner said so. */
int64_t digest_entry_revision(const struct digest_entry *digest_entry);
/* It is looked at again, though it says what it did. */
void digest_entry_recheck(struct sched *sched, uint32_t partition);
bool digest_admits(const struct sched *sched, uint32_t partition,
                   const struct spec *spec);
/* Of those who may have to go so that there is room for it there, the lowest priority;
 * INT32_MAX: nobody may. */
int32_t digest_least_priority(const struct sched *sched, uint32_t partition,
                              const struct spec *spec);

/* -- digests.c ------------------------------------------------------- */

enum { DIGEST_SUMMARY_AMOUNTS = 4 };

/* By which two are compared. */
struct digest_summary {
	uint64_t hash; /* of all */
	uint64_t kind; /* of what can be asked for, but for amounts */
	uint64_t nodes;
	int64_t amount[2][DIGEST_SUMMARY_AMOUNTS]; /* free, most */
};

struct own_digest {
	struct pl_arena arena;
	struct digest_partition part;
	struct digest_summary now, published;
	bool dirty, made, written;
};

struct digests {
	struct pl_list remotes; /* others' */
	uint8_t generation;
	bool listed;
	uint64_t listed_ms; /* since when */
	bool pending;
	int64_t revision;       /* of the own one */
	uint8_t own_generation; /* in which it was last heard of */
	uint64_t changes;       /* of the snapshot, that are in it */
	uint64_t due_ms, written_ms;
	uint32_t next;
	uint32_t shards, published; /* how many there are; others that have a digest */
	uint32_t rank;              /* by name, among those */
};

/* digest_make.c: of that partition; gives how many nodes were looked at, and one. */
uint32_t digest_make(struct sched *sched, uint32_t partition);

/* digest_fit.c: prints it, or less of it where it is larger than it may be. PL_LIMIT:
 * whatever is left out. */
PL_NODISCARD enum pl_code digest_fit(struct pl_arena *arena, const struct digest *digest,
                                     struct pl_buf *out, struct pl_err *err);

void digests_init(struct sched *sched);
void digests_done(struct sched *sched);
void own_digest_run(struct sched *sched);
uint64_t own_digest_deadline_ms(const struct sched *sched);
void own_digest_answer(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result);
/* What was written does not stand there. */
void own_digest_unwritten(struct sched *sched);
/* It is another one, or to be told from now on, or not any more. */
void own_digest_dirty(struct sched *sched, uint32_t partition);

/* -- abroad.c -------------------------------------------------------- */

/* Of a class of pods, once one of it had to look elsewhere. */
struct remote_search {
	uint32_t *tried; /* by partition: the number of the offer; NULL: none yet */
	struct sched_pod *leader; /* it waits for a visit, or for room */
	struct pl_list followers; /* pods, by link, that wait for what becomes of it */
};

struct remote_state {
	struct pl_list ready;        /* nodes, as sched.ready */
	struct pl_list list_waiters; /* pods, by link, that wait for a visit */
	struct pl_list
		room_waiters; /* and those that wait for room in errands; of a class one */
	uint32_t waiting;     /* pods, at nodes of others */
	uint32_t out;         /* calls */
	uint32_t window;      /* that may be */
	uint32_t streak;      /* that went through since the window grew */
	uint32_t placements_max; /* placements in one */
	uint64_t pause_ms;       /* after the last conflict */
	uint64_t resume_ms;      /* no call before */
	uint64_t excluded_ms;    /* when the first node comes back; 0: none is aside */
};

void remote_init(struct sched *sched);
/* Of all nodes that are known. False: it failed, and will be tried again. */
bool remote_run_cycle(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                      struct cycle_outcome *out);
/* Nothing was found at home. True: it is placed, or waits for a visit; false: outcome
 * says what all that are known say, and if asked that was what the last cycle looked at.
 */
bool remote_decide(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                   struct cycle_outcome *outcome, bool *asked);
/* A place between 0 and 1 in the high half: of equals each shard has a share of its own
 * to choose from, as far as there are shares. */
uint64_t remote_draw(const struct sched *sched, uint64_t draw);
/* It waits until more is known. */
void remote_await(struct sched *sched, struct sched_pod *pod);
/* It can only be judged by the whole view, which is taken up: it waits for that. */
void remote_await_view(struct sched *sched, struct sched_pod *pod);
/* All nodes are known, but for a few whose pods' specs are still being read. */
bool remote_sees_all(const struct sched *sched);
/* Among the nodes of others that are not known somebody may be less important: the lowest
 * priority there; INT32_MAX: nobody. */
int32_t remote_least_priority(const struct sched *sched, const struct spec *spec);
/* May what happened to a digest help that class? */
bool remote_hint(const struct sched *sched, const struct queue_class *class,
                 const struct queue_event *event);
/* What they waited for has come: a visit, or nodes of ours; room for so many. */
void remote_wake_listed(struct sched *sched);
void remote_wake_room(struct sched *sched, uint32_t room);
/* One of the class was placed or refused: so many that follow are tried. */
void remote_wake_followers(struct sched *sched, struct registered_class *open,
                           uint32_t placements_max);
/* Nobody waits in it. NULL does nothing. */
void remote_search_free(struct remote_search *remote_search);

/* -- reads.c --------------------------------------------------------- */

/* Of what was visited and may have room for it, more nodes are read. False: all are. */
bool remote_read_nodes(struct sched *sched, const struct spec *spec, uint64_t draw);

/* -- errands.c ------------------------------------------------------- */

void remote_commit_run(struct sched *sched);
/* For how many placements there is room at the moment. */
uint32_t remote_commit_room(const struct sched *sched);
bool remote_commit_is_ready(const struct sched *sched);
uint64_t remote_commit_deadline_ms(const struct sched *sched);
/* A call on others' nodes ended. */
void remote_commit_ended(struct sched *sched, const struct shard_txn *txn, bool conflict);
/* Something was newer there than what was decided by. */
void remote_commit_refused(struct sched *sched, struct sched_node *node,
                           enum conflict_cause cause);

#endif
