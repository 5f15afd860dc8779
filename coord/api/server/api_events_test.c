/* Events over the API: those that follow from pods' states, and those that clients report. */
#include <openssl/evp.h>
#include <stdio.h>

#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

#define SPEC "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"
#define UID "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define SINCE "\"since\":\"2026-11-21T09:00:00.250Z\""
#define BOUND(node)                                                                     \
	"{\"v\":1,\"uid\":\"" UID "\",\"phase\":\"Bound\",\"cluster\":\"default\","     \
	"\"node\":\"" node "\",\"shard\":\"s-0\",\"epoch\":\"7\",\"attempts\":1," SINCE \
	"}"
#define WAITING(attempts)                                                       \
	"{\"v\":1,\"uid\":\"" UID "\",\"phase\":\"Pending\",\"shard\":\"s-0\"," \
	"\"epoch\":\"7\",\"attempts\":" attempts                                \
	",\"reason\":\"fit.cpu\",\"message\":\"12 nodes: "                      \
	"Insufficient cpu; 1 node: node(s) were unschedulable\"," SINCE "}"
#define LEAVING(reason)                                                                \
	"{\"v\":1,\"uid\":\"" UID "\",\"phase\":\"Terminating\",\"cluster\":\"east\"," \
	"\"node\":\"n-1\",\"shard\":\"s-0\",\"epoch\":\"7\",\"next\":\"Pending\","     \
	"\"reason\":\"" reason "\"," SINCE "}"
#define EVENTS "/api/v1/namespaces/default/events"

static const char *item(unsigned index, const char *path)
{
	char text[200];

	(void)snprintf(text, sizeof text, "items.%u.%s", index, path);
	return api_rig_text(&rig, text);
}

/* -- from pods' states ------------------------------------------------------------------ */

