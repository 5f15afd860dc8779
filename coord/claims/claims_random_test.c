/*
 * Three cores, a store in a few lines, and chance: requests that are slow, lost,
 * unknown, or applied long after; watch events that are late or come before answers;
 * new lists; leases that expire; long pauses; assignments that each shard hears of at
 * another time. At no moment do two shards act on one partition; epochs grow; a shard
 * acts only under the newest fact that it was told; and once the faults stop every
 * partition has the owner that it falls to.
 */
#include <stdio.h>

#include "tests/support/coord/claims/claims_sim.h"

static void perform(unsigned shard, const struct claims_action *a)
{
	struct random_shard *s = &sim.shard[shard];
	uint32_t p = a->partition;
	struct msg *msg;

	switch (a->type) {
	case CLAIMS_DO_CLAIM:
	case CLAIMS_DO_RELEASE:
	case CLAIMS_DO_READ:
		T_TRUE(a->type == CLAIMS_DO_READ || s->reported[p] == 0);
		s->asked[p] = a->seq;
		sim_send(shard, a);
		break;
	case CLAIMS_REPORT_OWNED:
		sim_owned(s, p, a->epoch);
		break;
	case CLAIMS_REPORT_QUIESCE:
		T_EQ(s->reported[p], a->epoch);
		T_TRUE(!s->quiescing[p]);
		s->quiescing[p] = true;
		msg = sim_post(MSG_EVENT, shard, sim_soon(1500));
		msg->event = (struct claims_event){
			.type = CLAIMS_EV_QUIET, .partition = p, .epoch = a->epoch};
		break;
	case CLAIMS_REPORT_LOST:
		T_EQ(s->reported[p], a->epoch);
		s->reported[p] = 0;
		break;
	}
}

/* Takes one action at a time, several, or none. */
static void feed(unsigned shard, struct claims_event event)
{
	struct random_shard *s = &sim.shard[shard];
	struct claims_actions actions = {
		.max = (unsigned)pl_rng_below(&sim.rng, CLAIMS_ACTIONS_MAX + 1)};

	event.now_ms = sim.now;
	sim_note_told(s, &event);
	claims_step(&s->core, &event, &actions);
	for (unsigned i = 0; i < actions.count; i++)
		perform(shard, &actions.item[i]);
	actions.max = CLAIMS_ACTIONS_MAX;
	event.type = CLAIMS_EV_TIMEOUT;
	while (claims_deadline_ms(&s->core) <= sim.now) {
		claims_step(&s->core, &event, &actions);
		for (unsigned i = 0; i < actions.count; i++)
			perform(shard, &actions.item[i]);
	}
	for (uint32_t p = 0; p < PARTITIONS; p++) {
		T_EQ(claims_core_epoch(&s->core, p, sim.now), s->reported[p]);
		if (s->reported[p] == 0)
			continue;
		sim_check_told(s, p);
		sim_check_alone(shard, p);
	}
}

static void resync(unsigned shard, enum claims_event_type why)
{
	sim.shard[shard].world++;
	feed(shard, (struct claims_event){.type = why});
	(void)sim_post(MSG_LIST, shard, sim_soon(1000));
}

static void list(unsigned shard)
{
	for (uint32_t p = 0; p < PARTITIONS; p++) {
		const struct key *key = &sim.store.key[p];

		feed(shard,
		     (struct claims_event){.type = key->epoch != 0 ? CLAIMS_EV_SEEN
		                                                   : CLAIMS_EV_GONE,
		                           .partition = p,
		                           .revision = sim.store.revision,
		                           .epoch = key->epoch,
		                           .lease = key->lease});
	}
	feed(shard, (struct claims_event){.type = CLAIMS_EV_SYNCED});
}

/* Renews the lease, or finds that it is gone and gets another one. */
static void renew(unsigned shard)
{
	struct random_shard *s = &sim.shard[shard];
	struct store *st = &sim.store;
	struct claims_event event = {.type = CLAIMS_EV_SESSION};
	bool safe = s->core.lease != 0 && sim.now < s->core.safe_until_ms;

	(void)sim_post(MSG_RENEW, shard, sim.now + 1000);
	if (sim_chance(25))
		return; /* lost */
	if (st->record[shard] != s->lease || !safe || sim_chance(2)) {
		s->lease = 0;
		feed(shard, event);
		if (sim_chance(50))
			return;
		sim_revoke(st->record[shard]);
		s->lease = ++sim.leases;
		st->record[shard] = s->lease;
	}
	st->ends_ms[shard] = sim.now + TTL_MS;
	event.lease = s->lease;
	event.safe_until_ms = sim.now + TTL_MS - MARGIN_MS;
	feed(shard, event);
}

