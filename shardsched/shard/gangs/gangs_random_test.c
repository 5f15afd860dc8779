/*
 * Gangs of several shards over one store, in random histories: members that come late, or
 * go before they are bound, lost answers, partitions that change hands. After each step
 * none of a gang's members is bound, or its minimum is; no node lists more than it has
 * room for, and no pod is on two; in the end all are bound.
 */
#include "tests/support/shardsched/shard/gangs_rig.h"

enum { GANGS = 6, MEMBERS = PODS / GANGS, LEAST = MEMBERS - 1, STEPS = 1500 };

static bool there[GANGS][MEMBERS];
static uint64_t gone_ever, late_ever, failed_ever;

static void put_member(uint32_t gang, uint32_t i)
{
	put_member_with(gang, i, LEAST, "", "");
	there[gang][i] = true;
}

/* -- invariants -------------------------------------------------------------- */

static uint32_t check_gang(uint32_t gang)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		struct pod_state state;

		count += is_bound(gang, i, &state);
	}
	T_TRUE(count == 0 || count >= LEAST);
	return count;
}

static void check_node(uint32_t n, uint32_t *listed)
{
	char name[16];
	struct alloc alloc;

	(void)snprintf(name, sizeof name, "%s", node_name(n));
	alloc = rig_alloc(&rig, partition_of_name(name), name);
	T_TRUE(alloc.used.cpu_milli <= INT64_C(1000) * CPUS);
	T_EQ(alloc.used.cpu_milli, (int64_t)alloc.pods * 1000);
	for (uint32_t i = 0; i < alloc.pods; i++) {
		char *rest;
		uint32_t gang = (uint32_t)strtoul((const char *)alloc.pod[i].name.at + 2,
		                                  &rest, 10);
		uint32_t member = (uint32_t)strtoul(rest + 1, NULL, 10);
		struct pod_state state;

		T_TRUE(gang < GANGS && member < MEMBERS);
		T_TRUE(is_bound(gang, member, &state));
		T_TRUE(pl_span_eq(state.node, pl_span_str(name)));
	}
	*listed += alloc.pods;
}

static uint32_t check_all(void)
{
	uint32_t bound = 0, listed = 0;

	for (uint32_t gang = 0; gang < GANGS; gang++)
		bound += check_gang(gang);
	for (uint32_t n = 0; n < NODES; n++)
		check_node(n, &listed);
	T_EQ(bound, listed);
	return bound;
}

/* -- steps ------------------------------------------------------------------- */

/* Deletes a pod as its submitter does, comparing that it is not bound. */
static void take_back(uint32_t gang, uint32_t i)
{
	struct pod_state state;

	if (is_bound(gang, i, &state))
		return;
	unput_member(gang, i);
	there[gang][i] = false;
	gone_ever++;
}

static void step(void)
{
	uint32_t gang = below(GANGS), i = below(MEMBERS);

	select_shard(below(SHARDS));
	switch (below(24)) {
	case 0:
	case 1:
		late_ever += !there[gang][i];
		if (!there[gang][i])
			put_member(gang, i);
		break;
	case 2:
		if (there[gang][i] && pl_rng_chance(&rng, 1, 4))
			take_back(gang, i);
		break;
	default:
		shards_step();
	}
	(void)check_all();
}

static void calm_down(void)
{
	for (uint32_t gang = 0; gang < GANGS; gang++)
		for (uint32_t i = 0; i < MEMBERS; i++)
			if (!there[gang][i])
				put_member(gang, i);
	for (unsigned i = 0; i < 2000 && check_all() < PODS; i++) {
		for (unsigned n = 0; n < SHARDS; n++) {
			select_shard(n);
			rig_run_idle(&rig);
			(void)check_all();
		}
		rig.now_ms += 250;
	}
	T_EQ(check_all(), PODS);
}

static void count(void)
{
	for (uint32_t n = 0; n < NODES; n++) {
		uint32_t p = partition_of_name(node_name(n));
		struct alloc alloc = rig_alloc(&rig, p, node_name(n));

		for (uint32_t i = 0; i < alloc.pods; i++)
			remote_ever += owner[alloc.pod[i].partition] != owner[p];
	}
	for (unsigned i = 0; i < SHARDS; i++) {
		struct sched_figures figures;

		select_shard(i);
		sched_figures(rig.sched, &figures);
		failed_ever += figures.batches_failed;
	}
}

T_CASE_SECONDS(a_batch_is_committed_whole_or_not_at_all, 200)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 16; i++) {
		memset(there, 0, sizeof there);
		open_all(t_seed() + i);
		for (unsigned n = 0; n < STEPS; n++)
			step();
		calm_down();
		count();
		close_all();
	}
	printf("%" PRIu64 " late, %" PRIu64 " gone, %" PRIu64 " remote, %" PRIu64
	       " batches failed, %" PRIu64 " moves, %" PRIu64 " answers lost\n",
	       late_ever, gone_ever, remote_ever, failed_ever, moves_ever, lost_ever);
	T_REACHED(gone_ever > 24 && remote_ever > 24 && failed_ever > 12);
	T_REACHED(moves_ever > 24 && lost_ever > 12);
}
