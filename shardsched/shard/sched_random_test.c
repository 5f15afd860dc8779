/*
 * Random histories of one core against a store: other writers, unknown outcomes, late
 * ones, lost partitions, changes under the decisions. After each step the core is
 * consistent and the store is right; in the end every pod that can be bound is bound.
 */
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_random_checks.h"
#include "tests/support/shardsched/shard/sched_random_others.h"

enum { LATE_MAX = 64 };

struct late {
	struct kv_req req;
	int64_t epoch[RIG_PARTITIONS];
};

static int64_t epoch_of[RIG_PARTITIONS]; /* 0: not owned */
static int64_t out_epoch[RIG_OUT_MAX][RIG_PARTITIONS];
static bool out_known[RIG_OUT_MAX];
static struct late late[LATE_MAX];
static unsigned lates;
static uint32_t churn; /* in one of so many steps a partition comes or goes */
static bool quieted[RIG_PARTITIONS];
static unsigned unknowns, fences, configures, configured_on_the_way;
static uint64_t preempted, batches, batches_failed, decided_again;

/* -- txns -------------------------------------------------------------------------- */

static bool is_fenced(const struct kv_req *req, const int64_t *epoch)
{
	for (size_t i = 0; i < req->txn.then_count; i++) {
		const struct kv_req *op = &req->txn.then[i];
		struct keys_id id = {0};

		if (op->op == KV_PUT)
			T_EQ(keys_parse(op->put.key, &id, NULL), PL_OK);
		else if (op->op == KV_DELETE && op->del.keys.kind != KV_ONE)
			id.partition = (uint32_t)number_in(
				(const char *)op->del.keys.from.at, "/schedules/");
		else
			continue; /* a pointer */
		if (op->op == KV_PUT && id.kind != KEYS_ALLOC && id.kind != KEYS_STATE)
			continue; /* a lock: no partition's */
		if (epoch_of[id.partition] == 0 ||
		    epoch_of[id.partition] != epoch[id.partition])
			return true;
	}
	return false;
}

/* Txns that are new get the present epochs. */
static void note_epochs(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (rig.out[i].used && !out_known[i])
			memcpy(out_epoch[i], epoch_of, sizeof epoch_of);
		out_known[i] = rig.out[i].used;
	}
}

static struct kv_req copy(const struct kv_req *req)
{
	struct pl_arena *arena = &rig.store.arena;
	struct kv_req out = *req;
	struct kv_compare *compare =
		pl_arena_zalloc(arena, req->txn.compare_count + 1, sizeof *compare);
	struct kv_req *then =
		pl_arena_zalloc(arena, req->txn.then_count + 1, sizeof *then);

	for (size_t i = 0; i < req->txn.compare_count; i++) {
		compare[i] = req->txn.compares[i];
		compare[i].keys.from = pl_arena_dup(arena, compare[i].keys.from);
	}
	for (size_t i = 0; i < req->txn.then_count; i++) {
		then[i] = req->txn.then[i];
		if (then[i].op == KV_DELETE)
			then[i].del.keys.from =
				pl_arena_dup(arena, then[i].del.keys.from);
		if (then[i].op != KV_PUT)
			continue;
		then[i].put.key = pl_arena_dup(arena, then[i].put.key);
		then[i].put.value = pl_arena_dup(arena, then[i].put.value);
	}
	out.txn.compares = compare;
	out.txn.then = then;
	out.txn.otherwise_count = 0;
	return out;
}

static void arrive_late(unsigned i)
{
	struct late it = late[i];

	late[i] = late[--lates];
	if (!is_fenced(&it.req, it.epoch))
		(void)rig_exec(&rig.store, &it.req.txn);
}

