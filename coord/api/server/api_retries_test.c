/* Requests that look again: at what another writer was first with, and at what the informers
 * have not seen yet. */
#include <stdio.h>

#include "coord/api/verbs/continue_token.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"
#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

#define CORE "/api/v1"
#define SHOP CORE "/namespaces/shop"
#define MAPS SHOP "/configmaps"
#define SHOP_KEY "/objects/core/namespaces/shop"
#define MAP_KEY "/objects/core/configmaps/shop/a"
#define SPEC "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"

static void up_with(const struct faulty_rule *rules, size_t count)
{
	const struct api_server_opts opts = {0};

	api_rig_open_faulty(&rig, 4, &opts, rules, count);
	api_rig_want(&rig, "POST", CORE "/namespaces",
	             "{\"metadata\":{\"name\":\"shop\"}}", 201);
}

static void up(void)
{
	up_with(NULL, 0);
}

static void down(void)
{
	api_rig_close(&rig);
}

static void patch(const char *kind, const char *path, const char *body, int status)
{
	rig.content_type = kind;
	api_rig_want(&rig, "PATCH", path, body, status);
	rig.content_type = NULL;
}

#define MERGE "application/merge-patch+json"
#define APPLY "application/apply-patch+yaml"

/* -- changes that another writer was first with -------------------------------------------- */

static void other_changes_map(void *ctx)
{
	static unsigned number;
	static char value[300];

	(void)ctx;
	(void)snprintf(
		value, sizeof value,
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
		"\"a\",\"namespace\":\"shop\",\"uid\":\"u\"},\"data\":{\"n\":\"%u\"}}",
		number++);
	api_rig_send_put(&rig, MAP_KEY, value);
}

