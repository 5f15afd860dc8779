/*
 * A shard that was fenced does not act under that epoch again.
 *
 * A write below /schedules/<p>/ was made under the owner key as it stood at that very
 * revision: epoch and lease. No clock, operator or backup excuses a violation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/proc.h"

struct last_fenced {
	int64_t pid;
	int64_t epoch;
};

struct fence_state {
	uint64_t writes;
	struct last_fenced *fenced; /* by partition: the last epoch that was fenced */
};

static void observe_fenced(struct world *world, struct fence_state *state,
                           const struct obs *obs)
{
	struct last_fenced *fenced = &state->fenced[obs->partition];

	if (obs->what == OBS_FENCED)
		*fenced = (struct last_fenced){obs->proc->pid, obs->epoch};
	else if (obs->what == OBS_OWN) /* a restored store may grant the same epoch
				        * again */
		*fenced = (struct last_fenced){0};
	else if (fenced->pid == obs->proc->pid && fenced->epoch == obs->epoch)
		check_fail(world, "fence",
		           "partition %u: %s decides under epoch %" PRId64
		           ", although it was fenced",
		           obs->partition, obs->proc->name, obs->epoch);
}

static bool read_write(const char *text, int64_t *id, int64_t *epoch, int64_t *lease)
{
	int64_t *out[] = {id, epoch, lease};

	for (unsigned i = 0; i < 3; i++) {
		char *end;

		*out[i] = strtoll(text, &end, 10);
		if (end == text)
			return false;
		text = end;
	}
	return true;
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct fence_state *state = me;
	const struct truth_owner *owner;
	int64_t id, epoch, lease;
	char text[96];

	if (state->fenced == NULL)
		state->fenced = pl_calloc(world->truth.partitions, sizeof *state->fenced);
	PL_ASSERT(state->fenced != NULL);
	if (obs->what == OBS_FENCED || obs->what == OBS_DECIDE || obs->what == OBS_OWN)
		observe_fenced(world, state, obs);
	if (obs->what != OBS_WRITE)
		return;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT, PL_SPAN_ARG(obs->text));
	if (!read_write(text, &id, &epoch, &lease))
		check_fail(world, "fence",
		           "partition %u: '%s' is not a write of the simulation",
		           obs->partition, text);
	owner = &world->truth.owner[obs->partition];
	if (!owner->exists || owner->epoch != epoch || owner->lease != lease)
		check_fail(world, "fence",
		           "partition %u: s%" PRId64 " wrote at revision %" PRId64
		           " under epoch %" PRId64 " and lease %" PRIx64
		           ", while the owner key %s epoch %" PRId64
		           " and lease %" PRIx64,
		           obs->partition, id, obs->revision, epoch, (uint64_t)lease,
		           owner->exists ? "has" : "is gone:", owner->epoch,
		           (uint64_t)owner->lease);
	state->writes++;
	world_hit(world, COVER_WRITE);
}

static void done(void *me)
{
	free(((struct fence_state *)me)->fenced);
}

const struct check check_fence = {"fence", sizeof(struct fence_state), observe, done};
