#include "tests/support/coord/claims/claims_sim.h"

int64_t sim_removed_at(int64_t epoch)
{
	T_TRUE(epoch > 0 && epoch < REVISIONS_MAX);
	return sim.removed_at[epoch];
}

void sim_check_alone(unsigned shard, uint32_t partition)
{
	int64_t mine = sim.shard[shard].reported[partition];

	for (unsigned i = 0; i < SHARDS; i++) {
		int64_t other = claims_core_epoch(&sim.shard[i].core, partition, sim.now);

		if (i == shard || other == 0)
			continue;
		T_TRUE(sim.shard[i].core.lease != sim.shard[shard].core.lease);
		if (sim.rewound > 0)
			continue;
		T_TRUE(mine != other);
		T_TRUE(sim_removed_at(mine < other ? mine : other) != 0);
	}
}

void sim_check_told(const struct random_shard *s, uint32_t partition)
{
	T_EQ(s->told[partition].epoch, s->reported[partition]);
	T_EQ(s->told[partition].lease, s->core.lease);
}

/* Epochs grow. Only a key that was deleted by hand, which this shard was not told yet,
 * has let another shard be quicker. */
static void check_growth(const struct random_shard *s, uint32_t partition)
{
	int64_t epoch = s->reported[partition];

	if (sim.rewound > 0)
		return;
	T_TRUE(epoch >= s->newest[partition]);
	if (epoch >= sim.newest[partition])
		return;
	T_TRUE(sim_removed_at(epoch) > s->told[partition].revision);
	sim.overtaken++;
}

void sim_owned(struct random_shard *s, uint32_t partition, int64_t epoch)
{
	T_EQ(s->reported[partition], 0);
	s->reported[partition] = epoch;
	s->quiescing[partition] = false;
	sim.owned++;
	sim_check_told(s, partition);
	check_growth(s, partition);
	s->newest[partition] = epoch;
	if (epoch > sim.newest[partition])
		sim.newest[partition] = epoch;
}

/* False: the event says nothing of a key, or is no answer to the last request. */
static bool fact_of(const struct random_shard *s, const struct claims_event *event,
                    struct fact *out)
{
	bool current = event->seq == s->asked[event->partition];

	*out = (struct fact){.revision = event->revision};
	switch (event->type) {
	case CLAIMS_EV_GONE:
		return true;
	case CLAIMS_EV_RELEASED:
		return current;
	case CLAIMS_EV_CLAIMED:
		out->epoch = event->revision;
		out->lease = s->core.lease;
		return current;
	case CLAIMS_EV_SEEN:
	case CLAIMS_EV_FOUND:
		out->epoch = event->epoch;
		out->lease = event->lease;
		return current || event->type == CLAIMS_EV_SEEN;
	default:
		return false;
	}
}

void sim_note_told(struct random_shard *s, const struct claims_event *event)
{
	struct fact fact;

	if (event->type == CLAIMS_EV_REWOUND) {
		memset(s->told, 0, sizeof s->told);
		memset(s->asked, 0, sizeof s->asked);
	} else if (fact_of(s, event, &fact) &&
	           fact.revision > s->told[event->partition].revision)
		s->told[event->partition] = fact;
}
