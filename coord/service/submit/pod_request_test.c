/* Requests about pods in the store in memory: pods without a place are deleted, pods
 * with a place are marked, whatever happens to the answers. */
#include "tests/support/coord/service/pod_request_kit.h"

T_CASE(a_pod_without_a_place_is_deleted_at_once_with_its_pointer)
{
	up(NULL, 0);
	put(0, 0, NULL);
	put(1, 3, NULL);
	put(2, 0, pending);
	put(3, 3, pending);
	job.pods = 5;
	run();
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_GONE], 4);
	T_EQ(job.reported[POD_REQUEST_ABSENT], 1);
	T_STR(all(), "");
	kit_close(&kit);
}

T_CASE(other_keys_below_its_name_are_deleted_with_it)
{
	char key[TEXT];

	up(NULL, 0);
	put(0, 0, NULL);
	key_of(0, 0, "spec-old", key);
	(void)kit_put(&kit, key, "{}");
	job.pods = 1;
	run();
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_GONE], 1);
	T_STR(all(), "");
	kit_close(&kit);
}

T_CASE(a_pod_with_a_place_is_marked_and_keeps_it)
{
	char key[TEXT];

	up(NULL, 0);
	put(0, 2, bound);
	job.pods = 1;
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	key_of(0, 2, "state", key);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	T_SPAN(kit.result.get.records[0].value,
	       PL_SPAN_LIT(
		       "{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"ask\":\"delete\","
		       "\"cluster\":\"east\",\"node\":\"n-1\",\"shard\":\"s-0\",\"epoch\":\"7\","
		       "\"reason\":\"deleted\",\"message\":\"deleted by ann@h1\","
		       "\"since\":\"2026-11-21T09:00:00.000Z\"}"));
	run();
	T_EQ(job.reported[POD_REQUEST_ALREADY], 1);
	kit_close(&kit);
}

T_CASE(a_malformed_pod_is_left_and_reported)
{
	char key[TEXT];

	up(NULL, 0);
	put(0, 0, "{\"v\":9}");
	key_of(1, 0, "spec", key);
	(void)kit_put(&kit, key, "{\"v\":1,\"at\":\"x\"}");
	key_of(2, 0, "spec", key);
	(void)kit_put(&kit, key, "{\"v\":1,\"at\":4000}");
	key_of(3, 0, "spec", key);
	(void)kit_put(&kit, key,
	              key[14] == '3' ? "{\"v\":1,\"at\":4}" : "{\"v\":1,\"at\":3}");
	job.pods = 4;
	run();
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_MALFORMED], 4);
	kit_close(&kit);
}

/* A shard places the pod between our read and our delete: it is read again. */
T_CASE(a_pod_that_is_bound_meanwhile_is_marked)
{
	static const struct faulty_rule slow[] = {{.what = FAULTY_SLOW_REQUEST,
	                                           .ops = 1u << KV_TXN,
	                                           .per_mille = 1000,
	                                           .count = 1,
	                                           .delay_min_ms = 50,
	                                           .delay_max_ms = 50}};
	char key[TEXT];

	up(slow, 1);
	put(0, 0, NULL);
	key_of(0, 0, "state", key);
	job.pods = 1;
	faulty_pause(job.kv, false);
	start();
	kit_run(&kit, 10); /* the pod was read, and the deletion is on its way */
	faulty_pause(job.kv, true);
	(void)kit_put(&kit, key, bound);
	while (job.requests != NULL)
		kit_run(&kit, kit.now_ms + 1);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	kit_close(&kit);
}

T_CASE(each_is_deleted_once_despite_lost_answers)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 200},
		{.what = FAULTY_APPLY_LATE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 90},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_UNAVAIL},
	};

	up(rules, sizeof rules / sizeof rules[0]);
	for (unsigned i = 0; i < 200; i++)
		put(i, i % 3, i % 4 == 0 ? NULL : i % 4 == 1 ? pending : bound);
	faulty_pause(job.kv, false);
	job.pods = 200;
	run();
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_GONE], 100);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 100);
	run();
	T_EQ(job.reported[POD_REQUEST_ABSENT], 100);
	T_EQ(job.reported[POD_REQUEST_ALREADY], 100);
	kit_close(&kit);
}

