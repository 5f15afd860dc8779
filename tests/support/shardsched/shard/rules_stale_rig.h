/*
 * For tests of rules where what is known of a node or of a pod is of another time than
 * the view. The pod a, of this shard, has affinity to pods with app=x, or anti-affinity.
 * n-1 is this shard's, n-2 of another one, in one zone; n-3 is this shard's, in another
 * zone. There are several pods named b one after the other, with app=x or not, that other
 * shards place.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_STALE_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_STALE_RIG_H

#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

#define STATE "/schedules/0000/web/a/state"
#define NODE_2 "/nodes/0001/east/n-2"
#define ALLOC_2 "/alloc/0001/east/n-2"
#define SHAPE "/groups/nodes"

static struct rig rig;
static char lock[128]; /* key of the lock of the term that selects app=x */
static unsigned local; /* b's partition */
static bool anti;      /* a has anti-affinity */

static inline const char *key_of_b(const char *what)
{
	static char key[64];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/b/%s", local, what);
	return key;
}

/* An alloc without pods, or with b. Its counter says that a pod has left it each time. */
static inline void put_alloc(uint32_t p, const char *node, unsigned generation, bool b)
{
	char key[64], json[256], pods[160] = "";

	if (b)
		(void)snprintf(
			pods, sizeof pods,
			",\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},\"nonzero\":{"
			"\"memory\":\"209715200\"},\"pods\":{\"%04u\":{\"web\":[\"b\"]}}",
			local);
	(void)snprintf(json, sizeof json, "{\"v\":1,\"generation\":%u,\"left\":%u%s}",
	               generation, generation, pods);
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, node);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(json));
}

static inline void put_node(uint32_t p, const char *name, const char *zone)
{
	char key[64], json[512];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\",\"kubernetes.io/hostname\":\"%s\"}},"
		"\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
		"\"pods\":\"110\"}}}",
		name, zone, name);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, json);
	put_alloc(p, name, 1, false);
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
}

static inline void put_pod(const char *key, const char *name, const char *labels,
                           const char *spec)
{
	char json[640];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{%s}},\"spec\":{%s,\"containers\":[{"
	               "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	               name, name, labels, spec);
	rig_put(&rig, key, json);
}

static inline void put_a(bool may_go)
{
	static const char format[] =
		"\"affinity\":{\"pod%sffinity\":{\"requiredDuringSchedulingIgnoredDuring"
		"Execution\":[{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":"
		"{\"app\":\"x\"}}}]}},\"nodeSelector\":{\"zone\":\"%s\"}";
	char spec[320];

	(void)snprintf(spec, sizeof spec, format, anti ? "AntiA" : "A",
	               may_go ? "z" : "nowhere");
	put_pod("/schedules/0000/web/a/spec", "a", "", spec);
}

static inline void put_b(const char *app)
{
	char labels[32];

	(void)snprintf(labels, sizeof labels, "\"app\":\"%s\"", app);
	put_pod(key_of_b("spec"), "b", labels, "\"nodeSelector\":{\"zone\":\"nowhere\"}");
}

static inline void bump(bool is_x)
{
	if (is_x)
		rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

/* Binds b as a shard does. */
static inline void bind_b(uint32_t p, const char *node, unsigned generation, bool is_x)
{
	char state[256];

	(void)snprintf(
		state, sizeof state,
		"{\"v\":1,\"uid\":\"u-b\",\"phase\":\"Bound\",\"cluster\":\"east\","
		"\"node\":\"%s\",\"shard\":\"west-0\",\"epoch\":\"1\","
		"\"attempts\":1,\"since\":\"2025-11-21T09:00:00Z\"}",
		node);
	rig_put(&rig, key_of_b("state"), state);
	put_alloc(p, node, generation, true);
	bump(is_x);
}

/* Ends b as a shard does. */
static inline void end_b(uint32_t p, const char *node, unsigned generation, bool is_x)
{
	rig_del(&rig, key_of_b("spec"));
	rig_unset(&rig.store, pl_span_str(key_of_b("state")));
	put_alloc(p, node, generation, false);
	bump(is_x);
}

static inline bool is_bound(void)
{
	return strstr(rig_value(&rig, STATE), "\"Bound\"") != NULL;
}

static inline void wait_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_run_idle(&rig);
}

/* The shard works by what it has heard, and its requests are answered but for that one
 * (RIG_OUT_MAX: all are), but no watched event comes in. */
static inline void go_on_deaf(unsigned but)
{
	for (unsigned n = 0; n < 50; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && i != but)
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
	sched_check(rig.sched);
}

/* The txn that puts that key, or the one that reads it. */
static inline unsigned find_call(const char *key, bool reads)
{
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		const struct kv_txn *txn = &rig.out[i].req.txn;

		if (rig.out[i].used && !reads && rig_out_puts(&rig.out[i], key))
			return i;
		for (size_t n = 0; rig.out[i].used && reads && n < txn->then_count; n++)
			if (txn->then[n].op == KV_GET &&
			    pl_span_eq(txn->then[n].get.keys.from, pl_span_str(key)))
				return i;
	}
	t_fail(__FILE__, __LINE__, "no request asks for %s", key);
	return 0;
}

static inline void hear_view(void)
{
	(void)rig_view_deliver(&rig, SCHED_FLEET, UINT32_MAX);
}

static inline void hear_pods(void)
{
	(void)rig_deliver(&rig, 0, SCHED_SCHEDULES, UINT32_MAX);
}

static inline void let_a_go(void)
{
	put_a(true);
	hear_pods();
}

static inline void find_lock(void)
{
	for (uint32_t i = 0; i < rig.store.keys; i++) {
		struct pl_span key = rig.store.key[i].key;

		if (pl_span_starts(key, PL_SPAN_LIT("/groups/web/")) &&
		    !pl_span_eq(key, PL_SPAN_LIT("/groups/web/registry")))
			(void)snprintf(lock, sizeof lock, "%.*s", PL_SPAN_ARG(key));
	}
	T_TRUE(lock[0] != '\0');
}

/* The term is registered; a can go nowhere yet, and the view is held for it. */
static inline void begin(unsigned partition_of_b)
{
	local = partition_of_b;
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z");
	put_node(1, "n-2", "z");
	put_node(0, "n-3", "z3");
	rig_own(&rig, 0);
	put_a(false);
	wait_ms(3000);
	find_lock();
	T_TRUE(rig.viewed[SCHED_FLEET]);
}

/* Everything is heard, and b is what a looks for, or is gone. */
static inline void end(unsigned generation)
{
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	end_b(1, "n-2", generation, true);
	wait_ms(1000);
	if (!anti) {
		put_b("x");
		bind_b(1, "n-2", generation + 1, true);
	}
	wait_ms(10000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* Puts the b that makes a place for a, and then a b that makes none. */
static inline void put_first(void)
{
	put_b(anti ? "y" : "x");
}

static inline void put_second(void)
{
	put_b(anti ? "x" : "y");
}

/* With affinity and with anti-affinity. */
static inline void twice(void (*story)(void))
{
	anti = false;
	story();
	anti = true;
	story();
}

#endif
