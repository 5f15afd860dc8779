/*
 * A store with every kind of key, damaged at random: what is repaired stays so, and
 * what is not repaired has a reason. The same with each allocation failing in turn.
 */
#include "store/base/fault.h"
#include "store/base/rng.h"
#include "tests/support/coord/service/fsck/fsck_fixture.h"

enum { ROUNDS = 150, SPOILS_MAX = 6, REPAIRS = 4, KEYS_MAX = 128 };

static const char apart[] =
	",\"labels\":{\"app\":\"x\"}},\"spec\":{\"affinity\":{\"podAntiAffinity\":{"
	"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{"
	"\"matchLabels\":{\"app\":\"x\"}},\"topologyKey\":\"zone\"}]}},";
static const char spread[] =
	",\"labels\":{\"app\":\"y\"}},\"spec\":{\"topologySpreadConstraints\":[{"
	"\"labelSelector\":{\"matchLabels\":{\"app\":\"y\"}},\"maxSkew\":1,\"topologyKey\":"
	"\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\"}],\"affinity\":{\"podAffinity\":{"
	"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"namespaceSelector\":{},"
	"\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":"
	"\"Exists\"}]},\"topologyKey\":\"zone\"}]}},";

static void put_rule_pod(const char *name, const char *rule, const char *node)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\"%s"
	               "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{"
	               "\"containerPort\":80,\"hostPort\":80}]}]}}",
	               name, rule);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", name), json);
	if (node != NULL)
		put_state("web", name, state_of("Bound", node, "1"));
}

static void put_zone(const char *name, const char *zone)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\","
	               "\"pods\":\"10\"}}}",
	               name, zone);
	(void)kit_put(&kit, node_key(KEYS_NODE, name), json);
	put_shape();
}

static uint64_t left(void)
{
	struct fsck_repair what;
	uint64_t cursor = 0, count = 0;

	while (fsck_core_repair(fsck_core(fsck), &cursor, &what))
		count++;
	return count;
}

/* Allocs, registries and locks follow from the pods. */
static void up_all(const struct faulty_rule *rules, size_t count)
{
	up_over(rules, count);
	put_zone("n-0", "a");
	put_zone("n-1", "b");
	put_zone("n-2", "c");
	put_rule_pod("r0", apart, "n-0");
	put_rule_pod("r1", apart, "n-1");
	put_rule_pod("s0", spread, "n-2");
	put_rule_pod("s1", spread, NULL);
	put_gang("ml", "t", "n-2");
	(void)kit_put(
		&kit, node_key(KEYS_ALLOC, "n-2"),
		"{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"1000m\"},\"holds\":[{"
		"\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\",\"used\":{"
		"\"cpu\":\"1000m\"},\"until\":\"2026-11-21T09:00:00.000Z\"},{\"kind\":"
		"\"nominated\",\"namespace\":\"web\",\"name\":\"c\",\"at\":2,\"used\":{},"
		"\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	check();
	repair(false);
	check();
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	T_EQ(left(), 0);
}

/* -- damage ------------------------------------------------------------------------ */

static const char *const garbage[] = {
	"",
	"{",
	"{}",
	"{\"v\":1}",
	"[]",
	"null",
	"{\"v\":2,\"generation\":1}",
	"{\"v\":1,\"at\":3}",
	"{\"v\":1,\"terms\":{}}",
	"{\"v\":1,\"generation\":1}",
	"{\"v\":1,\"phase\":\"Bound\"}",
	"{\"v\":1,\"terms\":{\"spread-1\":{\"kind\":\"spread\",\"pod\":{}}}}",
	"{\"metadata\":{\"name\":\"n-0\",\"labels\":{\"zone\":\"b\"}}}",
};
enum { GARBAGES = sizeof garbage / sizeof garbage[0] };

static void put_bytes(struct pl_span key, struct pl_span value)
{
	const struct kv_req req = kv_op_put(key, value);

	T_EQ(kit_call(&kit, &req), PL_OK);
}

static struct pl_span flipped(struct pl_rng *rng, struct pl_span value)
{
	uint8_t *copy = pl_arena_alloc(&kit.arena, value.len + 1);

	T_TRUE(copy != NULL);
	memcpy(copy, value.at, value.len);
	if (value.len > 0)
		copy[pl_rng_below(rng, value.len)] ^=
			(uint8_t)(1u << pl_rng_below(rng, 7));
	return pl_span(copy, value.len);
}

static void spoil(struct pl_rng *rng)
{
	const struct kv_get_result *all;
	const struct kv_record *one, *other;

	T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_OK);
	all = &kit.result.get;
	T_TRUE(all->count > 0 && all->count < KEYS_MAX);
	one = &all->records[pl_rng_below(rng, all->count)];
	other = &all->records[pl_rng_below(rng, all->count)];
	switch (pl_rng_below(rng, 4)) {
	case 0:
		T_EQ(kit_delete(&kit, kv_key(one->key)), 1);
		return;
	case 1:
		put_bytes(one->key, pl_span_str(garbage[pl_rng_below(rng, GARBAGES)]));
		return;
	case 2:
		put_bytes(one->key, other->value);
		return;
	default:
		put_bytes(one->key, flipped(rng, one->value));
	}
}

