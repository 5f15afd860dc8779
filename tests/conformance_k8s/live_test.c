/*
 * Cases with cluster objects, decided by the core of a shard that is fed from a store: it
 * puts the pod on one of the nodes that Kubernetes' scheduler finds best, or on none.
 */
#include "coord/cli/eval/eval_case.h"
#include "coord/service/fsck/derive_alloc.h"
#include "tests/conformance_k8s/cases.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum { TEXT_MAX = 1 << 20, ON_NODE_MAX = 256, ROUNDS = 8, ROUND_MS = 500 };

static struct rig rig;
static struct pl_arena arena;
static unsigned objects; /* that were put */
static unsigned waited;  /* pods that waited for claims */
static struct pl_err err;

/* -- the store of a case ------------------------------------------------------------- */

/* The JSON of a value, with a NUL, in the arena. */
static const char *text_of(struct pl_json value)
{
	struct pl_buf buf;
	struct pl_json_out out;
	struct pl_span kept;

	pl_buf_init(&buf, TEXT_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, value);
	T_EQ(pl_json_out_done(&out), PL_OK);
	T_EQ(pl_buf_add(&buf, pl_span("", 1)), PL_OK);
	kept = pl_arena_dup(&arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	T_TRUE(kept.at != NULL);
	return (const char *)kept.at;
}

static const char *word(struct pl_json object, const char *of, const char *name)
{
	struct pl_json inner = {0};
	const char *text = "";

	T_OK(pl_json_object(object, of, PL_JSON_OPTIONAL, &inner, &err), &err);
	if (inner.node != NULL)
		T_OK(pl_json_string(inner, name, PL_JSON_OPTIONAL, &text, &err), &err);
	return text == NULL ? "" : text;
}

static const char *const lists[CLUSTER_OBJECT_KINDS] = {
	[CLUSTER_NAMESPACE] = "namespaces",
	[CLUSTER_SERVICE] = "services",
	[CLUSTER_CONTROLLER] = "replicationControllers",
	[CLUSTER_REPLICA_SET] = "replicaSets",
	[CLUSTER_STATEFUL_SET] = "statefulSets",
	[CLUSTER_VOLUME] = "pvs",
	[CLUSTER_CLAIM] = "pvcs",
	[CLUSTER_STORAGE_CLASS] = "storageClasses",
	[CLUSTER_CSI_NODE] = "csiNodes",
	[CLUSTER_CSI_DRIVER] = "csiDrivers",
	[CLUSTER_CSI_CAPACITY] = "csiStorageCapacities"};

/* Gives how many there are. */
static unsigned put_objects(const struct eval_case *it, enum cluster_object_kind kind)
{
	struct pl_json list = {0};
	unsigned count = 0;

	T_OK(pl_json_array(it->root, lists[kind], PL_JSON_OPTIONAL, &list, &err), &err);
	PL_JSON_EACH (item, list) {
		const struct keys_id id = cluster_object_id(
			kind, pl_span_str(word(item, "metadata", "namespace")),
			pl_span_str(word(item, "metadata", "name")));
		struct keys_text key;

		T_OK(keys_build(&id, &key, &err), &err);
		rig_put(&rig, key.at, text_of(item));
		count++;
	}
	return count;
}

/* Some have no uid, which a pod in the store has. */
static const char *with_uid(struct pl_json pod)
{
	const char *text = text_of(pod), *at = strstr(text, "\"metadata\":{");
	size_t size = strlen(text) + 64;
	char *made = pl_arena_zalloc(&arena, size, 1);

	T_TRUE(at != NULL && made != NULL);
	if (word(pod, "metadata", "uid")[0] != 0)
		return text;
	at += strlen("\"metadata\":{");
	(void)snprintf(made, size, "%.*s\"uid\":\"u\",%s", (int)(at - text), text, at);
	return made;
}

static void put_pod_key(struct pl_json pod, const char *what, const char *value)
{
	char key[256];

	(void)snprintf(key, sizeof key, "/schedules/0000/%s/%s/%s",
	               word(pod, "metadata", "namespace"), word(pod, "metadata", "name"),
	               what);
	rig_put(&rig, key, value);
}

/* The keys of a pod on its node; the alloc of the node is to list it. */
static void put_placed(struct pl_json pod, struct derive *derive)
{
	bool leaves = word(pod, "metadata", "deletionTimestamp")[0] != 0;
	const struct alloc_pod listed = {
		.namespace = pl_span_str(word(pod, "metadata", "namespace")),
		.name = pl_span_str(word(pod, "metadata", "name")),
		.leaving = leaves};
	struct derive_keys keys = {.has_spec = true, .has_state = true};
	const char *spec = with_uid(pod), *uid = word(pod, "metadata", "uid");
	char state[512];

	(void)snprintf(state, sizeof state,
	               "{\"v\":1,\"uid\":\"%s\",\"phase\":\"%s\",\"cluster\":\"east\","
	               "\"node\":\"%s\",\"shard\":\"s\",\"epoch\":\"1\",\"since\":"
	               "\"2026-01-01T00:00:00.000Z\"}",
	               uid[0] == 0 ? "u" : uid, leaves ? "Terminating" : "Bound",
	               word(pod, "spec", "nodeName"));
	put_pod_key(pod, "spec", spec);
	put_pod_key(pod, "state", state);
	keys.spec = pl_span_str(spec);
	keys.state = pl_span_str(state);
	T_OK(derive_add(derive, &listed, &keys, &err), &err);
}

static void put_node(const struct eval_case *it, struct pl_json node, struct model *model)
{
	const char *name = word(node, "metadata", "name");
	struct derive derive = {.model = model,
	                        .arena = &arena,
	                        .cluster = PL_SPAN_LIT("east"),
	                        .node = pl_span_str(name)};
	struct pl_json pods = {0};
	struct pl_buf alloc;
	char key[128];
	bool same;

	pl_buf_init(&alloc, TEXT_MAX);
	T_OK(derive_begin(&derive, (struct pl_span){0}, &err), &err);
	T_OK(pl_json_array(it->root, "pods", PL_JSON_OPTIONAL, &pods, &err), &err);
	PL_JSON_EACH (pod, pods)
		if (strcmp(word(pod, "spec", "nodeName"), name) == 0)
			put_placed(pod, &derive);
	T_OK(derive_print(&derive, 1, &alloc, &same, &err), &err);
	rig.store.revision++;
	(void)snprintf(key, sizeof key, "/nodes/0000/east/%s", name);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(text_of(node)));
	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", name);
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&alloc));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
	pl_buf_done(&alloc);
}

