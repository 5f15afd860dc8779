/*
 * Gangs that are too large for one transaction, inside the core.
 *
 *	gang_begin.c   it is decided
 *	gang_large.c   what is to be done next for each
 *	gang_ended.c   what became of its calls
 *	gang_reserve.c, gang_bind.c, gang_release.c   on which nodes
 *	gang_rules.c   whether rules about pods on other nodes still let them
 *	gang_plan.c    which pods go where, and how that stands in a record
 *	gang_steps.c   the transactions
 *	records.c      what is known of records
 *
 *	decided --> holds planned --> record created: reserving
 *	reserving   holds into the allocs; all stand --> bound
 *	            a member is another, a node has no room any more, the deadline has
 *	            come, or whoever began it is no more --> aborting
 *	bound       holds become pods; none is left --> no record
 *	aborting    holds are released by the nodes' owners; none is left --> no record
 *
 * What is done follows from the record, from the allocs, and from the members as they
 * are known, each time anew: so whoever takes over goes on. Each transaction compares
 * the record, so nothing that was begun in one phase can happen in the next.
 */
#ifndef SHARDSCHED_SHARD_GANGS_GANG_LARGE_H
#define SHARDSCHED_SHARD_GANGS_GANG_LARGE_H

#include "shardsched/records/gang_record.h"
#include "shardsched/shard/inner.h"

struct gang_plan_pod {
	uint32_t name; /* held */
	int64_t spec_rev;
};

struct gang_plan_node {
	uint32_t key[2]; /* cluster, name; held */
	uint32_t partition;
	int64_t node_rev; /* of the Node that was decided for; 0: by somebody else */
	struct gang_plan_pod *pod;
	uint32_t pods;
};

/* One after the other, as they were decided: each saw those before it. */
struct gang_plan_turn {
	uint32_t node, pod; /* of the plan, of that node */
};

struct gang_plan {
	struct pl_arena arena;
	struct gang_plan_node *node;
	struct gang_plan_turn *turn; /* of all pods; NULL: it was read */
	uint32_t nodes, pods;
	int64_t epoch; /* of the partition, when it was decided */
};

/* What is under way for a gang: decided here, or by a record that was found. */
struct gang_work {
	struct pl_list link;
	struct sched_gang *gang;
	struct gang_record_entry *known;
	struct gang_plan plan;
	struct pl_span value; /* of the record that it began with, if it is ours */
	bool ours;            /* it was decided here: its holds may be put */
	bool seen;            /* there was a record */
	bool planned;         /* the plan is known */
	bool putting;         /* the record, in a call */
	bool failed;          /* reserving is given up */
	int64_t until_ms;     /* as the record says */
	uint64_t over_ms;     /* the same, whatever becomes of the wall clock */
	uint64_t retry_ms;    /* of the record */
	uint64_t since_ms;    /* of the phase */
	enum gang_phase phase;
	bool reported;
	bool ruled; /* gang_rules.c: rules concern its members, when it was last looked */
	bool waits; /* nothing is decided under rules until its record is put */
	uint32_t standing; /* nodes on which room is held, when it was last looked */
};

/* -- gang_large.c ------------------------------------------------------------ */

void large_gangs_init(struct sched *sched);
void large_gangs_done(struct sched *sched);
void large_gangs_run(struct sched *sched);
uint64_t large_gangs_deadline_ms(const struct sched *sched);
/* Something has changed that may matter. */
void large_gangs_set_due(struct sched *sched);
bool gang_record_is_used(const struct sched *sched,
                         const struct gang_record_entry *known);
/* Its partition is lost; all is. */
void large_gang_drop(struct sched *sched, struct gang_work *work);
void large_gangs_drop_all(struct sched *sched);
/* NULL: no memory. */
struct gang_work *gang_work_get(struct sched *sched, struct sched_gang *gang,
                                struct gang_record_entry *known);
/* No pod is decided under a rule while pods that count may be about to come. */
bool large_gangs_shut_rules(const struct sched *sched);
/* Likewise: one is about to be bound, by what is known now. */
bool large_gangs_want_turn(const struct sched *sched);
void large_gangs_check(const struct sched *sched);

/* -- gang_begin.c ------------------------------------------------------------ */

/* At once: what few calls bring to an end in time. */
enum { LARGE_GANGS_OURS_MAX = 32 };

/* That many members, as gangs.pod, were placed so: all of them, or, of those beyond the
 * minimum, as many as go. False: not even that; why says so. */
bool large_gang_begin(struct sched *sched, struct sched_gang *gang,
                      const struct gang_outcome *out, uint32_t count, const char **why);
/* As many are under way as may be: who turns out to be large waits for its turn. */
bool large_gangs_are_full(const struct sched *sched);

/* -- gang_ended.c ------------------------------------------------------------ */

/* A call of gang_steps.c has ended, stood or not, and what it brought was taken. */
void large_gang_txn_done(struct sched *sched, const struct shard_txn *txn);
/* Its entry for the record: it stands; or it does not, and that was read. */
void large_gang_record_applied(struct sched *sched, const struct txn_entry *entry,
                               int64_t revision);
