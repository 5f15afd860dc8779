/*
 * Several shards over one store, under random schedules: late events, lost answers,
 * partitions that move, nodes that are relabelled, pods that end, locks that are deleted
 * by hand. Every transaction that is about to be applied is judged.
 */
#include "tests/support/shardsched/shard/rules_random_judge.h"
#include "tests/support/shardsched/shard/rules_random_shards.h"

enum { BATCH = 5, BYTES = 8 << 10 };

static unsigned refused_txns, unknowns, relabels, teams, ends, moves, unlocks, coarse,
	coarser;
static uint64_t batches, batches_failed;
static bool unlocking;

/* -- the store --------------------------------------------------------------- */

/* Deletes that key alone, by hand. */
static void unlock(struct pl_span key)
{
	struct keys_id id;

	T_EQ(keys_parse(key, &id, NULL), PL_OK);
	if (rig_get(&store, key) == NULL ||
	    (id.kind != KEYS_GROUP && id.kind != KEYS_TOPOLOGY))
		return;
	unlocks++;
	store.revision++;
	rig_unset(&store, key);
}

static void unlock_any(void)
{
	struct kv_keys locks = kv_prefix(PL_SPAN_LIT("/groups/"));
	uint32_t first = rig_at(&store, locks.from), count = 0;

	while (first + count < store.keys &&
	       kv_key_in(locks, store.key[first + count].key))
		count++;
	unlock(store.key[first + below(count)].key);
}

/* The moment in which a deletion hurts most: the lock tells of what other shards have not
 * heard yet. */
static void unlock_put(const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->then_count; i++)
		if (txn->then[i].op == KV_PUT && below(2) == 0)
			unlock(txn->then[i].put.key);
}

/* A registry is put unchanged, as a coarse lock; or /groups/nodes, for the locks of a
 * large registry. */
static void count_coarse(const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->then_count; i++) {
		const struct kv_record *was;
		struct keys_id id;

		if (txn->then[i].op != KV_PUT)
			continue;
		T_EQ(keys_parse(txn->then[i].put.key, &id, NULL), PL_OK);
		was = rig_get(&store, txn->then[i].put.key);
		coarse += (id.kind == KEYS_REGISTRY || id.kind == KEYS_REGISTRY_GLOBAL) &&
		          was != NULL && pl_span_eq(was->value, txn->then[i].put.value);
		coarser += id.kind == KEYS_TOPOLOGY && was != NULL && txn->then_count > 1;
	}
}

static struct kv_result apply(const struct kv_txn *txn)
{
	struct kv_result result;
	bool holds = true;

	for (size_t i = 0; i < txn->compare_count; i++)
		holds = holds && rig_holds(&store, &txn->compares[i]);
	if (holds) {
		count_coarse(txn);
		judge(txn);
	} else {
		refused_txns++;
	}
	result = rig_exec(&store, txn);
	if (holds && unlocking && below(2) == 0)
		unlock_put(txn);
	return result;
}

static bool is_fenced(const struct rules_call_out *out)
{
	for (size_t i = 0; i < out->req.txn.then_count; i++) {
		struct keys_id id;

		if (out->req.txn.then[i].op != KV_PUT)
			continue;
		T_EQ(keys_parse(out->req.txn.then[i].put.key, &id, NULL), PL_OK);
		if (id.kind != KEYS_ALLOC && id.kind != KEYS_STATE)
			continue;
		if (out->epoch[id.partition] != 0 &&
		    out->epoch[id.partition] != epoch_of[id.partition])
			return true;
	}
	return false;
}

static void fail(struct rules_shard *shard, struct rules_call_out *out, enum pl_code code)
{
	struct pl_err why = {0};

	pl_err_set(&why, code, "as the test wants it");
	out->used = false;
	sched_answer(shard->sched, out->txn, NULL, &why);
}

static void end_call(struct rules_shard *shard, struct rules_call_out *out, uint32_t how)
{
	struct kv_result result;

	if (is_fenced(out)) {
		fail(shard, out, PL_FENCED);
		return;
	}
	if (how >= 90) {
		unknowns++;
		if (how >= 95)
			(void)apply(&out->req.txn);
		fail(shard, out, PL_UNKNOWN);
		return;
	}
	if (how >= 85) {
		fail(shard, out, PL_BUSY);
		return;
	}
	result = apply(&out->req.txn);
	out->used = false;
	sched_answer(shard->sched, out->txn, &result, NULL);
}