static void end_txn(unsigned i, uint32_t how)
{
	const struct kv_req *req = &rig.out[i].req;

	if (how < 70) {
		if (is_fenced(req, out_epoch[i])) {
			fences++;
			rig_fail(&rig, i, PL_FENCED);
		} else {
			(void)rig_answer(&rig, i);
		}
	} else if (how < 78) {
		rig_fail(&rig, i, PL_BUSY);
	} else if (how < 80) {
		rig_fail(&rig, i, PL_LIMIT);
	} else if (how < 90) {
		unknowns++;
		if (!is_fenced(req, out_epoch[i]))
			(void)rig_exec(&rig.store, &req->txn);
		rig_fail(&rig, i, PL_UNKNOWN);
	} else {
		unknowns++;
		if (lates < LATE_MAX && below(2) == 0) {
			late[lates] = (struct late){.req = copy(req)};
			memcpy(late[lates++].epoch, out_epoch[i], sizeof epoch_of);
		}
		rig_fail(&rig, i, PL_UNKNOWN);
	}
	out_known[i] = false;
}

/* -- histories --------------------------------------------------------------------- */

static void own(uint32_t p)
{
	rig_own(&rig, p);
	epoch_of[p] = rig.epoch;
	quieted[p] = false;
}

static void lose(uint32_t p)
{
	epoch_of[p] = 0;
	if (below(2) == 0) { /* the core hears of it later than the store */
		rig_run(&rig);
		note_epochs();
	}
	rig_lost(&rig, p);
}

static void own_step(void)
{
	uint32_t p = below(RIG_PARTITIONS);

	if (below(churn) == 0) {
		if (rig.owned[p])
			lose(p);
		else
			own(p);
	}
	if (below(60) == 0 && rig.owned[p])
		rig_list(&rig, p, (enum sched_part)below(SCHED_PARTS));
	if (below(200) == 0 && rig.owned[p]) {
		sched_quiesce(rig.sched, p);
		quieted[p] = true;
	}
}

/* Other scores, another order, other bounds, at any time. */
static void configure(void)
{
	static const char most[] =
		"{\"profiles\":[{\"pluginConfig\":[{\"name\":\"NodeResourcesFit\","
		"\"args\":{\"scoringStrategy\":{\"type\":\"MostAllocated\"}}}]}]}";
	struct sched_settings settings = {.sort = below(2) == 0 ? QUEUE_BY_SLA
	                                                        : QUEUE_BY_PRIORITY,
	                                  .fair = below(2) == 0,
	                                  .batch_size = below(3),
	                                  .inflight = below(3)};

	if (below(2) == 0)
		settings.profiles = pl_span_str(most);
	configured_on_the_way += is_migrating(rig.sched);
	rig.sched->migrate_max = below(2) == 0 ? 1024 : 1 + below(12);
	T_OK(sched_configure(rig.sched, &settings, &rig.err), &rig.err);
	configures++;
	sched_check(rig.sched);
}

static void step(void)
{
	unsigned i = below(RIG_OUT_MAX);

	if (below(3) == 0)
		others_step();
	own_step();
	if (below(40) == 0)
		configure();
	if (below(2) == 0)
		(void)rig_deliver(&rig, below(RIG_PARTITIONS),
		                  (enum sched_part)below(SCHED_PARTS), 1 + below(4));
	if (below(4) == 0)
		rig_views(&rig);
	if (below(2) == 0)
		(void)rig_view_deliver(&rig, SCHED_FLEET, 1 + below(8));
	if (below(2) == 0) {
		rig.now_ms += below(200);
		rig_run(&rig);
		note_epochs();
	}
	if (rig.out[i].used)
		end_txn(i, below(100));
	for (i = 0; i < 4; i++)
		if (rig.out[i].used && below(4) == 0)
			end_txn(i, below(100));
	if (lates > 0 && below(8) == 0)
		arrive_late(below(lates));
	sched_check(rig.sched);
}

static void calm_down(void)
{
	bool more = true;

	while (more) {
		more = false;
		rig_views(&rig);
		rig_run(&rig);
		note_epochs();
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			if (!rig.out[i].used)
				continue;
			end_txn(i, 0);
			more = true;
		}
		rig_deliver_all(&rig);
	}
}