/* The state of the first pod at present. */
static struct pl_span state_now(void)
{
	char key[TEXT];

	key_of(0, 0, "state", key);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	return kit.result.get.records[0].value;
}

static bool says(const char *what)
{
	struct pl_span state = state_now();

	return memmem(state.at, state.len, what, strlen(what)) != NULL;
}

T_CASE(an_evicted_pod_keeps_its_keys)
{
	up(NULL, 0);
	put(0, 0, bound);
	put(1, 0, pending);
	put(2, 0, NULL);
	job.pods = 4;
	job.request = (struct pod_request){.verb = POD_REQUEST_EVICT,
	                                   .reason = PL_SPAN_LIT("drained")};
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_EQ(job.reported[POD_REQUEST_SKIPPED], 2);
	T_EQ(job.reported[POD_REQUEST_ABSENT], 1);
	T_TRUE(says("\"phase\":\"Bound\",\"ask\":\"evict\""));
	T_TRUE(says("\"reason\":\"drained\",\"message\":\"evicted by ann@h1\""));
	run();
	T_EQ(job.reported[POD_REQUEST_ALREADY], 1);
	/* The member is not waited for: that is a new request. */
	job.request.ended = STATE_ENDED_GONE;
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_TRUE(says("\"ask\":\"evict\",\"ended\":\"Gone\""));
	/* A deletion does not make it come back. */
	job.request = (struct pod_request){.verb = POD_REQUEST_DELETE};
	job.pods = 1;
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_TRUE(says("\"ask\":\"delete\",\"ended\":\"Gone\""));
	kit_close(&kit);
}

T_CASE(an_end_is_reported_once_and_only_for_its_place)
{
	up(NULL, 0);
	put(0, 0, bound);
	job.pods = 1;
	job.request = (struct pod_request){.verb = POD_REQUEST_ENDED,
	                                   .ended = STATE_ENDED_FAILED,
	                                   .cluster = PL_SPAN_LIT("east"),
	                                   .node = PL_SPAN_LIT("n-2")};
	run();
	T_EQ(job.reported[POD_REQUEST_SKIPPED], 1);
	job.request.node = PL_SPAN_LIT("n-1");
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_TRUE(says("\"phase\":\"Bound\",\"ended\":\"Failed\""));
	job.request.ended = STATE_ENDED_SUCCEEDED;
	run();
	T_EQ(job.reported[POD_REQUEST_ALREADY], 1);
	T_TRUE(says("\"ended\":\"Failed\""));
	kit_close(&kit);
}

/* Sixty-four fit into one transaction, and are read in another. */
T_CASE(many_go_together)
{
	int64_t before;

	up(NULL, 0);
	for (unsigned i = 0; i < 64; i++)
		put(i, 0, i % 2 == 0 ? NULL : bound);
	before = kit_put(&kit, "/placet/test", "x");
	job.pods = 64;
	run();
	T_EQ(job.reported[POD_REQUEST_GONE], 32);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 32);
	T_EQ(kit_put(&kit, "/placet/test", "y"), before + 2);
	kit_close(&kit);
}

/* -- budgets ----------------------------------------------------------------------- */

