#include <stdlib.h>

#include "tests/harness/torture.h"
#include "tests/support/shardsched/engine/engine_rig.h"

static struct engine_rig rig;

static void begin(void)
{
	rig_open(&rig, &(struct engine_opts){0});
}

T_CASE(objects_of_all_kinds_are_put_replaced_and_dropped)
{
	static const struct {
		enum engine_kind kind;
		const char *namespace;
		const char *json;
	} objects[] = {
		{ENGINE_NODE, "", "{\"metadata\":{\"name\":\"x\"}}"},
		{ENGINE_POD, "s", "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"}}"},
		{ENGINE_NAMESPACE, "",
	         "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\"}}}"},
		{ENGINE_VOLUME, "",
	         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"capacity\":{}}}"},
		{ENGINE_CLAIM, "s",
	         "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"}}"},
		{ENGINE_STORAGE_CLASS, "",
	         "{\"metadata\":{\"name\":\"x\"},\"provisioner\":\"p\"}"},
		{ENGINE_CSI_NODE, "",
	         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"drivers\":[]}}"},
		{ENGINE_CSI_DRIVER, "", "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}"},
		{ENGINE_CSI_CAPACITY, "s",
	         "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"},\"storageClassName\":"
	         "\"c\"}"},
		{ENGINE_PRIORITY_CLASS, "",
	         "{\"metadata\":{\"name\":\"x\"},\"value\":1}"},
		{ENGINE_BUDGET, "s",
	         "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"}}"},
		{ENGINE_SERVICE, "s",
	         "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"}}"},
		{ENGINE_CONTROLLER, "s",
	         "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"}}"},
		{ENGINE_REPLICA_SET, "s",
	         "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"}}"},
		{ENGINE_STATEFUL_SET, "s",
	         "{\"metadata\":{\"namespace\":\"s\",\"name\":\"x\"}}"},
	};
	size_t count = sizeof objects / sizeof *objects;

	T_EQ(count, ENGINE_KINDS);
	begin();
	for (size_t i = 0; i < count; i++) {
		T_CODE(rig_drop(&rig, objects[i].kind, objects[i].namespace, "x"),
		       PL_NOTFOUND, &rig.err);
		rig_put(&rig, objects[i].kind, objects[i].json);
		rig_put(&rig, objects[i].kind, objects[i].json);
	}
	for (size_t i = 0; i < count; i++) {
		T_CODE(rig_drop(&rig, objects[i].kind, "other", "x"), PL_NOTFOUND,
		       &rig.err);
		T_OK(rig_drop(&rig, objects[i].kind, objects[i].namespace, "x"),
		     &rig.err);
		T_CODE(rig_drop(&rig, objects[i].kind, objects[i].namespace, "x"),
		       PL_NOTFOUND, &rig.err);
	}
	rig_close(&rig);
}

T_CASE(pods_wait_for_a_missing_node)
{
	begin();
	rig_pod(&rig, "a", "1", "n");
	rig_pod(&rig, "b", "1", "n");
	rig_pod(&rig, "c", "1", "m");
	T_EQ(engine_pods(rig.engine), 3);
	T_EQ(engine_pods_without_node(rig.engine), 3);
	rig_node(&rig, "n", "4");
	T_EQ(engine_pods_without_node(rig.engine), 1);
	T_EQ(rig_pods_on(&rig, "n"), 2);
	T_STR(rig_decide(&rig, rig_pod_json("x", "3", "", "")), "");
	T_STR(rig_decide(&rig, rig_pod_json("x", "2", "", "")), "n");
	T_OK(rig_drop(&rig, ENGINE_NODE, "", "n"), &rig.err);
	T_EQ(engine_pods_without_node(rig.engine), 3);
	T_OK(rig_drop(&rig, ENGINE_POD, "default", "a"), &rig.err);
	T_EQ(engine_pods_without_node(rig.engine), 2);
	rig_node(&rig, "n", "4");
	rig_node(&rig, "m", "4");
	T_EQ(engine_pods_without_node(rig.engine), 0);
	T_EQ(rig_pods_on(&rig, "n"), 1);
	T_EQ(rig_pods_on(&rig, "m"), 1);
	rig_close(&rig);
}

T_CASE(changed_node_keeps_its_pods)
{
	begin();
	rig_node(&rig, "n", "4");
	rig_pod(&rig, "a", "3", "n");
	T_STR(rig_decide(&rig, rig_pod_json("x", "2", "", "")), "");
	rig_node(&rig, "n", "8");
	T_EQ(rig_pods_on(&rig, "n"), 1);
	T_STR(rig_decide(&rig, rig_pod_json("x", "5", "", "")), "n");
	T_STR(rig_decide(&rig, rig_pod_json("x", "6", "", "")), "");
	rig_close(&rig);
}

