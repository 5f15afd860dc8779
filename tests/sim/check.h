/*
 * The judges: each in a file of its own, each told everything that happens, in
 * true time. They look at what shards say and do, and at what the store really
 * holds (truth.h); none of them sees into a shard's mind, except by
 * shard_epoch().
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
	/* said by a shard: proc, partition, epoch */
	OBS_OWN,
	OBS_QUIESCE,
	OBS_LOST,
	OBS_FENCED,
	OBS_DECIDE, /* a worker acts now */
	OBS_LEAD,   /* role, epoch */
	OBS_FOLLOW,
	OBS_STARTED, /* proc */
	OBS_DIED,    /* proc: crashed, or abandoned */
	OBS_CLOSED,  /* proc: after leaving */
	/* in the store, at this very moment */
	OBS_OWNER,   /* partition, owner: as it is from now on; before */
	OBS_WRITE,   /* partition, text: below /schedules/<p>/ */
	OBS_LEADER,  /* role, leader */
	OBS_SHARD,   /* member: a record came, changed or went */
	OBS_STOCK,   /* revision, whose: what stock.h says was touched */
	OBS_COMPACT, /* revision */
	OBS_RESTORED,
	/* of the run */
	OBS_TICK,    /* every 100 ms */
	OBS_CALM,    /* no more faults from here on */
	OBS_SETTLED, /* everything is as it should be */
	OBS_EMPTY,   /* everybody has left */
	OBS_OVER,    /* and so long ago that what nobody keeps alive is gone */
};

struct obs {
	enum obs_what what;
	struct proc *proc;
	uint32_t partition;
	int64_t epoch;
	int64_t revision;
	int64_t whose; /* depot.h */
	const struct truth_owner *owner, *before;
	const struct truth_leader *leader;
	const struct truth_member *member;
	const char *role;
	struct pl_span text;
};

struct check {
	const char *name;
	size_t size; /* of its state, which begins zeroed */
	void (*see)(struct world *world, void *state, const struct obs *obs);
	void (*done)(void *state); /* may be NULL */
};

extern const struct check check_acting, check_fence, check_epoch, check_settle, check_gap,
	check_moves, check_lease, check_pin, check_stuck;

/* Of nodes and pods; without any they have nothing to do. */
extern const struct check check_room, check_place, check_rules, check_fsck, check_flow,
	check_ends, check_gang, check_budget;

/* Whether everything is placed that has to be; why not, otherwise (check_flow.c). */
bool flow_is_done(struct world *world, char *why, size_t size);

/* No large gang is under way (check_gang.c); budgets say what is so (check_budget.c). */
bool gangs_are_done(const struct world *world, char *why, size_t size);
bool budgets_are_done(const struct world *world, char *why, size_t size);

/* Ends the run. */
PL_PRINTF(3, 4)
_Noreturn void check_fail(struct world *world, const char *check, const char *fmt, ...);

#endif
