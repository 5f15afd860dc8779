/*
 * Large gangs of several shards over one store, in random histories: members that come
 * late, or go; lost answers; partitions that change hands; shards that die, and whose
 * transactions are applied long after; nodes that change. After each step each gang is
 * bound by its record, or none of its members is bound, or its minimum is; every
 * reservation belongs to a gang that has a record with that node; no node reserves more
 * than it has, and no pod is on two. In the end all are bound, and no reservation or
 * record is left.
 */
#include "tests/support/shardsched/shard/gangs_rig.h"

enum { GANGS = 3, MEMBERS = PODS / GANGS, LEAST = MEMBERS - 1, STEPS = 2500 };

static bool there[GANGS][MEMBERS];
/* members that went while they were bound, or about to be */
static uint32_t excused[GANGS];
static uint64_t gone_ever, late_ever, touched_ever, rounds[3];
static uint32_t had[GANGS];
static unsigned calm; /* the higher, the less happens besides */

static void put_member(uint32_t gang, uint32_t i)
{
	put_member_with(gang, i, LEAST, "", "");
	there[gang][i] = true;
}

/* -- invariants -------------------------------------------------------------- */

static uint32_t check_gang(uint32_t gang)
{
	uint32_t count = 0, planned = 0;
	struct gang_record record;
	bool is = record_of(gang, &record);

	if (is)
		rounds[record.phase] += had[gang] != record.phase + 1u;
	had[gang] = is ? record.phase + 1u : 0;
	for (uint32_t n = 0; n < record.nodes; n++)
		planned += record.node[n].pods;
	for (uint32_t i = 0; i < MEMBERS; i++) {
		struct pod_state state;

		count += is_bound(gang, i, &state);
	}
	if (is && record.phase == GANG_PHASE_BOUND)
		T_TRUE(count + planned >= LEAST);
	else
		T_TRUE(count == 0 || count + excused[gang] >= LEAST);
	return count;
}

static void check_hold(const struct alloc_reservation *hold, const char *node)
{
	uint32_t gang = (uint32_t)strtoul((const char *)hold->name.at + 2, NULL, 10);
	struct gang_record record;
	const struct gang_record_node *is;

	T_TRUE(hold->kind == ALLOC_RESERVATION_GANG && gang < GANGS);
	T_TRUE(record_of(gang, &record));
	is = node_of(&record, node);
	T_TRUE(is != NULL && hold->used.pods <= (int64_t)is->pods);
	T_EQ(hold->used.cpu_milli, hold->used.pods * 1000);
}

static void check_node(uint32_t n, uint32_t *listed)
{
	char name[16];
	struct alloc alloc;
	int64_t held = 0;

	(void)snprintf(name, sizeof name, "%s", node_name(n));
	alloc = rig_alloc(&rig, partition_of_name(name), name);
	for (uint32_t i = 0; i < alloc.holds; i++) {
		check_hold(&alloc.hold[i], name);
		held += alloc.hold[i].used.pods;
	}
	T_TRUE(alloc.used.cpu_milli <= INT64_C(1000) * CPUS);
	T_EQ(alloc.used.pods, (int64_t)alloc.pods + held);
	T_EQ(alloc.used.cpu_milli, alloc.used.pods * 1000);
	for (uint32_t i = 0; i < alloc.pods; i++) {
		char *rest;
		uint32_t gang = (uint32_t)strtoul((const char *)alloc.pod[i].name.at + 2,
		                                  &rest, 10);
		uint32_t member = (uint32_t)strtoul(rest + 1, NULL, 10);
		struct gang_record record;
		struct pod_state state;

		T_TRUE(gang < GANGS && member < MEMBERS);
		T_TRUE(is_bound(gang, member, &state));
		T_TRUE(pl_span_eq(state.node, pl_span_str(name)));
		if (record_of(gang, &record) && record.phase == GANG_PHASE_BOUND &&
		    !is_planned(node_of(&record, name), gang, member))
			for (uint32_t m = 0; m < record.nodes; m++)
				T_TRUE(!is_planned(&record.node[m], gang, member));
	}
	*listed += alloc.pods;
}

