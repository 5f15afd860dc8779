/*
 * Three cores, a store in a few lines, and chance: requests that are slow, lost,
 * unknown, or applied long after; watch events that are late or come before answers;
 * new lists; leases that expire; long pauses; assignments that each shard hears of at
 * another time. At no moment do two shards act on one partition; epochs grow; a shard
 * acts only under the newest fact that it was told; and once the faults stop every
 * partition has the owner that it falls to.
 *
 * A key that is deleted by hand frees its partition while its lease is alive, so another
 * shard can claim it before the owner hears of the deletion. Until then the owner acts
 * under the deleted epoch, or reports it only now, if it hears of its claim just as
 * late. That is the one case in which two shards act, or a shard reports an older epoch
 * than another has reported, until the store goes back in time: then epochs start again.
 * Whatever happens, only the shard that the store names passes the guard.
 */
#include <stdio.h>

#include "coord/claims/claims_core.h"
#include "tests/harness/t.h"

enum {
	SHARDS = 3,
	PARTITIONS = 5,
	REVISIONS_MAX = 4096,
	MESSAGES_MAX = 4096,
	TTL_MS = 6000,
	MARGIN_MS = 600,
	FAULTS_MS = 60000,
	CALM_MS = 30000,
};

enum kind {
	MSG_APPLY,   /* a request reaches the store */
	MSG_EVENT,   /* an answer or a watch event reaches the core */
	MSG_LIST,    /* a list is made and fed as a whole */
	MSG_RENEW,   /* the session renews its lease */
	MSG_TARGETS, /* the present assignment */
	MSG_WRITE,   /* a write under each epoch that is acted on */
	MSG_CHAOS,
};

struct key {
	int64_t epoch;
	int64_t lease;
};

struct store {
	int64_t revision;
	struct key key[PARTITIONS];
	int64_t record[SHARDS]; /* lease of /shards/<id> */
	uint64_t ends_ms[SHARDS];
};

struct msg {
	uint64_t at_ms;
	uint64_t order;
	enum kind kind;
	unsigned shard;
	uint32_t world; /* watch events of an older list, or of an older store, are
	                 * void */
	bool watch;
	bool unheard; /* the outcome was given up as unknown */
	struct claims_action req;
	struct claims_event event;
};

/* An owner key as it was at a revision. epoch 0: there was no key. */
struct fact {
	int64_t revision, epoch, lease;
};

struct random_shard {
	struct claims_core core;
	struct claims_slot slot[PARTITIONS];
	struct fact told[PARTITIONS]; /* newest fact that the core was told */
	uint32_t asked[PARTITIONS];   /* seq of the last request; 0: none counts */
	int64_t reported[PARTITIONS];
	int64_t newest[PARTITIONS]; /* newest epoch that this shard reported */
	bool quiescing[PARTITIONS];
	uint64_t paused_until, watch_until;
	uint32_t world;
	int64_t lease;
};

static struct sim {
	struct pl_rng rng;
	uint64_t now;
	struct store store, snapshot;
	struct random_shard shard[SHARDS];
	struct msg msg[MESSAGES_MAX];
	size_t count;
	uint64_t order;
	int64_t leases;
	unsigned target[PARTITIONS]; /* SHARDS: no shard */
	int64_t newest[PARTITIONS];  /* newest epoch that any shard reported */
	/* By epoch: the revision at which its key was deleted by hand; 0: it was not. */
	int64_t removed_at[REVISIONS_MAX];
	bool by_hand, rewinds; /* which events may happen */
	bool calm;
	unsigned owned, unknown, late, fenced, expired, rewound, overtaken;
} sim;

static bool chance(unsigned percent)
{
	return !sim.calm && pl_rng_below(&sim.rng, 100) < percent;
}

static uint64_t soon(uint64_t most)
{
	return sim.now + pl_rng_between(&sim.rng, 1, sim.calm ? 5 : most);
}

static struct msg *post(enum kind kind, unsigned shard, uint64_t at_ms)
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
		uint64_t at = soon(chance(10) ? 2000 : 20);
		struct msg *msg;

		s->watch_until = at > s->watch_until ? at : s->watch_until;
		msg = post(MSG_EVENT, i, s->watch_until);
		msg->watch = true;
		msg->event = (struct claims_event){
			.type = key->epoch != 0 ? CLAIMS_EV_SEEN : CLAIMS_EV_GONE,
			.partition = partition,
			.revision = sim.store.revision,
			.epoch = key->epoch,
			.lease = key->lease};
	}
}