/* -- other pods -------------------------------------------------------------- */

static void put_alloc(uint32_t node, uint32_t drop)
{
	struct alloc alloc = alloc_of(node);
	struct alloc_pod pods[PODS];
	struct pl_buf buf = {.max = 1 << 16};
	uint32_t count = 0;

	for (uint32_t i = 0; i < alloc.pods; i++)
		if (number_of(alloc.pod[i].name) != drop)
			pods[count++] = alloc.pod[i];
	alloc.generation++;
	alloc.used = (struct alloc_amounts){.pods = count,
	                                    .cpu_milli = (int64_t)count * 1000,
	                                    .nonzero_cpu_milli = (int64_t)count * 1000,
	                                    .nonzero_memory =
	                                            (int64_t)count * 200 * 1024 * 1024};
	alloc.pod = pods;
	alloc.pods = count;
	T_OK(alloc_print(&alloc, &buf, &err), &err);
	rig_set(&store, pl_span_str(alloc_key(node)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void relabel(uint32_t node)
{
	relabels++;
	put_node(node, below(ZONES));
	put_alloc(node, PODS);
	set("/groups/nodes", "{\"v\":1}");
}

/* The end of a pod puts the locks of all terms that select it, whether they exist or not;
 * here, all locks. */
static void pod_ends(uint32_t pod)
{
	struct rules_judge_truth truth;

	look(&truth);
	if (value_of(spec_key(pod))[0] == 0 || truth.at[pod] == NOWHERE)
		return;
	ends++;
	store.revision++;
	put_alloc(truth.at[pod], pod);
	rig_unset(&store, pl_span_str(state_key(pod)));
	rig_unset(&store, pl_span_str(spec_key(pod)));
	for (uint32_t i = 0; i < store.keys; i++) {
		struct pl_span key = store.key[i].key;
		struct keys_id id;

		T_EQ(keys_parse(key, &id, NULL), PL_OK);
		if (id.kind == KEYS_GROUP)
			rig_set(&store, key, PL_SPAN_LIT("{\"v\":1}"));
	}
}

static void pod_comes(uint32_t pod)
{
	if (value_of(spec_key(pod))[0] != 0)
		return;
	store.revision++;
	set(spec_key(pod), pod_json(pod));
}

static void others_step(void)
{
	switch (below(20)) {
	case 0:
		relabel(below(NODES));
		return;
	case 5:
		teams++;
		put_team("ab"[below(3)]);
		return;
	case 1:
	case 2:
	case 3:
	case 4:
		pod_ends(below(PODS));
		return;
	default:
		pod_comes(below(PODS));
		return;
	}
}

static void move(uint32_t p)
{
	uint32_t from = 0, to = below(SHARDS);

	while (!shards[from].owned[p])
		from++;
	if (from == to)
		return;
	moves++;
	shards[from].owned[p] = false;
	epoch_of[p]++;
	sched_lost(shards[from].sched, p);
	own(&shards[to], p);
}

/* -- histories --------------------------------------------------------------- */

static void step(void)
{
	struct rules_shard *shard = &shards[below(SHARDS)];
	bool checked = false;

	if (below(4) == 0)
		others_step();
	if (unlocking && below(12) == 0)
		unlock_any();
	if (below(150) == 0)
		move(below(RIG_PARTITIONS));
	if (below(300) == 0 && shard->viewed)
		view_list(shard);
	if (below(2) == 0)
		deliver(shard, below(RIG_PARTITIONS), below(SCHED_PARTS), 1 + below(6));
	if (below(2) == 0)
		view_deliver(shard, 1 + below(8));
	if (below(4) == 0)
		spaces_deliver(shard, 1 + below(2));
	if (below(2) == 0) {
		now_ms += below(100);
		run(shard);
		checked = true; /* as it is now */
	}
	for (unsigned i = 0; i < OUT_MAX; i++) {
		if (!shard->out[i].used || below(3) != 0)
			continue;
		end_call(shard, &shard->out[i], below(100));
		checked = false;
	}
	if (!checked)
		sched_check(shard->sched);
}

static bool calm_shard(struct rules_shard *shard)
{
	bool more = false;

	run(shard);
	for (unsigned i = 0; i < OUT_MAX; i++) {
		if (!shard->out[i].used)
			continue;
		end_call(shard, &shard->out[i], 0);
		more = true;
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		for (unsigned part = 0; part < SCHED_PARTS; part++)
			deliver(shard, p, part, UINT32_MAX);
	view_deliver(shard, UINT32_MAX);
	spaces_deliver(shard, UINT32_MAX);
	return more;
}

static void calm_round(void)
{
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < SHARDS; i++)
			more = calm_shard(&shards[i]) || more;
	}
	now_ms += 11000;
}

static const struct rules_shard *owner_of(uint32_t p)
{
	const struct rules_shard *shard = shards;

	while (!shard->owned[p])
		shard++;
	return shard;
}

/* A pod that is not bound could not be, on its own shard's nodes. */
static void check_end(void)
{
	struct rules_judge_truth truth;

	look(&truth);
	for (uint32_t i = 0; i < PODS; i++) {
		if (truth.at[i] != NOWHERE || value_of(spec_key(i))[0] == 0)
			continue;
		for (uint32_t n = 0; n < NODES; n++)
			if (complaint(&truth, i, n) == NULL && alloc_of(n).pods < 9 &&
			    owner_of(partition_of_name(n)) ==
			            owner_of(partition_of_pod_number(i)))
				t_fail(__FILE__, __LINE__, "p-%u fits on n-%u", i, n);
	}
}

static void begin(uint64_t seed)
{
	pl_rng_init(&rng, seed);
	store = (struct rig_store){.revision = 100};
	pl_arena_init(&store.arena, 1 << 20, 0);
	store.log = calloc(RIG_LOG_MAX, sizeof *store.log);
	memset(shards, 0, sizeof shards);
	memset(epoch_of, 0, sizeof epoch_of);
	now_ms = 1000;
	unlocking = seed % 2 == 0;
	for (uint32_t n = 0; n < NODES; n++) {
		put_node(n, n % ZONES);
		set(alloc_key(n), "{\"v\":1,\"generation\":1}");
		set("/groups/nodes", "{\"v\":1}");
	}
	for (unsigned i = 0; i < SHARDS; i++) {
		struct sched_opts opts = {.shard = text("east-%u", i),
		                          .ready_classes = i,
		                          .partitions = RIG_PARTITIONS,
		                          .batch_size = 1 + below(BATCH),
		                          .reads = i,
		                          .seed = seed + i};

		T_OK(sched_new(&opts, &shards[i].sched, &err), &err);
		if (seed / 2 % 2 == 0)
			sched_set_limits(shards[i].sched,
			                 (struct kv_limits){.txn_ops = 16,
			                                    .request_bytes = seed / 4 %
			                                                     2 * BYTES});
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		own(&shards[below(SHARDS)], p);
}

static void finish(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		struct sched_figures figures;

		sched_figures(shards[i].sched, &figures);
		batches += figures.batches;
		batches_failed += figures.batches_failed;
		sched_free(shards[i].sched);
	}
	free(store.log);
	pl_arena_done(&store.arena);
}

static void history(uint64_t seed, unsigned steps)
{
	begin(seed);
	for (unsigned i = 0; i < steps; i++)
		step();
	for (unsigned i = 0; i < 40; i++)
		calm_round();
	check_end();
	finish();
}

T_CASE_SECONDS(rules_hold_whichever_shard_places, 120)
{
	uint64_t seed = t_seed();

	for (unsigned i = 0; i < 40; i++) {
		(void)printf("# history %u of seed %llu\n", i, (unsigned long long)seed);
		(void)fflush(stdout);
		history(seed * 1000 + i, 1500);
	}
	(void)printf(
		"# judged %u, refused %u, unknown %u, relabelled %u, teams %u, ended %u, "
		"moved %u, unlocked %u, coarse %u and %u, batches %llu, failed %llu\n",
		judged, refused_txns, unknowns, relabels, teams, ends, moves, unlocks,
		coarse, coarser, (unsigned long long)batches,
		(unsigned long long)batches_failed);
	T_REACHED(judged > 1000 && refused_txns > 200 && unknowns > 100 && relabels > 50);
	T_REACHED(teams > 50);
	T_REACHED(unlocks > 200 && coarse > 30 && coarser > 30);
	T_REACHED(ends > 100 && moves > 50 && batches > 500 && batches_failed > 100);
}
