/* placet.io over the API: partitions, shards, configurations, gangs, explanations, plans. */
#include <stdio.h>

#include "store/base/clock.h"
#include "store/base/timestamp.h"
#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

#define PLACET "/apis/placet.io/v1"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"
#define SPEC(cpu)                                                                        \
	"{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{" \
	"\"cpu\":\"" cpu "\"}}}]}"
#define ROOM "{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}"
#define MEMBER(rate)                                                                     \
	"{\"v\":1,\"id\":\"s-0\",\"instance\":\"0123456789abcdef0123456789abcdef\","     \
	"\"state\":\"active\",\"host\":\"h1\",\"pid\":4711,\"boot\":\"b\",\"version\":"  \
	"\"0.1.0\",\"api\":\"\",\"zone\":\"z1\",\"weight\":1000,\"salt\":0,\"started\":" \
	"\"2026-11-21T05:00:00.000Z\",\"partitions\":[0,1,2,3],\"loads\":[0,0,0,0],"     \
	"\"rates\":{\"writes_per_s\":12.5,\"fenced\":0,\"busy\":0.25},\"work\":{"        \
	"\"placed\":812,\"placed_per_s\":" rate ",\"pending\":7,\"conflicts\":3,"        \
	"\"conflicts_per_s\":0.1,\"txns\":90,\"txns_failed\":2,\"lag_ms\":4},"           \
	"\"config\":{\"coord\":3},\"refused\":{\"coord\":\"version 4: no\"}}"

struct other_call {
	bool done;
	int status;
};

static void on_other_end(void *ctx, const struct http_end *end)
{
	struct other_call *call = ctx;

	call->done = true;
	call->status = end->answer.status;
	uv_stop(&rig.loop);
}

static void own_all(const char *shard)
{
	for (unsigned p = 0; p < 4; p++) {
		char key[60], value[60];

		(void)snprintf(key, sizeof key, "/partitions/%04u/owner", p);
		(void)snprintf(value, sizeof value, "{\"v\":1,\"shard\":\"%s\"}", shard);
		api_rig_put(&rig, key, value);
	}
}

static void merge_patch(const char *path, const char *body, int status)
{
	rig.content_type = "application/merge-patch+json";
	api_rig_want(&rig, "PATCH", path, body, status);
	rig.content_type = NULL;
}

/* -- partitions -------------------------------------------------------------------------- */

T_CASE(every_partition_is_shown_whether_it_is_owned_or_not)
{
	struct api_rig_watch watch;
	char path[200];

	api_rig_open(&rig, 4);
	api_rig_put(&rig, "/partitions/0001/owner", "{\"v\":1,\"shard\":\"s-0\"}");
	api_rig_want(&rig, "GET", PLACET "/partitions", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 4);
	T_STR(api_rig_text(&rig, "items.0.metadata.name"), "0000");
	T_TRUE(api_rig_text(&rig, "items.0.status.shard") == NULL);
	T_STR(api_rig_text(&rig, "items.1.status.shard"), "s-0");
	T_STR(api_rig_text(&rig, "items.3.status.number"), "3");
	(void)snprintf(path, sizeof path,
	               PLACET "/partitions?watch=true&resourceVersion=%s",
	               api_rig_text(&rig, "metadata.resourceVersion"));
	/* Pages go over both kinds. */
	api_rig_want(&rig, "GET", PLACET "/partitions?limit=2", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 2);
	T_TRUE(api_rig_text(&rig, "metadata.continue") != NULL);
	api_rig_want(&rig, "GET", PLACET "/partitions/0002", NULL, 200);
	T_STR(api_rig_text(&rig, "status.number"), "2");
	api_rig_want(&rig, "GET", PLACET "/partitions/0004", NULL, 404);
	/* A partition that is claimed and given up changes; it does not come and go. */
	api_rig_watch_open(&rig, path, &watch);
	api_rig_put(&rig, "/partitions/0002/owner", "{\"v\":1,\"shard\":\"s-1\"}");
	T_STR(api_rig_watch_next(&watch), "MODIFIED");
	T_STR(api_rig_watch_text(&watch, "object.status.shard"), "s-1");
	api_rig_delete(&rig, "/partitions/0002/owner");
	T_STR(api_rig_watch_next(&watch), "MODIFIED");
	T_STR(api_rig_watch_text(&watch, "object.metadata.name"), "0002");
	T_TRUE(api_rig_watch_text(&watch, "object.status.shard") == NULL);
	api_rig_watch_close(&watch);
	rig.accept = TABLE;
	api_rig_want(&rig, "GET", PLACET "/partitions", NULL, 200);
	T_STR(api_rig_text(&rig, "rows.0.cells.1"), "unowned");
	T_STR(api_rig_text(&rig, "rows.1.cells.1"), "owned");
	T_STR(api_rig_text(&rig, "rows.1.cells.2"), "s-0");
	rig.accept = NULL;
	api_rig_close(&rig);
}

