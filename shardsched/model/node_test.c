#include <stdio.h>

#include "shardsched/model/parse.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct model model;
static struct pl_arena arena;
static struct pl_err err;
static struct field_errors errors;

static void begin(void)
{
	model_init(&model);
	pl_arena_init(&arena, 1 << 16, 0);
}

static void end(void)
{
	pl_arena_done(&arena);
	model_done(&model); /* asserts that nothing is left */
}

static uint32_t id(const char *text)
{
	return strings_find(&model.strings, pl_span_str(text));
}

static struct pod pod_of(const char *json)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct pod pod;

	T_OK(pod_parse(&parse, pl_span_str(json), &pod, &err), &err);
	pl_arena_reset(&arena);
	return pod;
}

static const char node_json[] =
	"{\"metadata\":{\"name\":\"n1\",\"labels\":{\"zone\":\"a\"}},\"spec\":{\"unschedulable\":"
	"true,\"taints\":[{\"key\":\"gpu\",\"value\":\"only\",\"effect\":\"NoSchedule\"},{\"key\":"
	"\"spot\",\"effect\":\"PreferNoSchedule\"}]},\"status\":{\"capacity\":{\"cpu\":\"4\","
	"\"memory\":\"8Gi\",\"pods\":\"110\",\"example.com/gpu\":\"0\",\"storage\":\"1\"},"
	"\"images\":[{\"names\":[\"b:1\",\"a:1\"],\"sizeBytes\":1000},{\"names\":[\"a:1\"],"
	"\"sizeBytes\":7}]}}";

static enum pl_code try_node(const char *json, struct node *out)
{
	struct parse parse = {.model = &model, .arena = &arena, .errors = &errors};
	enum pl_code code = node_parse(&parse, pl_span_str(json), out, &err);

	pl_arena_reset(&arena);
	return code;
}

T_CASE(a_node_is_read)
{
	struct draft_toleration only = {.key = PL_SPAN_LIT("gpu"),
	                                .value = PL_SPAN_LIT("only")};
	const struct tolerations *none, *some;
	struct maker maker;
	struct node node;

	begin();
	maker_init(&maker, &model, &arena);
	T_OK(try_node(node_json, &node), &err);
	T_TRUE(node.unschedulable);
	T_EQ(node.allocatable->cpu_milli, 4000);
	T_EQ(node.allocatable->pods, 110);
	T_EQ(node.allocatable->count, 1); /* the gpu, although there is none */
	T_EQ(images_get(node.images, id("b:1")), 1000);
	T_EQ(images_get(node.images, id("a:1")), 7);
	T_EQ(images_get(node.images, id("n1")), -1);
	none = tolerations_make(&maker, (struct draft_tolerations){0});
	some = tolerations_make(&maker, (struct draft_tolerations){&only, 1});
	T_TRUE(taints_first_untolerated(node.taints, none, TAINT_HARD) ==
	       &node.taints->row[0]);
	T_TRUE(taints_first_untolerated(node.taints, some, TAINT_HARD) == NULL);
	T_TRUE(taints_first_untolerated(node.taints, some,
	                                TAINT_BIT(TAINT_PREFER_NO_SCHEDULE)) ==
	       &node.taints->row[1]);
	model_unref(&model, MODEL_TOLERATIONS, none);
	model_unref(&model, MODEL_TOLERATIONS, some);
	node_drop(&model, &node);
	end();
}

static struct node tainted_by(const char *taints)
{
	char json[512];
	struct node node;

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[%s]}}",
	               taints);
	T_OK(try_node(json, &node), &err);
	return node;
}

/* Times are kept apart from the taints: two nodes share a set of taints whatever the
 * times are. */
