/* Namespaces that come and go: what is kept of an unneeded one is freed. */
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum { MANY = 3000, AT_ONCE = 50, FEW = 256 };

static struct rig rig;

/* A prepared class stays for a while, and so does its namespace. */
static void begin(void)
{
	const struct sched_opts opts = {.ready_classes = 32};

	rig_open(&rig, &opts);
	rig_node(&rig, 0, "n-1", "8");
	rig_node(&rig, 0, "n-2", "8");
	rig_own(&rig, 0);
}

static void wait_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_run_idle(&rig);
}

static const char *key_of(const char *namespace, const char *name, const char *what)
{
	static char key[96];

	(void)snprintf(key, sizeof key, "/schedules/0000/%s/%s/%s", namespace, name,
	               what);
	return key;
}

static void put_pod(const char *namespace, const char *name, const char *more)
{
	char json[640];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s-%s\",\"labels\":{\"app\":\"x\"}},\"spec\":{%s"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"1\"}}}]}}",
	               namespace, name, namespace, name, more);
	rig_put(&rig, key_of(namespace, name, "spec"), json);
}

static const char *node_of(const char *namespace, const char *name)
{
	static char node[2][16];
	static unsigned turn;
	const char *at =
		strstr(rig_value(&rig, key_of(namespace, name, "state")), "\"node\":\"");

	turn = 1 - turn;
	(void)snprintf(node[turn], sizeof node[turn], "%.3s", at == NULL ? "" : at + 8);
	return node[turn];
}

/* The pod's cluster says that it has ended; the shard does the rest. */
static void end_pod(const char *key)
{
	struct pl_buf buf = {.max = 4096};
	struct pod_state state;

	T_OK(state_parse(pl_span_str(rig_value(&rig, key)), &rig.store.arena, &state,
	                 &rig.err),
	     &rig.err);
	state.ask = STATE_ASK_DELETE;
	state.ended = STATE_ENDED_GONE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

/* The keys of an unbound pod are deleted. */
static void del_pod(const char *namespace, const char *name)
{
	if (node_of(namespace, name)[0] != '\0') {
		end_pod(key_of(namespace, name, "state"));
		return;
	}
	rig_del(&rig, key_of(namespace, name, "spec"));
	rig_unset(&rig.store, pl_span_str(key_of(namespace, name, "state")));
}

/* The store has room for the keys that exist. */
static void purge(void)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (rig.store.key[i].mod_revision != 0)
			rig.store.key[kept++] = rig.store.key[i];
	rig.store.keys = kept;
}

/* Each namespace has a pod for a while, which can go nowhere, or is bound. */
static void come_and_go(const char *more)
{
	for (unsigned i = 0; i < MANY; i++) {
		char namespace[16];

		(void)snprintf(namespace, sizeof namespace, "ns-%u", i);
		put_pod(namespace, "p", more);
		if (i >= AT_ONCE) {
			(void)snprintf(namespace, sizeof namespace, "ns-%u", i - AT_ONCE);
			del_pod(namespace, "p");
		}
		if (i % 10 == 0) {
			rig_run_idle(&rig);
			purge();
			rig.now_ms += 50;
		}
	}
	wait_ms(1000);
	for (unsigned i = MANY - AT_ONCE; i < MANY; i++) {
		char namespace[16];

		(void)snprintf(namespace, sizeof namespace, "ns-%u", i);
		del_pod(namespace, "p");
	}
	wait_ms(1000);
}

static void few_are_known(void)
{
	T_TRUE(rig.sched->rules.namespaces.count <= FEW);
	T_TRUE(rig.sched->snapshot.catalog.count[CATALOG_NAMESPACE] <= FEW);
}

static const char nowhere[] = "\"nodeSelector\":{\"host\":\"nowhere\"},";

T_CASE(a_namespace_whose_pod_waited_is_freed)
{
	begin();
	come_and_go(nowhere);
	few_are_known();
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}

T_CASE(a_namespace_whose_pod_was_bound_is_freed)
{
	begin();
	rig_node(&rig, 0, "n-3", "64");
	come_and_go("");
	few_are_known();
	T_EQ(rig_alloc(&rig, 0, "n-3").pods, 0);
	T_EQ(rig.sched->figures.placed, MANY);
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}

/* Anti-affinity with pods whose label is their namespace's name, on whatever node. */
static const char apart[] =
	"\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
	"Execution\":[{\"topologyKey\":\"host\",\"labelSelector\":{\"matchLabels\":{"
	"\"app\":\"x\"}},\"namespaceSelector\":{\"matchLabels\":{"
	"\"kubernetes.io/metadata.name\":\"kept\"}}}]}},";

/* A pod on a node is selected by the labels of its namespace, though no pod of that
 * namespace waits any more. */
T_CASE(a_namespace_with_a_listed_pod_is_kept)
{
	begin();
	put_pod("kept", "a", "");
	wait_ms(1000);
	T_TRUE(node_of("kept", "a")[0] == 'n');
	come_and_go(nowhere);
	few_are_known();
	put_pod("other", "b", apart);
	put_pod("other", "c", apart);
	wait_ms(3000);
	T_TRUE(node_of("other", "b")[0] == 'n' && node_of("other", "c")[0] == 'n');
	T_TRUE(strcmp(node_of("other", "b"), node_of("kept", "a")) != 0);
	T_TRUE(strcmp(node_of("other", "c"), node_of("kept", "a")) != 0);
	rig_close(&rig);
}

static int64_t rev_of(const char *namespace)
{
	uint32_t name = strings_find(&rig.sched->model.strings, pl_span_str(namespace));
	struct pl_map_node *at = name == 0 ? NULL
	                                   : pl_map_get(&rig.sched->rules.namespaces,
	                                                pl_span(&name, sizeof name));

	return at == NULL ? 0 : PL_CONTAINER_OF(at, struct rule_namespace, by_name)->rev;
}

/* The registry is not told again. */
T_CASE(a_namespace_with_a_registry_is_kept)
{
	static const char own[] =
		"\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnored"
		"DuringExecution\":[{\"topologyKey\":\"host\",\"labelSelector\":{"
		"\"matchLabels\":{\"app\":\"x\"}}}]}},";
	int64_t rev;

	begin();
	put_pod("kept", "a", own);
	wait_ms(3000);
	T_TRUE(node_of("kept", "a")[0] == 'n');
	rev = rev_of("kept");
	T_TRUE(rev > 0);
	del_pod("kept", "a");
	come_and_go(nowhere);
	few_are_known();
	T_EQ(rev_of("kept"), rev);
	rig_close(&rig);
}

/* A freed namespace that comes again behaves like a new one. */
T_CASE(a_freed_namespace_comes_again)
{
	begin();
	come_and_go(nowhere);
	few_are_known();
	put_pod("ns-7", "p", "");
	wait_ms(1000);
	T_TRUE(node_of("ns-7", "p")[0] == 'n');
	put_pod("ns-7", "q", "");
	wait_ms(1000);
	T_TRUE(node_of("ns-7", "q")[0] == 'n');
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}
