/*
 * Epochs of a partition only grow, within one history of the store. A shard that reports
 * ownership has created that very key under its lease, and no other shard reports the
 * same epoch.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/proc.h"

enum { KEPT = 16 };

struct made_owner {
	int64_t epoch;
	int64_t lease;
	int64_t pid; /* process that reported ownership; 0: none yet */
};

struct epoch_line {
	int64_t last;
	unsigned count;
	struct made_owner made[KEPT];
};

struct epoch_state {
	struct epoch_line *line; /* by partition */
};

static void add_made(struct epoch_line *line, const struct truth_owner *owner)
{
	line->made[line->count++ % KEPT] =
		(struct made_owner){.epoch = owner->epoch, .lease = owner->lease};
	line->last = owner->epoch;
}

static void observe_owner(struct world *world, struct epoch_line *line,
                          const struct obs *obs)
{
	if (!obs->owner->exists ||
	    (obs->before->exists && obs->before->epoch == obs->owner->epoch))
		return;
	if (obs->owner->epoch <= line->last)
		check_fail(world, "epoch",
		           "partition %u: epoch %" PRId64 " after %" PRId64,
		           obs->partition, obs->owner->epoch, line->last);
	add_made(line, obs->owner);
}

static void observe_own(struct world *world, struct epoch_line *line,
                        const struct obs *obs)
{
	const struct proc *proc = obs->proc;
	struct made_owner *made = NULL;

	for (unsigned i = 0; i < KEPT; i++)
		if (line->made[i].epoch == obs->epoch)
			made = &line->made[i];
	if (world->after_restore)
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

static void forget_made(struct world *world, struct epoch_state *state)
{
	for (uint32_t p = 0; p < world->truth.partitions; p++) {
		state->line[p] = (struct epoch_line){0};
		if (world->truth.owner[p].exists)
			add_made(&state->line[p], &world->truth.owner[p]);
	}
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct epoch_state *state = me;

	if (state->line == NULL)
		state->line = pl_calloc(world->truth.partitions, sizeof *state->line);
	PL_ASSERT(state->line != NULL);
	if (obs->what == OBS_OWNER)
		observe_owner(world, &state->line[obs->partition], obs);
	if (obs->what == OBS_OWN)
		observe_own(world, &state->line[obs->partition], obs);
	if (obs->what == OBS_RESTORED)
		forget_made(world, state);
}

static void done(void *me)
{
	free(((struct epoch_state *)me)->line);
}

const struct check check_epoch = {"epoch", sizeof(struct epoch_state), observe, done};
