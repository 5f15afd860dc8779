/*
 * The judges, each in a file of its own. A judge observes everything that happens, in
 * true time: what shards report and do, and what the store holds (truth.h, mirror.h). No
 * judge looks into a shard's memory, except by shard_epoch().
 */
#ifndef TESTS_SIM_CHECK_H
#define TESTS_SIM_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/compiler.h"
#include "tests/sim/truth.h"

struct world;
struct proc;

enum obs_what {
	/* reported by a shard: proc, partition, epoch */
	OBS_OWN,
	OBS_QUIESCE,
	OBS_LOST,
	OBS_FENCED,
	OBS_DECIDE, /* a worker acts now */
	OBS_LEAD,   /* role, epoch */
	OBS_FOLLOW,
	OBS_STARTED, /* proc */
	OBS_DIED,    /* proc: crashed, or abandoned */
	OBS_CLOSED,  /* proc: after a graceful end */
	/* changes of the store, at their very moment */
	OBS_OWNER,   /* partition, owner: the new state; before: the old */
	OBS_WRITE,   /* partition, text: the key below /schedules/<p>/ */
	OBS_LEADER,  /* role, leader */
	OBS_SHARD,   /* member: a record was created, changed or deleted */
	OBS_MIRROR,  /* revision, writer: mirror.h marks what was touched */
	OBS_COMPACT, /* revision */
	OBS_RESTORED,
	/* steps of the run */
	OBS_TICK,      /* every 100 ms */
	OBS_RECOVERY,  /* no more faults from here on */
	OBS_CONVERGED, /* everything is as it should be */
	OBS_ALL_LEFT,  /* every process has left */
	OBS_END,       /* leases that are not kept alive have expired */
};

struct obs {
	enum obs_what what;
	struct proc *proc;
	uint32_t partition;
	int64_t epoch;
	int64_t revision;
	int64_t writer; /* simstore.h */
	const struct truth_owner *owner, *before;
	const struct truth_leader *leader;
	const struct truth_member *member;
	const char *role;
	struct pl_span text;
};

struct check {
	const char *name;
	size_t size; /* size of the judge's state, which begins zeroed */
	void (*observe)(struct world *world, void *state, const struct obs *obs);
	void (*done)(void *state); /* may be NULL */
};

extern const struct check check_acting, check_fence, check_epoch, check_convergence,
	check_gap, check_moves, check_lease, check_pin, check_stuck;

/* Judges of nodes and pods; without pods they have nothing to do. */
extern const struct check check_room, check_place, check_rules, check_fsck, check_flow,
	check_termination, check_gang, check_budget;

/* Returns whether every pod that has to be placed is placed; why: a reason if not
 * (check_flow.c). */
bool flow_is_done(struct world *world, char *why, size_t size);

/* No large gang is under way (check_gang.c); the counts of budgets fit their pods
 * (check_budget.c). */
bool gangs_are_done(const struct world *world, char *why, size_t size);
bool budgets_are_done(const struct world *world, char *why, size_t size);

/* Reports the violation and ends the run. */
PL_PRINTF(3, 4)
_Noreturn void check_fail(struct world *world, const char *check, const char *fmt, ...);

#endif
