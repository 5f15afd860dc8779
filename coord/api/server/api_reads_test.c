/* Reads over the API: how new they are, what they cost the store, lists that find nothing. */
#include <stdio.h>

#include "store/keys/partition.h"
#include "store/kv/calls.h"
#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

#define NODES "/api/v1/nodes"
#define PODS "/api/v1/namespaces/default/pods"
#define SPEC "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"
#define ROOM "{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}"
#define UID "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define BOUND                                                             \
	"{\"v\":1,\"uid\":\"" UID "\",\"phase\":\"Bound\",\"cluster\":"   \
	"\"default\",\"node\":\"n-1\",\"shard\":\"s-0\",\"epoch\":\"7\"," \
	"\"attempts\":1,\"since\":\"2026-11-21T09:00:00.250Z\"}"

enum { PARTITIONS = 4 };

/* A store that answers requests for progress never, as an old etcd between its reports. */
static void open_mute(void)
{
	static struct memkv_opts mute = {.no_progress = true};
	const struct api_server_opts opts = {.ctx = &mute};

	api_rig_open_with(&rig, PARTITIONS, &opts);
}

static void pod_key(const char *name, enum keys_kind kind, uint32_t more,
                    struct keys_text *out)
{
	struct keys_id id = {
		.kind = kind, .scope = PL_SPAN_LIT("default"), .name = pl_span_str(name)};

	T_OK(partition_of_pod(id.scope, id.name, PARTITIONS, &id.partition, NULL), NULL);
	id.partition = (id.partition + more) % PARTITIONS;
	T_OK(keys_build(&id, out, NULL), NULL);
}

/* -- one object ------------------------------------------------------------------------ */

