/* Nodes and allocs that are damaged: each code, and its repair. */
#include "shardsched/records/alloc.h"
#include "tests/support/coord/service/fsck/fsck_fixture.h"

T_CASE(node_malformed)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_NODE, "n-0"), "{\"metadata\":7}");
	put_shape();
	finds(FSCK_NODE_MALFORMED, 1);
	/* Readable, but refused at submission: no shard would use it. */
	(void)kit_put(&kit, node_key(KEYS_NODE, "n-0"),
	              "{\"metadata\":{\"name\":\"n-0\"},\"spec\":{\"taints\":[{\"key\":"
	              "\"gpu\",\"effect\":\"noschedule\"}]},\"status\":{\"allocatable\":{"
	              "\"cpu\":\"8\",\"memory\":\"32Gi\",\"pods\":\"110\"}}}");
	put_shape();
	finds(FSCK_NODE_MALFORMED, 1);
	mends_not();
}

T_CASE(node_and_alloc_in_another_partition)
{
	uint32_t other = (node_partition("n-9") + 1) % PARTITIONS;

	up();
	(void)kit_put(&kit, key_in(KEYS_NODE, other, "east", "n-9"), "{}");
	finds(FSCK_NODE_PARTITION, 1);
	drop(key_in(KEYS_NODE, other, "east", "n-9"));
	(void)kit_put(&kit, key_in(KEYS_ALLOC, other, "east", "n-9"), "{}");
	finds(FSCK_ALLOC_PARTITION, 1);
	mends_not();
}

T_CASE(node_without_alloc_with_pods)
{
	up();
	drop(node_key(KEYS_ALLOC, "n-0"));
	finds(FSCK_NODE_NO_ALLOC, 1);
	mends(1);
}

T_CASE(nodes_without_alloc)
{
	struct alloc alloc;

	up();
	drop(node_key(KEYS_ALLOC, "n-2"));
	finds(FSCK_NODE_NO_ALLOC, 1);
	repair(false);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-2"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	/* Above any generation that it may have had. */
	T_EQ(alloc.generation, r.revision);
	clean();
	down();
}

static int64_t newest(const char *key)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	return kit.result.get.records[0].mod_revision;
}

/* A decision under rules that was made without that node or its pods has to fail. */
static void others_hear_of(const char *alloc)
{
	int64_t before;

	up();
	drop(node_key(KEYS_ALLOC, "n-0"));
	if (alloc != NULL)
		(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"), alloc);
	before = newest("/groups/nodes");
	check();
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 1);
	T_TRUE(newest("/groups/nodes") > before);
	T_EQ(newest("/groups/nodes"), newest(node_key(KEYS_ALLOC, "n-0")));
	clean();
	down();
}

T_CASE(an_alloc_that_is_put_back_voids_decisions_under_rules)
{
	others_hear_of(NULL);
	others_hear_of("{\"v\":1,\"pods\":[]}");
	others_hear_of("{\"v\":1,\"generation\":5}");
}

T_CASE(alloc_malformed)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"), "{\"v\":1,\"pods\":[]}");
	finds(FSCK_ALLOC_MALFORMED, 1);
	mends(1);
}

T_CASE(alloc_without_node)
{
	up();
	drop(node_key(KEYS_NODE, "n-2"));
	finds(FSCK_ALLOC_NO_NODE, 1);
	mends(1); /* the alloc holds nothing */
	up();
	drop(node_key(KEYS_NODE, "n-0"));
	finds(FSCK_ALLOC_NO_NODE, 1);
	T_TRUE(strstr(r.text, "placet nodes apply") != NULL);
	mends_not();
}

