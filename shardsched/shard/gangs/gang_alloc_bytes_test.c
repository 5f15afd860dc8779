/* Large gangs on nodes whose allocs are large: a gang that is bound can be listed. */
#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum { TERMS = 62, VALUES = 250, MEMBERS = 80, NAME = 253 };

static struct rig rig;

static uint32_t local(void)
{
	const struct partition_group group = {.namespace = PL_SPAN_LIT("web"),
	                                      .gang = PL_SPAN_LIT("a")};
	uint32_t out = 0;

	T_OK(partition_of_group(&group, RIG_PARTITIONS, &out, &rig.err), &rig.err);
	return out;
}

static void put_pod(const char *name, const char *meta, const char *rules)
{
	static char json[1 << 19];
	char key[512];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", local(), name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%.8s\",%s},\"spec\":{%s\"containers\":[{\"name\":\"c\"}]}}",
	               name, name, meta, rules);
	rig_put(&rig, key, json);
}

/* Large terms that select the gang's members. */
static void carriers(void)
{
	static char rules[1 << 18], in[1 << 17];

	for (unsigned i = 0; i < TERMS; i++) {
		char name[16], labels[64];
		size_t len = (size_t)snprintf(
			in, sizeof in,
			"\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\","
			"\"operator\":\"In\",\"values\":[\"a\",\"x-%u\"",
			i);

		for (unsigned k = 0; k < VALUES; k++)
			len += (size_t)snprintf(in + len, sizeof in - len,
			                        ",\"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
			                        "zzzzzzzzzzzzzz-%05u\"",
			                        k);
		(void)snprintf(in + len, sizeof in - len, "]}]}");
		(void)snprintf(name, sizeof name, "x-%u", i);
		(void)snprintf(labels, sizeof labels, "\"labels\":{\"app\":\"%s\"}",
		               name);
		(void)snprintf(rules, sizeof rules,
		               "\"topologySpreadConstraints\":[{\"maxSkew\":9,"
		               "\"topologyKey\":\"host\",\"whenUnsatisfiable\":"
		               "\"DoNotSchedule\",%s}],",
		               in);
		put_pod(name, labels, rules);
	}
}

static void long_name(char name[NAME + 1], char first, unsigned i)
{
	int len = snprintf(name, NAME + 1, "%c%04u", first, i);

	for (; len < NAME; len++)
		name[len] = len % 60 == 0 ? '.' : 'x';
	name[NAME] = 0;
}

static void fillers(unsigned count)
{
	char name[NAME + 1];

	for (unsigned i = 0; i < count; i++) {
		long_name(name, 'p', i);
		put_pod(name, "\"labels\":{\"app\":\"f\"}", "");
	}
}

static void member(const char *name)
{
	put_pod(name,
	        "\"labels\":{\"app\":\"a\"},\"annotations\":{\"placet.io/gang\":\"a\","
	        "\"placet.io/gang-min\":\"80\"}",
	        "");
}

static void run_for_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 500)
		rig_run_idle(&rig);
}

static void node(const char *name)
{
	char key[64], json[512];

	(void)snprintf(key, sizeof key, "/nodes/0000/east/%s", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"host\":\"%s\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"64Gi\","
	               "\"pods\":\"5000\"}}}",
	               name, name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_span_str(json));
	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", name);
	rig_set(&rig.store, pl_span_str(key), PL_SPAN_LIT("{\"v\":1,\"generation\":1}"));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
}

static void up(unsigned pods)
{
	rig_open(&rig, NULL); /* etcd's own limits: 128 operations, 1.5 MiB */
	node("n-0");
	fillers(pods);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	run_for_ms(5000);
}

static void are_bound(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < MEMBERS; i++) {
		char name[32];

		(void)snprintf(name, sizeof name, "a-%u", i);
		count += rig_where(&rig, local(), name)[0] == 'n';
	}
	T_EQ(count, MEMBERS);
	T_STR(rig_value(&rig, "/gangs/web/a"), "");
}

/* The alloc and the registry with the terms that select the members do not fit into one
 * transaction. */
static void under_terms(unsigned pods)
{
	up(pods);
	carriers();
	run_for_ms(10000);
	for (unsigned i = 0; i < MEMBERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "a-%u", i);
		member(name);
	}
	run_for_ms(60000);
	T_TRUE(rig_get(&rig.store, PL_SPAN_LIT("/groups/web/registry"))->value.len >
	       900 << 10);
	are_bound();
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}

T_CASE_SECONDS(a_gang_under_large_terms_on_a_node_with_a_small_alloc, 120)
{
	under_terms(100);
}

T_CASE_SECONDS(a_gang_under_large_terms_on_a_node_with_a_large_alloc, 120)
{
	under_terms(2600);
}

/* The node of the member with a long name. */
static const char *where(unsigned i)
{
	char name[NAME + 1], key[512];
	struct kv_record *record;
	struct pod_state state = {0};
	static char out[64];

	long_name(name, 'a', i);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", local(), name);
	record = rig_get(&rig.store, pl_span_str(key));
	if (record != NULL)
		T_OK(state_parse(record->value, &rig.store.arena, &state, &rig.err),
		     &rig.err);
	(void)snprintf(out, sizeof out, "%.*s", PL_SPAN_ARG(state.node));
	return out;
}

/* The reservations are short, the members' names are not: no member is bound where the
 * names do not fit. */
T_CASE_SECONDS(a_gang_with_long_names_goes_where_they_fit, 200)
{
	char name[NAME + 1];
	unsigned there = 0;

	up(3950);
	for (unsigned i = 0; i < MEMBERS; i++) {
		long_name(name, 'a', i);
		member(name);
	}
	run_for_ms(60000);
	for (unsigned i = 0; i < MEMBERS; i++)
		there += strcmp(where(i), "") != 0;
	T_EQ(there, 0);
	T_TRUE(strstr(rig_value(&rig, "/gangs/web/a"), "bound") == NULL);
	node("n-1");
	run_for_ms(60000);
	for (unsigned i = 0; i < MEMBERS; i++)
		there += strcmp(where(i), "n-1") == 0;
	T_EQ(there, MEMBERS);
	rig_close(&rig);
}