T_CASE(pods_move_change_and_end)
{
	struct snapshot *snapshot;

	begin();
	snapshot = engine_snapshot(rig.engine);
	rig_node(&rig, "n", "4");
	rig_node(&rig, "m", "4");
	rig_put(&rig, ENGINE_POD, rig_pod_json("a", "1", "", ""));
	T_EQ(snapshot->placed_count, 0);
	rig_pod(&rig, "a", "1", "n");
	T_EQ(rig_pods_on(&rig, "n"), 1);
	rig_pod(&rig, "a", "2", "m"); /* another pod of that name */
	T_EQ(rig_pods_on(&rig, "n"), 0);
	T_EQ(rig_pods_on(&rig, "m"), 1);
	rig_pod(&rig, "a", "2", "m");
	T_EQ(snapshot->row[rig_slot(&rig, "m")].used.cpu_milli, 2000);
	rig_put(&rig, ENGINE_POD,
	        rig_pod_json("a", "2", ",\"nodeName\":\"m\"", "\"phase\":\"Succeeded\""));
	T_EQ(snapshot->placed_count, 0);
	T_EQ(engine_pods(rig.engine), 1);
	rig_close(&rig);
}

T_CASE(terminating_pod_keeps_its_place)
{
	static const char json[] =
		"{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":"
		"\"2026-01-01T00:00:00Z\"},\"spec\":{\"nodeName\":\"n\"}}";
	struct snapshot *snapshot;
	uint32_t first;

	begin();
	snapshot = engine_snapshot(rig.engine);
	rig_node(&rig, "n", "4");
	rig_put(&rig, ENGINE_POD,
	        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\"}}");
	first = snapshot->row[rig_slot(&rig, "n")].first_pod;
	T_EQ(snapshot->placed[first].flags & PLACED_TERMINATING, 0);
	rig_put(&rig, ENGINE_POD, json);
	T_EQ(snapshot->row[rig_slot(&rig, "n")].first_pod, first);
	T_TRUE((snapshot->placed[first].flags & PLACED_TERMINATING) != 0);
	rig_put(&rig, ENGINE_POD, /* a pod of that name that is another one */
	        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\"}}");
	first = snapshot->row[rig_slot(&rig, "n")].first_pod;
	T_EQ(snapshot->placed[first].flags & PLACED_TERMINATING, 0);
	rig_close(&rig);
}

T_CASE(nomination_holds_room_until_the_pod_is_placed)
{
	struct snapshot *snapshot;

	begin();
	snapshot = engine_snapshot(rig.engine);
	rig_put(&rig, ENGINE_POD,
	        rig_pod_json("a", "3", "", "\"nominatedNodeName\":\"n\""));
	T_EQ(engine_pods_without_node(rig.engine), 1);
	rig_node(&rig, "n", "4");
	T_EQ(engine_pods_without_node(rig.engine), 0);
	T_TRUE(snapshot->row[rig_slot(&rig, "n")].first_nomination != SNAPSHOT_NONE);
	T_STR(rig_decide(&rig, rig_pod_json("x", "2", "", "")), "");
	T_STR(rig_decide(&rig, rig_pod_json("x", "1", "", "")), "n");
	T_OK(rig_drop(&rig, ENGINE_NODE, "", "n"), &rig.err);
	T_EQ(engine_pods_without_node(rig.engine), 1);
	rig_node(&rig, "n", "4");
	rig_pod(&rig, "a", "3", "n");
	T_TRUE(snapshot->row[rig_slot(&rig, "n")].first_nomination == SNAPSHOT_NONE);
	T_EQ(rig_pods_on(&rig, "n"), 1);
	rig_close(&rig);
}