/* The alloc is repaired like others, and deleted if it holds nothing. */
T_CASE(malformed_alloc_without_node)
{
	up();
	drop(node_key(KEYS_NODE, "n-0"));
	drop(node_key(KEYS_NODE, "n-2"));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"), "{");
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"), "{");
	check();
	T_EQ(r.found[FSCK_ALLOC_MALFORMED], 2);
	T_EQ(r.found[FSCK_ALLOC_NO_NODE], 2);
	T_EQ(r.total, 4);
	repair(false);
	T_EQ(m.count[REPAIR_DONE], 2);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-2"))), 0),
	     PL_OK);
	T_EQ(kit.result.get.count, 0);
	finds(FSCK_ALLOC_NO_NODE, 1);
	mends_not();
}

/* A Node that is put back keeps the alloc that was to go; so does a pod that is
 * placed. */
T_CASE(an_alloc_without_node_is_used_meanwhile)
{
	static const struct faulty_rule slow[] = {{.what = FAULTY_SLOW_REQUEST,
	                                           .ops = 1u << KV_TXN,
	                                           .per_mille = 1000,
	                                           .delay_min_ms = 10,
	                                           .delay_max_ms = 10}};

	for (unsigned i = 0; i < 4; i++) {
		up_over(slow, 1);
		drop(node_key(KEYS_NODE, "n-2"));
		check();
		faulty_pause(kit.kv, false);
		T_OK(repair_start(false), &kit.err);
		kit_run(&kit, kit.now_ms + (i < 2 ? 5 : 15));
		faulty_pause(kit.kv, true);
		if (i % 2 == 0) {
			put_node("n-2", 4);
		} else {
			put_state("web", "c", state_of("Bound", "n-2", "1"));
			(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
			              alloc_of(1, listed("web", "c",
			                                 pod_partition("web", "c"))));
		}
		run_until(&m.over);
		T_EQ(m.count[REPAIR_DONE], 0);
		T_EQ(m.count[REPAIR_RIGHT], 1);
		down();
	}
}

T_CASE(alloc_sum)
{
	static const char *const used[] = {
		"\"cpu\":\"499m\",\"memory\":\"67108864\",\"pods\":\"1\"",
		"\"cpu\":\"500m\",\"memory\":\"67108865\",\"pods\":\"1\"",
		"\"cpu\":\"500m\",\"memory\":\"67108864\",\"pods\":\"2\"",
		"\"cpu\":\"500m\",\"memory\":\"67108864\",\"pods\":\"1\","
		"\"ephemeral-storage\":\"1\"",
		"\"cpu\":\"500m\",\"memory\":\"67108864\",\"pods\":\"1\","
		"\"example.com/gpu\":\"1\"",
	};
	char json[TEXT_SIZE];

	for (unsigned i = 0; i <= sizeof used / sizeof used[0]; i++) {
		bool ports = i == sizeof used / sizeof used[0];

		up();
		(void)snprintf(json, sizeof json,
		               "{\"v\":1,\"generation\":5,\"used\":{%s},%s\"pods\":{%s}}",
		               ports ? "\"cpu\":\"500m\",\"memory\":\"67108864\","
		                       "\"pods\":\"1\""
		                     : used[i],
		               ports ? "\"ports\":[\"TCP/0.0.0.0/80\"]," : "",
		               leaving(listed("db", gang_pod(), gang_home())));
		(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), json);
		finds(FSCK_ALLOC_SUM, 1);
		mends(1);
	}
}

T_CASE(reservations_count_and_stay)
{
	struct alloc alloc;

	up();
	put_gang("ml", "t", "n-2");
	(void)kit_put(
		&kit, node_key(KEYS_ALLOC, "n-2"),
		"{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"1000m\"},\"holds\":[{"
		"\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\",\"used\":{"
		"\"cpu\":\"1000m\"},\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	clean();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"900m\"},\"holds\":[{"
	              "\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\",\"used\":{"
	              "\"cpu\":\"1000m\"},\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	finds(FSCK_ALLOC_SUM, 1);
	repair(false);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-2"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	T_EQ(alloc.holds, 1);
	T_EQ(alloc.generation, 6);
	T_EQ(alloc.used.cpu_milli, 1000);
	clean();
	down();
}

T_CASE(alloc_lists_a_pod_that_is_not_there)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "x", pod_partition("web", "x"))));
	finds(FSCK_ALLOC_POD_UNKNOWN, 1);
	mends(1);
}

T_CASE(alloc_lists_a_pod_that_is_not_bound)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "c", pod_partition("web", "c"))));
	put_state("web", "c", state_of("Pending", NULL, "1"));
	finds(FSCK_ALLOC_POD_NOT_BOUND, 1);
	put_state("web", "c", state_of("Succeeded", "n-2", "1"));
	finds(FSCK_ALLOC_POD_NOT_BOUND, 1);
	mends(1);
}

T_CASE(a_pod_is_listed_twice)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "a", pod_partition("web", "a"))));
	check();
	T_EQ(r.found[FSCK_ALLOC_POD_TWICE], 1);
	T_EQ(r.found[FSCK_ALLOC_POD_NOT_BOUND], 1);
	T_EQ(r.total, 2);
	mends(1);
}

T_CASE(exactly_terminating_pods_are_marked)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"),
	              alloc_of(1, listed("db", gang_pod(), gang_home())));
	finds(FSCK_ALLOC_LEAVING, 1);
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"),
	              alloc_of(1, leaving(listed("db", gang_pod(), gang_home()))));
	clean();
	(void)kit_put(&kit, key_in(KEYS_STATE, gang_home(), "db", gang_pod()),
	              state_of("Bound", "n-1", "1"));
	finds(FSCK_ALLOC_LEAVING, 1);
	mends(1);
}