static void count_remote(void)
{
	for (uint32_t n = 0; n < NODES; n++) {
		uint32_t p = partition_of_name(node_name(n));
		struct alloc alloc = rig_alloc(&rig, p, node_name(n));

		for (uint32_t i = 0; i < alloc.pods; i++)
			remote_ever += owner[alloc.pod[i].partition] != owner[p];
	}
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
	struct gang_record record;
	struct pod_state state;

	if (is_bound(gang, i, &state))
		return;
	(void)record_of(gang, &record);
	for (uint32_t n = 0; n < record.nodes; n++)
		excused[gang] += record.phase != GANG_PHASE_ABORTING &&
		                 is_planned(&record.node[n], gang, i);
	unput_member(gang, i);
	there[gang][i] = false;
	gone_ever++;
}

/* Writes the Node, and with it its alloc. */
static void touch(uint32_t n)
{
	char key[64], json[1024], *rest;
	uint32_t p = partition_of_name(node_name(n));
	const char *value, *at;
	unsigned long generation;

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, node_name(n));
	value = rig_value(&rig, key);
	at = strstr(value, "\"generation\":");
	T_TRUE(at != NULL && strlen(value) < sizeof json);
	generation = strtoul(at + strlen("\"generation\":"), &rest, 10);
	(void)snprintf(json, sizeof json, "%.*s\"generation\":%lu%s", (int)(at - value),
	               value, generation + 1, rest);
	rig_put(&rig, key, json);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, node_name(n));
	rig_set(&rig.store, pl_span_str(key),
	        pl_span_str(rig_node_json(node_name(n), "4", "")));
	touched_ever++;
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
		if (there[gang][i] && pl_rng_chance(&rng, 1, UINT64_C(4) * calm))
			take_back(gang, i);
		break;
	case 3:
		if (pl_rng_chance(&rng, 1, UINT64_C(4) * calm))
			shard_dies();
		break;
	case 4:
		if (pl_rng_chance(&rng, 1, UINT64_C(4) * calm))
			the_dead_speak();
		break;
	case 5:
		if (pl_rng_chance(&rng, 1, UINT64_C(4) * calm))
			touch(below(NODES));
		break;
	default:
		shards_step();
	}
	(void)check_all();
}

static uint32_t left(void)
{
	uint32_t count = 0;

	for (uint32_t gang = 0; gang < GANGS; gang++) {
		struct gang_record record;

		count += record_of(gang, &record);
	}
	return count;
}

static void answer(unsigned out)
{
	(void)rig_answer(&rig, out);
	(void)check_all();
}

static void calm_down(void)
{
	for (uint32_t gang = 0; gang < GANGS; gang++)
		for (uint32_t i = 0; i < MEMBERS; i++)
			if (!there[gang][i])
				put_member(gang, i);
	for (unsigned i = 0; i < 20000 && (check_all() < PODS || left() > 0); i++) {
		for (unsigned n = 0; n < SHARDS; n++) {
			select_shard(n);
			rig_round(&rig, answer);
		}
		rig.now_ms += 50;
	}
	T_EQ(check_all(), PODS);
	T_EQ(left(), 0);
}

static void begin(uint64_t seed)
{
	memset(there, 0, sizeof there);
	memset(excused, 0, sizeof excused);
	open_all(seed);
	set_ops();
}

static void end(void)
{
	bury();
	close_all();
}

T_CASE_SECONDS(a_batch_is_committed_whole_or_not_at_all, 200)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 12; i++) {
		calm = 1 + i % 3 * 8;
		ops = i % 4 == 0 ? 16 : 8;
		begin(t_seed() + i);
		for (unsigned n = 0; n < STEPS; n++)
			step();
		calm_down();
		count_remote();
		end();
	}
	printf("%" PRIu64 " late, %" PRIu64 " gone, %" PRIu64 " reserving, %" PRIu64
	       " bound, %" PRIu64 " aborting, %" PRIu64 " moves, %" PRIu64
	       " answers lost, %" PRIu64 " dead, %" PRIu64 " of theirs late, %" PRIu64
	       " nodes touched\n",
	       late_ever, gone_ever, rounds[0], rounds[1], rounds[2], moves_ever,
	       lost_ever, dead_ever, late_txns, touched_ever);
	T_REACHED(rounds[0] > 24 && rounds[1] > 24 && rounds[2] > 8);
	T_REACHED(gone_ever > 8 && moves_ever > 24 && lost_ever > 12 && dead_ever > 24);
	T_REACHED(remote_ever > 24 && late_txns > 4 && touched_ever > 24);
}