static void store_put(uint32_t partition, int64_t epoch, int64_t lease)
{
	sim.store.key[partition] = (struct key){.epoch = epoch, .lease = lease};
	publish(partition);
}

static void store_revoke(int64_t lease)
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
			store_put(p, 0, 0);
}

static void store_expire(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		if (sim.store.record[i] != 0 && sim.now >= sim.store.ends_ms[i]) {
			store_revoke(sim.store.record[i]);
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

/* Performs a request of the core. */
static struct claims_event store_apply(const struct claims_action *req)
{
	struct key *key = &sim.store.key[req->partition];
	struct claims_event event = {
		.type = CLAIMS_EV_FOUND, .partition = req->partition, .seq = req->seq};

	if (req->type == CLAIMS_DO_CLAIM && key->epoch == 0 && lease_lives(req->lease)) {
		event.type = CLAIMS_EV_CLAIMED;
		store_put(req->partition, ++sim.store.revision, req->lease);
	} else if (req->type == CLAIMS_DO_RELEASE && key->epoch == req->epoch &&
	           key->lease == req->lease) {
		event.type = CLAIMS_EV_RELEASED;
		sim.store.revision++;
		store_put(req->partition, 0, 0);
	}
	event.revision = sim.store.revision;
	event.epoch = event.type == CLAIMS_EV_FOUND ? key->epoch : 0;
	event.lease = event.type == CLAIMS_EV_FOUND ? key->lease : 0;
	return event;
}

static void send(unsigned shard, const struct claims_action *req)
{
	struct claims_event failed = {.partition = req->partition, .seq = req->seq};
	unsigned way = sim.calm ? 99 : (unsigned)pl_rng_below(&sim.rng, 100);
	struct msg *msg;

	failed.type = CLAIMS_EV_FAILED;
	if (way < 5) { /* refused */
		post(MSG_EVENT, shard, soon(500))->event = failed;
		return;
	}
	if (way < 25) { /* outcome unknown: applied before, later, or never */
		failed.type = req->type == CLAIMS_DO_READ ? CLAIMS_EV_FAILED
		                                          : CLAIMS_EV_UNKNOWN;
		post(MSG_EVENT, shard, soon(1000))->event = failed;
		sim.unknown++;
		if (way < 10)
			return;
	}
	msg = post(MSG_APPLY, shard, soon(way < 15 ? 8000 : 30));
	msg->req = *req;
	msg->unheard = way < 25;
	sim.late += way >= 10 && way < 15;
}

static int64_t removed_at(int64_t epoch)
{
	T_TRUE(epoch > 0 && epoch < REVISIONS_MAX);
	return sim.removed_at[epoch];
}

/* No other shard acts on the partition at this moment; or the older epoch's key was
 * deleted by hand. */
static void check_alone(unsigned shard, uint32_t partition)
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
		T_TRUE(removed_at(mine < other ? mine : other) != 0);
	}
}

/* The shard acts under the newest fact that it was told: a key with its lease. */
static void check_told(const struct random_shard *s, uint32_t partition)
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
	T_TRUE(removed_at(epoch) > s->told[partition].revision);
	sim.overtaken++;
}

static void on_owned(struct random_shard *s, uint32_t partition, int64_t epoch)
{
	T_EQ(s->reported[partition], 0);
	s->reported[partition] = epoch;
	s->quiescing[partition] = false;
	sim.owned++;
	check_told(s, partition);
	check_growth(s, partition);
	s->newest[partition] = epoch;
	if (epoch > sim.newest[partition])
		sim.newest[partition] = epoch;
}

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
		send(shard, a);
		break;
	case CLAIMS_REPORT_OWNED:
		on_owned(s, p, a->epoch);
		break;
	case CLAIMS_REPORT_QUIESCE:
		T_EQ(s->reported[p], a->epoch);
		T_TRUE(!s->quiescing[p]);
		s->quiescing[p] = true;
		msg = post(MSG_EVENT, shard, soon(1500));
		msg->event = (struct claims_event){
			.type = CLAIMS_EV_QUIET, .partition = p, .epoch = a->epoch};
		break;
	case CLAIMS_REPORT_LOST:
		T_EQ(s->reported[p], a->epoch);
		s->reported[p] = 0;
		break;
	}
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