/* -- records ------------------------------------------------------------------------------ */

T_CASE(a_shard_shows_its_record_and_what_is_wanted_of_it)
{
	api_rig_open(&rig, 4);
	api_rig_put(&rig, "/shards/s-0", MEMBER("31.5"));
	api_rig_want(&rig, "GET", PLACET "/shards/s-0", NULL, 200);
	T_STR(api_rig_text(&rig, "status.state"), "active");
	T_STR(api_rig_text(&rig, "status.host"), "h1");
	T_STR(api_rig_text(&rig, "status.startTime"), "2026-11-21T05:00:00Z");
	T_EQ(api_rig_count(&rig, "status.partitions"), 4);
	T_STR(api_rig_text(&rig, "status.rates.busy"), "0.25");
	T_STR(api_rig_text(&rig, "status.work.placedPerSecond"), "31.5");
	T_STR(api_rig_text(&rig, "status.config.coord"), "3");
	T_STR(api_rig_text(&rig, "status.refused.coord"), "version 4: no");
	T_STR(api_rig_text(&rig, "spec.drained"), "false");
	T_STR(api_rig_text(&rig, "spec.weight"), "1000");
	rig.accept = TABLE;
	api_rig_want(&rig, "GET", PLACET "/shards", NULL, 200);
	T_STR(api_rig_text(&rig, "rows.0.cells.1"), "active");
	T_STR(api_rig_text(&rig, "rows.0.cells.2"), "4");
	T_STR(api_rig_text(&rig, "rows.0.cells.4"), "812");
	rig.accept = NULL;
	api_rig_close(&rig);
}

T_CASE(records_that_cannot_be_read_are_shown_with_the_reason)
{
	api_rig_open(&rig, 4);
	api_rig_put(&rig, "/shards/s-0", "{\"v\":1}");
	api_rig_put(&rig, "/shards/s-1", "no JSON");
	api_rig_put(&rig, "/partitions/0001/owner", "[]");
	api_rig_put(&rig, "/gangs/default/g", "{}");
	api_rig_put(&rig, "/config/coord/current", "{\"v\":1,\"version\":1}");
	api_rig_put(&rig, "/config/coord/0000000001", "{\"v\":1}");
	api_rig_put(&rig, "/clusters/east", "}");
	api_rig_want(&rig, "GET", PLACET "/shards", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 2);
	T_TRUE(api_rig_text(&rig, "items.0.status.malformed") != NULL);
	T_TRUE(api_rig_text(&rig, "items.1.status.malformed") != NULL);
	api_rig_want(&rig, "GET", PLACET "/partitions/0001", NULL, 200);
	T_TRUE(api_rig_text(&rig, "status.malformed") != NULL);
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/gangs/g", NULL, 200);
	T_TRUE(api_rig_text(&rig, "status.malformed") != NULL);
	api_rig_want(&rig, "GET", PLACET "/configs/coord", NULL, 200);
	T_STR(api_rig_text(&rig, "status.version"), "1");
	T_TRUE(api_rig_text(&rig, "status.malformed") != NULL);
	api_rig_want(&rig, "GET", PLACET "/clusters/east", NULL, 200);
	T_STR(api_rig_text(&rig, "status.health"), "malformed");
	api_rig_want(&rig, "POST", PLACET "/clusters", "{\"metadata\":{\"name\":\"w\"}}",
	             405);
	api_rig_close(&rig);
}

