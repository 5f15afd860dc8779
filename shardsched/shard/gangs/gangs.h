/*
 * Gangs: pods that are bound together or not at all.
 *
 *	gangs.c         who belongs to which, and which may be tried
 *	gang_try.c      whole gangs to nodes, and into one bundle
 *	gang_large.h    those that do not fit into one: a record, holds, then pods
 *	gang_set_reason.c      why members wait
 *
 * All members stand in one partition (home.h), so its owner sees them all. In the queue
 * there is one entry for all of them, since what is refused, waits and is tried again is
 * the gang: it is there while enough members wait, those that are bound counted. Members
 * that wait are QUEUED as other pods are, but in no place of the queue.
 */
#ifndef SHARDSCHED_SHARD_GANGS_H
#define SHARDSCHED_SHARD_GANGS_H

#include "shardsched/gang/gang.h"
#include "shardsched/queue/entry.h"
#include "store/base/list.h"
#include "store/base/map.h"

struct gang_work;
struct sched;
struct sched_pod;

enum { GANG_MESSAGE_SIZE = 384 };

struct sched_gang {
	struct pl_map_node by_name;
	uint32_t key[3];        /* partition, namespace, name; held */
	struct pl_list members; /* pods of that partition whose spec says so */
	struct pl_list dirty;
	struct pl_list batched; /* in the bundle */
	struct pl_list reporting;
	uint32_t count;                   /* members */
	uint32_t ready, present, minimum; /* when it was looked at: wait, are bound */
	uint32_t tried, tried_present;    /* likewise, when it was refused */
	struct queue_class class;         /* opened while open is set */
	struct queue_pod queue;
	bool open;
	bool large;   /* it does not go into one transaction */
	bool viewing; /* it holds the whole view */
	bool pause;   /* what is tried again is not so at once */
	uint64_t look_ms;
	uint32_t attempts;      /* before it left the queue */
	struct gang_work *work; /* gang_large.h; NULL: none is under way */
	/* What members are told: who was not told this number has to be. */
	uint32_t reason_number;
	uint64_t report_ms;
	uint32_t reason;
	char message[GANG_MESSAGE_SIZE];
};

struct gangs {
	struct pl_map by_name;
	struct pl_list dirty, reporting;
	struct gang *tool;
	struct gang_member *member;
	struct sched_pod **pod;
	uint32_t cap;
	struct pl_list works; /* of those that are large */
	uint32_t ours;        /* of these, decided here and not past reserving */
	uint32_t record_pods; /* at most, in a record: tests have it lower */
	struct pl_arena arena;
	uint32_t holds; /* of gangs, on all nodes */
	bool due;       /* works are to be looked at */
	uint64_t tick_ms;
};

/* -- gangs.c ------------------------------------------------------------ */

PL_NODISCARD enum pl_code gangs_init(struct sched *sched, struct pl_err *err);
void gangs_done(struct sched *sched);
/* Classes of the queue are to be closed; they open again when the gangs are looked at. */
void gangs_close(struct sched *sched);
/* PL_NOMEM; PL_INVALID: no gang has that name. */
PL_NODISCARD enum pl_code gang_get(struct sched *sched, const uint32_t key[3],
                                   struct sched_gang **out);
/* Does it belong to a gang, now that something about it changed? */
void gangs_reconcile_pod(struct sched *sched, struct sched_pod *pod);
void gangs_leave(struct sched *sched, struct sched_pod *pod);
/* To be looked at. */
void gang_set_dirty(struct sched *sched, struct sched_gang *gang);
void gangs_run(struct sched *sched);
uint64_t gangs_deadline_ms(const struct sched *sched);
struct sched_gang *gang_of_queue(struct queue_pod *pod);
bool gang_is_class(const struct queue_class *class);
/* It was refused with those who wait now: until others do, only events help it. */
void gang_tried(struct sched_gang *gang);
/* May what happened help it? */
bool gang_hint(struct sched *sched, const struct queue_class *class, unsigned plugin,
               const struct queue_event *event);
/* A partition was lost. */
void gangs_lost(struct sched *sched, uint32_t partition);
void gangs_check(const struct sched *sched);

/* -- gang_try.c ---------------------------------------------------------- */

/* It was popped. */
void gang_try_now(struct sched *sched, struct sched_gang *gang);
/* Its bundle is over: it stands or not. */
void gang_batch_done(struct sched *sched, struct sched_gang *gang, bool stood);
/* It does not go into one transaction. */
void gang_too_large(struct sched_gang *gang);

/* -- gang_set_reason.c -------------------------------------------------------------- */

PL_PRINTF(4, 5)
void gang_set_reason(struct sched *sched, struct sched_gang *gang, uint32_t reason,
                     const char *fmt, ...);
void gangs_report(struct sched *sched);

#endif