T_CASE(assumed_pod_takes_room_once)
{
	struct pod pod;
	uint32_t placed = SNAPSHOT_NONE;

	begin();
	rig_node(&rig, "n", "4");
	pod = rig_parse(&rig, rig_pod_json("a", "3", "", "\"nominatedNodeName\":\"n\""));
	rig_put(&rig, ENGINE_POD,
	        rig_pod_json("a", "3", "", "\"nominatedNodeName\":\"n\""));
	T_OK(engine_assume(rig.engine, &pod, rig_slot(&rig, "n"), &placed, &rig.err),
	     &rig.err);
	T_EQ(engine_snapshot(rig.engine)->placed[placed].name, pod.name);
	T_CODE(engine_assume(rig.engine, &pod, rig_slot(&rig, "n"), NULL, &rig.err),
	       PL_EXISTS, &rig.err);
	T_EQ(engine_pods(rig.engine), 1);
	T_STR(rig_decide(&rig, rig_pod_json("x", "2", "", "")), "");
	rig_pod(&rig, "a", "3", "n"); /* the pod is bound */
	T_EQ(rig_pods_on(&rig, "n"), 1);
	T_OK(rig_drop(&rig, ENGINE_POD, "default", "a"), &rig.err);
	T_STR(rig_decide(&rig, rig_pod_json("x", "2", "", "")), "n");
	pod_drop(engine_model(rig.engine), &pod);
	rig_close(&rig);
}

T_CASE(nodes_of_two_clusters_may_share_a_name)
{
	static const char node[] = "{\"metadata\":{\"name\":\"n\"}}";
	static const char pod[] =
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\"}}";

	begin();
	T_OK(engine_put_in(rig.engine, ENGINE_POD, PL_SPAN_LIT("east"), pl_span_str(pod),
	                   NULL, &rig.err),
	     &rig.err);
	T_OK(engine_put_in(rig.engine, ENGINE_NODE, PL_SPAN_LIT("west"),
	                   pl_span_str(node), NULL, &rig.err),
	     &rig.err);
	T_EQ(engine_pods_without_node(rig.engine), 1);
	T_OK(engine_put_in(rig.engine, ENGINE_NODE, PL_SPAN_LIT("east"),
	                   pl_span_str(node), NULL, &rig.err),
	     &rig.err);
	T_EQ(engine_pods_without_node(rig.engine), 0);
	T_EQ(engine_snapshot(rig.engine)->nodes, 2);
	T_CODE(rig_drop(&rig, ENGINE_NODE, "", "n"), PL_NOTFOUND, &rig.err);
	T_OK(rig_drop(&rig, ENGINE_NODE, "west", "n"), &rig.err);
	T_OK(rig_drop(&rig, ENGINE_NODE, "east", "n"), &rig.err);
	T_EQ(engine_pods_without_node(rig.engine), 1);
	rig_close(&rig);
}

T_CASE(gated_or_unprofiled_pod_is_not_tried)
{
	struct engine_decision decision;
	struct pod pod;

	begin();
	rig_node(&rig, "n", "4");
	pod = rig_parse(
		&rig,
		rig_pod_json("a", "1", ",\"schedulingGates\":[{\"name\":\"g\"}]", ""));
	T_OK(engine_decide(rig.engine, &pod, &decision, &rig.err), &rig.err);
	T_TRUE(decision.gated);
	T_EQ(decision.gate.reason[0].code, REASON_GATED);
	pod_drop(engine_model(rig.engine), &pod);
	pod = rig_parse(&rig, rig_pod_json("a", "1", ",\"schedulerName\":\"other\"", ""));
	T_CODE(engine_decide(rig.engine, &pod, &decision, &rig.err), PL_NOTFOUND, NULL);
	T_TRUE(strstr(rig.err.msg, "schedulerName") != NULL);
	pod_drop(engine_model(rig.engine), &pod);
	rig_close(&rig);
}

T_CASE(draw_depends_on_the_pod_only)
{
	struct pod a, b;
	uint64_t draw;

	rig_open(&rig, &(struct engine_opts){.seed = 1});
	a = rig_parse(&rig, rig_pod_json("a", "1", "", ""));
	b = rig_parse(&rig, rig_pod_json("b", "1", "", ""));
	draw = engine_draw(rig.engine, &a, 0);
	T_TRUE(draw == engine_draw(rig.engine, &a, 0));
	T_TRUE(draw != engine_draw(rig.engine, &a, 1));
	T_TRUE(draw != engine_draw(rig.engine, &b, 0));
	pod_drop(engine_model(rig.engine), &a);
	pod_drop(engine_model(rig.engine), &b);
	rig_close(&rig);
	rig_open(&rig, &(struct engine_opts){.seed = 1});
	a = rig_parse(&rig, rig_pod_json("a", "2", "", ""));
	T_TRUE(draw == engine_draw(rig.engine, &a, 0));
	pod_drop(engine_model(rig.engine), &a);
	rig_close(&rig);
	rig_open(&rig, &(struct engine_opts){.seed = 2});
	a = rig_parse(&rig, rig_pod_json("a", "1", "", ""));
	T_TRUE(draw != engine_draw(rig.engine, &a, 0));
	pod_drop(engine_model(rig.engine), &a);
	rig_close(&rig);
}