T_CASE(a_gang_shows_its_plan)
{
	api_rig_open(&rig, 4);
	api_rig_put(
		&rig, "/gangs/default/g",
		"{\"v\":1,\"phase\":\"reserving\",\"shard\":\"s-0\",\"epoch\":\"12\","
		"\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":3,"
		"\"cluster\":\"east\",\"node\":\"n-1\",\"pods\":{\"w-0\":\"4711\"}}]}");
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/gangs", NULL, 200);
	T_STR(api_rig_text(&rig, "items.0.status.phase"), "reserving");
	T_STR(api_rig_text(&rig, "items.0.status.until"), "2026-11-21T09:00:00Z");
	T_STR(api_rig_text(&rig, "items.0.status.nodes.0.node"), "n-1");
	T_STR(api_rig_text(&rig, "items.0.status.nodes.0.pods.0.name"), "w-0");
	T_STR(api_rig_text(&rig, "items.0.status.nodes.0.pods.0.revision"), "4711");
	api_rig_close(&rig);
}

/* -- configurations ----------------------------------------------------------------------- */

T_CASE(a_configuration_is_changed_by_a_new_version)
{
	char body[300];

	api_rig_open(&rig, 4);
	api_rig_want(&rig, "GET", PLACET "/configs", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 5);
	T_STR(api_rig_text(&rig, "items.0.metadata.name"), "access");
	T_EQ(api_rig_count(&rig, "items.0.spec.bindings"), 0);
	T_STR(api_rig_text(&rig, "items.1.metadata.name"), "coord");
	T_STR(api_rig_text(&rig, "items.1.status.version"), "0");
	T_TRUE(api_rig_text(&rig, "items.1.spec.handover_ms") != NULL);
	merge_patch(PLACET "/configs/coord", "{\"spec\":{\"handover_ms\":700}}", 200);
	T_STR(api_rig_text(&rig, "status.version"), "1");
	T_STR(api_rig_text(&rig, "status.by"), "placet:local");
	T_STR(api_rig_text(&rig, "spec.handover_ms"), "700");
	T_TRUE(api_rig_get(&rig, "/config/coord/0000000001", NULL) != NULL);
	merge_patch(PLACET "/configs/coord", "{\"spec\":{\"handover_ms\":800}}", 200);
	T_STR(api_rig_text(&rig, "status.version"), "2");
	T_TRUE(api_rig_get(&rig, "/config/coord/0000000001", NULL) != NULL);
	/* A wrong field. */
	merge_patch(PLACET "/configs/coord", "{\"spec\":{\"handover_ms\":-1}}", 422);
	T_STR(api_rig_text(&rig, "details.causes.0.field"), "spec.handover_ms");
	merge_patch(PLACET "/configs/coord", "{\"spec\":{\"balancer\":{\"nope\":1}}}",
	            422);
	T_TRUE(strstr(api_rig_text(&rig, "details.causes.0.field"), "spec.balancer") !=
	       NULL);
	/* An old version, and a try. */
	(void)snprintf(body, sizeof body,
	               "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{"
	               "\"handover_ms\":900}}");
	merge_patch(PLACET "/configs/coord", body, 409);
	merge_patch(PLACET "/configs/coord?dryRun=All",
	            "{\"spec\":{\"handover_ms\":900}}", 200);
	api_rig_want(&rig, "GET", PLACET "/configs/coord", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.handover_ms"), "800");
	merge_patch(PLACET "/configs/nothing", "{\"spec\":{}}", 404);
	api_rig_close(&rig);
}

T_CASE(a_shard_is_drained_and_weighed_by_its_spec)
{
	struct api_rig_watch watch;

	api_rig_open(&rig, 4);
	api_rig_put(&rig, "/shards/s-0", MEMBER("31.5"));
	api_rig_watch_open(&rig, PLACET "/shards?watch=true", &watch);
	T_STR(api_rig_watch_next(&watch), "ADDED");
	merge_patch(PLACET "/shards/s-0", "{\"spec\":{\"drained\":true}}", 200);
	T_STR(api_rig_text(&rig, "spec.drained"), "true");
	T_STR(api_rig_watch_next(&watch), "MODIFIED");
	T_STR(api_rig_watch_text(&watch, "object.spec.drained"), "true");
	api_rig_want(&rig, "GET", PLACET "/configs/shards", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.drain.0"), "s-0");
	merge_patch(PLACET "/shards/s-0", "{\"spec\":{\"drained\":false,\"weight\":500}}",
	            200);
	T_STR(api_rig_text(&rig, "spec.drained"), "false");
	T_STR(api_rig_text(&rig, "spec.weight"), "500");
	api_rig_want(&rig, "GET", PLACET "/configs/weights", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.factors.s-0"), "500");
	merge_patch(PLACET "/shards/s-0", "{\"spec\":{\"weight\":-5}}", 422);
	T_STR(api_rig_text(&rig, "details.causes.0.field"), "spec.weight");
	api_rig_watch_close(&watch);
	api_rig_close(&rig);
}

/* -- explanations ------------------------------------------------------------------------- */

T_CASE(an_explanation_says_why_a_pod_waits_and_what_would_help)
{
	api_rig_open(&rig, 4);
	own_all("s-0");
	api_rig_put(&rig, "/shards/s-0", MEMBER("31.5"));
	api_rig_node(&rig, "east", "n-1", ROOM);
	api_rig_node(&rig, "west", "n-2", ROOM);
	api_rig_pod(
		&rig, "default", "big", SPEC("6"),
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Pending\",\"shard\":\"s-0\","
		"\"epoch\":\"7\",\"attempts\":2,\"reason\":\"fit.cpu\",\"message\":"
		"\"2 nodes: Insufficient cpu\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/explanations/big", NULL,
	             200);
	T_STR(api_rig_text(&rig, "kind"), "Explanation");
	T_STR(api_rig_text(&rig, "metadata.name"), "big");
	T_STR(api_rig_text(&rig, "status.phase"), "Pending");
	T_STR(api_rig_text(&rig, "status.shard"), "s-0");
	T_STR(api_rig_text(&rig, "status.message"),
	      "0/2 nodes are available: 2 Insufficient cpu.");
	T_STR(api_rig_text(&rig, "status.nodes"), "2");
	T_STR(api_rig_text(&rig, "status.feasible"), "0");
	T_STR(api_rig_text(&rig, "status.reasons.0.code"), "fit.cpu");
	T_STR(api_rig_text(&rig, "status.reasons.0.only"), "2");
	T_EQ(api_rig_count(&rig, "status.clusters"), 2);
	T_STR(api_rig_text(&rig, "status.clusters.0.reasons.0.nodes"), "1");
	T_STR(api_rig_text(&rig, "status.help.0"), "2 nodes would do, but lack 2 cpu");
	T_STR(api_rig_text(&rig, "status.nearest.0.reasons.0"), "lacks 2 cpu");
	T_STR(api_rig_text(&rig, "status.queue.before"), "0");
	/* Nothing says when room will be there. */
	T_EQ(api_rig_count(&rig, "status.estimate"), 0);
	rig.accept = TABLE;
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/explanations/big", NULL,
	             200);
	T_STR(api_rig_text(&rig, "kind"), "Table");
	T_STR(api_rig_text(&rig, "rows.0.cells.2"), "fit.cpu");
	rig.accept = NULL;
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/explanations/none", NULL,
	             404);
	T_STR(api_rig_text(&rig, "message"), "pods \"none\" not found");
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/explanations", NULL, 405);
	api_rig_close(&rig);
}

T_CASE(a_pod_that_fits_is_estimated_by_its_place_in_the_queue)
{
	api_rig_open(&rig, 4);
	own_all("s-0");
	api_rig_put(&rig, "/shards/s-0", MEMBER("0.5"));
	api_rig_node(&rig, "east", "n-1", ROOM);
	api_rig_pod(&rig, "default", "small", SPEC("1"), NULL);
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/explanations/small", NULL,
	             200);
	T_STR(api_rig_text(&rig, "status.feasible"), "1");
	T_TRUE(api_rig_text(&rig, "status.estimate.time") != NULL);
	T_STR(api_rig_text(&rig, "status.estimate.message"),
	      "0 pods go before; shard s-0 has placed 0.5 pods a second lately");
	/* Nothing was settled yet, so the coverage is not known. */
	T_TRUE(api_rig_text(&rig, "status.estimate.coverage") == NULL);
	/* A shard that places nothing says nothing. */
	api_rig_put(&rig, "/shards/s-0", MEMBER("0"));
	do {
		api_rig_want(&rig, "GET", PLACET "/shards/s-0", NULL, 200);
	} while (strcmp(api_rig_text(&rig, "status.work.placedPerSecond"), "0") != 0);
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/explanations/small", NULL,
	             200);
	T_EQ(api_rig_count(&rig, "status.estimate"), 0);
	api_rig_close(&rig);
}

