/*
 * Gangs that are too large for one transaction: they are bound in steps, by a record.
 *
 *	gang_begin.c      begins an attempt with what was decided
 *	gang_large.c      what is to be done next for each attempt
 *	gang_txn_done.c   what became of its txns
 *	gang_reserve.c    puts reservations into allocs
 *	gang_bind.c       turns reservations into pods
 *	gang_release.c    releases the reservations of gangs that were given up
 *	gang_rules.c      whether rules still allow the members' nodes
 *	gang_plan.c       which pods go where, and how a record says it
 *	gang_steps.c      the txns
 *	gang_records.h    what is known of records
 *
 * The phases of a record:
 *
 *	decided --> reservations are planned --> the record is created: reserving
 *	reserving   reservations go into the allocs; once all stand --> bound
 *	            a member has changed, a node has no room any more, the deadline
 *	            has come, or the shard that began it is gone --> aborting
 *	bound       reservations become pods; none is left --> the record is deleted
 *	aborting    the nodes' owners release them; none is left --> it is deleted
 *
 * What is to be done follows from the record, the allocs and the members as they are
 * known, each time anew, so the next owner of the gang's partition can go on. Every txn
 * compares the record, so nothing that was begun in one phase can happen in the next.
 *
 * The state of an attempt says what this shard may do for it:
 *
 *	DECIDED ------> OWN ------------> GIVEN_UP      decided here
 *	   record stands |  reserving failed |
 *	                 |                   | the record is past reserving,
 *	                 v                   v or not this shard's any more
 *	             ADOPTED ----------> ABORTED        known by its record only
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
	/* revision of the Node that was decided for; 0: decided by another shard */
	int64_t node_rev;
	struct gang_plan_pod *pod;
	uint32_t pods;
};

/* The members in the order in which they were decided: each saw those before it. */
struct gang_plan_turn {
	uint32_t node, pod; /* index of the plan's node, index of that node's pod */
};

struct gang_plan {
	struct pl_arena arena;
	struct gang_plan_node *node;
	/* turns of all pods; NULL: the plan was read from a record */
	struct gang_plan_turn *turn;
	uint32_t nodes, pods;
	int64_t epoch; /* epoch of the gang's partition when it was decided */
};

enum gang_work_state {
	GANG_WORK_ADOPTED,
	GANG_WORK_DECIDED,
	GANG_WORK_OWN,
	GANG_WORK_GIVEN_UP,
	GANG_WORK_ABORTED,
};

/* An attempt to bind a gang that is under way: decided here, or found by its record. */
struct gang_work {
	struct pl_list link;
	struct sched_gang *gang;
	struct gang_record_entry *known;
	enum gang_work_state state;
	struct gang_plan plan;
	/* the record's value as it was created; empty: not decided here */
	struct pl_span value;
	bool planned;      /* the plan is known */
	bool putting;      /* the record is in a txn */
	int64_t until_ms;  /* deadline of reserving, as the record says it */
	uint64_t over_ms;  /* the same by the monotonic clock */
	uint64_t retry_ms; /* when the record is to be tried again */
	uint64_t since_ms; /* start of the phase */
	enum gang_phase phase;
	bool reported;
	/* rules concerned members when that was last looked at (gang_rules.c) */
	bool ruled;
	bool waits; /* nothing else is decided under rules until the record is put */
	/* nodes on which the reservation stood when that was last looked at */
	uint32_t standing;
};

static inline void gang_work_set_state(struct gang_work *work, enum gang_work_state to)
{
	static const uint8_t from[] = {
		[GANG_WORK_ADOPTED] = 1 << GANG_WORK_OWN,
		[GANG_WORK_DECIDED] = 1 << GANG_WORK_ADOPTED, /* when it is made */
		[GANG_WORK_OWN] = 1 << GANG_WORK_DECIDED,
		[GANG_WORK_GIVEN_UP] = 1 << GANG_WORK_OWN,
		[GANG_WORK_ABORTED] = 1 << GANG_WORK_ADOPTED | 1 << GANG_WORK_GIVEN_UP,
	};

	PL_ASSERT((from[to] >> work->state & 1) != 0);
	work->state = to;
}

/* The attempt was decided here, and this shard may put its reservations. */
static inline bool gang_work_is_own(const struct gang_work *work)
{
	return work->state == GANG_WORK_DECIDED || work->state == GANG_WORK_OWN ||
	       work->state == GANG_WORK_GIVEN_UP;
}

/* Reserving has failed: the record is to become aborting, or is. */
static inline bool gang_work_is_given_up(const struct gang_work *work)
{
	return work->state == GANG_WORK_GIVEN_UP || work->state == GANG_WORK_ABORTED;
}

static inline void gang_work_give_up(struct gang_work *work)
{
	if (!gang_work_is_given_up(work))
		gang_work_set_state(work, gang_work_is_own(work) ? GANG_WORK_GIVEN_UP
		                                                 : GANG_WORK_ABORTED);
}

/* -- gang_large.c ------------------------------------------------------------ */

void large_gangs_init(struct sched *sched);
void large_gangs_done(struct sched *sched);
void large_gangs_run(struct sched *sched);
uint64_t large_gangs_deadline_ms(const struct sched *sched);
/* Attempts are to be looked at, since something has changed. */
void large_gangs_set_due(struct sched *sched);
bool gang_record_is_used(const struct sched *sched,
                         const struct gang_record_entry *known);