T_CASE(idle_classes_are_closed_in_the_end)
{
	struct fw_class *held = NULL, *again = NULL;
	struct pod pod;
	char cpu[16];

	begin();
	rig_node(&rig, "n", "4");
	pod = rig_parse(&rig, rig_pod_json("held", "1", "", ""));
	T_OK(engine_class(rig.engine, pod.spec, &held, &rig.err), &rig.err);
	for (unsigned i = 0; i < ENGINE_IDLE_CLASSES + 100; i++) {
		(void)snprintf(cpu, sizeof cpu, "%um", i + 1);
		T_STR(rig_decide(&rig, rig_pod_json("x", cpu, "", "")), "n");
		pl_arena_reset(&rig.arena);
	}
	T_OK(engine_class(rig.engine, pod.spec, &again, &rig.err), &rig.err);
	T_TRUE(held == again);
	engine_release(rig.engine, held);
	engine_release(rig.engine, again);
	pod_drop(engine_model(rig.engine), &pod);
	rig_close(&rig);
}

static void decide_all(const struct pod *pods, unsigned count)
{
	struct engine_decision decision;

	for (unsigned i = 0; i < count; i++)
		T_OK(engine_decide(rig.engine, &pods[i], &decision, &rig.err), &rig.err);
}

T_CASE(repeated_decision_allocates_nothing)
{
	static const char *const specs[] = {
		"", ",\"priority\":1", ",\"nodeSelector\":{\"zone\":\"b\"}",
		",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
		"\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{}}]",
		",\"affinity\":{\"podAntiAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
		"\"zone\",\"labelSelector\":{}}]}}"};
	enum { SPECS = sizeof specs / sizeof *specs };
	struct pod pods[2 * SPECS];
	uint64_t hits;

	begin();
	rig_put(&rig, ENGINE_NODE,
	        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"zone\":\"b\"}},\"status\":{"
	        "\"capacity\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"9\"}}}");
	rig_pod(&rig, "sitter", "3", "n");
	for (unsigned i = 0; i < 2 * SPECS; i++) {
		char json[RIG_JSON_SIZE];

		/* Half of the pods do not fit, and look for victims. */
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"namespace\":\"default\",\"name\":\"x\"},"
		               "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
		               "\"requests\":{\"cpu\":\"%u\"}}}]%s}}",
		               i < SPECS ? 1U : 2U, specs[i % SPECS]);
		pods[i] = rig_parse(&rig, json);
	}
	decide_all(pods, 2 * SPECS);
	decide_all(pods, 2 * SPECS);
	hits = pl_fault_hits(PL_FAULT_ALLOC);
	decide_all(pods, 2 * SPECS);
	T_EQ(pl_fault_hits(PL_FAULT_ALLOC), hits);
	for (unsigned i = 0; i < 2 * SPECS; i++)
		pod_drop(engine_model(rig.engine), &pods[i]);
	rig_close(&rig);
}

static enum pl_code torture_once(void)
{
	static const char pod[] =
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\"}}";
	static const char other[] = "{\"metadata\":{\"name\":\"b\"},\"status\":{"
				    "\"nominatedNodeName\":\"n\"}}";
	static const char node[] = "{\"metadata\":{\"name\":\"n\"},\"status\":{"
				   "\"capacity\":{\"pods\":\"5\"}}}";
	struct engine *engine = NULL;
	struct pl_err err = {0};
	enum pl_code code = engine_new(&(struct engine_opts){0}, &engine, &err);

	if (code == PL_OK)
		code = engine_put(engine, ENGINE_POD, pl_span_str(pod), NULL, &err);
	if (code == PL_OK)
		code = engine_put(engine, ENGINE_POD, pl_span_str(other), NULL, &err);
	if (code == PL_OK)
		code = engine_put(engine, ENGINE_NODE, pl_span_str(node), NULL, &err);
	if (code == PL_OK)
		T_EQ(engine_pods_without_node(engine), 0);
	if (code == PL_OK)
		code = engine_drop(engine, ENGINE_NODE, pl_span_str(""), pl_span_str("n"),
		                   &err);
	if (engine != NULL)
		snapshot_check(engine_snapshot(engine));
	engine_free(engine);
	return code;
}

T_CASE_SECONDS(every_allocation_may_fail, 120)
{
	t_torture(torture_once, true);
}