/* Members end the pods that are asked to leave. */
static void members_confirm(void)
{
	for (uint32_t i = 0; i < PODS; i++)
		if (phase_of(i) == STATE_TERMINATING && below(2) == 0)
			pod_is_reported(i, STATE_ASK_NONE, STATE_ENDED_GONE);
}

static void calm_round(void)
{
	calm_down();
	members_confirm();
	rig.now_ms += 11000;
}

/* Nothing is left to do in the end. */
static void check_end(void)
{
	check_all_ended();
	calm_down();
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		sched_quiesce(rig.sched, p);
		rig_run(&rig);
		T_TRUE(sched_is_quiet(rig.sched, p));
	}
}

/* Some partitions were owned all the time. */
static void own_all(void)
{
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		if (rig.owned[p] && (quieted[p] || below(4) == 0))
			lose(p);
		if (!rig.owned[p])
			own(p);
	}
}

static void count_batches(void)
{
	struct sched_figures figures;

	sched_figures(rig.sched, &figures);
	batches += figures.batches;
	preempted += figures.preempted;
	batches_failed += figures.batches_failed;
	decided_again += figures.decided_again;
}

static void history(uint64_t seed, unsigned steps)
{
	pl_rng_init(&rng, seed);
	rig_open(&rig, &(struct sched_opts){.batch_size = 1 + below(20),
	                                    .seed = seed,
	                                    .ready_classes = (uint32_t)(seed % 4)});
	memset(epoch_of, 0, sizeof epoch_of);
	memset(out_known, 0, sizeof out_known);
	lates = 0;
	for (uint32_t i = 0; i < 3; i++)
		node_comes(i);
	own(below(RIG_PARTITIONS));
	churn = seed % 3 != 0 ? 60 : 180;
	for (uint32_t p = 0; churn > 60 && p < RIG_PARTITIONS; p++)
		if (!rig.owned[p])
			own(p);
	for (unsigned i = 0; i < steps; i++) {
		step();
		if (i % 8 == 0)
			check_store();
	}
	while (lates > 0)
		arrive_late(0);
	if (rig.malformed > 0)
		(void)printf("# malformed on the way: %s\n", rig.said);
	rig.malformed = 0; /* late records of the watches may have looked malformed */
	release_gangs();
	own_all();
	for (unsigned i = 0; i < 40; i++) {
		calm_round();
		check_store();
	}
	check_end();
	if (rig.malformed > 0)
		(void)printf("# malformed: %s\n", rig.said);
	T_EQ(rig.malformed, 0);
	count_batches();
	rig_close(&rig);
}

T_CASE_SECONDS(random_histories_end_well, 120)
{
	uint64_t seed = t_seed();

	for (unsigned i = 0; i < 60; i++) {
		(void)printf("# history %u of seed %llu\n", i, (unsigned long long)seed);
		(void)fflush(stdout);
		history(seed * 1000 + i, 400);
	}
	(void)printf(
		"# lock backoffs %u, holds %u, unknown %u, fenced %u, bound %u, deleted %u\n",
		rival_binds, rival_holds, unknowns, fences, bound_ever, deletes);
	(void)printf("# bundles %llu, failed %llu, decided again with them %llu\n",
	             (unsigned long long)batches, (unsigned long long)batches_failed,
	             (unsigned long long)decided_again);
	(void)printf("# made room %llu times\n", (unsigned long long)preempted);
	T_REACHED(preempted > 20);
	T_REACHED(batches > 50 && batches_failed > 10 && decided_again > 0);
	(void)printf("# asked %u, ended %u, nodes lost %u, awaited %u\n", asked, ended,
	             nodes_lost, awaited);
	T_REACHED(asked > 100 && ended > 100 && nodes_lost > 10 && awaited > 20);
	T_REACHED(rival_holds > 10 && rival_binds > 10 && unknowns > 100 && fences > 10 &&
	          bound_ever > 100);
}