T_CASE(estimates_that_came_true_are_the_coverage)
{
	char name[20], path[200], since[PL_TIMESTAMP_SIZE], state[300];
	const char *coverage = NULL;

	api_rig_open(&rig, 4);
	own_all("s-0");
	api_rig_put(&rig, "/shards/s-0", MEMBER("0.5"));
	api_rig_node(&rig, "east", "n-1", ROOM);
	for (unsigned i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof name, "p-%u", i);
		(void)snprintf(path, sizeof path,
		               PLACET "/namespaces/default/explanations/%s", name);
		api_rig_pod(&rig, "default", name, SPEC("1m"), NULL);
		api_rig_want(&rig, "GET", path, NULL, 200);
		/* Nine of twelve are bound at once; the others an hour too late. */
		(void)pl_timestamp_print(pl_clock_wall_ms() + (i % 4 == 0 ? 3600000 : 0),
		                         since);
		(void)snprintf(
			state, sizeof state,
			"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":"
			"\"gone\",\"node\":\"x\",\"shard\":\"s-0\",\"epoch\":\"7\","
			"\"attempts\":1,\"since\":\"%s\"}",
			since);
		api_rig_pod(&rig, "default", name, SPEC("1m"), state);
	}
	api_rig_pod(&rig, "default", "last", SPEC("1m"), NULL);
	/* The informer has the last pod, so it has all of them. */
	api_rig_want(&rig, "GET", "/api/v1/namespaces/default/pods/last", NULL, 200);
	api_rig_want(&rig, "GET", PLACET "/namespaces/default/explanations/last", NULL,
	             200);
	coverage = api_rig_text(&rig, "status.estimate.coverage");
	T_STR(coverage, "0.75");
	api_rig_close(&rig);
}

