/*
 * What a shard knows of nodes that it does not own; inside the core.
 *
 *	whole.c    the whole view: all nodes, followed in one order
 *	visits.c   partitions of others, listed once
 */
#ifndef SHARDSCHED_SHARD_ABROAD_H
#define SHARDSCHED_SHARD_ABROAD_H

#include <stdbool.h>
#include <stdint.h>

#include "store/kv/types.h"

struct sched;
struct sched_node;

/* -- whole.c --------------------------------------------------------- */

struct whole {
	unsigned users;
	uint64_t until_ms; /* kept so long though there are none */
	bool begun;        /* the driver has it */
	bool known;        /* it was listed, as long ago as it may be */
	uint8_t generation;
	int64_t revision; /* everything up to it has come in; 0: it is being listed */
};

/* It is wanted by one more, or one less: what takes long to get is kept for a while. */
void view_want(struct sched *sched);
void view_release(struct sched *sched);

/* Everything that happened up to that revision is in the snapshot, on whatever node: a
 * lock that was last put at or before it may be compared by what is decided now. 0: the
 * view is not there (yet). */
int64_t view_clear(const struct sched *sched);
bool whole_is_wanted(const struct sched *sched);
uint64_t whole_deadline_ms(const struct sched *sched);
void whole_begin(struct sched *sched);
void whole_records(struct sched *sched, const struct kv_record *records, size_t count);
void whole_end(struct sched *sched, int64_t revision);
void whole_events(struct sched *sched, const struct kv_event *events, size_t count,
                  int64_t revision);
void whole_lost(struct sched *sched);
/* Nothing is known of it any more. */
void whole_forget(struct sched *sched);

/* -- visits.c -------------------------------------------------------- */

struct visit {
	bool wanted; /* to be begun */
	bool out;    /* the driver lists it */
	bool moot;   /* owned since: what comes of it is nothing */
	bool known;
	int64_t revision;
	uint64_t at_ms;   /* when it was listed */
	uint64_t used_ms; /* when somebody last looked for a node there */
};

struct visits {
	uint32_t wanted, out, known;
	uint32_t next; /* partition, to be fair */
	uint64_t due_ms;
};

/* The partition is to be listed (again). */
void visit_want(struct sched *sched, uint32_t partition);
bool visit_next(struct sched *sched, uint32_t *partition);
/* It changes hands: nothing that was visited is meant any more. */
void visit_drop(struct sched *sched, uint32_t partition);
void visits_run(struct sched *sched);
uint64_t visits_deadline_ms(const struct sched *sched);

/* Its nodes are known, though somebody else owns them. */
bool abroad_knows(const struct sched *sched, uint32_t partition);
void abroad_settle(struct sched *sched, uint32_t partition);
/* Nodes of a partition that is not owned. */
void abroad_forget(struct sched *sched, uint32_t partition);

#endif
