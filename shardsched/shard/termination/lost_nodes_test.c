/* Pods whose nodes are gone, or are another shard's. */
#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/termination_rig.h"

/* The partition that a node of that name belongs to, which is another than the rig puts
 * nodes in. */
static uint32_t local(const char *node)
{
	uint32_t at = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(node), RIG_PARTITIONS,
	                       &at, &rig.err),
	     &rig.err);
	return at;
}

T_CASE(a_pod_whose_node_is_gone_is_placed_again_or_goes)
{
	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_node(&rig, local("n-1"), "n-1", "8");
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_pod(&rig, 1, "c", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of("c"), "Bound");
	put_request("b", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	put_request("c", (struct pod_request_facts){STATE_ASK_EVICT, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	rig.store.revision++;
	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (memmem(rig.store.key[i].key.at, rig.store.key[i].key.len, "n-1", 3))
			rig_unset(&rig.store, rig.store.key[i].key);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Pending");
	T_TRUE(!is_there("b"));
	T_STR(phase_of("c"), "Pending");
	rig_node(&rig, local("n-2"), "n-2", "8");
	later();
	T_STR(phase_of("a"), "Bound");
	T_STR(phase_of("c"), "Bound");
	down();
}

/* The node's reservation is gone with its alloc, and does not hide that. */
T_CASE(a_pod_whose_node_is_gone_with_a_reservation_is_placed_again)
{
	uint32_t p = local("n-1");
	char key[64];

	rig_open(&rig, NULL);
	for (uint32_t i = 0; i < RIG_PARTITIONS; i++)
		rig_own(&rig, i);
	rig_node(&rig, p, "n-1", "8");
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-1", p);
	rig_put(&rig, key,
	        "{\"v\":1,\"generation\":9,\"used\":{\"cpu\":\"2000m\",\"pods\":\"2\"},"
	        "\"nonzero\":{\"memory\":\"419430400\"},\"pods\":{\"0001\":{\"web\":"
	        "[\"a\"]}},\"holds\":[{\"kind\":\"gang\",\"namespace\":\"web\",\"name\":"
	        "\"g\",\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},\"nonzero\":{\"memory\":"
	        "\"209715200\"},\"until\":\"2026-11-21T09:00:10.000Z\"}]}");
	rig_deliver_all(&rig);
	rig_del(&rig, key);
	(void)rig_deliver(&rig, p, SCHED_ALLOCS, UINT32_MAX);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/n-1", p);
	rig_del(&rig, key);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Pending");
	T_EQ(rig.sched->gangs.reservations, 0);
	down();
}

/* The node comes back while the pod's termination is in flight: there is an alloc, so the
 * pod stays. */
T_CASE(a_pod_whose_node_comes_back_is_left_alone)
{
	char key[64];
	unsigned i;

	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_pod(&rig, 1, "a", "1", "");
	rig_put(&rig, "/schedules/0001/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	i = out_now();
	rig_node(&rig, local("n-1"), "n-1", "8");
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-1", local("n-1"));
	rig_put(&rig, key,
	        "{\"v\":1,\"generation\":9,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},"
	        "\"pods\":{\"0001\":{\"web\":[\"a\"]}}}");
	T_TRUE(!rig_answer(&rig, i));
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_GONE});
	rig_run_idle(&rig);
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, local("n-1"), "n-1").pods, 0);
	down();
}

/* Only the owner of the node's partition can know that the node is gone. */
T_CASE(a_pod_whose_node_is_not_ours_any_more_is_left_alone)
{
	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run_idle(&rig);
	rig_pod(&rig, 3, "a", "1", "");
	rig_put(&rig, "/schedules/0003/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	T_TRUE(local("n-1") != 3);
	rig_deliver_all(&rig);
	rig_lost(&rig, local("n-1"));
	rig_run_idle(&rig);
	T_TRUE(strstr(rig_value(&rig, "/schedules/0003/web/a/state"), "\"Bound\""));
	rig_own(&rig, local("n-1"));
	rig_run_idle(&rig);
	T_TRUE(strstr(rig_value(&rig, "/schedules/0003/web/a/state"), "\"Pending\""));
	down();
}

/* The node is there again, without the pod: no shard knows whether the pod runs. */
T_CASE(a_pod_whose_node_comes_back_without_it_is_left_alone)
{
	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run_idle(&rig);
	rig_pod(&rig, 1, "a", "1", "");
	rig_put(&rig, "/schedules/0001/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_deliver_all(&rig);
	rig_node(&rig, local("n-1"), "n-1", "8");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	rig_close(&rig);
}

static void del_keys_of(const char *node)
{
	rig.store.revision++;
	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (memmem(rig.store.key[i].key.at, rig.store.key[i].key.len, node,
		           strlen(node)))
			rig_unset(&rig.store, rig.store.key[i].key);
}

/* The txn that reads an alloc with the specs that it lists is not answered yet. */
static struct rig_out read_alloc(struct kv_result *result)
{
	rig.now_ms += 5000;
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		struct rig_out out = rig.out[i];

		if (!out.used || out.req.txn.then[0].op != KV_GET ||
		    !pl_span_starts(out.req.txn.then[0].get.keys.from,
		                    PL_SPAN_LIT("/alloc/")))
			continue;
		rig.out[i].used = false;
		*result = rig_exec(&rig.store, &out.req.txn);
		return out;
	}
	t_fail(__FILE__, __LINE__, "no alloc is read");
	return (struct rig_out){0};
}

/* a is an own pod, q another shard's, and has no spec. */
static void begin_with_orphan(uint32_t of_q)
{
	char key[64], value[512];

	rig_open(&rig, NULL);
	rig_node(&rig, local("n-1"), "n-1", "8");
	rig_pod(&rig, 1, "a", "1", "");
	rig_put(&rig, "/schedules/0001/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-1", local("n-1"));
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"generation\":9,\"used\":{\"cpu\":\"2000m\",\"pods\":"
	               "\"2\"},\"nonzero\":{\"memory\":\"419430400\"},\"pods\":{"
	               "\"0001\":{\"web\":[\"a\"]},\"%04u\":{\"web\":[\"q\"]}}}",
	               of_q);
	rig_put(&rig, key, value);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		if (p != of_q)
			rig_own(&rig, p);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_EQ(rig.malformed, 1); /* q has no spec */
	rig.malformed = 0;
}

