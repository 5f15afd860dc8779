/* Explanations as a person, a machine and Graphviz get them: tests/golden/explain. */
#include <stdio.h>

#include "shardsched/explain/explain.h"
#include "shardsched/model/parse.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

enum { OUT_MAX = 1 << 20 };

static struct engine *engine;
static struct pl_arena arena;
static struct pl_buf out;
static struct pl_err err;

static void open_engine(void)
{
	struct engine_opts opts = {
		.seed = 7, .keep_scores = true, .keep_candidates = true};

	T_OK(engine_new(&opts, &engine, &err), &err);
	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&out, OUT_MAX);
}

static void close_engine(void)
{
	engine_free(engine);
	pl_arena_done(&arena);
	pl_buf_done(&out);
}

static void put(enum engine_kind kind, const char *json)
{
	T_OK(engine_put(engine, kind, pl_span_str(json), NULL, &err), &err);
}

static void node(const char *name, const char *cpu, const char *memory, const char *spec)
{
	char json[1024];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"%s\",\"labels\":{"
		"\"kubernetes.io/hostname\":\"%s\"}},\"spec\":{%s},\"status\":{"
		"\"allocatable\":{\"cpu\":\"%s\",\"memory\":\"%s\",\"pods\":\"10\"}}}",
		name, name, spec, cpu, memory);
	put(ENGINE_NODE, json);
}

static void placed(const char *name, const char *node_name, int priority, const char *cpu)
{
	char json[1024];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"web\",\"uid\":"
	               "\"uid-%s\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":"
	               "\"%s\",\"priority\":%d,\"containers\":[{\"name\":\"c\","
	               "\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               name, name, node_name, priority, cpu);
	put(ENGINE_POD, json);
}

static void three_kinds_of_nodes(void)
{
	char name[16];

	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof name, "small-%d", i);
		node(name, "2", "8Gi", "");
	}
	for (int i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof name, "gpu-%d", i);
		node(name, "16", "64Gi",
		     "\"taints\":[{\"key\":\"gpu\",\"value\":\"only\",\"effect\":"
		     "\"NoSchedule\"}]");
	}
	node("cordoned", "16", "64Gi", "\"unschedulable\":true");
}

/* Prints the pod's explanation in all three forms. */
static enum pl_code explain(const char *json)
{
	struct parse parse = {.model = engine_model(engine), .arena = &arena};
	struct engine_decision decision;
	struct explain explain;
	struct pl_json_out form;
	struct pod pod;
	enum pl_code code;

	T_OK(pod_parse(&parse, pl_span_str(json), &pod, &err), &err);
	T_OK(engine_decide(engine, &pod, &decision, &err), &err);
	explain_make(engine, &pod, &decision, &explain);
	code = explain_text(&explain, &out);
	if (code == PL_OK)
		code = pl_buf_add_str(&out, "--\n");
	pl_json_out_init(&form, &out);
	explain_json(&explain, &form);
	if (code == PL_OK)
		code = pl_json_out_done(&form);
	if (code == PL_OK)
		code = pl_buf_add_str(&out, "\n--\n");
	if (code == PL_OK)
		code = explain_dot(&explain, &out);
	pod_drop(parse.model, &pod);
	return code;
}

static void check(const char *golden, const char *pod)
{
	T_OK(explain(pod), &err);
	T_OK(pl_buf_add(&out, PL_SPAN_LIT("\0")), NULL);
	t_golden(golden, (const char *)out.at);
	close_engine();
}

static const char *pod_with(const char *spec)
{
	static char json[2048];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"app-7\",\"namespace\":\"web\",\"uid\":"
	               "\"uid-app-7\",\"labels\":{\"app\":\"web\"}},\"spec\":{%s}}",
	               spec);
	return json;
}

#define ASKS(cpu)                                                                       \
	"\"priority\":10,\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{" \
	"\"cpu\":\"" cpu "\",\"memory\":\"1Gi\"}}}]"

T_CASE(missing_amounts_are_explained_with_what_would_help)
{
	open_engine();
	three_kinds_of_nodes();
	check("explain/lacks.txt", pod_with(ASKS("4")));
}

/* More of them than there are rows: the last one stands for what is left. */
T_CASE(clusters_are_counted_separately)
{
	struct parse parse = {.arena = &arena};
	struct engine_decision decision;
	struct explain explained;
	struct pod pod;
	char cluster[16], json[256];

	open_engine();
	parse.model = engine_model(engine);
	for (int i = 0; i < 80; i++) {
		int of = i < 40 ? i : i % 4;

		(void)snprintf(cluster, sizeof cluster, "c-%02d", of);
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"name\":\"n-%d\"},\"status\":{"
		               "\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"8Gi\","
		               "\"pods\":\"10\"}}}",
		               i, of == 1 ? 16 : 2);
		T_OK(engine_put_in(engine, ENGINE_NODE, pl_span_str(cluster),
		                   pl_span_str(json), NULL, &err),
		     &err);
	}
	T_OK(pod_parse(&parse, pl_span_str(pod_with(ASKS("4"))), &pod, &err), &err);
	T_OK(engine_decide(engine, &pod, &decision, &err), &err);
	explain_make(engine, &pod, &decision, &explained);
	T_EQ(explained.clusters, EXPLAIN_CLUSTERS_MAX);
	T_EQ(explained.cluster[0].nodes, 11);
	T_EQ(explained.cluster[1].feasible, 11);
	T_EQ(explained.cluster[1].reasons[explained.reason[0].row], 0);
	T_EQ(explained.cluster[2].reasons[explained.reason[0].row], 11);
	T_TRUE(explained.cluster[EXPLAIN_CLUSTERS_MAX - 1].others);
	T_EQ(explained.cluster[EXPLAIN_CLUSTERS_MAX - 1].nodes, 9);
	pod_drop(parse.model, &pod);
	close_engine();
}