/* Nothing is put for it: other clients' writes do not hold it up, nor does it them. */
T_CASE(a_get_writes_nothing)
{
	open_mute();
	api_rig_node(&rig, "default", "n-1", ROOM);
	api_rig_pod(&rig, "default", "web-0", SPEC, BOUND);
	api_rig_want(&rig, "GET", NODES "/n-1", NULL, 200);
	api_rig_want(&rig, "GET", NODES "/n-2", NULL, 404);
	api_rig_want(&rig, "GET", NODES "/east:n-2", NULL, 404);
	api_rig_want(&rig, "GET", PODS "/web-0", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.nodeName"), "n-1");
	api_rig_want(&rig, "GET", PODS "/web-1", NULL, 404);
	api_rig_want(&rig, "GET", "/api/v1/namespaces/default", NULL, 200);
	api_rig_want(&rig, "GET", "/api/v1/namespaces/default/configmaps/none", NULL,
	             404);
	api_rig_want(&rig, "GET",
	             "/apis/policy/v1/namespaces/default/poddisruptionbudgets/none", NULL,
	             404);
	T_TRUE(api_rig_get(&rig, "/nodes/tick", NULL) == NULL);
	T_TRUE(api_rig_get(&rig, "/schedules/tick", NULL) == NULL);
	T_TRUE(api_rig_get(&rig, "/budgets/tick", NULL) == NULL);
	/* A list that must be as new as the store does. */
	api_rig_want(&rig, "GET", NODES, NULL, 200);
	T_TRUE(api_rig_get(&rig, "/nodes/tick", NULL) != NULL);
	api_rig_close(&rig);
}

T_CASE(a_get_shows_what_was_written_before)
{
	struct keys_text state, spec;

	open_mute();
	pod_key("web-0", KEYS_STATE, 0, &state);
	pod_key("web-0", KEYS_SPEC, 0, &spec);
	for (unsigned i = 0; i < 20; i++) {
		api_rig_pod(&rig, "default", "web-0", SPEC, NULL);
		api_rig_want(&rig, "GET", PODS "/web-0", NULL, 200);
		T_TRUE(api_rig_text(&rig, "spec.nodeName") == NULL);
		api_rig_put(&rig, state.at, BOUND);
		api_rig_want(&rig, "GET", PODS "/web-0", NULL, 200);
		T_STR(api_rig_text(&rig, "spec.nodeName"), "n-1");
		api_rig_delete(&rig, state.at);
		api_rig_want(&rig, "GET", PODS "/web-0", NULL, 200);
		T_TRUE(api_rig_text(&rig, "spec.nodeName") == NULL);
		api_rig_delete(&rig, spec.at);
		api_rig_want(&rig, "GET", PODS "/web-0", NULL, 404);
	}
	api_rig_close(&rig);
}

/* The name leads to a pointer, and the pod stands elsewhere. */
T_CASE(a_get_finds_a_pod_in_another_partition)
{
	struct keys_text pointer, spec;
	char text[64];
	struct keys_id id;

	open_mute();
	pod_key("web-0", KEYS_SPEC, 0, &pointer);
	pod_key("web-0", KEYS_SPEC, 1, &spec);
	T_OK(keys_parse(keys_span(&spec), &id, NULL), NULL);
	(void)snprintf(text, sizeof text, "{\"v\":1,\"at\":%u}", (unsigned)id.partition);
	for (unsigned i = 0; i < 5; i++) {
		api_rig_put(&rig, spec.at,
		            "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
		            "\"name\":\"web-0\",\"namespace\":\"default\"},\"spec\":" SPEC
		            "}");
		api_rig_put(&rig, pointer.at, text);
		api_rig_want(&rig, "GET", PODS "/web-0", NULL, 200);
		api_rig_delete(&rig, spec.at);
		api_rig_delete(&rig, pointer.at);
		api_rig_want(&rig, "GET", PODS "/web-0", NULL, 404);
	}
	api_rig_close(&rig);
}

T_CASE(a_get_of_a_name_that_no_key_has_is_answered)
{
	open_mute();
	api_rig_want(&rig, "GET", NODES "/A_b", NULL, 404);
	api_rig_want(&rig, "GET", PODS "/A_b", NULL, 404);
	api_rig_want(&rig, "GET", PODS "/web-0/nothing", NULL, 404);
	api_rig_close(&rig);
}

/* -- pods of one template ---------------------------------------------------------------- */

#define LONG_SPEC                                                                             \
	"{\"containers\":[{\"name\":\"c\",\"image\":\"registry.example.com/shop/web:1.7\","   \
	"\"env\":[{\"name\":\"MODE\",\"value\":\"production\"},{\"name\":\"ZONE\",\"value\":" \
	"\"zone1\"}],\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"1Gi\"}}}],"   \
	"\"schedulerName\":\"other\",\"restartPolicy\":\"Always\"}"

/* The specs are kept once. */
T_CASE(pods_of_one_template_are_read_and_changed_one_by_one)
{
	char path[100], body[1000];

	api_rig_open(&rig, PARTITIONS);
	api_rig_node(&rig, "default", "n-1", ROOM);
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(body, sizeof body,
		               "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
		               "\"name\":\"web-%u\"},\"spec\":" LONG_SPEC "}",
		               i);
		api_rig_want(&rig, "POST", PODS, body, 201);
	}
	api_rig_want(&rig, "GET", PODS, NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 3);
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof path, PODS "/web-%u", i);
		api_rig_want(&rig, "GET", path, NULL, 200);
		T_STR(api_rig_text(&rig, "spec.containers.0.env.1.value"), "zone1");
		T_STR(api_rig_text(&rig, "spec.restartPolicy"), "Always");
	}
	api_rig_want(&rig, "GET", PODS "?fieldSelector=spec.schedulerName%3Dother", NULL,
	             200);
	T_EQ(api_rig_count(&rig, "items"), 3);
	api_rig_want(&rig, "POST", PODS "/web-1/binding",
	             "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":"
	             "\"web-1\"},\"target\":{\"kind\":\"Node\",\"name\":\"n-1\"}}",
	             201);
	api_rig_want(&rig, "GET", PODS "/web-1", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.nodeName"), "n-1");
	T_STR(api_rig_text(&rig, "spec.schedulerName"), "other");
	rig.content_type = "application/merge-patch+json";
	api_rig_want(&rig, "PATCH", PODS "/web-2",
	             "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:2\"}]}}",
	             422);
	api_rig_want(&rig, "PATCH", PODS "/web-2",
	             "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
	T_STR(api_rig_text(&rig, "spec.schedulerName"), "other");
	rig.content_type = NULL;
	api_rig_want(&rig, "DELETE", PODS "/web-0?gracePeriodSeconds=0", NULL, 200);
	api_rig_want(&rig, "GET", PODS "?labelSelector=a%3Db", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_STR(api_rig_text(&rig, "items.0.spec.containers.0.env.0.value"), "production");
	api_rig_close(&rig);
}

/* -- lists ----------------------------------------------------------------------------- */

enum { MANY = 2500 }; /* more than a list looks at in one turn */

static void many_maps(void)
{
	char key[100], value[200];

	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(key, sizeof key, "/objects/core/configmaps/shop/m-%04u",
		               i);
		(void)snprintf(
			value, sizeof value,
			"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":"
			"{\"name\":\"m-%04u\",\"namespace\":\"shop\",\"labels\":{"
			"\"tenth\":\"%s\"}}}",
			i, i % 10 == 0 ? "yes" : "no");
		api_rig_put(&rig, key, value);
	}
}

struct other {
	bool done;
	const struct other *before; /* not done yet when this one is */
};

static void on_other(void *ctx, const struct http_end *end)
{
	struct other *other = ctx;

	T_EQ(end->code, PL_OK);
	T_EQ(end->answer.status, 200);
	T_TRUE(other->before == NULL || !other->before->done);
	other->done = true;
	uv_stop(&rig.loop);
}

static void call_beside(const char *path, struct other *other)
{
	char url[300];
	struct http_call_opts opts = {.url = url,
	                              .method = "GET",
	                              .timeout_ms = 60000,
	                              .body_max = 32 << 20,
	                              .on_end = on_other,
	                              .ctx = other};
	struct pl_err err = {0};

	(void)snprintf(url, sizeof url, "%s%s", rig.base, path);
	T_OK(http_call_start(rig.http, &opts, NULL, &err), &err);
}

#define MAPS "/api/v1/namespaces/shop/configmaps"

T_CASE(a_list_that_finds_nothing_lets_others_come_first)
{
	struct other list = {0}, other = {.before = &list}, first = {0}, second = {0};

	api_rig_open(&rig, PARTITIONS);
	many_maps();
	/* Two connections that stand. */
	call_beside("/api/v1/namespaces?limit=1", &first);
	call_beside("/api/v1/namespaces?limit=1", &second);
	api_rig_until(&rig, &first.done);
	api_rig_until(&rig, &second.done);
	api_rig_want(&rig, "GET", MAPS "?labelSelector=tenth%3Dnever", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 0);
	call_beside(MAPS "?labelSelector=tenth%3Dnever&resourceVersion=0", &list);
	call_beside("/api/v1/namespaces?resourceVersion=0&limit=1", &other);
	api_rig_until(&rig, &other.done);
	api_rig_until(&rig, &list.done);
	api_rig_close(&rig);
}

T_CASE(lists_over_many_turns_are_whole)
{
	char path[400];
	size_t count = 0;

	api_rig_open(&rig, PARTITIONS);
	many_maps();
	api_rig_want(&rig, "GET", MAPS, NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), MANY);
	T_STR(api_rig_text(&rig, "items.2499.metadata.name"), "m-2499");
	api_rig_want(&rig, "GET", MAPS "?labelSelector=tenth%3Dyes", NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), MANY / 10);
	for (unsigned table = 0; table < 2; table++) {
		const char *items = table ? "rows" : "items";

		rig.accept =
			table ? "application/json;as=Table;v=v1;g=meta.k8s.io" : NULL;
		count = 0;
		(void)snprintf(path, sizeof path,
		               MAPS "?labelSelector=tenth%%3Dyes&limit=120");
		for (unsigned pages = 0; pages < 3; pages++) {
			const char *token;

			api_rig_want(&rig, "GET", path, NULL, 200);
			T_EQ(api_rig_count(&rig, items), pages < 2 ? 120 : 10);
			count += api_rig_count(&rig, items);
			token = api_rig_text(&rig, "metadata.continue");
			T_TRUE((token == NULL) == (pages == 2));
			if (token != NULL)
				(void)snprintf(path, sizeof path,
				               MAPS "?labelSelector=tenth%%3Dyes&limit="
				                    "120&continue=%s",
				               token);
		}
		T_EQ(count, MANY / 10);
	}
	rig.accept = "application/yaml";
	api_rig_want(&rig, "GET", MAPS, NULL, 200);
	T_TRUE(memmem(rig.text.at, rig.text.len, "m-2499", 6) != NULL);
	rig.accept = NULL;
	api_rig_close(&rig);
}