T_CASE(budgets_limit_evictions)
{
	up(NULL, 0);
	for (unsigned i = 0; i < 10; i++)
		put(i, i % 2, bound);
	budget("three", 10, 3);
	budget("five", 10, 5);
	job.pods = 10;
	job.request = (struct pod_request){.verb = POD_REQUEST_EVICT};
	run();
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 3);
	T_EQ(job.reported[POD_REQUEST_WITHHELD], 7);
	T_STR(job.why, "ns/three");
	lowered("three", 3, 0);
	lowered("five", 3, 2);
	run();
	T_EQ(job.reported[POD_REQUEST_ALREADY], 3);
	T_EQ(job.reported[POD_REQUEST_WITHHELD], 7);
	lowered("five", 3, 2);
	/* A budget that has not been counted allows nothing. */
	(void)kit_put(
		&kit, "/budgets/ns/three",
		"{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"three\",\"namespace\":"
		"\"ns\"},\"spec\":{\"maxUnavailable\":9,\"selector\":{}}}}");
	run();
	T_EQ(job.reported[POD_REQUEST_WITHHELD], 7);
	job.past = true;
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 7);
	lowered("five", 10, 0);
	lowered("three", 7, 0);
	kit_close(&kit);
}

/* The counter does not count it as healthy either. */
T_CASE(a_spec_of_another_pod_is_covered_by_no_budget)
{
	char key[TEXT];

	up(NULL, 0);
	put(0, 0, bound);
	put(1, 0, bound);
	key_of(0, 0, "spec", key);
	put_spec(key, 1);
	budget("one", 1, 1);
	job.pods = 2;
	job.request = (struct pod_request){.verb = POD_REQUEST_EVICT};
	run();
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 2);
	lowered("one", 1, 0);
	kit_close(&kit);
}

/* A budget of the pods with a label, which has noted so many pods that it can note no
 * more. */
static void full_budget(void)
{
	struct pl_buf value = {.max = 1 << 20};

	T_EQ(pl_buf_printf(&value, "{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"full\","
	                           "\"namespace\":\"ns\"},\"spec\":{\"maxUnavailable\":9,"
	                           "\"selector\":{\"matchLabels\":{\"app\":\"a\"}}}},"
	                           "\"disrupted\":{\"gone-0000\":\"1\""),
	     PL_OK);
	for (int i = 1; i < BUDGET_DISRUPTED_MAX; i++)
		T_EQ(pl_buf_printf(&value, ",\"gone-%04d\":\"1\"", i), PL_OK);
	T_EQ(pl_buf_printf(&value, "}}"), PL_OK);
	T_EQ(pl_buf_add(&value, (struct pl_span){(const uint8_t *)"", 1}), PL_OK);
	put_budget("/budgets/ns/full", (const char *)pl_buf_span(&value).at);
	pl_buf_done(&value);
}

/* Even past budgets: a full budget could not note that the pod went. */
T_CASE(a_full_budget_withholds_only_its_own_pods)
{
	char key[TEXT];

	up(NULL, 0);
	for (unsigned i = 0; i < 3; i++)
		put(i, 0, bound);
	key_of(1, 0, "spec", key);
	(void)kit_put(&kit, key,
	              "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-00001\","
	              "\"namespace\":\"ns\",\"labels\":{\"app\":\"a\"}}}");
	full_budget();
	job.past = true;
	job.pods = 3;
	job.request = (struct pod_request){.verb = POD_REQUEST_EVICT};
	run();
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 2);
	T_EQ(job.reported[POD_REQUEST_WITHHELD], 1);
	T_STR(job.why, "ns/full");
	lowered("full", BUDGET_DISRUPTED_MAX, 0);
	/* The counter has counted. */
	budget("full", 3, 0);
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_EQ(job.reported[POD_REQUEST_ALREADY], 2);
	lowered("full", 1, 0);
	kit_close(&kit);
}

T_CASE(a_deletion_uses_no_budget)
{
	up(NULL, 0);
	put(0, 0, bound);
	put(1, 0, pending);
	budget("none", 1, 0);
	job.pods = 2;
	job.request = (struct pod_request){.verb = POD_REQUEST_DELETE};
	run();
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_EQ(job.reported[POD_REQUEST_GONE], 1);
	lowered("none", 0, 0);
	kit_close(&kit);
}

/* Lost and late answers, and other writers in between: never more than the budgets
 * allow. */