static void targets(unsigned shard)
{
	bool leaving = sim_chance(3);

	for (uint32_t p = 0; p < PARTITIONS; p++) {
		struct claims_event event = {.type = CLAIMS_EV_TARGET, .partition = p};

		event.target = sim.target[p] == SHARDS  ? CLAIMS_NOBODYS
		               : sim.target[p] == shard ? CLAIMS_MINE
		                                        : CLAIMS_OTHERS;
		feed(shard, event);
	}
	feed(shard, (struct claims_event){.type = CLAIMS_EV_LEAVING, .on = leaving});
	(void)sim_post(MSG_TARGETS, shard, sim.now + pl_rng_between(&sim.rng, 1, 3000));
}

/* A write passes for one shard at most; the others learn that they are fenced. */
static void write_all(unsigned shard)
{
	struct random_shard *s = &sim.shard[shard];

	for (uint32_t p = 0; p < PARTITIONS; p++) {
		const struct key *key = &sim.store.key[p];
		int64_t epoch = claims_core_epoch(&s->core, p, sim.now);

		if (epoch == 0 || (key->epoch == epoch && key->lease == s->core.lease))
			continue;
		T_TRUE(sim.rewound > 0 || sim_removed_at(epoch) != 0);
		sim.fenced++;
		feed(shard, (struct claims_event){.type = CLAIMS_EV_FENCED,
		                                  .partition = p,
		                                  .epoch = epoch});
	}
	(void)sim_post(MSG_WRITE, shard, sim.now + pl_rng_between(&sim.rng, 1, 500));
}

static void rewind_store(void)
{
	sim.rewound++;
	sim.store = sim.snapshot;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct msg *msg;

		sim.store.ends_ms[i] = sim.now + TTL_MS;
		msg = sim_post(MSG_EVENT, i, sim_soon(500));
		msg->event = (struct claims_event){.type = CLAIMS_EV_REWOUND};
	}
}

static void remove_by_hand(uint32_t partition)
{
	int64_t epoch = sim.store.key[partition].epoch;

	T_TRUE(epoch < REVISIONS_MAX);
	sim.removed_at[epoch] = ++sim.store.revision;
	sim_put(partition, 0, 0);
}

static void chaos(void)
{
	unsigned shard = (unsigned)pl_rng_below(&sim.rng, SHARDS);
	uint32_t p = (uint32_t)pl_rng_below(&sim.rng, PARTITIONS);

	if (sim.calm)
		return;
	(void)sim_post(MSG_CHAOS, 0, sim_soon(700));
	if (sim_chance(20))
		sim.shard[shard].paused_until = sim_soon(sim_chance(20) ? 15000 : 500);
	if (sim_chance(20))
		resync(shard, CLAIMS_EV_UNSYNCED);
	if (sim_chance(50))
		sim.target[p] = (unsigned)pl_rng_below(&sim.rng, SHARDS + 1);
	if (sim.by_hand && sim_chance(10) && sim.store.key[p].epoch != 0)
		remove_by_hand(p);
	if (sim.rewinds && sim_chance(10))
		sim.snapshot = sim.store;
	if (sim.rewinds && sim_chance(3) && sim.snapshot.revision != 0)
		rewind_store();
}

static void deliver(const struct msg *msg)
{
	struct msg *answer;
	struct claims_event event;

	switch (msg->kind) {
	case MSG_APPLY:
		event = sim_apply(&msg->req);
		if (msg->unheard)
			break;
		answer = sim_post(MSG_EVENT, msg->shard,
		                  sim_soon(sim_chance(20) ? 1000 : 20));
		answer->event = event;
		break;
	case MSG_EVENT:
		if (msg->event.type == CLAIMS_EV_REWOUND)
			resync(msg->shard, CLAIMS_EV_REWOUND);
		else if (!msg->watch || msg->world == sim.shard[msg->shard].world)
			feed(msg->shard, msg->event);
		break;
	case MSG_LIST:
		if (msg->world == sim.shard[msg->shard].world)
			list(msg->shard);
		break;
	case MSG_RENEW:
		renew(msg->shard);
		break;
	case MSG_TARGETS:
		targets(msg->shard);
		break;
	case MSG_WRITE:
		write_all(msg->shard);
		break;
	case MSG_CHAOS:
		chaos();
		break;
	}
}

static bool earlier(const struct msg *a, const struct msg *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static uint64_t due_of(const struct random_shard *s)
{
	uint64_t at = claims_deadline_ms(&s->core);

	return at > s->paused_until ? at : s->paused_until;
}

/* The clock of a core is checked before anything that waits with it. */
static bool run_clocks(uint64_t until)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		struct random_shard *s = &sim.shard[i];

		if (claims_deadline_ms(&s->core) == UINT64_MAX || due_of(s) > until)
			continue;
		sim.now = due_of(s) > sim.now ? due_of(s) : sim.now;
		sim_expire();
		feed(i, (struct claims_event){.type = CLAIMS_EV_TIMEOUT});
		return true;
	}
	return false;
}