static void note_told(struct random_shard *s, const struct claims_event *event)
{
	struct fact fact;

	if (event->type == CLAIMS_EV_REWOUND) {
		memset(s->told, 0, sizeof s->told);
		memset(s->asked, 0, sizeof s->asked);
	} else if (fact_of(s, event, &fact) &&
	           fact.revision > s->told[event->partition].revision)
		s->told[event->partition] = fact;
}

/* Takes one action at a time, several, or none. */
static void feed(unsigned shard, struct claims_event event)
{
	struct random_shard *s = &sim.shard[shard];
	struct claims_actions actions = {
		.max = (unsigned)pl_rng_below(&sim.rng, CLAIMS_ACTIONS_MAX + 1)};

	event.now_ms = sim.now;
	note_told(s, &event);
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
		check_told(s, p);
		check_alone(shard, p);
	}
}

static void resync(unsigned shard, enum claims_event_type why)
{
	sim.shard[shard].world++;
	feed(shard, (struct claims_event){.type = why});
	(void)post(MSG_LIST, shard, soon(1000));
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

	(void)post(MSG_RENEW, shard, sim.now + 1000);
	if (chance(25))
		return; /* lost */
	if (st->record[shard] != s->lease || !safe || chance(2)) {
		s->lease = 0;
		feed(shard, event);
		if (chance(50))
			return;
		store_revoke(st->record[shard]);
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
	bool leaving = chance(3);

	for (uint32_t p = 0; p < PARTITIONS; p++) {
		struct claims_event event = {.type = CLAIMS_EV_TARGET, .partition = p};

		event.target = sim.target[p] == SHARDS  ? CLAIMS_NOBODYS
		               : sim.target[p] == shard ? CLAIMS_MINE
		                                        : CLAIMS_OTHERS;
		feed(shard, event);
	}
	feed(shard, (struct claims_event){.type = CLAIMS_EV_LEAVING, .on = leaving});
	(void)post(MSG_TARGETS, shard, sim.now + pl_rng_between(&sim.rng, 1, 3000));
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
		T_TRUE(sim.rewound > 0 || removed_at(epoch) != 0);
		sim.fenced++;
		feed(shard, (struct claims_event){.type = CLAIMS_EV_FENCED,
		                                  .partition = p,
		                                  .epoch = epoch});
	}
	(void)post(MSG_WRITE, shard, sim.now + pl_rng_between(&sim.rng, 1, 500));
}

static void rewind_store(void)
{
	sim.rewound++;
	sim.store = sim.snapshot;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct msg *msg;

		sim.store.ends_ms[i] = sim.now + TTL_MS;
		msg = post(MSG_EVENT, i, soon(500));
		msg->event = (struct claims_event){.type = CLAIMS_EV_REWOUND};
	}
}

static void remove_by_hand(uint32_t partition)
{
	int64_t epoch = sim.store.key[partition].epoch;

	T_TRUE(epoch < REVISIONS_MAX);
	sim.removed_at[epoch] = ++sim.store.revision;
	store_put(partition, 0, 0);
}

static void chaos(void)
{
	unsigned shard = (unsigned)pl_rng_below(&sim.rng, SHARDS);
	uint32_t p = (uint32_t)pl_rng_below(&sim.rng, PARTITIONS);

	if (sim.calm)
		return;
	(void)post(MSG_CHAOS, 0, soon(700));
	if (chance(20))
		sim.shard[shard].paused_until = soon(chance(20) ? 15000 : 500);
	if (chance(20))
		resync(shard, CLAIMS_EV_UNSYNCED);
	if (chance(50))
		sim.target[p] = (unsigned)pl_rng_below(&sim.rng, SHARDS + 1);
	if (sim.by_hand && chance(10) && sim.store.key[p].epoch != 0)
		remove_by_hand(p);
	if (sim.rewinds && chance(10))
		sim.snapshot = sim.store;
	if (sim.rewinds && chance(3) && sim.snapshot.revision != 0)
		rewind_store();
}

static void deliver(const struct msg *msg)
{
	struct msg *answer;
	struct claims_event event;

	switch (msg->kind) {
	case MSG_APPLY:
		event = store_apply(&msg->req);
		if (msg->unheard)
			break;
		answer = post(MSG_EVENT, msg->shard, soon(chance(20) ? 1000 : 20));
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
		store_expire();
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
	store_expire();
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
		(void)post(MSG_LIST, i, soon(1000));
		(void)post(MSG_RENEW, i, soon(1000));
		(void)post(MSG_TARGETS, i, soon(2000));
		(void)post(MSG_WRITE, i, soon(2000));
	}
	(void)post(MSG_CHAOS, 0, soon(100));
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