T_CASE(an_explanation_ends_with_its_client)
{
	static const char path[] = PLACET "/namespaces/default/explanations/small";
	struct other_call call = {0};
	struct http_call *handle;
	char url[200];
	struct http_call_opts opts = {
		.url = url, .timeout_ms = 60000, .on_end = on_other_end, .ctx = &call};
	struct pl_err err = {0};

	api_rig_open(&rig, 4);
	api_rig_node(&rig, "east", "n-1", ROOM);
	api_rig_pod(&rig, "default", "small", SPEC("1"), NULL);
	(void)snprintf(url, sizeof url, "%s%s", rig.base, path);
	for (unsigned i = 0; i < 20; i++) {
		call = (struct other_call){0};
		T_OK(http_call_start(rig.http, &opts, &handle, &err), &err);
		for (unsigned turn = 0; turn < i && !call.done; turn++)
			(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
		if (!call.done)
			http_call_cancel(handle);
		api_rig_until(&rig, &call.done);
	}
	do {
		api_rig_call(&rig, "GET", path, NULL);
	} while (rig.status == 429);
	T_EQ(rig.status, 200);
	api_rig_close(&rig);
}

/* -- plans -------------------------------------------------------------------------------- */

#define POD(name, cpu)                                                           \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
	"\"},\"spec\":" SPEC(cpu) "}"

T_CASE(a_plan_says_where_pods_would_go)
{
	api_rig_open(&rig, 4);
	api_rig_node(&rig, "east", "n-1", ROOM);
	api_rig_want(&rig, "POST", PLACET "/namespaces/shop/plans",
	             "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"objects\":[" POD(
			     "a", "3") "," POD("b", "3") "]}}",
	             201);
	T_STR(api_rig_text(&rig, "kind"), "Plan");
	T_STR(api_rig_text(&rig, "metadata.name"), "p");
	T_STR(api_rig_text(&rig, "status.fits"), "false");
	T_STR(api_rig_text(&rig, "status.placed"), "1");
	T_STR(api_rig_text(&rig, "status.unplaced"), "1");
	T_STR(api_rig_text(&rig, "status.pods.0.namespace"), "shop");
	T_STR(api_rig_text(&rig, "status.pods.0.node"), "n-1");
	T_STR(api_rig_text(&rig, "status.pods.1.reason"), "fit.cpu");
	T_STR(api_rig_text(&rig, "status.pods.1.message"),
	      "0/1 nodes are available: 1 Insufficient cpu.");
	/* With one node more, by amounts, by a Node, and like one that is there. */
	api_rig_want(
		&rig, "POST", PLACET "/namespaces/shop/plans",
		"{\"spec\":{\"objects\":[" POD("a", "3") "," POD(
			"b",
			"3") "],\"addNodes\":[{\"count\":1,\"shape\":\"cpu=4,memory=8Gi\"}]}}",
		201);
	T_STR(api_rig_text(&rig, "status.fits"), "true");
	api_rig_want(
		&rig, "POST", PLACET "/namespaces/shop/plans",
		"{\"spec\":{\"objects\":[" POD("a", "3") "," POD(
			"b",
			"3") "],\"addNodes\":[{\"count\":1,\"template\":{\"metadata\":{\"name\":"
			     "\"t\"},\"status\":{\"allocatable\":" ROOM "}}}]}}",
		201);
	T_STR(api_rig_text(&rig, "status.fits"), "true");
	api_rig_want(
		&rig, "POST", PLACET "/plans",
		"{\"spec\":{\"objects\":[" POD("a", "3") "," POD(
			"b",
			"3") "],\"addNodes\":[{\"count\":1,\"shape\":\"east:n-1\"}]}}",
		201);
	T_STR(api_rig_text(&rig, "status.fits"), "true");
	T_STR(api_rig_text(&rig, "status.pods.0.namespace"), "default");
	/* Without the cluster. */
	api_rig_want(&rig, "POST", PLACET "/plans",
	             "{\"spec\":{\"objects\":[" POD(
			     "a", "3") "],\"withoutClusters\":[\"east\"]}}",
	             201);
	T_STR(api_rig_text(&rig, "status.fits"), "false");
	/* A pod may name a class of the store. */
	api_rig_put(&rig, "/objects/scheduling.k8s.io/priorityclasses/high",
	            "{\"metadata\":{\"name\":\"high\"},\"value\":1000}");
	api_rig_want(&rig, "GET", "/apis/scheduling.k8s.io/v1/priorityclasses/high", NULL,
	             200);
	api_rig_want(&rig, "POST", PLACET "/plans",
	             "{\"spec\":{\"objects\":[{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
	             "\"metadata\":{\"name\":\"a\"},\"spec\":{\"priorityClassName\":"
	             "\"high\",\"containers\":[{\"name\":\"m\",\"image\":\"i\"}]}}]}}",
	             201);
	T_STR(api_rig_text(&rig, "status.fits"), "true");
	/* Nothing was stored. */
	api_rig_want(&rig, "GET", "/api/v1/pods", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 0);
	api_rig_close(&rig);
}

T_CASE(a_plan_is_refused_with_its_faults)
{
	api_rig_open(&rig, 4);
	api_rig_want(&rig, "POST", PLACET "/plans", "{\"spec\":{}}", 422);
	T_STR(api_rig_text(&rig, "details.causes.0.field"), "spec");
	api_rig_want(&rig, "POST", PLACET "/plans",
	             "{\"spec\":{\"objects\":[1],\"addNodes\":[{\"count\":1,\"shape\":"
	             "\"nowhere\"}],\"atRevision\":\"x\"}}",
	             422);
	T_EQ(api_rig_count(&rig, "details.causes"), 3);
	T_STR(api_rig_text(&rig, "details.causes.0.field"), "spec.objects[0]");
	api_rig_want(&rig, "POST", PLACET "/plans",
	             "{\"spec\":{\"objects\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
	             "\"metadata\":{\"name\":\"A B\"},\"spec\":{\"containers\":[]}}]}}",
	             422);
	T_STR(api_rig_text(&rig, "details.causes.0.field"), "spec.objects");
	api_rig_want(
		&rig, "POST", PLACET "/plans",
		"{\"spec\":{\"objects\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
		"\"Deployment\",\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":"
		"6000,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
		"\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":" SPEC("1") "}}}]}}",
		422);
	T_TRUE(strstr(api_rig_text(&rig, "message"), "at most 5000") != NULL);
	api_rig_want(
		&rig, "POST", PLACET "/plans",
		"{\"spec\":{\"objects\":[" POD("a", "1") "],\"atRevision\":\"999999\"}}",
		504);
	api_rig_want(&rig, "GET", PLACET "/plans", NULL, 405);
	api_rig_close(&rig);
}

