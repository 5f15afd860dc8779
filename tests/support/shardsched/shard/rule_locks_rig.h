/*
 * For tests of locks, and of what a shard knows when it decides by them. There are two
 * nodes in one zone, n-1 of this shard and n-2 of another one, and two pods that exclude
 * each other by zone, a of this shard and b of the other one.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_RULE_LOCKS_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_RULE_LOCKS_RIG_H

#include "tests/support/shardsched/shard/sched_rig.h"

#define STATE "/schedules/0000/web/a/state"
#define SPEC_B "/schedules/0001/web/b/spec"
#define SHAPE "/groups/nodes"

static struct rig rig;
static char lock[128];

/* The alloc of n-2 with b, as any shard writes it. */
static const char with_b[] =
	"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},\"nonzero\":{"
	"\"memory\":\"209715200\"},\"pods\":{\"0001\":{\"web\":[\"b\"]}}}";
static const char empty[] = "{\"v\":1,\"generation\":1}";

/* Writes a Node as its cluster does, with its alloc. */
static inline void put_node(uint32_t p, const char *name, const char *zone,
                            const char *alloc)
{
	char key[64], json[512];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
	               "\"pods\":\"110\"}}}",
	               name, zone);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, json);
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, name);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(alloc));
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
}

static inline void put_pod_at(uint32_t p, const char *name, const char *where)
{
	char key[64], json[640];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"app\":\"x\"}},\"spec\":{%s\"affinity\":{"
	               "\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
	               "Execution\":[{\"topologyKey\":\"zone\",\"labelSelector\":{"
	               "\"matchLabels\":{\"app\":\"x\"}}}]}},\"containers\":[{\"name\":"
	               "\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	               name, name, where);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", p, name);
	rig_put(&rig, key, json);
}

static inline void put_pod(uint32_t p, const char *name)
{
	put_pod_at(p, name, "");
}

/* The other shard binds b to n-2. */
static inline void other_binds(void)
{
	rig_put(&rig, "/schedules/0001/web/b/state",
	        "{\"v\":1,\"uid\":\"u-b\",\"phase\":\"Bound\",\"cluster\":\"east\","
	        "\"node\":\"n-2\",\"shard\":\"west-0\",\"epoch\":\"1\",\"attempts\":1,"
	        "\"since\":\"2025-11-21T09:00:00Z\"}");
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0001/east/n-2"), pl_span_str(with_b));
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

static inline bool is_bound(void)
{
	return strstr(rig_value(&rig, STATE), "\"Bound\"") != NULL;
}

static inline bool binds(const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->then_count; i++)
		if (txn->then[i].op == KV_PUT &&
		    pl_span_eq(txn->then[i].put.key, PL_SPAN_LIT(STATE)) &&
		    strstr((const char *)txn->then[i].put.value.at, "\"Bound\"") != NULL)
			return true;
	return false;
}

/* Everything happens but the answer to the txn that binds a, which is returned. */
static inline unsigned until_sent(void)
{
	for (unsigned n = 0; n < 200; n++) {
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_remote_list_all(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && binds(&rig.out[i].req.txn))
				return i;
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig_deliver_all(&rig);
		rig.now_ms += 20;
	}
	t_fail(__FILE__, __LINE__, "nothing is sent");
	return 0;
}

/* The shard works by what it has heard, and its requests are answered, but no watched
 * event comes in. */
static inline void go_on_deaf(void)
{
	for (unsigned n = 0; n < 50; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
}

static inline void wait_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_run_idle(&rig);
}

/* The txn that binds a to n-1 is out, and b waits. */
static inline unsigned begin(const char *zone_of_n2)
{
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	put_node(1, "n-2", zone_of_n2, empty);
	rig_own(&rig, 0);
	put_pod(0, "a");
	put_pod(1, "b");
	rig_deliver_all(&rig);
	return until_sent();
}

/* Finds the lock that is compared for a, other than /groups/nodes. */
static inline void find_lock(unsigned slot)
{
	const struct kv_txn *txn = &rig.out[slot].req.txn;

	for (size_t i = 0; i < txn->compare_count; i++)
		if (pl_span_starts(txn->compares[i].keys.from,
		                   PL_SPAN_LIT("/groups/web/anti-affinity-")))
			(void)snprintf(lock, sizeof lock, "%.*s",
			               PL_SPAN_ARG(txn->compares[i].keys.from));
	T_TRUE(lock[0] != 0);
}

/* Only what binds a is answered: no spec is read. */
static inline void go_on_unread(void)
{
	for (unsigned n = 0; n < 20; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && binds(&rig.out[i].req.txn))
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
}

/* Like other_binds, on that node. */
static inline void binds_b(const char *node, const char *alloc)
{
	char state[256];

	(void)snprintf(
		state, sizeof state,
		"{\"v\":1,\"uid\":\"u-b\",\"phase\":\"Bound\",\"cluster\":\"east\","
		"\"node\":\"%s\",\"shard\":\"west-0\",\"epoch\":\"1\",\"attempts\":"
		"1,\"since\":\"2025-11-21T09:00:00Z\"}",
		node);
	rig_put(&rig, "/schedules/0001/web/b/state", state);
	rig_set(&rig.store, pl_span_str(alloc), pl_span_str(with_b));
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

/* Nothing is answered. */
static inline unsigned until_q_is_sent(void)
{
	for (unsigned n = 0; n < 200; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig_out_puts(&rig.out[i], "/schedules/0000/web/q/state"))
				return i;
		rig.now_ms += 20;
	}
	t_fail(__FILE__, __LINE__, "q is not sent");
	return 0;
}

#endif
