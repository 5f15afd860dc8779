/* Profiles of simulated clusters: the nodes that follow from them, and refusals with
 * their paths. */
#include "coord/up/sim_profile.h"
#include "store/base/yaml.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct sim_profile profile;
static struct pl_err err;

static enum pl_code on_document(void *ctx, struct pl_span json, struct pl_err *e)
{
	struct pl_json value;
	enum pl_code code = pl_json_parse(&arena, json, NULL, &value, e);

	(void)ctx;
	return code == PL_OK ? sim_profile_parse(value, &arena, &profile, e) : code;
}

static enum pl_code parse(const char *yaml)
{
	err = (struct pl_err){0};
	profile = (struct sim_profile){0};
	return pl_yaml_to_json(pl_span_str(yaml), NULL, on_document, NULL, &err);
}

static void refused(const char *yaml, const char *words)
{
	enum pl_code code = parse(yaml);

	T_TRUE(code == PL_INVALID || code == PL_LIMIT);
	if (strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' has not '%s'", err.msg, words);
}

#define ZONES "zones: [{name: a}]\n"
#define SHAPES "shapes: [{name: s, cpu: 1, memory: 1Gi}]\n"

T_CASE(the_default_profile_is_valid)
{
	pl_arena_init(&arena, 0, 0);
	T_OK(parse(sim_profile_default), &err);
	T_EQ(profile.zones, 3);
	T_EQ(profile.shapes, 4);
	T_EQ(profile.shape_weight, 100);
	pl_arena_done(&arena);
}

T_CASE(errors_name_their_path)
{
	pl_arena_init(&arena, 0, 0);
	T_OK(parse(ZONES SHAPES), &err);
	refused("[]", "want an object");
	refused(ZONES, "shapes");
	refused("zones: []\n" SHAPES, "zones");
	refused(ZONES SHAPES "colour: red\n", "colour");
	refused(ZONES SHAPES "prefix: Node_1\n", "prefix");
	refused("zones: [{name: a, size: 3}]\n" SHAPES, "zones[0].size");
	refused("zones: [{name: a, weight: 0}]\n" SHAPES, "zones[0].weight");
	refused("zones: [{name: a, racks: 0}]\n" SHAPES, "zones[0].racks");
	refused("zones: [7]\n" SHAPES, "zones[0]");
	refused("zones: [{name: a}, {name: 'b c'}]\n" SHAPES, "in zones[1]");
	refused(ZONES "shapes: [{name: s, memory: 1Gi}]\n", "cpu");
	refused(ZONES "shapes: [{name: s, cpu: one, memory: 1Gi}]\n", "cpu");
	refused(ZONES "shapes: [{name: s, cpu: -1, memory: 1Gi}]\n", "shapes[0].cpu");
	refused(ZONES "shapes: [{name: s, cpu: 1, memory: 1Gi, taints: [{key: a}]}]\n",
	        "shapes[0].taints[0]");
	refused(ZONES "shapes: [{name: s, cpu: 1, memory: 1Gi, taints: [{key: a, "
	              "effect: Never}]}]\n",
	        "taints[0].effect");
	refused(ZONES "shapes: [{name: s, cpu: 1, memory: 1Gi, labels: {a: 7}}]\n",
	        "shapes[0].labels.a");
	refused(ZONES "shapes: [{name: s, cpu: 1, memory: 1Gi, labels: {'a b': x}}]\n",
	        "labels");
	refused(ZONES "shapes: [{name: s, cpu: 1, memory: 1Gi, resources: "
	              "{example.com/x: 1.5}}]\n",
	        "resources");
	/* A label that every node has anyway. */
	refused(ZONES SHAPES "labels: {kubernetes.io/os: plan9}\n", "labels");
	pl_arena_done(&arena);
}

static void node(uint64_t seed, uint64_t number, struct pl_buf *out)
{
	pl_buf_clear(out, 4096);
	T_EQ(sim_node_print(&profile, seed, number, out), PL_OK);
}

T_CASE(nodes_follow_from_the_profile)
{
	struct pl_buf one, two;
	unsigned same = 0, gpus = 0;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, 1 << 16);
	pl_buf_init(&two, 1 << 16);
	T_OK(parse(sim_profile_default), &err);
	for (uint64_t i = 0; i < 2000; i++) {
		node(7, i, &one);
		node(7, i, &two);
		T_SPAN(pl_buf_span(&one), pl_buf_span(&two));
		node(8, i, &two);
		same += pl_span_eq(pl_buf_span(&one), pl_buf_span(&two));
		gpus += memmem(one.at, one.len, "NoSchedule", 10) != NULL;
	}
	T_TRUE(same > 0 && same < 1000);
	T_TRUE(gpus > 15 && gpus < 80); /* 2 of 100 */
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
}

T_CASE(a_node_has_what_its_shape_says)
{
	struct pl_buf out;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&out, 1 << 16);
	T_OK(parse("prefix: m\nregion: r\nlabels: {x: w}\n"
	           "zones: [{name: z, racks: 1}]\n"
	           "shapes:\n- {name: s, cpu: 500m, memory: 1Gi, pods: 5, "
	           "resources: {example.com/f: 2}, labels: {k: v}, "
	           "taints: [{key: t, effect: NoExecute}]}\n"),
	     &err);
	node(1, 12, &out);
	T_SPAN(pl_buf_span(&out),
	       PL_SPAN_LIT(
		       "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
		       "\"m-000012\",\"labels\":{\"kubernetes.io/hostname\":"
		       "\"m-000012\",\"kubernetes.io/os\":\"linux\","
		       "\"kubernetes.io/arch\":\"amd64\","
		       "\"node.kubernetes.io/instance-type\":\"s\","
		       "\"topology.kubernetes.io/region\":\"r\","
		       "\"topology.kubernetes.io/zone\":\"z\","
		       "\"topology.placet.io/rack\":\"z-0\",\"x\":\"w\",\"k\":\"v\"}},"
		       "\"spec\":{\"taints\":[{\"key\":\"t\",\"effect\":\"NoExecute\"}]}"
		       ",\"status\":{\"allocatable\":{\"cpu\":\"500m\",\"memory\":"
		       "\"1Gi\",\"pods\":\"5\",\"example.com/f\":\"2\"}}}"));
	pl_buf_done(&out);
	pl_arena_done(&arena);
}

static enum pl_code tortured(void)
{
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = parse(ZONES SHAPES);
	pl_arena_done(&arena);
	return code;
}

T_CASE(without_memory_there_is_no_profile)
{
	t_torture(tortured, false);
}