T_CASE(times_of_taints_are_read)
{
	struct node some, none;

	begin();
	some = tainted_by(
		"{\"key\":\"a\",\"effect\":\"NoExecute\"},"
		"{\"key\":\"b\",\"effect\":\"NoExecute\",\"timeAdded\":"
		"\"1970-01-01T00:00:02Z\"},{\"key\":\"c\",\"effect\":\"NoSchedule\","
		"\"timeAdded\":\"1970-01-01T00:00:03Z\"}");
	none = tainted_by("{\"key\":\"a\",\"effect\":\"NoExecute\"},"
	                  "{\"key\":\"b\",\"effect\":\"NoExecute\"},"
	                  "{\"key\":\"c\",\"effect\":\"NoSchedule\"}");
	T_TRUE(some.taints == none.taints && none.tainted == NULL);
	T_EQ(some.tainted->count, 3);
	T_EQ(some.tainted->added_ms[0], 0);
	T_EQ(some.tainted->added_ms[1], 2000);
	T_EQ(some.tainted->added_ms[2], 0);
	node_drop(&model, &some);
	node_drop(&model, &none);
	end();
}

static bool covers(const char *toleration, const char *taint)
{
	char json[1024];
	struct pod pod;
	struct node node;
	bool out;

	(void)snprintf(json, sizeof json, "{\"spec\":{\"tolerations\":[{%s}]}}",
	               toleration);
	pod = pod_of(json);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{%s}]}}",
	               taint);
	T_OK(try_node(json, &node), &err);
	out = tolerations_cover(pod.spec->template->tolerations, &node.taints->row[0]);
	pod_drop(&model, &pod);
	node_drop(&model, &node);
	return out;
}

#define TAINT(key, value) \
	"\"key\":\"" key "\",\"value\":\"" value "\",\"effect\":\"NoSchedule\""

T_CASE(tolerations_cover_taints)
{
	begin();
	T_TRUE(covers("\"operator\":\"Exists\"", TAINT("a", "1")));
	T_TRUE(covers("\"key\":\"a\",\"operator\":\"Exists\"", TAINT("a", "1")));
	T_TRUE(!covers("\"key\":\"b\",\"operator\":\"Exists\"", TAINT("a", "1")));
	T_TRUE(covers("\"key\":\"a\",\"value\":\"1\"", TAINT("a", "1")));
	T_TRUE(covers("\"key\":\"a\",\"operator\":\"Equal\"", TAINT("a", "")));
	T_TRUE(!covers("\"key\":\"a\",\"operator\":\"Equal\"", TAINT("a", "1")));
	T_TRUE(!covers("\"key\":\"a\",\"operator\":\"exists\"", TAINT("a", "")));
	T_TRUE(covers("\"operator\":\"Exists\",\"effect\":\"NoSchedule\"",
	              TAINT("a", "")));
	T_TRUE(!covers("\"operator\":\"Exists\",\"effect\":\"NoExecute\"",
	               TAINT("a", "")));
	end();
}

static void node_refused(const char *json, const char *words)
{
	struct node node = {0};

	T_CODE(try_node(json, &node), PL_INVALID, &err);
	if (strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, err.msg);
}

#define NODE(spec, status) \
	"{\"metadata\":{\"name\":\"n1\"},\"spec\":{" spec "},\"status\":{" status "}}"

T_CASE(invalid_node_is_refused_with_the_path)
{
	begin();
	node_refused("{\"metadata\":{\"name\":\"N1\"}}", "metadata.name");
	node_refused("{}", "metadata.name: want a name");
	node_refused(NODE("\"taints\":[{\"key\":\"a\",\"effect\":\"Never\"}]", ""),
	             "spec.taints[0].effect");
	node_refused(NODE("\"taints\":[{\"key\":\"a b\",\"effect\":\"NoExecute\"}]", ""),
	             "spec.taints[0].key");
	node_refused(
		NODE("\"taints\":[{\"key\":\"a\",\"effect\":\"NoExecute\"},{\"key\":\"a\","
	             "\"value\":\"x\",\"effect\":\"NoExecute\"}]",
	             ""),
		"spec.taints[1]");
	node_refused(NODE("", "\"capacity\":{\"cpu\":\"-1\"}"), "status.capacity.cpu");
	node_refused(NODE("", "\"allocatable\":{\"pods\":\"1.5\"}"),
	             "status.allocatable.pods: want a whole number");
	end();
}

static enum pl_code node_once(void)
{
	struct node node = {0};
	enum pl_code code;

	begin();
	code = try_node(node_json, &node);
	node_drop(&model, &node);
	end();
	return code;
}

T_CASE(without_memory_a_node_is_refused_whole)
{
	t_torture(node_once, true);
}
