/* Deletions as Kubernetes' API asks for them: under budgets, with grace and preconditions. */
#include "tests/support/coord/service/pod_request_kit.h"

static void delete_pods(unsigned pods)
{
	job.pods = pods;
	job.request.verb = POD_REQUEST_DELETE;
	run();
	T_TRUE(!job.failed);
}

static const char *state_at(unsigned number)
{
	static char text[512];
	char key[TEXT];

	key_of(number, 0, "state", key);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	if (kit.result.get.count == 0)
		return NULL;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT,
	               PL_SPAN_ARG(kit.result.get.records[0].value));
	return text;
}

T_CASE(an_eviction_over_the_api_deletes_as_budgets_allow)
{
	up(NULL, 0);
	for (unsigned i = 0; i < 5; i++)
		put(i, 0, bound);
	budget("two", 5, 2);
	job.request.under_budgets = true;
	delete_pods(5);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 2);
	T_EQ(job.reported[POD_REQUEST_WITHHELD], 3);
	T_STR(job.why, "ns/two");
	lowered("two", 2, 0);
	T_TRUE(strstr(state_at(0), "\"ask\":\"delete\"") != NULL);
	T_TRUE(strstr(state_at(0), "\"reason\":\"evicted\"") != NULL);
	T_TRUE(strstr(state_at(4), "\"ask\"") == NULL);
	delete_pods(5);
	T_EQ(job.reported[POD_REQUEST_ALREADY], 2);
	T_EQ(job.reported[POD_REQUEST_WITHHELD], 3);
	lowered("two", 2, 0);
	kit_close(&kit);
}

/* The pods take no place that a budget counts, or have used their budgets before. */
T_CASE(pods_that_are_in_no_budgets_way_are_deleted)
{
	static const char *const states[] = {
		NULL, pending,
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Failed\",\"since\":"
		"\"2026-11-21T09:00:00.000Z\"}",
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"ask\":\"evict\",\"cluster\":"
		"\"east\",\"node\":\"n-1\",\"shard\":\"s-0\",\"epoch\":\"7\",\"since\":"
		"\"2026-11-21T09:00:00.000Z\"}",
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Terminating\",\"next\":\"Pending\","
		"\"cluster\":\"east\",\"node\":\"n-1\",\"shard\":\"s-0\",\"epoch\":\"7\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}"};

	up(NULL, 0);
	for (unsigned i = 0; i < 5; i++)
		put(i, 0, states[i]);
	budget("none", 5, 0);
	job.request.under_budgets = true;
	delete_pods(5);
	T_EQ(job.reported[POD_REQUEST_GONE], 3);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 2);
	lowered("none", 0, 0);
	kit_close(&kit);
}

T_CASE(without_grace_the_member_is_not_waited_for)
{
	up(NULL, 0);
	put(0, 0, bound);
	job.request.ended = STATE_ENDED_GONE;
	delete_pods(1);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_TRUE(strstr(state_at(0), "\"ask\":\"delete\",\"ended\":\"Gone\"") != NULL);
	delete_pods(1);
	T_EQ(job.reported[POD_REQUEST_ALREADY], 1);
	kit_close(&kit);
}

/* A pod that was asked to go with grace may be asked to go at once. */
T_CASE(grace_can_be_cut_short)
{
	up(NULL, 0);
	put(0, 0, bound);
	delete_pods(1);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_TRUE(strstr(state_at(0), "ended") == NULL);
	job.request.ended = STATE_ENDED_GONE;
	delete_pods(1);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_TRUE(strstr(state_at(0), "\"ended\":\"Gone\"") != NULL);
	kit_close(&kit);
}

static int64_t put_with_uid(const char *state, bool edited)
{
	static const char spec[] =
		"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-00000\","
		"\"namespace\":\"ns\",\"uid\":\"u-1\"}}";
	char key[TEXT];
	int64_t version;

	key_of(0, 0, "spec", key);
	version = kit_put(&kit, key, spec);
	if (state != NULL) {
		key_of(0, 0, "state", key);
		version = kit_put(&kit, key, state);
	}
	key_of(0, 0, "spec", key);
	return edited ? kit_put(&kit, key, spec) : version;
}

T_CASE(preconditions_name_the_pod_and_its_version)
{
	for (unsigned i = 0; i < 3; i++) {
		int64_t version;

		up(NULL, 0);
		version = put_with_uid(i == 0 ? NULL : bound, i == 2);
		job.request.uid = PL_SPAN_LIT("u-2");
		delete_pods(1);
		T_EQ(job.reported[POD_REQUEST_CHANGED], 1);
		T_STR(job.why, "its uid is another one");
		job.request.uid = PL_SPAN_LIT("u-1");
		job.request.version = version - 1;
		delete_pods(1);
		T_EQ(job.reported[POD_REQUEST_CHANGED], 1);
		T_STR(job.why, "it has changed since");
		job.request.version = version;
		delete_pods(1);
		T_EQ(job.reported[i == 0 ? POD_REQUEST_GONE : POD_REQUEST_ACCEPTED], 1);
		kit_close(&kit);
	}
}