static void up_with_map(void)
{
	up();
	api_rig_want(&rig, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
}

T_CASE(a_patch_without_a_version_is_made_again)
{
	up_with_map();
	api_rig_before(&rig, MAP_KEY, 4, other_changes_map, NULL);
	patch(MERGE, MAPS "/a", "{\"data\":{\"own\":\"1\"}}", 200);
	T_STR(api_rig_text(&rig, "data.own"), "1");
	api_rig_want(&rig, "GET", MAPS "/a", NULL, 200);
	T_STR(api_rig_text(&rig, "data.own"), "1");
	T_TRUE(api_rig_text(&rig, "data.n") != NULL); /* the other's change stands, too */
	down();
}

T_CASE(a_change_of_an_older_version_is_refused)
{
	char body[200];

	up_with_map();
	(void)snprintf(
		body, sizeof body,
		"{\"metadata\":{\"resourceVersion\":\"%s\"},\"data\":{\"own\":\"1\"}}",
		api_rig_text(&rig, "metadata.resourceVersion"));
	api_rig_before(&rig, MAP_KEY, 1, other_changes_map, NULL);
	patch(MERGE, MAPS "/a", body, 409);
	T_STR(api_rig_text(&rig, "reason"), "Conflict");
	(void)snprintf(body, sizeof body,
	               "{\"metadata\":{\"name\":\"a\"},\"data\":{\"own\":\"1\"}}");
	/* Nor is a change that always comes too late made for ever. */
	api_rig_before(&rig, MAP_KEY, 1000, other_changes_map, NULL);
	patch(MERGE, MAPS "/a", body, 409);
	api_rig_before(&rig, MAP_KEY, 0, other_changes_map, NULL);
	down();
}

/* -- namespaces ------------------------------------------------------------------------------ */

static void other_labels_shop(void *ctx)
{
	(void)ctx;
	api_rig_send_put(&rig, SHOP_KEY,
	                 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{"
	                 "\"name\":\"shop\",\"uid\":\"u\",\"labels\":{\"a\":\"b\"}},"
	                 "\"status\":{\"phase\":\"Active\"}}");
}

T_CASE(a_creation_in_a_namespace_that_changes_meanwhile_is_made_again)
{
	up();
	api_rig_before(&rig, MAP_KEY, 1, other_labels_shop, NULL);
	api_rig_want(&rig, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	api_rig_before(&rig, "/schedules/", 1, other_labels_shop, NULL);
	api_rig_want(&rig, "POST", SHOP "/pods",
	             "{\"metadata\":{\"name\":\"a\"},\"spec\":" SPEC "}", 201);
	/* The object itself is there. */
	api_rig_before(&rig, MAP_KEY, 1, other_labels_shop, NULL);
	api_rig_want(&rig, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 409);
	T_STR(api_rig_text(&rig, "reason"), "AlreadyExists");
	down();
}

static void other_ends_shop(void *ctx)
{
	(void)ctx;
	api_rig_send_put(&rig, SHOP_KEY,
	                 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{"
	                 "\"name\":\"shop\",\"uid\":\"u\",\"deletionTimestamp\":"
	                 "\"2026-11-21T09:00:00Z\"},\"status\":{\"phase\":"
	                 "\"Terminating\"}}");
}

T_CASE(nothing_is_created_in_a_namespace_that_ends_meanwhile)
{
	up();
	api_rig_before(&rig, MAP_KEY, 1, other_ends_shop, NULL);
	api_rig_call(&rig, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}");
	T_TRUE(rig.status == 403 || rig.status == 404); /* or it is gone already */
	T_TRUE(api_rig_get(&rig, MAP_KEY, NULL) == NULL);
	down();
}

static void other_creates_zoo(void *ctx)
{
	(void)ctx;
	api_rig_send_put(&rig, "/objects/core/namespaces/zoo",
	                 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{"
	                 "\"name\":\"zoo\",\"uid\":\"u\",\"labels\":{\"other\":\"1\"}},"
	                 "\"status\":{\"phase\":\"Active\"}}");
}

/* The second one is made again as an update, and brings no objects of its own. */
T_CASE(two_server_side_applies_of_one_new_namespace)
{
	up();
	api_rig_before(&rig, "/objects/core/namespaces/zoo", 1, other_creates_zoo, NULL);
	patch(APPLY, CORE "/namespaces/zoo?fieldManager=me",
	      "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"zoo\","
	      "\"labels\":{\"mine\":\"1\"}}}",
	      200);
	T_STR(api_rig_text(&rig, "metadata.labels.mine"), "1");
	T_STR(api_rig_text(&rig, "metadata.labels.other"), "1");
	T_STR(api_rig_text(&rig, "metadata.uid"), "u");
	down();
}

/* -- nodes ------------------------------------------------------------------------------------ */

static char alloc_key[100];

static void other_places(void *ctx)
{
	static char value[200];
	static unsigned generation = 7;

	(void)ctx;
	(void)snprintf(value, sizeof value, "{\"v\":1,\"generation\":%u}", ++generation);
	api_rig_send_put(&rig, alloc_key, value);
}

T_CASE(a_busy_node_is_cordoned)
{
	uint32_t partition;

	up();
	api_rig_node(&rig, "east", "n-1", "{\"cpu\":\"4\",\"pods\":\"110\"}");
	T_EQ(partition_of_node(PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1"), 4, &partition,
	                       NULL),
	     PL_OK);
	(void)snprintf(alloc_key, sizeof alloc_key, "/alloc/%04u/east/n-1", partition);
	api_rig_before(&rig, "/nodes/", 4, other_places, NULL);
	patch(MERGE, CORE "/nodes/east:n-1", "{\"spec\":{\"unschedulable\":true}}", 200);
	api_rig_want(&rig, "GET", CORE "/nodes/east:n-1", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.unschedulable"), "true");
	/* The version is the Node's, so a client that names it is not refused either. */
	{
		char body[200];

		(void)snprintf(body, sizeof body,
		               "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{"
		               "\"unschedulable\":false}}",
		               api_rig_text(&rig, "metadata.resourceVersion"));
		api_rig_before(&rig, "/nodes/", 2, other_places, NULL);
		patch(MERGE, CORE "/nodes/east:n-1", body, 200);
	}
	down();
}

/* -- Lists ------------------------------------------------------------------------------------ */

T_CASE(a_list_answers_each_item_by_itself)
{
	up_with_map();
	/* Some are answered before the others are read, and some are made again. */
	api_rig_before(&rig, "/objects/core/configmaps/shop/", 2, other_labels_shop,
	               NULL);
	api_rig_want(&rig, "POST", MAPS,
	             "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":["
	             "{\"metadata\":{\"name\":\"NO GOOD\"}},"
	             "{\"metadata\":{\"name\":\"b\"},\"data\":{\"x\":\"1\"}},"
	             "{\"metadata\":{\"name\":\"a\"}},"
	             "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"c\"}},"
	             "{\"metadata\":{\"name\":\"d\",\"namespace\":\"other\"}},"
	             "{\"metadata\":{\"name\":\"e\"}}]}",
	             200);
	T_EQ(api_rig_count(&rig, "items"), 6);
	T_STR(api_rig_text(&rig, "items.0.reason"), "Invalid");
	T_STR(api_rig_text(&rig, "items.1.metadata.name"), "b");
	T_STR(api_rig_text(&rig, "items.2.reason"), "AlreadyExists");
	T_STR(api_rig_text(&rig, "items.3.reason"), "BadRequest");
	T_STR(api_rig_text(&rig, "items.4.reason"), "BadRequest");
	T_STR(api_rig_text(&rig, "items.5.metadata.name"), "e");
	down();
}

/* -- the client's other words --------------------------------------------------------------- */

T_CASE(a_malformed_eviction_is_refused_and_evicts_nothing)
{
	static const struct {
		const char *body;
		int status;
	} bad[] = {
		{"{", 400},
		{"[]", 400},
		{"\"x\"", 400},
		{"{\"kind\":\"Binding\"}", 400},
		{"{\"metadata\":{\"name\":\"b\"}}", 400},
		{"{\"metadata\":7}", 400},
		{"{\"deleteOptions\":7}", 400},
		{"{\"deleteOptions\":{\"gracePeriodSeconds\":\"x\"}}", 400},
		{"{\"deleteOptions\":{\"propagationPolicy\":\"Never\"}}", 422},
		{"{\"deleteOptions\":{\"dryRun\":[\"Some\"]}}", 422},
	};

	up();
	api_rig_want(&rig, "POST", SHOP "/pods",
	             "{\"metadata\":{\"name\":\"a\"},\"spec\":" SPEC "}", 201);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		api_rig_call(&rig, "POST", SHOP "/pods/a/eviction", bad[i].body);
		if (rig.status != bad[i].status)
			t_fail(__FILE__, __LINE__, "%s: status %d, want %d: " PL_SPAN_FMT,
			       bad[i].body, rig.status, bad[i].status,
			       PL_SPAN_ARG(rig.text));
		api_rig_want(&rig, "GET", SHOP "/pods/a", NULL, 200);
		T_TRUE(api_rig_text(&rig, "metadata.deletionTimestamp") == NULL);
	}
	api_rig_want(&rig, "POST", SHOP "/pods/a/eviction",
	             "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{"
	             "\"name\":\"a\",\"namespace\":\"shop\"}}",
	             201);
	api_rig_want(&rig, "GET", SHOP "/pods/a", NULL, 404);
	down();
}

T_CASE(a_continue_token_of_another_list_is_refused)
{
	char token[400], path[600];

	up_with_map();
	api_rig_want(&rig, "POST", MAPS, "{\"metadata\":{\"name\":\"b\"}}", 201);
	api_rig_want(&rig, "GET", MAPS "?limit=1", NULL, 200);
	(void)snprintf(token, sizeof token, "%s",
	               api_rig_text(&rig, "metadata.continue"));
	(void)snprintf(path, sizeof path, MAPS "?continue=%s", token);
	api_rig_want(&rig, "GET", path, NULL, 200);
	(void)snprintf(path, sizeof path, SHOP "/serviceaccounts?continue=%s", token);
	api_rig_want(&rig, "GET", path, NULL, 400);
	(void)snprintf(path, sizeof path,
	               CORE "/namespaces/default/configmaps?continue=%s", token);
	api_rig_want(&rig, "GET", path, NULL, 400);
	api_rig_want(&rig, "GET", MAPS "?continue=x", NULL, 400);
	down();
}

/* -- what the informers have not seen yet -------------------------------------------------- */

static void up_slow(struct pl_span prefix)
{
	const struct faulty_rule slow = {.what = FAULTY_SLOW_NOTE,
	                                 .prefix = prefix,
	                                 .per_mille = 1000,
	                                 .delay_min_ms = 300,
	                                 .delay_max_ms = 300};

	up_with(&slow, 1);
}

/* The token of a server that is ahead: this one waits until it has come as far. */
T_CASE(a_continue_token_of_a_server_that_is_ahead)
{
	struct pl_arena arena;
	struct pl_span order, token;
	int64_t revision;
	char path[600];

	up_slow(PL_SPAN_LIT("/objects/"));
	api_rig_want(&rig, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	api_rig_want(&rig, "POST", MAPS, "{\"metadata\":{\"name\":\"b\"}}", 201);
	api_rig_want(&rig, "GET", MAPS "?limit=1", NULL, 200);
	pl_arena_init(&arena, 0, 0);
	T_TRUE(continue_token_parse(&arena,
	                            pl_span_str(api_rig_text(&rig, "metadata.continue")),
	                            &revision, &order));
	faulty_pause(rig.faulty, false);
	api_rig_put(
		&rig, "/objects/core/configmaps/shop/c",
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\","
		"\"namespace\":\"shop\",\"uid\":\"u\"}}");
	token = continue_token_print(&arena, rig.revision, order);
	(void)snprintf(path, sizeof path, MAPS "?resourceVersion=0&continue=" PL_SPAN_FMT,
	               PL_SPAN_ARG(token));
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_TRUE(faulty_count(rig.faulty, FAULTY_SLOW_NOTE) > 0);
	T_EQ(api_rig_count(&rig, "items") > 1, true);
	T_STR(api_rig_text(&rig, "items.0.metadata.name"), "b");
	T_STR(api_rig_text(&rig, "items.1.metadata.name"), "c");
	faulty_pause(rig.faulty, true);
	pl_arena_done(&arena);
	down();
}

static unsigned shop_writes, pods_left;

static void on_pods(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	T_TRUE(err == NULL);
	pods_left += (unsigned)result->get.count;
}

/* The first write marks the namespace, the second one removes it. */
static void look_for_pods(void *ctx)
{
	const struct kv_get get = {.keys = kv_prefix(PL_SPAN_LIT("/schedules/"))};
	struct pl_err err = {0};

	(void)ctx;
	if (shop_writes++ > 0)
		T_OK(kv_get(rig.own, &get, 5000, on_pods, NULL, NULL, &err), &err);
}

/* A pod that was committed just before the namespace's end goes before the namespace does. */
T_CASE(a_namespace_waits_for_a_pod_that_no_informer_has_seen)
{
	up_slow(PL_SPAN_LIT("/schedules/"));
	/* The objects that come with a namespace would keep the namespace for a second. */
	api_rig_want(&rig, "DELETE", MAPS, NULL, 200);
	api_rig_want(&rig, "DELETE", SHOP "/serviceaccounts", NULL, 200);
	faulty_pause(rig.faulty, false);
	shop_writes = pods_left = 0;
	api_rig_before(&rig, SHOP_KEY, 2, look_for_pods, NULL);
	api_rig_pod(&rig, "shop", "a", SPEC, NULL);
	api_rig_want(&rig, "DELETE", SHOP, NULL, 200);
	do {
		api_rig_call(&rig, "GET", SHOP, NULL);
	} while (rig.status == 200);
	T_EQ(rig.status, 404);
	T_EQ(shop_writes, 2);
	T_EQ(pods_left, 0);
	T_TRUE(faulty_count(rig.faulty, FAULTY_SLOW_NOTE) > 0);
	faulty_pause(rig.faulty, true);
	down();
}