/* Ends the attempt here, since its partition is lost; or all of them. */
void large_gang_drop(struct sched *sched, struct gang_work *work);
void large_gangs_drop_all(struct sched *sched);
/* Makes the attempt; it is ADOPTED. NULL: no memory. */
struct gang_work *gang_work_get(struct sched *sched, struct sched_gang *gang,
                                struct gang_record_entry *known);
/* A gang is being bound, or may be, whose pods are not in the allocs yet: nothing is to
 * be decided under rules. */
bool large_gangs_shut_rules(const struct sched *sched);
/* A gang is about to be bound by what is known now: nothing else is to be decided under
 * rules. */
bool large_gangs_want_turn(const struct sched *sched);
void large_gangs_check(const struct sched *sched);

/* -- gang_begin.c ------------------------------------------------------------ */

/* The most attempts that were decided here at once: few txns end these in time. */
enum { LARGE_GANGS_OURS_MAX = 32 };

/* count members, those of gangs.pod, were placed as out says: all of them or, beyond the
 * minimum, as many as go. False: not even the minimum goes; *why says so. */
bool large_gang_begin(struct sched *sched, struct sched_gang *gang,
                      const struct gang_outcome *out, uint32_t count, const char **why);
/* No further attempt is begun: a gang that turns out to be large waits for its turn. */
bool large_gangs_are_full(const struct sched *sched);

/* -- gang_txn_done.c --------------------------------------------------------- */

/* A txn of gang_steps.c has ended, and what it brought was applied. */
void large_gang_txn_done(struct sched *sched, const struct shard_txn *txn);
/* The entry of a record: it was applied; it was not, and found is what was read. */
void large_gang_record_applied(struct sched *sched, const struct txn_entry *entry,
                               int64_t revision);
void large_gang_record_failed(struct sched *sched, const struct txn_entry *entry,
                              const struct builder_found *found, int64_t revision);

/* -- gang_reserve.c, gang_bind.c, gang_release.c ----------------------------- */

struct gang_step;

/* All members wait, unchanged since they were decided. */
bool large_gang_members_wait(const struct sched *sched, const struct gang_work *work);
/* Plans the node's share there. */
PL_NODISCARD enum pl_code large_gang_plan_reservation(struct sched *sched,
                                                      const struct gang_work *work,
                                                      const struct gang_plan_node *is,
                                                      struct sched_node *node,
                                                      struct pl_err *err);
/* Puts what is planned. True: all reservations stand. */
bool large_gang_reserve(struct sched *sched, struct gang_work *work);
/* False: nothing is reserved there (any more). */
bool large_gang_bind_on(struct sched *sched, struct gang_work *work,
                        struct gang_step *step, const struct gang_plan_node *is);
void large_gangs_release(struct sched *sched);

/* -- gang_rules.c: for attempts that were decided here ----------------------- */

enum gang_ruling {
	GANG_RULING_NOW,
	GANG_RULING_LATER, /* that cannot be told yet */
	GANG_RULING_NEVER, /* not on the nodes that have the reservations */
};

/* Rules about pods on other nodes concern a member. */
bool large_gang_is_ruled(const struct sched *sched, const struct gang_work *work);

/* The locks that the txns which bind these pods have to compare and put. */
struct gang_locks {
	/* rules concern a pod: the txn that makes the record bound has the locks of
	 * all */
	bool ruled;
	uint32_t most; /* the most locks of one pod, put with its node's alloc */
};

/* Adds the locks of a class to what is gathered. */
void gang_locks_add(struct sched *sched, struct gang_locks *locks,
                    struct registered_class *open);
/* The gathered locks fit into a txn with everything else it has. */
bool gang_locks_fit(const struct sched *sched, const struct gang_locks *locks);
/* Whether all members, one after the other, may still go where they are planned. */
enum gang_ruling large_gang_fits(struct sched *sched, const struct gang_work *work);
/* The same in the moment of binding. GANG_RULING_NOW: the locks are gathered. */
enum gang_ruling large_gang_may_bind(struct sched *sched, struct gang_work *work);

/* -- gang_plan.c ------------------------------------------------------------- */

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
/* The known record's value with another phase. */
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
/* The pod waits, unchanged since it was decided. */
bool gang_plan_pod_waits(const struct sched_pod *pod, const struct gang_plan_pod *is);

/* -- gang_steps.c ------------------------------------------------------------ */

/* Puts value into the record, or deletes the record if it is empty. bind: the txn
 * compares registries as well, and has the gathered locks. False: not now. */
bool gang_step_record(struct sched *sched, struct gang_work *work, struct pl_span value,
                      bool bind);

/* Steps on several nodes, as many as fit into a transaction. */
struct gang_step {
	const struct gang_record_entry *known; /* the record to be compared */
	struct shard_txn *txn; /* the txn that is being made; NULL: none */
	bool full;             /* no other txn can be made now */
};

enum gang_step_result {
	GANG_STEP_DONE,
	GANG_STEP_LATER,
	GANG_STEP_NEVER, /* the node does not fit into a transaction alone */
};

/* The room that the members take in the alloc once they are listed. */
struct gang_step_need {
	uint32_t bytes, ports;
};

/* Puts the planned reservation into the node's alloc, if the alloc has room for its
 * members later. */
enum gang_step_result gang_step_reserve(struct sched *sched, struct gang_step *step,
                                        struct sched_node *node,
                                        const struct gang_step_need *need);
/* Replaces the reservation by these members. */
enum gang_step_result gang_step_bind(struct sched *sched, struct gang_step *step,
                                     struct sched_node *node,
                                     struct sched_pod *const *pod, uint32_t pods);
/* Sends what has been gathered. */
void gang_step_end(struct sched *sched, struct gang_step *step);

#endif
