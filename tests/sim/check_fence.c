/*
 * What is written below /schedules/<p>/ was written under the owner key as it
 * stood at that very revision: epoch and lease. No excuse, whatever clocks,
 * operators and backups do.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/sim/proc.h"

struct state {
	uint64_t writes;
};

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;
	const struct truth_owner *owner;
	unsigned id;
	int64_t epoch, lease;
	char text[96];

	if (obs->what != OBS_WRITE)
		return;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT, PL_SPAN_ARG(obs->text));
	if (sscanf(text, "%u %" SCNd64 " %" SCNd64, &id, &epoch, &lease) != 3)
		check_fail(world, "fence", "partition %u: '%s' is no write of ours",
		           obs->partition, text);
	owner = &world->truth.owner[obs->partition];
	if (!owner->exists || owner->epoch != epoch || owner->lease != lease)
		check_fail(world, "fence",
		           "partition %u: s%u wrote at revision %" PRId64
		           " under epoch %" PRId64 " and lease %" PRIx64
		           ", while the owner key %s epoch %" PRId64
		           " and lease %" PRIx64,
		           obs->partition, id, obs->revision, epoch, (uint64_t)lease,
		           owner->exists ? "has" : "is gone:", owner->epoch,
		           (uint64_t)owner->lease);
	state->writes++;
	world_hit(world, COVER_WRITE);
}

const struct check check_fence = {"fence", sizeof(struct state), see, NULL};