static void put_nodes(const struct eval_case *it)
{
	struct pl_json nodes = {0};
	struct model model;

	model_init(&model);
	T_OK(pl_json_array(it->root, "nodes", PL_JSON_REQUIRED, &nodes, &err), &err);
	PL_JSON_EACH (node, nodes)
		put_node(it, node, &model);
	model_done(&model);
}

/* -- the verdict --------------------------------------------------------------------- */

/* The node of the pod that arrives; "": none. */
static const char *node_of(struct pl_json pod)
{
	static char node[128];
	char key[256];
	const char *state, *at;

	(void)snprintf(key, sizeof key, "/schedules/0000/%s/%s/state",
	               word(pod, "metadata", "namespace"), word(pod, "metadata", "name"));
	state = rig_value(&rig, key);
	at = strstr(state, "\"phase\":\"Bound\"") == NULL ? NULL
	                                                  : strstr(state, "\"node\":\"");
	node[0] = 0;
	if (at != NULL)
		(void)sscanf(at + strlen("\"node\":\""), "%127[^\"]", node);
	return node;
}

static bool is_best(const struct eval_case *it, const char *node)
{
	struct pl_json best = {0};
	bool any = false, found = false;

	T_OK(pl_json_array(it->expect, "best", PL_JSON_OPTIONAL, &best, &err), &err);
	PL_JSON_EACH (item, best) {
		char quoted[128];

		(void)snprintf(quoted, sizeof quoted, "\"%s\"", node);
		any = true;
		found = found || strcmp(text_of(item), quoted) == 0;
	}
	return any ? found : node[0] == 0;
}