T_CASE(best_nodes_are_explained_with_their_scores)
{
	open_engine();
	three_kinds_of_nodes();
	placed("a", "small-0", 0, "1");
	placed("b", "small-1", 0, "500m");
	check("explain/placed.txt", pod_with(ASKS("1")));
}

T_CASE(victims_of_preemption_are_explained)
{
	open_engine();
	node("one", "4", "8Gi", "");
	node("two", "4", "8Gi", "");
	placed("low", "one", 0, "3");
	placed("lower", "two", -5, "1");
	placed("lowest", "two", -10, "2");
	check("explain/victims.txt", pod_with(ASKS("3500m")));
}

T_CASE(scheduling_gates_are_explained)
{
	open_engine();
	node("one", "4", "8Gi", "");
	check("explain/gated.txt",
	      pod_with(ASKS("1") ",\"schedulingGates\":[{\"name\":\"quota\"},{\"name\":"
	                         "\"example.com/paid\"}]"));
}

T_CASE(prefilter_reason_holds_for_all_nodes)
{
	open_engine();
	node("one", "4", "8Gi", "");
	node("two", "4", "8Gi", "");
	check("explain/claim.txt",
	      pod_with(ASKS("1") ",\"volumes\":[{\"name\":\"data\","
	                         "\"persistentVolumeClaim\":{\"claimName\":\"none\"}}]"));
}

T_CASE(rules_about_other_pods_are_explained)
{
	open_engine();
	three_kinds_of_nodes();
	placed("a", "small-0", 10, "1");
	placed("b", "small-1", 10, "1");
	check("explain/rules.txt",
	      pod_with(ASKS("2") ",\"affinity\":{\"podAntiAffinity\":{"
	                         "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
	                         "\"topologyKey\":\"kubernetes.io/hostname\","
	                         "\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}}]"
	                         "}},\"tolerations\":[{\"key\":\"gpu\",\"operator\":"
	                         "\"Exists\"}],\"nodeSelector\":{\"disk\":\"ssd\"}"));
}

T_CASE(rules_that_mean_nothing_are_warned_of)
{
	open_engine();
	three_kinds_of_nodes();
	check("explain/warnings.txt",
	      pod_with(
		      ASKS("1") ",\"affinity\":{\"podAntiAffinity\":{"
				"\"requiredDuringSchedulingIgnoredDuringExecution\":["
				"{\"topologyKey\":\"kubernetes.io/hostnam\","
				"\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}},"
				"{\"topologyKey\":\"kubernetes.io/hostname\"},"
				"{\"topologyKey\":\"kubernetes.io/hostname\","
				"\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}}"
				"]}},\"topologySpreadConstraints\":[{\"maxSkew\":1,"
				"\"whenUnsatisfiable\":\"ScheduleAnyway\","
				"\"topologyKey\":\"zone\",\"labelSelector\":{"
				"\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":["
				"{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":["
				"\"web\"]}]}}]"));
}

/* No node carries the key, but there is no node to carry any. */
T_CASE(without_nodes_no_topology_key_is_warned_of)
{
	open_engine();
	T_OK(explain(pod_with(
		     ASKS("1") ",\"topologySpreadConstraints\":[{\"maxSkew\":1,"
			       "\"whenUnsatisfiable\":\"ScheduleAnyway\","
			       "\"topologyKey\":\"zone\",\"labelSelector\":{}}]")),
	     &err);
	T_OK(pl_buf_add(&out, PL_SPAN_LIT("\0")), NULL);
	T_TRUE(strstr((const char *)out.at, "warning") == NULL);
	close_engine();
}

T_CASE(cluster_without_nodes_is_explained)
{
	open_engine();
	check("explain/empty.txt", pod_with(ASKS("1")));
}

T_CASE(graph_escapes_names)
{
	open_engine();
	node("a\\\"b", "1", "1Gi", "");
	check("explain/quotes.txt", pod_with(ASKS("500m")));
}

static enum pl_code printed(void)
{
	enum pl_code code =
		explain("{\"metadata\":{\"name\":\"p\",\"namespace\":\"web\"},"
	                "\"spec\":{" ASKS("4") "}}");

	pl_buf_done(&out);
	pl_buf_init(&out, OUT_MAX);
	return code;
}

T_CASE(output_beyond_its_bound_is_an_error)
{
	open_engine();
	three_kinds_of_nodes();
	T_OK(printed(), NULL);
	pl_buf_done(&out);
	pl_buf_init(&out, 300);
	T_CODE(explain(pod_with(ASKS("4"))), PL_LIMIT, NULL);
	close_engine();
}
