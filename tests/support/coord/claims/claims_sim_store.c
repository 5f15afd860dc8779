#include "tests/support/coord/claims/claims_sim.h"

struct sim sim;

bool sim_chance(unsigned percent)
{
	return !sim.calm && pl_rng_below(&sim.rng, 100) < percent;
}

uint64_t sim_soon(uint64_t most)
{
	return sim.now + pl_rng_between(&sim.rng, 1, sim.calm ? 5 : most);
}

struct msg *sim_post(enum kind kind, unsigned shard, uint64_t at_ms)
{
	struct msg *msg = &sim.msg[sim.count++];

	T_TRUE(sim.count <= MESSAGES_MAX);
	*msg = (struct msg){.kind = kind,
	                    .shard = shard,
	                    .at_ms = at_ms,
	                    .order = sim.order++,
	                    .world = sim.shard[shard].world};
	return msg;
}

/* Each watch brings its events in order. */
static void publish(uint32_t partition)
{
	const struct key *key = &sim.store.key[partition];

	for (unsigned i = 0; i < SHARDS; i++) {
		struct random_shard *s = &sim.shard[i];
		uint64_t at = sim_soon(sim_chance(10) ? 2000 : 20);
		struct msg *msg;

		s->watch_until = at > s->watch_until ? at : s->watch_until;
		msg = sim_post(MSG_EVENT, i, s->watch_until);
		msg->watch = true;
		msg->event = (struct claims_event){
			.type = key->epoch != 0 ? CLAIMS_EV_SEEN : CLAIMS_EV_GONE,
			.partition = partition,
			.revision = sim.store.revision,
			.epoch = key->epoch,
			.lease = key->lease};
	}
}

void sim_put(uint32_t partition, int64_t epoch, int64_t lease)
{
	sim.store.key[partition] = (struct key){.epoch = epoch, .lease = lease};
	publish(partition);
}

void sim_revoke(int64_t lease)
{
	bool any = false;

	for (unsigned i = 0; i < SHARDS; i++)
		if (sim.store.record[i] == lease)
			sim.store.record[i] = 0;
	for (uint32_t p = 0; p < PARTITIONS; p++)
		any = any || (lease != 0 && sim.store.key[p].lease == lease);
	sim.store.revision += any;
	for (uint32_t p = 0; p < PARTITIONS; p++)
		if (any && sim.store.key[p].lease == lease)
			sim_put(p, 0, 0);
}

void sim_expire(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		if (sim.store.record[i] != 0 && sim.now >= sim.store.ends_ms[i]) {
			sim_revoke(sim.store.record[i]);
			sim.expired++;
		}
}

static bool lease_lives(int64_t lease)
{
	for (unsigned i = 0; i < SHARDS; i++)
		if (sim.store.record[i] == lease)
			return true;
	return false;
}

struct claims_event sim_apply(const struct claims_action *req)
{
	struct key *key = &sim.store.key[req->partition];
	struct claims_event event = {
		.type = CLAIMS_EV_FOUND, .partition = req->partition, .seq = req->seq};

	if (req->type == CLAIMS_DO_CLAIM && key->epoch == 0 && lease_lives(req->lease)) {
		event.type = CLAIMS_EV_CLAIMED;
		sim_put(req->partition, ++sim.store.revision, req->lease);
	} else if (req->type == CLAIMS_DO_RELEASE && key->epoch == req->epoch &&
	           key->lease == req->lease) {
		event.type = CLAIMS_EV_RELEASED;
		sim.store.revision++;
		sim_put(req->partition, 0, 0);
	}
	event.revision = sim.store.revision;
	event.epoch = event.type == CLAIMS_EV_FOUND ? key->epoch : 0;
	event.lease = event.type == CLAIMS_EV_FOUND ? key->lease : 0;
	return event;
}

void sim_send(unsigned shard, const struct claims_action *req)
{
	struct claims_event failed = {.partition = req->partition, .seq = req->seq};
	unsigned way = sim.calm ? 99 : (unsigned)pl_rng_below(&sim.rng, 100);
	struct msg *msg;

	failed.type = CLAIMS_EV_FAILED;
	if (way < 5) { /* refused */
		sim_post(MSG_EVENT, shard, sim_soon(500))->event = failed;
		return;
	}
	if (way < 25) { /* outcome unknown: applied before, later, or never */
		failed.type = req->type == CLAIMS_DO_READ ? CLAIMS_EV_FAILED
		                                          : CLAIMS_EV_UNKNOWN;
		sim_post(MSG_EVENT, shard, sim_soon(1000))->event = failed;
		sim.unknown++;
		if (way < 10)
			return;
	}
	msg = sim_post(MSG_APPLY, shard, sim_soon(way < 15 ? 8000 : 30));
	msg->req = *req;
	msg->unheard = way < 25;
	sim.late += way >= 10 && way < 15;
}
