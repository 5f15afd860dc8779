/* Writes over the API that meet other writers: who is refused, and who tries again. */
#include <stdio.h>

#include "store/keys/partition.h"
#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

#define CORE "/api/v1"
#define SHOP CORE "/namespaces/shop"
#define BUDGETS "/apis/policy/v1/namespaces/shop/poddisruptionbudgets"
#define BUDGET_KEY "/budgets/shop/web"

static void up(void)
{
	api_rig_open(&rig, 4);
	api_rig_want(&rig, "POST", CORE "/namespaces",
	             "{\"metadata\":{\"name\":\"shop\"}}", 201);
}

static void down(void)
{
	api_rig_close(&rig);
}

static void merge_patch(const char *path, const char *body, int status)
{
	rig.content_type = "application/merge-patch+json";
	api_rig_want(&rig, "PATCH", path, body, status);
	rig.content_type = NULL;
}

/* The resourceVersion in the last answer, copied. */
static const char *version(char out[32])
{
	const char *text = api_rig_text(&rig, "metadata.resourceVersion");

	T_TRUE(text != NULL);
	(void)snprintf(out, 32, "%s", text);
	return out;
}

/* -- disruption budgets ------------------------------------------------------------------- */

static const char *budget(const char *meta, unsigned min)
{
	static char text[512];

	(void)snprintf(
		text, sizeof text,
		"{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
		"\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"%s},\"spec\":{"
		"\"minAvailable\":%u,\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}",
		meta, min);
	return text;
}

static const char *budget_at(const char *resource_version, unsigned min)
{
	char meta[64];

	(void)snprintf(meta, sizeof meta, ",\"resourceVersion\":\"%s\"",
	               resource_version);
	return budget(meta, min);
}

static void other_counts(void *ctx)
{
	static char value[1024];

	(void)ctx;
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"budget\":%s,\"status\":{\"expected\":3,\"desired\":1,"
	               "\"healthy\":3,\"allowed\":2}}",
	               budget("", 1));
	api_rig_send_put(&rig, BUDGET_KEY, value);
}