void large_gang_record_failed(struct sched *sched, const struct txn_entry *entry,
                              const struct builder_found *found, int64_t revision);

/* -- gang_reserve.c, gang_bind.c, gang_release.c ----------------------------- */

struct gang_step;

/* All members are as they were decided for. */
bool large_gang_members_wait(const struct sched *sched, const struct gang_work *work);
/* That node's share is planned there. */
PL_NODISCARD enum pl_code large_gang_plan_reservation(struct sched *sched,
                                                      const struct gang_work *work,
                                                      const struct gang_plan_node *is,
                                                      struct sched_node *node,
                                                      struct pl_err *err);
/* Puts what is planned; true: all of it stands. */
bool large_gang_reserve(struct sched *sched, struct gang_work *work);
/* False: nothing is held there (any more). */
bool large_gang_bind_on(struct sched *sched, struct gang_work *work,
                        struct gang_step *step, const struct gang_plan_node *is);
void large_gangs_release(struct sched *sched);

/* -- gang_rules.c: of one that was decided here, all of whose members wait -------- */

enum gang_ruling {
	GANG_RULING_NOW,
	GANG_RULING_LATER, /* that can not be told yet */
	GANG_RULING_NEVER, /* not where its room is held */
};

/* Rules about pods on other nodes concern a member. */
bool large_gang_is_ruled(const struct sched *sched, const struct gang_work *work);

/* What rules ask of the transactions that bind some pods: of those that were added. */
struct gang_locks {
	bool ruled;    /* they concern one: the flip has the locks of all */
	uint32_t most; /* of one pod: go along when it is listed */
};

/* Gathers them. */
void gang_locks_add(struct sched *sched, struct gang_locks *locks,
                    struct registered_class *open);
/* With all else that goes into the same transaction. */
bool gang_locks_fit(const struct sched *sched, const struct gang_locks *locks);
/* All members, one after the other, where they are meant to go: would they still? */
enum gang_ruling large_gang_fits(struct sched *sched, const struct gang_work *work);
/* The same in the moment of binding it. GANG_RULING_NOW: the locks are gathered. */
enum gang_ruling large_gang_may_bind(struct sched *sched, struct gang_work *work);

/* -- gang_plan.c ---------------------------------------------------------------- */

PL_NODISCARD enum pl_code gang_plan_from_decision(struct sched *sched,
                                                  struct gang_plan *plan,
                                                  const struct gang_outcome *out,
                                                  uint32_t count, struct pl_err *err);
PL_NODISCARD enum pl_code gang_plan_from_record(struct sched *sched,
                                                struct gang_plan *plan,
                                                const struct gang_record_entry *known,
                                                struct pl_err *err);
void gang_plan_done(struct sched *sched, struct gang_plan *plan);
/* The record's value, in the arena. */
PL_NODISCARD enum pl_code gang_plan_print(struct sched *sched,
                                          const struct gang_plan *plan,
                                          enum gang_phase phase, int64_t until_ms,
                                          struct pl_arena *arena, struct pl_span *out,
                                          struct pl_err *err);
/* The same in another phase. */
PL_NODISCARD enum pl_code gang_plan_print_phase(struct sched *sched,
                                                const struct gang_record_entry *known,
                                                enum gang_phase phase,
                                                struct pl_arena *arena,
                                                struct pl_span *out, struct pl_err *err);

struct sched_node *gang_plan_find_node(const struct sched *sched,
                                       const struct gang_plan_node *node);
struct sched_pod *gang_plan_find_pod(const struct sched *sched,
                                     const struct sched_gang *gang,
                                     const struct gang_plan_pod *pod);
/* It waits as it was decided for. */
bool gang_plan_pod_waits(const struct sched_pod *pod, const struct gang_plan_pod *is);

/* -- gang_steps.c ------------------------------------------------------------------- */

/* Into the record: value, or nothing any more when that is empty. bind: and the rules
 * that are registered are what they were, and so is what was gathered. False: not now. */
bool gang_step_record(struct sched *sched, struct gang_work *work, struct pl_span value,
                      bool bind);

/* Several nodes, as many as go into a transaction. */
struct gang_step {
	const struct gang_record_entry *known; /* to be compared */
	struct shard_txn *txn;                 /* being made; NULL: none */
	bool full;                             /* there is no room for another call */
};

enum gang_step_result {
	GANG_STEP_DONE,
	GANG_STEP_LATER,
	GANG_STEP_NEVER, /* it does not go into a transaction alone */
};

/* What those that it is for take of the alloc when they are listed. */
struct gang_step_need {
	uint32_t bytes, ports;
};

/* The hold that is planned there, into its alloc, if there is room for these, too. */
enum gang_step_result gang_step_reserve(struct sched *sched, struct gang_step *step,
                                        struct sched_node *node,
                                        const struct gang_step_need *need);
/* The hold out of it, and these members in. */
enum gang_step_result gang_step_bind(struct sched *sched, struct gang_step *step,
                                     struct sched_node *node,
                                     struct sched_pod *const *pod, uint32_t pods);
/* What has been gathered goes. */
void gang_step_end(struct sched *sched, struct gang_step *step);

#endif
