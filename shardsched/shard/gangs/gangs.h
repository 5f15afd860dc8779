/*
 * Gangs: pods that are bound together or not at all.
 *
 *	gangs.c        membership, and which gangs may be tried
 *	gang_try.c     decides whole gangs into one atomic batch
 *	gang_large.h   gangs that do not fit into one transaction
 *	gang_report.c  why members wait
 *
 * All members are in one partition, so its owner sees them all. The queue has one entry
 * for the gang, since the gang is what is refused, waits and is retried. The entry is
 * there while enough members wait, those that are bound counted. A waiting member is
 * QUEUED like other pods, but has no place in the queue itself.
 */
#ifndef SHARDSCHED_SHARD_GANGS_GANGS_H
#define SHARDSCHED_SHARD_GANGS_GANGS_H

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
	struct pl_list members; /* pods of the partition whose spec names the gang */
	struct pl_list dirty;
	struct pl_list batched; /* in the batch's gangs */
	struct pl_list reporting;
	uint32_t count; /* of members */
	/* at the last look: members that wait, that are bound, and the minimum */
	uint32_t ready, present, minimum;
	uint32_t tried, tried_present; /* ready and present when it was refused last */
	struct queue_class class;      /* open while the flag open is set */
	struct queue_pod queue;
	bool open;
	bool large;   /* does not fit into one transaction */
	bool viewing; /* holds a reference to the fleet view */
	bool pause;   /* the next retry backs off first */
	uint64_t look_ms;
	uint32_t queued_ms;     /* as of a pod (pod.h) */
	uint32_t attempts;      /* made before the gang left the queue */
	struct gang_work *work; /* the attempt under way (gang_large.h); NULL: none */
	/* The reason that members report. It has a number: members that have reported
	 * another number are to report it. */
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
	struct pl_list works; /* attempts of large gangs */
	uint32_t ours; /* attempts that were decided here and are not past reserving */
	uint32_t record_pods; /* the most pods of a record; tests set it lower */
	struct pl_arena arena;
	uint32_t reservations; /* reservations of gangs on all nodes */
	bool due;              /* attempts are to be looked at */
	uint64_t tick_ms;
};

/* -- gangs.c ----------------------------------------------------------------- */

PL_NODISCARD enum pl_code gangs_init(struct sched *sched, struct pl_err *err);
void gangs_done(struct sched *sched);
/* Closes the gangs' queue classes; they open again when the gangs are looked at. */
void gangs_close(struct sched *sched);
/* PL_NOMEM; PL_INVALID: no gang can have that name. */
PL_NODISCARD enum pl_code gang_get(struct sched *sched, const uint32_t key[3],
                                   struct sched_gang **out);
/* Joins the pod to its gang, or removes it, after a fact about it has changed. */
void gangs_reconcile_pod(struct sched *sched, struct sched_pod *pod);
void gangs_leave(struct sched *sched, struct sched_pod *pod);
/* The gang is to be looked at. */
void gang_set_dirty(struct sched *sched, struct sched_gang *gang);
void gangs_run(struct sched *sched);
uint64_t gangs_deadline_ms(const struct sched *sched);
struct sched_gang *gang_of_queue(struct queue_pod *pod);
bool gang_is_class(const struct queue_class *class);
/* The gang was refused with the members that wait now: until others wait, only events
 * help it. */
void gang_tried(struct sched_gang *gang);
/* The event may help the gang. */
bool gang_hint(struct sched *sched, const struct queue_class *class, unsigned plugin,
               const struct queue_event *event);
/* A partition was lost. */
void gangs_lost(struct sched *sched, uint32_t partition);
void gangs_check(const struct sched *sched);

/* -- gang_try.c -------------------------------------------------------------- */

/* Decides a gang that was popped. */
void gang_try_now(struct sched *sched, struct sched_gang *gang);
/* The batch with the gang was applied, or it was not. */
void gang_batch_done(struct sched *sched, struct sched_gang *gang, bool stood);
/* The gang does not fit into one transaction. */
void gang_too_large(struct sched_gang *gang);

/* -- gang_report.c ----------------------------------------------------------- */

PL_PRINTF(4, 5)
void gang_set_reason(struct sched *sched, struct sched_gang *gang, uint32_t reason,
                     const char *fmt, ...);
void gangs_report(struct sched *sched);

#endif