/* The pod that is there when the request is made again is another one. */
T_CASE(a_pod_that_was_created_again_meanwhile_is_left)
{
	static const struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                                        .ops = 1U << KV_TXN,
	                                        .per_mille = 1000,
	                                        .count = 1,
	                                        .delay_min_ms = 50,
	                                        .delay_max_ms = 50};
	char key[TEXT];

	up(&slow, 1);
	(void)put_with_uid(NULL, false);
	job.request = (struct pod_request){.verb = POD_REQUEST_DELETE,
	                                   .uid = PL_SPAN_LIT("u-1")};
	job.pods = 1;
	faulty_pause(job.kv, false);
	start();
	kit_run(&kit, kit.now_ms);
	T_TRUE(job.requests != NULL);
	faulty_pause(job.kv, true);
	key_of(0, 0, "spec", key);
	put_spec(key, 0);
	while (job.requests != NULL)
		kit_run(&kit, kit.now_ms + 1);
	T_EQ(job.reported[POD_REQUEST_CHANGED], 1);
	kit_close(&kit);
}

#define HOLD ",\"finalizers\":[\"example.com/a\"]"

static void put_with(unsigned number, const char *meta, const char *state)
{
	char key[TEXT], spec[300];

	(void)snprintf(spec, sizeof spec,
	               "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%05u\","
	               "\"namespace\":\"ns\",\"uid\":\"u-1\"%s}}",
	               number, meta);
	key_of(number, 0, "spec", key);
	(void)kit_put(&kit, key, spec);
	key_of(number, 0, "state", key);
	if (state != NULL)
		(void)kit_put(&kit, key, state);
}

static bool has_spec(unsigned number)
{
	char key[TEXT];

	key_of(number, 0, "spec", key);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	return kit.result.get.count > 0;
}

T_CASE(a_pod_with_finalizers_is_asked_to_go_and_keeps_its_keys)
{
	static const char failed[] =
		"{\"v\":1,\"uid\":\"u-1\",\"phase\":\"Failed\",\"since\":"
		"\"2026-11-21T09:00:00.000Z\"}";
	static const char nominated[] =
		"{\"v\":1,\"uid\":\"u-1\",\"phase\":\"Pending\",\"nominated\":{\"cluster\":"
		"\"east\",\"node\":\"n-1\"},\"since\":\"2026-11-21T09:00:00.000Z\"}";

	up(NULL, 0);
	put_with(0, HOLD, NULL);
	put_with(1, HOLD, nominated);
	put_with(2, HOLD, failed);
	put_with(3, HOLD, bound);
	put_with(4, ",\"finalizers\":[]", NULL);
	put_with(5, ",\"annotations\":{\"finalizers\":\"[1]\"}", failed);
	delete_pods(6);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 4);
	T_EQ(job.reported[POD_REQUEST_GONE], 2);
	T_STR(state_at(0),
	      "{\"v\":1,\"uid\":\"u-1\",\"phase\":\"Pending\",\"ask\":\"delete\",\"awaits\":"
	      "\"finalizers\",\"reason\":\"deleted\",\"message\":"
	      "\"deleted by ann@h1\",\"since\":\"1970-01-01T00:00:07.000Z\"}");
	for (unsigned i = 0; i < 4; i++) {
		T_TRUE(has_spec(i));
		T_TRUE(strstr(state_at(i),
		              "\"ask\":\"delete\",\"awaits\":\"finalizers\"") != NULL);
	}
	T_TRUE(strstr(state_at(1), "nominated") == NULL);
	T_TRUE(strstr(state_at(2), "\"phase\":\"Failed\"") != NULL);
	T_TRUE(strstr(state_at(3), "\"phase\":\"Bound\"") != NULL);
	delete_pods(4);
	T_EQ(job.reported[POD_REQUEST_ALREADY], 4);
	/* Without a grace the place is given back at once, and the keys stay. */
	job.request.ended = STATE_ENDED_GONE;
	delete_pods(4);
	T_EQ(job.reported[POD_REQUEST_ALREADY], 3);
	T_EQ(job.reported[POD_REQUEST_ACCEPTED], 1);
	T_TRUE(strstr(state_at(3), "\"ended\":\"Gone\",\"awaits\":\"finalizers\"") !=
	       NULL);
	/* Finalizers that were taken away past the API. */
	put_with(0, "", NULL);
	delete_pods(1);
	T_EQ(job.reported[POD_REQUEST_GONE], 1);
	T_TRUE(!has_spec(0));
	kit_close(&kit);
}
