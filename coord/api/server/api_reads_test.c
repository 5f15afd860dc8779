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