/* The alloc was read before it was gone, and the answer comes after that. */
T_CASE(a_pod_whose_node_was_read_before_it_was_gone_is_placed_again)
{
	struct kv_result result;
	struct rig_out out;
	uint32_t of_q = 2;

	while (of_q == local("n-1") || of_q == local("n-2"))
		of_q++;
	T_TRUE(of_q < RIG_PARTITIONS);
	begin_with_orphan(of_q);
	out = read_alloc(&result);
	del_keys_of("n-1");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Pending");
	sched_answer(rig.sched, out.txn, &result, NULL);
	rig_node(&rig, local("n-2"), "n-2", "8");
	later();
	T_STR(phase_of("a"), "Bound");
	down();
}

/* -- nodes of others --------------------------------------------------------------- */

/* The node's partition is another shard's, and nothing there is known here. */
T_CASE(a_pod_leaves_a_remote_node)
{
	const char *name = local("n-1") != 1 ? "n-1" : local("n-2") != 1 ? "n-2" : "n-3";
	uint32_t there = local(name);

	rig_open(&rig, NULL);
	rig_node(&rig, there, name, "8");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(there != 1);
	rig_lost(&rig, there);
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	later();
	T_STR(phase_of("a"), "Terminating");
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_GONE});
	later();
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, there, name).pods, 0);
	down();
}

/* The partition can not be listed either: then the fleet view is taken up. */
static void leaves_unlisted(bool was_known)
{
	const char *name = local("n-1") != 1 ? "n-1" : local("n-2") != 1 ? "n-2" : "n-3";
	uint32_t there = local(name);

	rig_open(&rig, NULL);
	rig_node(&rig, there, name, "8");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(phase_of("b"), "Bound");
	rig_lost(&rig, there);
	if (was_known)
		remote_list_request(rig.sched, there);
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig.unlisted[there] = true;
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_GONE});
	later();
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, there, name).pods, 1);
	T_EQ(rig.troubles, 1);
	/* The view is held no longer than for that; and once more for the next pod. */
	for (unsigned i = 0; i < 5; i++)
		later();
	T_TRUE(!rig.viewed[SCHED_FLEET]);
	put_request("b", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_GONE});
	later();
	T_TRUE(!is_there("b"));
	rig.unlisted[there] = false;
	for (unsigned i = 0; i < 5; i++)
		later();
	T_TRUE(!rig.viewed[SCHED_FLEET]);
	T_EQ(rig.troubles, 1);
	down();
}

T_CASE(a_pod_leaves_a_node_that_can_not_be_listed)
{
	leaves_unlisted(false);
}

T_CASE(a_pod_leaves_a_node_that_can_not_be_listed_again)
{
	leaves_unlisted(true);
}

/* Answers about the node are not kept then: nothing would bring it up to date, and the
 * node would look known. */
T_CASE(a_pod_leaves_a_node_that_was_forgotten_in_between)
{
	const char *name = local("n-1") != 1 ? "n-1" : local("n-2") != 1 ? "n-2" : "n-3";
	uint32_t there = local(name);
	char key[64], value[512];

	rig_open(&rig, NULL);
	rig_node(&rig, there, name, "8");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	rig_lost(&rig, there);
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_GONE});
	while (!rig.out[0].used) {
		rig_deliver_all(&rig);
		rig_run(&rig);
		(void)rig_remote_list_all(&rig);
		rig.now_ms += 10;
	}
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", there, name);
	(void)snprintf(value, sizeof value, "%s", rig_value(&rig, key));
	rig_put(&rig, key, value); /* another writer was first */
	rig.now_ms += 31000;
	rig_run(&rig);
	T_TRUE(!rig_answer(&rig, 0));
	rig_run(&rig);
	later();
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, there, name).pods, 0);
	down();
}
