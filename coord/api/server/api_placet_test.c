/* placet.io over the API: partitions, shards, configurations, gangs. */
#include <stdio.h>

#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

#define PLACET "/apis/placet.io/v1"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"
#define MEMBER(rate)                                                                     \
	"{\"v\":1,\"id\":\"s-0\",\"instance\":\"0123456789abcdef0123456789abcdef\","     \
	"\"state\":\"active\",\"host\":\"h1\",\"pid\":4711,\"boot\":\"b\",\"version\":"  \
	"\"0.1.0\",\"api\":\"\",\"zone\":\"z1\",\"weight\":1000,\"salt\":0,\"started\":" \
	"\"2026-11-21T05:00:00.000Z\",\"partitions\":[0,1,2,3],\"loads\":[0,0,0,0],"     \
	"\"rates\":{\"writes_per_s\":12.5,\"fenced\":0,\"busy\":0.25},\"work\":{"        \
	"\"placed\":812,\"placed_per_s\":" rate ",\"pending\":7,\"conflicts\":3,"        \
	"\"conflicts_per_s\":0.1,\"txns\":90,\"txns_failed\":2,\"lag_ms\":4},"           \
	"\"config\":{\"coord\":3},\"refused\":{\"coord\":\"version 4: no\"}}"

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
	T_EQ(api_rig_count(&rig, "items"), 4);
	T_STR(api_rig_text(&rig, "items.0.metadata.name"), "coord");
	T_STR(api_rig_text(&rig, "items.0.status.version"), "0");
	T_TRUE(api_rig_text(&rig, "items.0.spec.handover_ms") != NULL);
	merge_patch(PLACET "/configs/coord", "{\"spec\":{\"handover_ms\":700}}", 200);
	T_STR(api_rig_text(&rig, "status.version"), "1");
	T_STR(api_rig_text(&rig, "status.by"), "api");
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