T_CASE(of_two_changes_of_one_version_of_a_budget_the_later_is_refused)
{
	char first[32], second[32];

	up();
	api_rig_want(&rig, "POST", BUDGETS, budget("", 1), 201);
	(void)version(first);
	api_rig_want(&rig, "PUT", BUDGETS "/web", budget_at(first, 2), 200);
	(void)version(second);
	T_TRUE(strcmp(first, second) != 0);
	api_rig_want(&rig, "PUT", BUDGETS "/web", budget_at(first, 3), 409);
	T_STR(api_rig_text(&rig, "reason"), "Conflict");
	api_rig_want(&rig, "GET", BUDGETS "/web", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.minAvailable"), "2");
	T_STR(api_rig_text(&rig, "metadata.resourceVersion"), second);
	api_rig_want(&rig, "POST", BUDGETS, budget("", 1), 409);
	T_STR(api_rig_text(&rig, "reason"), "AlreadyExists");
	down();
}

T_CASE(a_budget_that_changes_right_before_the_commit_is_no_longer_the_clients)
{
	char first[32];

	up();
	api_rig_want(&rig, "POST", BUDGETS, budget("", 1), 201);
	(void)version(first);
	api_rig_before(&rig, BUDGET_KEY, 1, other_counts, NULL);
	api_rig_want(&rig, "PUT", BUDGETS "/web", budget_at(first, 3), 409);
	T_STR(api_rig_text(&rig, "reason"), "Conflict");
	/* Without a version the same change is made again. */
	api_rig_before(&rig, BUDGET_KEY, 1, other_counts, NULL);
	merge_patch(BUDGETS "/web", "{\"spec\":{\"minAvailable\":3}}", 200);
	T_STR(api_rig_text(&rig, "spec.minAvailable"), "3");
	api_rig_want(&rig, "GET", BUDGETS "/web", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.minAvailable"), "3");
	T_STR(api_rig_text(&rig, "status.expectedPods"), "3");
	/* So is a deletion. */
	api_rig_before(&rig, BUDGET_KEY, 1, other_counts, NULL);
	api_rig_want(&rig, "DELETE", BUDGETS "/web", NULL, 200);
	api_rig_want(&rig, "GET", BUDGETS "/web", NULL, 404);
	down();
}

/* -- pods ----------------------------------------------------------------------------------- */

#define PODS SHOP "/pods"
#define POD_SPEC "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"

static void create_pod(const char *name, const char *meta)
{
	char text[400];

	(void)snprintf(text, sizeof text,
	               "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":" POD_SPEC "}", name,
	               meta);
	api_rig_want(&rig, "POST", PODS, text, 201);
}

/* The key of a pod that its name places. */
static const char *pod_key(const char *name, const char *leaf)
{
	static char key[200];
	uint32_t partition;

	T_EQ(partition_of_pod(PL_SPAN_LIT("shop"), pl_span_str(name), 4, &partition,
	                      NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/shop/%s/%s", partition, name,
	               leaf);
	return key;
}

/* The name that the API shows of its node, "east:n-1", is none that a Pod may have. */
T_CASE(a_pod_on_a_member_can_be_changed)
{
	up();
	create_pod("a", "");
	api_rig_put(
		&rig, pod_key("a", "state"),
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":"
		"\"n-1\",\"shard\":\"s-0\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	merge_patch(PODS "/a", "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}", 200);
	T_STR(api_rig_text(&rig, "spec.nodeName"), "east:n-1");
	api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.nodeName"), "east:n-1");
	T_STR(api_rig_text(&rig, "metadata.annotations.a"), "b");
	T_TRUE(strstr(api_rig_get(&rig, pod_key("a", "spec"), NULL), "nodeName") == NULL);
	merge_patch(PODS "/a", "{\"spec\":{\"nodeName\":\"n-2\"}}", 422);
	down();
}

/* -- finalizers ----------------------------------------------------------------------------- */

#define HOLD "\"finalizers\":[\"example.com/a\",\"example.com/b\"]"
#define FINALIZERS(list) "{\"metadata\":{\"finalizers\":" list "}}"

/* DELETE of what finalizers hold, and what may still be done with it. */
static void waits_for_its_finalizers(const char *path)
{
	api_rig_want(&rig, "DELETE", path, NULL, 200);
	T_TRUE(api_rig_text(&rig, "metadata.deletionTimestamp") != NULL);
	T_STR(api_rig_text(&rig, "metadata.deletionGracePeriodSeconds"), "0");
	T_EQ(api_rig_count(&rig, "metadata.finalizers"), 2);
	/* Once more: it is marked already. */
	api_rig_want(&rig, "DELETE", path, NULL, 200);
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_TRUE(api_rig_text(&rig, "metadata.deletionTimestamp") != NULL);
	merge_patch(path, FINALIZERS("[\"example.com/b\"]"), 200);
	T_TRUE(api_rig_text(&rig, "metadata.deletionTimestamp") != NULL);
	merge_patch(path, FINALIZERS("[\"example.com/b\",\"example.com/c\"]"), 422);
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_EQ(api_rig_count(&rig, "metadata.finalizers"), 1);
	merge_patch(path, FINALIZERS("null"), 200);
	api_rig_want(&rig, "GET", path, NULL, 404);
}

T_CASE(a_budget_waits_for_its_finalizers)
{
	up();
	api_rig_want(&rig, "POST", BUDGETS, budget("," HOLD, 1), 201);
	waits_for_its_finalizers(BUDGETS "/web");
	T_TRUE(api_rig_get(&rig, BUDGET_KEY, NULL) == NULL);
	api_rig_want(&rig, "POST", BUDGETS, budget("," HOLD, 1), 201);
	/* The same with all budgets of the namespace. */
	api_rig_want(&rig, "DELETE", BUDGETS, NULL, 200);
	api_rig_want(&rig, "GET", BUDGETS "/web", NULL, 200);
	T_TRUE(api_rig_text(&rig, "metadata.deletionTimestamp") != NULL);
	T_STR(api_rig_text(&rig, "spec.minAvailable"), "1");
	merge_patch(BUDGETS "/web", FINALIZERS("[]"), 200);
	api_rig_want(&rig, "GET", BUDGETS "/web", NULL, 404);
	down();
}

T_CASE(a_node_waits_for_its_finalizers)
{
	up();
	api_rig_want(
		&rig, "POST", CORE "/nodes",
		"{\"metadata\":{\"name\":\"n-1\"," HOLD "},\"status\":{"
		"\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}",
		201);
	waits_for_its_finalizers(CORE "/nodes/n-1");
	down();
}

static void await_in(const char *phase)
{
	char state[300];

	(void)snprintf(state, sizeof state,
	               "{\"v\":1,\"uid\":\"u\",\"phase\":\"%s\",\"ask\":\"delete\","
	               "\"awaits\":\"finalizers\",\"cluster\":\"east\",\"node\":\"n-1\","
	               "\"shard\":\"s-0\",\"since\":\"2026-11-21T09:00:00.000Z\"}",
	               phase);
	api_rig_put(&rig, pod_key("a", "state"), state);
}

static void pod_goes_with_its_finalizers(void)
{
	api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
	T_TRUE(api_rig_text(&rig, "metadata.deletionTimestamp") != NULL);
	T_EQ(api_rig_count(&rig, "metadata.finalizers"), 2);
	api_rig_want(&rig, "DELETE", PODS "/a", NULL, 200);
	api_rig_want(&rig, "POST", PODS,
	             "{\"metadata\":{\"name\":\"a\"},\"spec\":" POD_SPEC "}", 409);
	merge_patch(PODS "/a", FINALIZERS("[\"example.com/b\"]"), 200);
	merge_patch(PODS "/a", FINALIZERS("[\"example.com/b\",\"example.com/c\"]"), 422);
	api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
	T_EQ(api_rig_count(&rig, "metadata.finalizers"), 1);
	merge_patch(PODS "/a", FINALIZERS("null"), 200);
	api_rig_want(&rig, "GET", PODS "/a", NULL, 404);
	T_TRUE(api_rig_get(&rig, pod_key("a", "spec"), NULL) == NULL);
	T_TRUE(api_rig_get(&rig, pod_key("a", "state"), NULL) == NULL);
	create_pod("a", "," HOLD);
}

T_CASE(a_pod_waits_for_its_finalizers)
{
	up();
	create_pod("a", "," HOLD);
	api_rig_want(&rig, "DELETE", PODS "/a", NULL, 200);
	pod_goes_with_its_finalizers();
	/* The same with all pods of the namespace. */
	api_rig_want(&rig, "DELETE", PODS, NULL, 200);
	pod_goes_with_its_finalizers();
	/* The shard has taken its place back. */
	api_rig_want(&rig, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL, 200);
	await_in("Failed");
	pod_goes_with_its_finalizers();
	down();
}

T_CASE(a_pod_on_a_node_that_loses_its_finalizers_goes_as_any_other)
{
	up();
	create_pod("a", "," HOLD);
	await_in("Terminating");
	api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
	merge_patch(PODS "/a", FINALIZERS("null"), 200);
	api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
	T_TRUE(api_rig_text(&rig, "metadata.deletionTimestamp") != NULL);
	T_TRUE(strstr(api_rig_get(&rig, pod_key("a", "state"), NULL), "awaits") == NULL);
	down();
}

T_CASE(a_namespace_waits_for_a_pod_with_finalizers)
{
	up();
	create_pod("a", "," HOLD);
	create_pod("b", "");
	api_rig_want(&rig, "DELETE", SHOP, NULL, 200);
	do {
		api_rig_call(&rig, "GET", PODS "/b", NULL);
	} while (rig.status == 200);
	api_rig_want(&rig, "GET", SHOP, NULL, 200);
	merge_patch(PODS "/a", FINALIZERS("null"), 200);
	do {
		api_rig_call(&rig, "GET", SHOP, NULL);
	} while (rig.status == 200);
	T_EQ(rig.status, 404);
	down();
}

/* -- collections ---------------------------------------------------------------------------- */

#define MAPS SHOP "/configmaps"
#define MAP_KEY "/objects/core/configmaps/shop/"

static void create_map(const char *name, const char *meta)
{
	char text[300];

	(void)snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"%s\"%s}}", name,
	               meta);
	api_rig_want(&rig, "POST", MAPS, text, 201);
}

/* Another writer's value of an object, with that label. */
static void other_changes(void *ctx)
{
	static char value[300];
	static unsigned number;

	(void)snprintf(
		value, sizeof value,
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
		"\"b\",\"namespace\":\"shop\",\"uid\":\"u\",\"labels\":{\"app\":\"%s\"}},"
		"\"data\":{\"n\":\"%u\"}}",
		(const char *)ctx, number++);
	api_rig_send_put(&rig, MAP_KEY "b", value);
}

T_CASE(a_collection_is_deleted_with_what_changes_meanwhile)
{
	static char web[] = "web";

	up();
	create_map("a", ",\"labels\":{\"app\":\"web\"}");
	create_map("b", ",\"labels\":{\"app\":\"web\"}");
	create_map("c", ",\"labels\":{\"app\":\"db\"}");
	api_rig_before(&rig, MAP_KEY "b", 3, other_changes, web);
	api_rig_want(&rig, "DELETE", MAPS "?labelSelector=app%3Dweb", NULL, 200);
	api_rig_want(&rig, "GET", MAPS "?labelSelector=app", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_STR(api_rig_text(&rig, "items.0.metadata.name"), "c");
	down();
}

T_CASE(what_is_selected_no_more_is_left_when_a_collection_is_deleted)
{
	static char db[] = "db";

	up();
	create_map("a", ",\"labels\":{\"app\":\"web\"}");
	create_map("b", ",\"labels\":{\"app\":\"web\"}");
	api_rig_before(&rig, MAP_KEY "b", 1, other_changes, db);
	api_rig_want(&rig, "DELETE", MAPS "?labelSelector=app%3Dweb", NULL, 200);
	api_rig_want(&rig, "GET", MAPS "?labelSelector=app", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_STR(api_rig_text(&rig, "items.0.metadata.name"), "b");
	down();
}

T_CASE(a_collection_that_never_rests_is_no_success)
{
	static char web[] = "web";

	up();
	create_map("b", "");
	api_rig_before(&rig, MAP_KEY "b", 1000, other_changes, web);
	api_rig_want(&rig, "DELETE", MAPS, NULL, 409);
	T_STR(api_rig_text(&rig, "reason"), "Conflict");
	api_rig_before(&rig, MAP_KEY "b", 0, other_changes, web);
	api_rig_want(&rig, "GET", MAPS "/b", NULL, 200);
	down();
}

T_CASE(a_budget_that_is_counted_meanwhile_goes_with_its_collection)
{
	up();
	api_rig_want(&rig, "POST", BUDGETS, budget("", 1), 201);
	api_rig_before(&rig, BUDGET_KEY, 1, other_counts, NULL);
	api_rig_want(&rig, "DELETE", BUDGETS, NULL, 200);
	api_rig_want(&rig, "GET", BUDGETS "/web", NULL, 404);
	down();
}

/* -- the status of a pod --------------------------------------------------------------------- */

static void put_state_of_a(const char *members)
{
	char state[400];

	(void)snprintf(state, sizeof state,
	               "{\"v\":1,\"uid\":\"u\",%s,\"shard\":\"s-0\",\"since\":"
	               "\"2026-11-21T09:00:00.000Z\"}",
	               members);
	api_rig_put(&rig, pod_key("a", "state"), state);
}

#define ON_NODE "\"cluster\":\"east\",\"node\":\"n-1\""
#define READY "{\"type\":\"Ready\",\"status\":\"True\"}"

/* A client adds a condition, and says nothing of the phase. */
T_CASE(a_status_that_was_only_shown_is_not_stored)
{
	static const char *const states[] = {
		"\"phase\":\"Bound\"," ON_NODE, "\"phase\":\"Pending\"",
		"\"phase\":\"Pending\",\"nominated\":{" ON_NODE "}",
		"\"phase\":\"Terminating\"," ON_NODE, "\"phase\":\"Failed\"," ON_NODE};

	for (unsigned i = 0; i < sizeof states / sizeof states[0]; i++) {
		const char *spec;

		up();
		create_pod("a", "");
		put_state_of_a(states[i]);
		/* By type, so that PodScheduled is sent back, too. */
		rig.content_type = "application/strategic-merge-patch+json";
		api_rig_want(&rig, "PATCH", PODS "/a/status",
		             "{\"status\":{\"conditions\":[" READY "]}}", 200);
		rig.content_type = NULL;
		spec = api_rig_get(&rig, pod_key("a", "spec"), NULL);
		T_TRUE(strstr(spec, "\"status\":{\"conditions\":[{\"type\":\"Ready\"") !=
		       NULL);
		T_TRUE(strstr(spec, "\"phase\"") == NULL);
		T_TRUE(strstr(spec, "\"reason\"") == NULL);
		T_TRUE(strstr(spec, "PodScheduled\",\"status") == NULL);
		T_TRUE(strstr(spec, "nominated") == NULL);
		/* So the state's phase is shown as soon as there is another one. */
		put_state_of_a("\"phase\":\"Bound\"," ON_NODE);
		api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
		T_STR(api_rig_text(&rig, "status.phase"), "Pending");
		T_STR(api_rig_text(&rig, "status.reason"), "Bound");
		T_STR(api_rig_text(&rig, "status.conditions.0.type"), "PodScheduled");
		T_STR(api_rig_text(&rig, "status.conditions.1.type"), "Ready");
		T_EQ(api_rig_count(&rig, "status.conditions"), 2);
		down();
	}
}

T_CASE(a_phase_that_a_client_says_is_stored)
{
	up();
	create_pod("a", "");
	put_state_of_a("\"phase\":\"Bound\"," ON_NODE);
	/* The kubelet says so itself while it fetches images. */
	merge_patch(PODS "/a/status",
	            "{\"status\":{\"phase\":\"Pending\",\"reason\":null}}", 200);
	api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
	T_STR(api_rig_text(&rig, "status.phase"), "Pending");
	T_TRUE(api_rig_text(&rig, "status.reason") == NULL);
	merge_patch(PODS "/a/status", "{\"status\":{\"phase\":\"Running\"}}", 200);
	merge_patch(PODS "/a/status", "{\"status\":{\"conditions\":[" READY "]}}", 200);
	api_rig_want(&rig, "GET", PODS "/a", NULL, 200);
	T_STR(api_rig_text(&rig, "status.phase"), "Running");
	T_TRUE(api_rig_text(&rig, "status.reason") == NULL);
	/* A change of the rest keeps it. */
	merge_patch(PODS "/a", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
	T_STR(api_rig_text(&rig, "status.phase"), "Running");
	down();
}
