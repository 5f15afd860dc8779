/*
 * Epochs of a partition only grow, within one life of the store. Whoever says
 * that it owns one has created that very key under its lease, and nobody else
 * says so of the same epoch.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/proc.h"

enum { KEPT = 16 };

struct made {
	int64_t epoch;
	int64_t lease;
	int64_t pid; /* who said that it is its own; 0: nobody yet */
};

struct line {
	int64_t last;
	unsigned count;
	struct made made[KEPT];
};

struct state {
	struct line *line; /* by partition */
};

static void add(struct line *line, const struct truth_owner *owner)
{
	line->made[line->count++ % KEPT] =
		(struct made){.epoch = owner->epoch, .lease = owner->lease};
	line->last = owner->epoch;
}

static void see_owner(struct world *world, struct line *line, const struct obs *obs)
{
	if (!obs->owner->exists ||
	    (obs->before->exists && obs->before->epoch == obs->owner->epoch))
		return;
	if (obs->owner->epoch <= line->last)
		check_fail(world, "epoch",
		           "partition %u: epoch %" PRId64 " after %" PRId64,
		           obs->partition, obs->owner->epoch, line->last);
	add(line, obs->owner);
}

static void see_own(struct world *world, struct line *line, const struct obs *obs)
{
	const struct proc *proc = obs->proc;
	struct made *made = NULL;

	for (unsigned i = 0; i < KEPT; i++)
		if (line->made[i].epoch == obs->epoch)
			made = &line->made[i];
	if (world->strange)
		return;
	if (made == NULL || made->lease != proc->lease)
		check_fail(world, "epoch",
		           "partition %u: %s owns it under epoch %" PRId64
		           " and lease %" PRIx64 ", which the store %s",
		           obs->partition, proc->name, obs->epoch, (uint64_t)proc->lease,
		           made == NULL ? "has not seen" : "knows as another's");
	if (made->pid != 0 && made->pid != proc->pid)
		check_fail(world, "epoch",
		           "partition %u: epoch %" PRId64 " has two owners",
		           obs->partition, obs->epoch);
	made->pid = proc->pid;
}

static void restored(struct world *world, struct state *state)
{
	for (uint32_t p = 0; p < world->truth.partitions; p++) {
		state->line[p] = (struct line){0};
		if (world->truth.owner[p].exists)
			add(&state->line[p], &world->truth.owner[p]);
	}
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;

	if (state->line == NULL)
		state->line = pl_calloc(world->truth.partitions, sizeof *state->line);
	PL_ASSERT(state->line != NULL);
	if (obs->what == OBS_OWNER)
		see_owner(world, &state->line[obs->partition], obs);
	if (obs->what == OBS_OWN)
		see_own(world, &state->line[obs->partition], obs);
	if (obs->what == OBS_RESTORED)
		restored(world, state);
}

static void done(void *me)
{
	free(((struct state *)me)->line);
}

const struct check check_epoch = {"epoch", sizeof(struct state), see, done};