/* Starts a plan of so many pods that it takes many turns of the loop. */
static struct http_call *start_other(struct other_call *call)
{
	static const struct http_header json = {"Content-Type", "application/json"};
	char url[200], body[1000];
	struct http_call_opts opts = {.method = "POST",
	                              .url = url,
	                              .headers = &json,
	                              .header_count = 1,
	                              .timeout_ms = 60000,
	                              .on_end = on_other_end,
	                              .ctx = call};
	struct http_call *out;
	struct pl_err err = {0};

	*call = (struct other_call){0};
	(void)snprintf(url, sizeof url, "%s" PLACET "/plans", rig.base);
	(void)snprintf(body, sizeof body,
	               "{\"spec\":{\"objects\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
	               "\"Deployment\",\"metadata\":{\"name\":\"d\"},\"spec\":{"
	               "\"replicas\":5000,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
	               "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":%s"
	               "}}}]}}",
	               SPEC("1"));
	opts.body = pl_span_str(body);
	T_OK(http_call_start(rig.http, &opts, &out, &err), &err);
	return out;
}

T_CASE(only_a_few_plans_are_made_at_once_and_end_with_their_clients)
{
	struct other_call call[4];
	struct http_call *handle[4];
	unsigned refused = 0, made = 0;

	api_rig_open(&rig, 4);
	for (unsigned i = 0; i < 4; i++)
		handle[i] = start_other(&call[i]);
	for (unsigned i = 0; i < 4; i++) {
		api_rig_until(&rig, &call[i].done);
		refused += call[i].status == 429;
		made += call[i].status == 201;
	}
	T_EQ(refused, 2);
	T_EQ(made, 2);
	/* Clients that go away give their places back. */
	for (unsigned i = 0; i < 2; i++)
		handle[i] = start_other(&call[i]);
	api_rig_want(&rig, "GET", "/api/v1/nodes", NULL, 200);
	for (unsigned i = 0; i < 2; i++) {
		if (!call[i].done)
			http_call_cancel(handle[i]);
		api_rig_until(&rig, &call[i].done);
	}
	do {
		api_rig_call(&rig, "POST", PLACET "/plans",
		             "{\"spec\":{\"objects\":[" POD("a", "1") "]}}");
	} while (rig.status == 429);
	T_EQ(rig.status, 201);
	api_rig_close(&rig);
}