T_CASE(lost_answers_never_overdraw_a_budget)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 200},
		{.what = FAULTY_APPLY_LATE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 90},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_UNAVAIL},
	};

	for (unsigned round = 0; round < 20; round++) {
		unsigned steps = 0;

		up(rules, sizeof rules / sizeof rules[0]);
		for (unsigned i = 0; i < 100; i++)
			put(i, i % 3, bound);
		budget("a", 100, 37);
		faulty_pause(job.kv, false);
		job.pods = 100;
		job.request = (struct pod_request){.verb = POD_REQUEST_EVICT};
		start();
		while (job.requests != NULL) {
			if (memkv_next_ms(kit.mem) > kit.now_ms)
				kit.now_ms = memkv_next_ms(kit.mem);
			kit_run(&kit, kit.now_ms);
			if (++steps != 3 + round)
				continue;
			faulty_pause(job.kv, true);
			budget("b", 100, 90); /* a budget that was not there before */
			faulty_pause(job.kv, false);
		}
		faulty_pause(job.kv, true);
		T_TRUE(!job.failed);
		T_EQ(job.reported[POD_REQUEST_ACCEPTED], 37);
		T_EQ(job.reported[POD_REQUEST_WITHHELD], 63);
		lowered("a", 37, 0);
		kit_close(&kit);
	}
}

/* Both transactions take a while: the read is applied after 50 ms, the write after
 * 100. */
static const struct faulty_rule slow_txns[] = {{.what = FAULTY_SLOW_REQUEST,
                                                .ops = 1u << KV_TXN,
                                                .per_mille = 1000,
                                                .count = 2,
                                                .delay_min_ms = 50,
                                                .delay_max_ms = 50}};

static void begin_eviction(void)
{
	job.pods = 1;
	job.request = (struct pod_request){.verb = POD_REQUEST_EVICT};
	faulty_pause(job.kv, false);
	start();
	kit_until(&kit, kit.now_ms + 75); /* the pod has been read */
	faulty_pause(job.kv, true);
}

static void end_eviction(void)
{
	while (job.requests != NULL)
		kit_run(&kit, memkv_next_ms(kit.mem) > kit.now_ms ? memkv_next_ms(kit.mem)
		                                                  : kit.now_ms);
	T_TRUE(!job.failed);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
}

T_CASE(a_budget_made_meanwhile_is_lowered)
{
	up(slow_txns, 1);
	put(0, 0, bound);
	begin_eviction();
	budget("a", 10, 3);
	end_eviction();
	lowered("a", 1, 2);
	kit_close(&kit);
}

/* The budget was deleted before the read; the store is restored from a snapshot that
 * has the budget, and the pod as it was read. */
T_CASE(a_budget_that_a_restored_store_has_again_is_lowered)
{
	struct memkv_snapshot *snapshot;

	up(slow_txns, 1);
	put(0, 0, bound);
	budget("a", 10, 3);
	T_EQ(memkv_save(kit.mem, &snapshot, &kit.err), PL_OK);
	put_budget("/budgets/ns/a", NULL);
	begin_eviction();
	T_EQ(memkv_restore(kit.mem, snapshot, &kit.err), PL_OK);
	end_eviction();
	lowered("a", 1, 2);
	memkv_snapshot_free(snapshot);
	kit_close(&kit);
}

/* The same, and the budget is made after the restore, at a revision that was known
 * before it. */
T_CASE(a_budget_made_in_a_restored_store_is_lowered)
{
	struct memkv_snapshot *snapshot;

	up(slow_txns, 1);
	put(0, 0, bound);
	T_EQ(memkv_save(kit.mem, &snapshot, &kit.err), PL_OK);
	for (unsigned i = 0; i < 9; i++)
		(void)kit_put(&kit, "/placet/test", "x");
	begin_eviction();
	T_EQ(memkv_restore(kit.mem, snapshot, &kit.err), PL_OK);
	budget("a", 10, 3);
	end_eviction();
	lowered("a", 1, 2);
	kit_close(&kit);
	memkv_snapshot_free(snapshot);
}