static void run_one(void)
{
	size_t first = 0;
	struct msg msg;
	struct random_shard *s;

	for (size_t i = 1; i < sim.count; i++)
		if (earlier(&sim.msg[i], &sim.msg[first]))
			first = i;
	s = &sim.shard[sim.msg[first].shard];
	if (sim.msg[first].kind != MSG_APPLY && sim.msg[first].kind != MSG_CHAOS &&
	    sim.msg[first].at_ms < s->paused_until) {
		sim.msg[first].at_ms = s->paused_until;
		return;
	}
	if (run_clocks(sim.msg[first].at_ms))
		return;
	msg = sim.msg[first];
	sim.msg[first] = sim.msg[--sim.count];
	sim.now = msg.at_ms > sim.now ? msg.at_ms : sim.now;
	sim_expire();
	deliver(&msg);
}

static void begin(uint64_t seed)
{
	memset(&sim, 0, sizeof sim);
	pl_rng_init(&sim.rng, seed);
	sim.now = 1000;
	sim.store.revision = 5;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct claims_core_opts opts = {.slots = sim.shard[i].slot,
		                                .partitions = PARTITIONS,
		                                .inflight = 3,
		                                .handover_ms = 800,
		                                .settle_ms = 300,
		                                .seed = seed + i};

		claims_core_init(&sim.shard[i].core, &opts);
		(void)sim_post(MSG_LIST, i, sim_soon(1000));
		(void)sim_post(MSG_RENEW, i, sim_soon(1000));
		(void)sim_post(MSG_TARGETS, i, sim_soon(2000));
		(void)sim_post(MSG_WRITE, i, sim_soon(2000));
	}
	(void)sim_post(MSG_CHAOS, 0, sim_soon(100));
}

static void all_in_place(uint64_t seed)
{
	for (uint32_t p = 0; p < PARTITIONS; p++)
		for (unsigned i = 0; i < SHARDS; i++) {
			const struct claims_core *core = &sim.shard[i].core;
			bool acts = claims_core_epoch(core, p, sim.now) != 0;

			if (acts != (sim.target[p] == i) || !claims_core_settled(core))
				t_fail(__FILE__, __LINE__,
				       "seed %" PRIu64 ": partition %u falls to %u, %u "
				       "has it %s%s",
				       seed, p, sim.target[p], i,
				       claims_state_name(claims_core_state(core, p)),
				       claims_core_settled(core) ? "" : ", unsettled");
		}
}

static void run(uint64_t seed, bool by_hand, bool rewinds)
{
	begin(seed);
	sim.by_hand = by_hand;
	sim.rewinds = rewinds;
	while (sim.now < FAULTS_MS)
		run_one();
	sim.calm = true;
	for (uint32_t p = 0; p < PARTITIONS; p++)
		sim.target[p] = (unsigned)pl_rng_below(&sim.rng, SHARDS);
	while (sim.now < FAULTS_MS + CALM_MS)
		run_one();
	all_in_place(seed);
}

static void runs(unsigned count, bool by_hand, bool rewinds)
{
	uint64_t seed = t_seed();
	unsigned owned = 0, unknown = 0, late = 0, fenced = 0, expired = 0, rewound = 0;
	unsigned overtaken = 0;

	for (unsigned i = 0; i < count; i++) {
		run(seed + i, by_hand, rewinds);
		owned += sim.owned;
		unknown += sim.unknown;
		late += sim.late;
		fenced += sim.fenced;
		expired += sim.expired;
		rewound += sim.rewound;
		overtaken += sim.overtaken;
	}
	(void)printf(
		"# owned %u, unknown %u, late %u, fenced %u, expired %u, rewound %u, "
		"overtaken %u\n",
		owned, unknown, late, fenced, expired, rewound, overtaken);
	/* Less than this would test nothing. */
	T_TRUE(owned > count * 20 && unknown > count * 5 && late > count);
	T_TRUE(expired > count / 2);
	T_TRUE(!by_hand || fenced > count);
	T_TRUE(!rewinds || rewound > count / 2);
	T_TRUE(by_hand || overtaken == 0);
}

T_CASE(one_acts_at_a_time)
{
	runs(200, false, false);
}

T_CASE(keys_deleted_by_hand)
{
	runs(100, true, false);
}

T_CASE(the_store_goes_back_in_time)
{
	runs(100, true, true);
}
