/*
 * Who was fenced does not act under that epoch again.
 *
 * What is written below /schedules/<p>/ was written under the owner key as it
 * stood at that very revision: epoch and lease. No excuse, whatever clocks,
 * operators and backups do.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/proc.h"

struct told {
	int64_t pid;
	int64_t epoch;
};

struct state {
	uint64_t writes;
	struct told *told; /* by partition: the last that was fenced */
};

static void see_told(struct world *world, struct state *state, const struct obs *obs)
{
	struct told *told = &state->told[obs->partition];

	if (obs->what == OBS_FENCED)
		*told = (struct told){obs->proc->pid, obs->epoch};
	else if (obs->what == OBS_OWN) /* a restored store may have it again */
		*told = (struct told){0};
	else if (told->pid == obs->proc->pid && told->epoch == obs->epoch)
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

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;
	const struct truth_owner *owner;
	int64_t id, epoch, lease;
	char text[96];

	if (state->told == NULL)
		state->told = pl_calloc(world->truth.partitions, sizeof *state->told);
	PL_ASSERT(state->told != NULL);
	if (obs->what == OBS_FENCED || obs->what == OBS_DECIDE || obs->what == OBS_OWN)
		see_told(world, state, obs);
	if (obs->what != OBS_WRITE)
		return;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT, PL_SPAN_ARG(obs->text));
	if (!read_write(text, &id, &epoch, &lease))
		check_fail(world, "fence", "partition %u: '%s' is no write of ours",
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
	free(((struct state *)me)->told);
}

const struct check check_fence = {"fence", sizeof(struct state), see, done};
