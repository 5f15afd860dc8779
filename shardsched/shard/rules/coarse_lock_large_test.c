/* Pods selected by so many and such large terms that the registries do not fit into one
 * transaction. */
#include "tests/support/shardsched/shard/sched_rig.h"

enum { HALF = 62 };

static struct rig rig;

static void put_pod(const char *name, const char *app, const char *cpu, const char *rules)
{
	static char json[1 << 19];
	char key[64];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
		"\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{%s\"containers\":[{"
		"\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
		name, name, app, rules, cpu);
	rig_put(&rig, key, json);
}

static const char spread[] =
	"\"topologySpreadConstraints\":[{\"maxSkew\":9,\"topologyKey\":\"host\","
	"\"whenUnsatisfiable\":\"DoNotSchedule\",";

/* Pods with terms that select themselves and app "a". */
static void carriers(char first, unsigned values, const char *before, const char *after)
{
	static char rules[1 << 18], in[1 << 17];

	for (unsigned i = 0; i < HALF; i++) {
		char name[16];
		size_t len = (size_t)snprintf(
			in, sizeof in,
			"\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\","
			"\"operator\":\"In\",\"values\":[\"a\",\"%c-%u\"",
			first, i);

		for (unsigned k = 0; k < values; k++)
			len += (size_t)snprintf(in + len, sizeof in - len,
			                        ",\"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
			                        "zzzzzzzzzzzzzz-%05u\"",
			                        k);
		(void)snprintf(in + len, sizeof in - len, "]}]}");
		(void)snprintf(name, sizeof name, "%c-%u", first, i);
		(void)snprintf(rules, sizeof rules, "%s%s%s", before, in, after);
		put_pod(name, name, "1m", rules);
	}
}

static void run_for_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 200)
		rig_run_idle(&rig);
}

static void put_ended_state(const char *name, enum state_ask ask, enum state_ended ended)
{
	struct pl_buf buf = {.max = 4096};
	int phase;
	struct pod_state state = rig_state(&rig, 1, name, &phase);
	char key[128];

	state.ask = ask;
	state.ended = ended;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void are_bound(char first)
{
	char name[16];

	for (unsigned i = 0; i < HALF; i++) {
		(void)snprintf(name, sizeof name, "%c-%u", first, i);
		T_STR(rig_where(&rig, 1, name), "n-0");
	}
}

static int64_t rev_of(const char *key)
{
	struct kv_record *record = rig_get(&rig.store, pl_span_str(key));

	return record == NULL ? 0 : record->mod_revision;
}

/* a runs before the pods come whose terms select it. */
static void up(unsigned values)
{
	rig_open(&rig, NULL); /* etcd's own limits: 128 operations, 1.5 MiB */
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/nodes/0000/east/n-0"),
	        PL_SPAN_LIT(
			"{\"metadata\":{\"name\":\"n-0\",\"labels\":{\"host\":\"n-0\"}},"
			"\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"64Gi\","
			"\"pods\":\"500\"}}}"));
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-0"),
	        PL_SPAN_LIT("{\"v\":1,\"generation\":1}"));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	put_pod("a", "a", "60", "");
	run_for_ms(2000);
	T_STR(rig_where(&rig, 1, "a"), "n-0");
	carriers('x', values, spread, "}],");
	run_for_ms(5000);
	carriers('y', values,
	         "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
	         "Execution\":[{\"topologyKey\":\"host\",\"namespaceSelector\":{},",
	         "}]}},");
	run_for_ms(8000);
	are_bound('x');
	are_bound('y');
}

/* The end of a puts what every decision compares: the registries, or /groups/nodes. */
static void goes(unsigned values, bool large)
{
	int64_t nodes, namespace, global;

	up(values);
	nodes = rev_of("/groups/nodes");
	namespace = rev_of("/groups/web/registry");
	global = rev_of("/groups/registry");
	put_ended_state("a", STATE_ASK_DELETE, STATE_ENDED_SUCCEEDED);
	run_for_ms(5000);
	T_STR(rig_where(&rig, 1, "a"), "");
	T_EQ(rev_of("/groups/nodes") > nodes, large);
	T_EQ(rev_of("/groups/web/registry") > namespace, !large);
	T_EQ(rev_of("/groups/registry") > global, !large);
	/* And the next pod is decided again. */
	put_pod("c", "c", "1m", "");
	carriers('z', 0, spread, "}],");
	run_for_ms(20000);
	T_STR(rig_where(&rig, 1, "c"), "n-0");
	are_bound('z');
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}

T_CASE_SECONDS(a_pod_that_many_small_terms_select_ends, 120)
{
	goes(10, false);
}

T_CASE_SECONDS(a_pod_that_many_large_terms_select_ends, 120)
{
	goes(250, true);
}

/* Another shard puts a coarse lock: a decision under one of its terms meanwhile fails. */
T_CASE_SECONDS(a_decision_before_a_coarse_lock_fails_and_is_redone, 120)
{
	unsigned late = RIG_OUT_MAX;

	up(250);
	put_pod("late", "x-1", "1m",
	        "\"topologySpreadConstraints\":[{\"maxSkew\":9,\"topologyKey\":\"host\","
	        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{"
	        "\"app\":\"x-1\"}}}],");
	for (int i = 0; i < 50 && late == RIG_OUT_MAX; i++) {
		rig_deliver_all(&rig);
		rig_run(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++) {
			if (!rig.out[n].used)
				continue;
			if (rig_out_puts(&rig.out[n], "/schedules/0001/web/late/state"))
				late = n;
			else
				(void)rig_answer(&rig, n);
		}
	}
	T_TRUE(late != RIG_OUT_MAX);
	rig_put(&rig, "/groups/nodes", "{\"v\":1}");
	T_TRUE(!rig_answer(&rig, late));
	run_for_ms(20000);
	T_STR(rig_where(&rig, 1, "late"), "n-0");
	rig_close(&rig);
}

/* A pod of higher priority takes the place of one that so many terms select. */
static void is_preempted(unsigned values)
{
	up(values);
	rig_priority = 10;
	rig_pod(&rig, 1, "vip", "60", "");
	rig_priority = 0;
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "Terminating");
	rig_close(&rig);
}

T_CASE_SECONDS(a_pod_that_many_small_terms_select_is_preempted, 120)
{
	is_preempted(10);
}

T_CASE_SECONDS(a_pod_that_many_large_terms_select_is_preempted, 120)
{
	is_preempted(250);
}