/* -- cases ------------------------------------------------------------------------- */

static void repairs(uint64_t seed)
{
	for (unsigned i = 0; i < REPAIRS; i++) {
		check();
		repair(true);
		T_EQ(m.count[REPAIR_DONE], 0);
		repair(false);
		if (m.count[REPAIR_DONE] == 0)
			break;
	}
	check();
	if (m.count[REPAIR_DONE] != 0 || m.count[REPAIR_RIGHT] != 0 ||
	    left() != m.count[REPAIR_REFUSED])
		t_fail(__FILE__, __LINE__,
		       "seed %" PRIu64 ": %u mended, %u right, %u refused, %" PRIu64
		       " left\n%s%s",
		       seed, m.count[REPAIR_DONE], m.count[REPAIR_RIGHT],
		       m.count[REPAIR_REFUSED], left(), r.text, m.why);
}

T_CASE(damage_is_repaired_or_reported)
{
	for (uint64_t seed = t_seed(); seed < t_seed() + ROUNDS; seed++) {
		struct pl_rng rng;
		uint64_t count;

		pl_rng_init(&rng, seed);
		up_all(NULL, 0);
		count = 1 + pl_rng_below(&rng, SPOILS_MAX);
		for (uint64_t i = 0; i < count; i++)
			spoil(&rng);
		repairs(seed);
		down();
	}
}

T_CASE(without_memory_it_ends_whatever_there_is)
{
	up_all(NULL, 0);
	drop("/groups/web/registry");
	put_rule_pod("r2", apart, "n-0");
	put_zone("n-1", "a");
	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;
		bool fired;

		fsck_free(fsck);
		fsck = NULL;
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = start();
		if (code == PL_OK)
			run_until(&r.over);
		if (code == PL_OK && r.err.code == PL_OK && repair_start(true) == PL_OK)
			run_until(&m.over);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (code != PL_OK)
			fsck = NULL;
		if (!fired)
			break;
	}
	T_TRUE(m.count[REPAIR_WOULD] >= 2);
	T_EQ(r.found[FSCK_TERM_UNREGISTERED], 1);
	T_TRUE(r.found[FSCK_RULES_APART] + r.found[FSCK_RULES_APART_SINCE] > 0);
	down();
}

/* With lost answers what was applied is seen, and nothing is done twice. */
T_CASE(lost_answers_do_no_harm)
{
	static const struct faulty_rule lose[] = {
		{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 400},
		{.what = FAULTY_REFUSE, .per_mille = 200, .code = PL_UNAVAIL},
	};

	up_all(lose, sizeof lose / sizeof lose[0]);
	drop("/groups/web/registry");
	drop("/groups/nodes");
	(void)kit_put(&kit, "/groups/db/spread-1", "{\"v\":1}");
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/gangs/ml/t")));
	check();
	faulty_pause(kit.kv, false);
	repair(false);
	faulty_pause(kit.kv, true);
	check();
	T_EQ(left(), 0);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	down();
}