T_CASE(a_bound_pod_has_been_scheduled)
{
	char path[300];

	api_rig_open(&rig, 8);
	api_rig_pod(&rig, "default", "web-0", SPEC, BOUND("n-1"));
	api_rig_want(&rig, "GET", EVENTS, NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_STR(item(0, "reason"), "Scheduled");
	T_STR(item(0, "type"), "Normal");
	T_STR(item(0, "message"), "Successfully assigned default/web-0 to n-1");
	T_STR(item(0, "involvedObject.kind"), "Pod");
	T_STR(item(0, "involvedObject.name"), "web-0");
	T_STR(item(0, "involvedObject.uid"), UID);
	T_STR(item(0, "firstTimestamp"), "2026-11-21T09:00:00Z");
	T_STR(item(0, "source.component"), "placet");
	T_STR(item(0, "count"), "1");
	(void)snprintf(path, sizeof path, EVENTS "/%s", item(0, "metadata.name"));
	/* The same object by its name, and in the other resource. */
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_STR(api_rig_text(&rig, "kind"), "Event");
	T_STR(api_rig_text(&rig, "reason"), "Scheduled");
	api_rig_want(&rig, "GET", "/apis/events.k8s.io/v1/events", NULL, 200);
	T_STR(item(0, "apiVersion"), "events.k8s.io/v1");
	T_STR(item(0, "note"), "Successfully assigned default/web-0 to n-1");
	T_STR(item(0, "regarding.uid"), UID);
	T_STR(item(0, "reportingController"), "placet");
	api_rig_want(&rig, "GET", EVENTS "/web-0.nothing", NULL, 404);
	api_rig_close(&rig);
}

T_CASE(a_pod_without_a_node_says_why_in_the_words_of_kube_scheduler)
{
	api_rig_open(&rig, 8);
	api_rig_pod(&rig, "default", "web-0", SPEC, WAITING("3"));
	api_rig_pod(&rig, "default", "new", SPEC, NULL);
	api_rig_want(&rig, "GET", EVENTS, NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_STR(item(0, "reason"), "FailedScheduling");
	T_STR(item(0, "type"), "Warning");
	T_STR(item(0, "count"), "3");
	T_STR(item(0, "message"),
	      "0/13 nodes are available: 1 node(s) were unschedulable, "
	      "12 Insufficient cpu.");
	api_rig_close(&rig);
}

T_CASE(pods_that_leave_say_for_what)
{
	api_rig_open(&rig, 8);
	api_rig_pod(&rig, "default", "a", SPEC, LEAVING("preempted"));
	api_rig_pod(&rig, "default", "b", SPEC, LEAVING("drained"));
	api_rig_pod(&rig, "default", "c", SPEC,
	            "{\"v\":1,\"uid\":\"" UID "\",\"phase\":\"Pending\",\"nominated\":{"
	            "\"cluster\":\"east\",\"node\":\"n-1\"},\"reason\":\"preempting\","
	            "\"message\":\"room is made\"," SINCE "}");
	api_rig_want(&rig, "GET", EVENTS "?fieldSelector=reason!=Scheduled", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 3);
	T_STR(item(0, "reason"), "Preempted");
	T_STR(item(0, "message"), "Preempted by a more important pod on east:n-1");
	T_STR(item(1, "reason"), "Evicted");
	T_STR(item(1, "message"), "Evicted from east:n-1: drained");
	T_STR(item(2, "reason"), "Nominated");
	T_STR(item(2, "message"), "room is made");
	api_rig_close(&rig);
}

T_CASE(events_are_found_by_what_they_are_about)
{
	api_rig_open(&rig, 8);
	api_rig_pod(&rig, "default", "web-0", SPEC, BOUND("n-1"));
	api_rig_pod(&rig, "default", "web-1", SPEC, BOUND("n-2"));
	api_rig_want(&rig, "GET",
	             EVENTS
	             "?fieldSelector=involvedObject.name%3Dweb-1,"
	             "involvedObject.namespace%3Ddefault,involvedObject.uid%3D" UID,
	             NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_STR(item(0, "involvedObject.name"), "web-1");
	api_rig_want(&rig, "GET",
	             EVENTS "?fieldSelector=involvedObject.kind%3DNode,"
	                    "involvedObject.name%3Dweb-1",
	             NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 0);
	api_rig_want(&rig, "GET", EVENTS "?fieldSelector=type%3DWarning", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 0);
	api_rig_want(&rig, "GET",
	             "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dweb-0",
	             NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	api_rig_close(&rig);
}

T_CASE(a_watch_shows_events_as_pods_change)
{
	struct api_rig_watch watch;
	char path[200], name[300];

	api_rig_open(&rig, 8);
	api_rig_want(&rig, "GET", EVENTS, NULL, 200);
	(void)snprintf(path, sizeof path, EVENTS "?watch=true&resourceVersion=%s",
	               api_rig_text(&rig, "metadata.resourceVersion"));
	api_rig_watch_open(&rig, path, &watch);
	api_rig_pod(&rig, "default", "web-0", SPEC, WAITING("1"));
	T_STR(api_rig_watch_next(&watch), "ADDED");
	T_STR(api_rig_watch_text(&watch, "object.reason"), "FailedScheduling");
	(void)snprintf(name, sizeof name, "%s",
	               api_rig_watch_text(&watch, "object.metadata.name"));
	api_rig_pod(&rig, "default", "web-0", SPEC, WAITING("2"));
	T_STR(api_rig_watch_next(&watch), "MODIFIED");
	T_STR(api_rig_watch_text(&watch, "object.metadata.name"), name);
	T_STR(api_rig_watch_text(&watch, "object.count"), "2");
	api_rig_pod(&rig, "default", "web-0", SPEC, BOUND("n-1"));
	T_STR(api_rig_watch_next(&watch), "ADDED");
	T_STR(api_rig_watch_text(&watch, "object.reason"), "Scheduled");
	T_STR(api_rig_watch_next(&watch), "DELETED");
	T_STR(api_rig_watch_text(&watch, "object.metadata.name"), name);
	/* A spec that changes says nothing new. */
	api_rig_pod(&rig, "default", "web-0", "{\"containers\":[]}", NULL);
	api_rig_pod(&rig, "default", "web-0", SPEC, BOUND("n-2"));
	T_STR(api_rig_watch_next(&watch), "DELETED");
	T_STR(api_rig_watch_next(&watch), "ADDED");
	T_STR(api_rig_watch_text(&watch, "object.message"),
	      "Successfully assigned default/web-0 to n-2");
	api_rig_watch_close(&watch);
	/* The same changes from a revision of the past. */
	api_rig_watch_open(&rig, path, &watch);
	T_STR(api_rig_watch_next(&watch), "ADDED");
	T_STR(api_rig_watch_text(&watch, "object.reason"), "FailedScheduling");
	T_STR(api_rig_watch_next(&watch), "MODIFIED");
	api_rig_watch_close(&watch);
	/* And what there is, first. */
	api_rig_watch_open(&rig, EVENTS "?watch=true", &watch);
	T_STR(api_rig_watch_next(&watch), "ADDED");
	T_STR(api_rig_watch_text(&watch, "object.reason"), "Scheduled");
	api_rig_watch_close(&watch);
	api_rig_close(&rig);
}

/* -- reported by clients ------------------------------------------------------------------ */

#define REPORT(name)                                                                  \
	"{\"metadata\":{\"name\":\"" name "\"},\"involvedObject\":{\"kind\":\"Pod\"," \
	"\"namespace\":\"default\",\"name\":\"web-0\",\"uid\":\"u-1\"},\"reason\":"   \
	"\"Pulled\",\"message\":\"image is here\",\"source\":{\"component\":"         \
	"\"kubelet\",\"host\":\"n-1\"},\"firstTimestamp\":\"2026-11-21T09:00:00Z\","  \
	"\"lastTimestamp\":\"2026-11-21T09:00:00Z\",\"count\":1,\"type\":\"Normal\"}"

static void report(const char *name)
{
	char text[1000];

	(void)snprintf(text, sizeof text,
	               "{\"metadata\":{\"name\":\"%s\"},\"involvedObject\":{\"kind\":"
	               "\"Pod\",\"namespace\":\"default\",\"name\":\"web-0\"},\"reason\":"
	               "\"Pulled\",\"type\":\"Normal\"}",
	               name);
	api_rig_want(&rig, "POST", EVENTS, text, 201);
}

T_CASE(reported_events_hang_on_a_lease_that_they_share)
{
	int64_t first = 0, second = 0;

	api_rig_open(&rig, 8);
	api_rig_want(&rig, "POST", EVENTS, REPORT("web-0.1"), 201);
	T_STR(api_rig_text(&rig, "reason"), "Pulled");
	api_rig_want(&rig, "POST", EVENTS, REPORT("web-0.2"), 201);
	T_TRUE(api_rig_get(&rig, "/objects/core/events/default/web-0.1", &first) != NULL);
	T_TRUE(api_rig_get(&rig, "/objects/core/events/default/web-0.2", &second) !=
	       NULL);
	T_TRUE(first != 0);
	T_EQ(first, second);
	T_EQ(memkv_leases(rig.mem), 1);
	api_rig_want(&rig, "POST", EVENTS, REPORT("web-0.1"), 409);
	/* Other objects hang on none. */
	T_TRUE(api_rig_get(&rig, "/objects/core/namespaces/default", &first) != NULL);
	T_EQ(first, 0);
	api_rig_close(&rig);
}

T_CASE(a_repeated_event_is_counted_by_its_reporter)
{
	int64_t lease = 0;

	api_rig_open(&rig, 8);
	api_rig_want(&rig, "POST", EVENTS, REPORT("web-0.1"), 201);
	rig.content_type = "application/strategic-merge-patch+json";
	api_rig_want(&rig, "PATCH", EVENTS "/web-0.1",
	             "{\"count\":2,\"lastTimestamp\":\"2026-11-21T09:05:00Z\"}", 200);
	rig.content_type = NULL;
	T_STR(api_rig_text(&rig, "count"), "2");
	T_STR(api_rig_text(&rig, "message"), "image is here");
	T_TRUE(api_rig_get(&rig, "/objects/core/events/default/web-0.1", &lease) != NULL);
	T_TRUE(lease != 0);
	api_rig_want(&rig, "GET", EVENTS "?fieldSelector=source%3Dkubelet", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	api_rig_want(&rig, "DELETE", EVENTS "/web-0.1", NULL, 200);
	api_rig_want(&rig, "GET", EVENTS "/web-0.1", NULL, 404);
	api_rig_close(&rig);
}

T_CASE(both_resources_of_events_are_one_store)
{
	api_rig_open(&rig, 8);
	api_rig_want(
		&rig, "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
		"{\"metadata\":{\"name\":\"n.1\"},\"eventTime\":"
		"\"2026-11-21T09:00:00.000000Z\",\"reportingController\":\"c\","
		"\"reportingInstance\":\"c-0\",\"action\":\"Try\",\"reason\":\"Tried\","
		"\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":"
		"\"web-0\"},\"note\":\"a try\",\"type\":\"Normal\"}",
		201);
	T_STR(api_rig_text(&rig, "note"), "a try");
	T_STR(api_rig_text(&rig, "apiVersion"), "events.k8s.io/v1");
	api_rig_want(&rig, "GET", EVENTS "/n.1", NULL, 200);
	T_STR(api_rig_text(&rig, "apiVersion"), "v1");
	T_STR(api_rig_text(&rig, "message"), "a try");
	T_STR(api_rig_text(&rig, "involvedObject.name"), "web-0");
	T_STR(api_rig_text(&rig, "reportingComponent"), "c");
	api_rig_want(&rig, "GET",
	             "/apis/events.k8s.io/v1/events?fieldSelector="
	             "regarding.name%3Dweb-0,reportingController%3Dc",
	             NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	api_rig_close(&rig);
}

T_CASE(events_are_refused_as_kubernetes_refuses_them)
{
	api_rig_open(&rig, 8);
	api_rig_want(&rig, "POST", EVENTS,
	             "{\"metadata\":{\"name\":\"a\"},\"involvedObject\":{\"namespace\":"
	             "\"shop\"}}",
	             422);
	T_STR(api_rig_text(&rig, "details.causes.0.field"), "involvedObject.namespace");
	api_rig_want(&rig, "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
	             "{\"metadata\":{\"name\":\"a\"},\"regarding\":{\"namespace\":"
	             "\"default\"}}",
	             422);
	T_STR(api_rig_text(&rig, "details.causes.0.field"), "eventTime");
	api_rig_close(&rig);
}

T_CASE(events_of_pods_cannot_be_changed)
{
	char path[300];

	api_rig_open(&rig, 8);
	api_rig_pod(&rig, "default", "web-0", SPEC, BOUND("n-1"));
	api_rig_want(&rig, "GET", EVENTS, NULL, 200);
	(void)snprintf(path, sizeof path, EVENTS "/%s", item(0, "metadata.name"));
	api_rig_want(&rig, "DELETE", path, NULL, 403);
	rig.content_type = "application/merge-patch+json";
	api_rig_want(&rig, "PATCH", path, "{\"count\":2}", 403);
	rig.content_type = NULL;
	/* All that are stored go; this one stays. */
	report("web-0.1");
	api_rig_want(&rig, "DELETE", EVENTS, NULL, 200);
	api_rig_want(&rig, "GET", EVENTS, NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_STR(item(0, "reason"), "Scheduled");
	api_rig_close(&rig);
}

T_CASE(pages_go_through_stored_events_and_those_of_pods)
{
	char path[2000], token[1500] = "";
	unsigned seen = 0, scheduled = 0, pages = 0;

	api_rig_open(&rig, 8);
	for (unsigned i = 0; i < 5; i++) {
		char name[20];

		(void)snprintf(name, sizeof name, "web-%u", i);
		api_rig_pod(&rig, "default", name, SPEC, BOUND("n-1"));
		(void)snprintf(name, sizeof name, "r.%u", i);
		report(name);
	}
	do {
		(void)snprintf(path, sizeof path, EVENTS "?limit=3&continue=%s", token);
		api_rig_want(&rig, "GET", path, NULL, 200);
		for (unsigned i = 0; i < api_rig_count(&rig, "items"); i++, seen++)
			scheduled += strcmp(item(i, "reason"), "Scheduled") == 0;
		(void)snprintf(token, sizeof token, "%s",
		               api_rig_text(&rig, "metadata.continue") == NULL
		                       ? ""
		                       : api_rig_text(&rig, "metadata.continue"));
		pages++;
	} while (token[0] != 0);
	T_EQ(pages, 4);
	T_EQ(seen, 10);
	T_EQ(scheduled, 5);
	/* As a table, too. */
	rig.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
	api_rig_want(&rig, "GET", EVENTS "?limit=500", NULL, 200);
	T_EQ(api_rig_count(&rig, "rows"), 10);
	rig.accept = NULL;
	api_rig_close(&rig);
}

/* A token as a client could make it up. */
static void list_behind(const char *revision, const char *order)
{
	char text[300], token[500], path[700];
	int len = snprintf(text, sizeof text, "v1 %s core/events/default/%s", revision,
	                   order);

	len = EVP_EncodeBlock((uint8_t *)token, (const uint8_t *)text, len);
	while (len > 0 && token[len - 1] == '=')
		token[--len] = 0;
	for (int i = 0; i < len; i++)
		token[i] = (char)(token[i] == '+'   ? '-'
		                  : token[i] == '/' ? '_'
		                                    : token[i]);
	(void)snprintf(path, sizeof path, EVENTS "?continue=%s", token);
	api_rig_call(&rig, "GET", path, NULL);
}

T_CASE(made_up_tokens_do_no_harm)
{
	static const char *const orders[] = {
		"~//0/",        "~/0/",       "~a/0/", "~a/b/9/", "~/",       "~0/",
		"~default//0/", "~/web-0/0/", "//",    "web-0//", "~a/b/c/0/"};
	char revision[30];

	api_rig_open(&rig, 8);
	api_rig_pod(&rig, "default", "web-0", SPEC, BOUND("n-1"));
	api_rig_want(&rig, "GET", EVENTS, NULL, 200);
	(void)snprintf(revision, sizeof revision, "%s",
	               api_rig_text(&rig, "metadata.resourceVersion"));
	for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
		list_behind(revision, orders[i]);
		T_TRUE(rig.status == 200 || rig.status == 400);
	}
	list_behind(revision, "~default/web-/0/");
	T_EQ(rig.status, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	list_behind(revision, "~default/web-0/0/");
	T_EQ(api_rig_count(&rig, "items"), 0);
	api_rig_close(&rig);
}

T_CASE(the_oldest_events_give_way)
{
	unsigned count = 0;

	api_rig_open_with(&rig, 8,
	                  &(struct api_server_opts){.events_in_namespace_max = 16});
	for (unsigned i = 0; i < 17; i++) {
		char name[20];

		(void)snprintf(name, sizeof name, "r.%02u", i);
		report(name);
	}
	do { /* until what is too much has gone */
		api_rig_want(&rig, "GET", EVENTS, NULL, 200);
		count = (unsigned)api_rig_count(&rig, "items");
	} while (count > 16);
	T_EQ(count, 14);
	T_STR(item(0, "metadata.name"), "r.03");
	T_STR(item(13, "metadata.name"), "r.16");
	api_rig_close(&rig);
}
