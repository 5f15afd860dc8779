/* A registry that was written can be read, with as many values as fit into its bytes. */
#include "tests/support/shardsched/shard/sched_rig.h"

enum { BEFORE = 60, AFTER = 2, ROUNDS = 100 };

static struct rig rig;

static void run_for_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 200)
		rig_run_idle(&rig);
}

static void put(const char *name, const char *app, const char *rules)
{
	static char json[1 << 16];
	char key[64];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
		"\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{%s\"containers\":[{"
		"\"name\":\"c\"}]}}",
		name, name, app, rules);
	rig_put(&rig, key, json);
}

static size_t add_values(char *out, size_t size, unsigned from, unsigned count)
{
	static const char set[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t len = 0;

	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(out + len, size - len, "%s\"%c%c\"",
		                        i == 0 ? "" : ",", set[(from + i) / 62 % 62],
		                        set[(from + i) % 62]);
	return len;
}

/* A pod that spreads among pods of two-letter words. */
static void carrier(unsigned n, unsigned values)
{
	static char rules[1 << 15];
	char name[16];
	size_t len = (size_t)snprintf(
		rules, sizeof rules,
		"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"host\","
		"\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{"
		"\"matchExpressions\":[{\"key\":\"k%u\",\"operator\":\"Exists\"},{\"key\":"
		"\"b\",\"operator\":\"In\",\"values\":[",
		n);

	len += add_values(rules + len, sizeof rules - len, 0, values / 2);
	len += (size_t)snprintf(rules + len, sizeof rules - len,
	                        "]},{\"key\":\"b\",\"operator\":\"In\",\"values\":[");
	len += add_values(rules + len, sizeof rules - len, values / 2,
	                  values - values / 2);
	(void)snprintf(rules + len, sizeof rules - len, "]}]}}],");
	(void)snprintf(name, sizeof name, "f-%u", n);
	put(name, "f", rules);
}

static void keeps_away(unsigned values)
{
	uint32_t logged, writes = 0;

	rig_open(&rig, NULL); /* etcd's own limits */
	rig_node(&rig, 0, "n-0", "64");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	put("guard", "guard",
	    "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
	    "Execution\":[{\"topologyKey\":\"host\",\"labelSelector\":{\"matchLabels\":{"
	    "\"app\":\"v\"}}}]}},");
	run_for_ms(2000);
	T_STR(rig_where(&rig, 1, "guard"), "n-0");
	for (unsigned i = 0; i < BEFORE; i++)
		carrier(i, values);
	run_for_ms(10000);
	T_STR(rig_where(&rig, 1, "f-59"), "n-0");
	T_EQ(rig.malformed, 0);
	for (unsigned i = 0; i < AFTER; i++)
		carrier(BEFORE + i, values);
	logged = rig.store.logged;
	for (unsigned i = 0; i < ROUNDS; i++) { /* two seconds */
		rig_round(&rig, NULL);
		rig.now_ms += 20;
	}
	put("v", "v", "");
	for (unsigned i = 0; i < ROUNDS; i++) {
		rig_round(&rig, NULL);
		rig.now_ms += 20;
	}
	for (uint32_t i = logged; i < rig.store.logged; i++)
		writes += pl_span_eq(rig.store.log[i].record.key,
		                     PL_SPAN_LIT("/groups/web/registry"));
	T_TRUE(writes < 5);
	T_EQ(rig.malformed, 0);
	T_TRUE(strcmp(rig_where(&rig, 1, "v"), "n-0") != 0); /* guard is there */
	rig_close(&rig);
}

T_CASE_SECONDS(anti_affinity_holds_in_a_registry, 100)
{
	keeps_away(3000);
}

T_CASE_SECONDS(anti_affinity_holds_in_a_full_registry, 100)
{
	keeps_away(3215);
}

static void node(uint32_t p, const char *name)
{
	char key[64], json[512];

	rig.store.revision++;
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"%s\",\"labels\":{\"host\":\"%s\",\"zone\":"
		"\"z\"}},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":"
		"\"64Gi\",\"pods\":\"110\"}}}",
		name, name);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(json));
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, name);
	rig_set(&rig.store, pl_span_str(key), PL_SPAN_LIT("{\"v\":1,\"generation\":1}"));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
}

/* One shard has the carriers, and guard on a node in the zone; another shard has a node
 * in that zone, and v, with which guard has anti-affinity. */
static void others_keep_away(unsigned values)
{
	const struct sched_opts opts = {.shard = "west-0", .partitions = RIG_PARTITIONS};

	rig_open(&rig, NULL);
	node(1, "n-1");
	rig_own(&rig, 1);
	put("guard", "guard",
	    "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
	    "Execution\":[{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":{"
	    "\"app\":\"v\"}}}]}},");
	run_for_ms(2000);
	T_STR(rig_where(&rig, 1, "guard"), "n-1");
	for (unsigned i = 0; i < BEFORE; i++)
		carrier(i, values);
	run_for_ms(10000);
	for (unsigned i = 0; i < AFTER; i++)
		carrier(BEFORE + i, values);
	for (unsigned i = 0; i < 10; i++) {
		rig_round(&rig, NULL);
		rig.now_ms += 20;
	}
	sched_free(rig.sched);
	memset(rig.out, 0, sizeof rig.out);
	memset(rig.viewed, 0, sizeof rig.viewed);
	memset(rig.owned, 0, sizeof rig.owned);
	memset(rig.remote_list, 0, sizeof rig.remote_list);
	T_OK(sched_new(&opts, &rig.sched, &rig.err), &rig.err);
	node(0, "n-0");
	rig_put(&rig, "/schedules/0000/web/v/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"v\",\"uid\":\"u-v\","
	        "\"labels\":{\"app\":\"v\"}},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
	rig_own(&rig, 0);
	run_for_ms(10000);
	T_STR(rig_where(&rig, 0, "v"), "Pending");
	rig_close(&rig);
}

T_CASE_SECONDS(another_shard_keeps_to_anti_affinity, 100)
{
	others_keep_away(3000);
}

T_CASE_SECONDS(another_shard_keeps_to_anti_affinity_in_a_full_registry, 100)
{
	others_keep_away(3215);
}