/* Pods leave a node with such a taint, so what is decided depends on the time. */
static bool is_timeless(const struct eval_case *it)
{
	return strstr(text_of(it->root), "\"effect\":\"NoExecute\"") == NULL;
}

static void wait_for_verdict(const struct eval_case *it)
{
	for (unsigned i = 0; i < ROUNDS && node_of(it->pod)[0] == 0; i++) {
		rig_run_idle(&rig);
		rig.now_ms += ROUND_MS;
	}
}

/* One half of the objects is listed, the other half comes later. */
static void decide_at_once(const struct eval_case *it)
{
	for (unsigned kind = 0; kind < CLUSTER_OBJECT_KINDS; kind++) {
		if (kind == CLUSTER_OBJECT_KINDS / 2)
			rig_own(&rig, 0);
		if (lists[kind] != NULL)
			objects += put_objects(it, (enum cluster_object_kind)kind);
	}
	rig_run_idle(&rig);
	put_pod_key(it->pod, "spec", with_uid(it->pod));
}

/* The pod waits for its claims, which come one after the other; they wake it. */
static void decide_when_claims_come(const struct eval_case *it)
{
	rig_own(&rig, 0);
	for (unsigned kind = 0; kind < CLUSTER_OBJECT_KINDS; kind++)
		if (lists[kind] != NULL && kind != CLUSTER_CLAIM)
			objects += put_objects(it, (enum cluster_object_kind)kind);
	put_pod_key(it->pod, "spec", with_uid(it->pod));
	wait_for_verdict(it);
	if (node_of(it->pod)[0] == 0)
		waited++;
	objects += put_objects(it, CLUSTER_CLAIM);
}

static bool decides_like_kubernetes(const struct eval_case *it,
                                    void (*decide)(const struct eval_case *it))
{
	const char *node;
	bool agrees;

	rig_open(&rig, NULL);
	put_nodes(it);
	decide(it);
	wait_for_verdict(it);
	node = node_of(it->pod);
	agrees = is_best(it, node) && rig.malformed == 0;
	if (!agrees)
		printf("%s: on '%s', %u malformed: %s\n", it->id, node, rig.malformed,
		       rig.said);
	rig_close(&rig);
	return agrees;
}

static void check_category(const char *category, size_t at_least, unsigned with_objects,
                           void (*decide)(const struct eval_case *it))
{
	struct cases *cases = cases_open(category);
	struct pl_span line;
	size_t count = 0, differ = 0;

	objects = waited = 0;
	pl_arena_init(&arena, 1 << 20, EVAL_ARENA_MAX);
	while (cases_next(cases, &line)) {
		struct eval_case it;

		pl_arena_reset(&arena);
		T_OK(eval_case_read(&arena, line, &it, &err), &err);
		if (eval_case_is_an_error(&it) || !is_timeless(&it))
			continue;
		differ += !decides_like_kubernetes(&it, decide);
		count++;
	}
	cases_close(cases);
	pl_arena_done(&arena);
	T_TRUE(count >= at_least);
	T_TRUE(objects >= with_objects);
	T_EQ(differ, 0);
}

#define CATEGORY(category, at_least, with_objects)                                 \
	T_CASE_SECONDS(category, 300)                                              \
	{                                                                          \
		check_category(#category, at_least, with_objects, decide_at_once); \
	}

CATEGORY(interpod, 300, 1000)
CATEGORY(mixed, 200, 1000)
CATEGORY(spreaddefault, 100, 100)
CATEGORY(volumes, 300, 1000)

T_CASE_SECONDS(claims_that_come_late, 300)
{
	check_category("volumes", 300, 1000, decide_when_claims_come);
	T_TRUE(waited > 200);
}