/* Spec and state in one transaction, as edits put them (ADR 29). */
static void edit_pod_of_n_0(void)
{
	static char spec[TEXT_SIZE], state[TEXT_SIZE], spec_key[160], state_key[160];
	struct kv_req then[2];
	const struct kv_req req = {.op = KV_TXN, .txn = {.then = then, .then_count = 2}};

	(void)snprintf(spec_key, sizeof spec_key, "%s", pod_key(KEYS_SPEC, "web", "b"));
	(void)snprintf(state_key, sizeof state_key, "%s",
	               pod_key(KEYS_STATE, "web", "b"));
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(spec_key)), 0), PL_OK);
	(void)snprintf(spec, sizeof spec, PL_SPAN_FMT,
	               PL_SPAN_ARG(kit.result.get.records[0].value));
	(void)snprintf(state, sizeof state, "%s", state_of("Bound", "n-0", "1"));
	then[0] = kv_op_put(pl_span_str(spec_key), pl_span_str(spec));
	then[1] = kv_op_put(pl_span_str(state_key), pl_span_str(state));
	T_EQ(kit_call(&kit, &req), PL_OK);
}

T_CASE(a_node_became_smaller)
{
	up();
	put_node("n-0", 0);
	finds(FSCK_NODE_OVER, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	T_EQ(fsck_core_counts(fsck_core(fsck))->conditions, 1);
	/* One of the pods is asked to move. */
	put_state(
		"web", "b",
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"ask\":\"evict\",\"cluster\":"
		"\"east\",\"node\":\"n-0\",\"shard\":\"east-0\",\"epoch\":\"1\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}");
	finds(FSCK_NODE_OVER, 1);
	/* A pod that stands there is edited: its state is put again. */
	edit_pod_of_n_0();
	finds(FSCK_NODE_OVER, 1);
	/* Then a shard places it there. */
	put_state("web", "b", state_of("Bound", "n-0", "1"));
	finds(FSCK_ALLOC_OVER, 1);
	mends_not();
}

T_CASE(other_resources_are_not_over_either)
{
	up();
	put_gang("ml", "t", "n-2");
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              "{\"v\":1,\"generation\":5,\"used\":{\"example.com/gpu\":\"2\"},"
	              "\"holds\":[{\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\","
	              "\"used\":{\"example.com/gpu\":\"2\"},"
	              "\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	clean();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              "{\"v\":1,\"generation\":5,\"used\":{\"example.com/gpu\":\"3\"},"
	              "\"holds\":[{\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\","
	              "\"used\":{\"example.com/gpu\":\"3\"},"
	              "\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	finds(FSCK_NODE_OVER, 1);
	down();
}

/* On n-1: more than the node has, together with the pod that terminates there. */
static void put_hold(bool leaving, const char *kind)
{
	const char *pod = listed("db", gang_pod(), gang_home());
	char json[TEXT_SIZE], leaves[200] = "";

	if (leaving)
		(void)snprintf(leaves, sizeof leaves, "\"leaving\":{%s},", pod);
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"4500m\","
	               "\"memory\":\"67108864\",\"pods\":\"2\",\"example.com/gpu\":"
	               "\"3\"},\"pods\":{%s},%s\"holds\":[{\"kind\":%s,\"namespace\":"
	               "\"web\",\"name\":\"c\",\"used\":{\"cpu\":\"4000m\",\"pods\":"
	               "\"1\",\"example.com/gpu\":\"3\"},"
	               "\"until\":\"2026-11-21T09:00:00.000Z\"}]}",
	               pod, leaves, kind);
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), json);
}

T_CASE(a_nomination_may_wait_for_pods_that_leave)
{
	up();
	put_hold(true, "\"nominated\",\"at\":1");
	clean();
	put_gang("web", "c", "n-1");
	put_hold(true, "\"gang\"");
	finds(FSCK_NODE_OVER, 1);
	put_hold(false, "\"nominated\",\"at\":1");
	check();
	T_EQ(r.found[FSCK_NODE_OVER], 1);
	T_EQ(r.found[FSCK_ALLOC_LEAVING], 1);
	T_EQ(r.total, 2);
	down();
}

/* Facts that can not be derived are not guessed. */
T_CASE(an_alloc_with_a_malformed_pod_is_left)
{
	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{\"metadata\":[]}");
	drop(node_key(KEYS_ALLOC, "n-0"));
	check();
	T_EQ(r.total, 2);
	repair(false);
	T_EQ(m.count[REPAIR_REFUSED], 1);
	T_TRUE(strstr(m.why, "spec of web/a") != NULL);
	down();
}
