#include "coord/config/config_diff.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;

static struct pl_json parsed(const char *text)
{
	struct pl_json json = {0};

	T_OK(pl_json_parse(&arena, pl_span_str(text), NULL, &json, &err), &err);
	return json;
}

static void differs(const char *before, const char *after, const char *want)
{
	struct pl_json left, right;
	struct pl_buf buf;
	bool same = false;

	pl_arena_init(&arena, 0, 0);
	left = parsed(before);
	right = parsed(after);
	pl_buf_init(&buf, 4096);
	T_OK(config_diff_text(left, right, &buf, &err), &err);
	T_OK(pl_buf_add(&buf, pl_span("", 1)), &err);
	T_STR((const char *)buf.at, want);
	T_OK(config_same(left, right, &same), &err);
	T_EQ(same, *want == 0);
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

T_CASE(members_are_compared_by_name)
{
	differs("{}", "{}", "");
	differs("{\"a\":1,\"b\":{\"c\":\"x\"}}", "{\"b\":{\"c\":\"x\"},\"a\":1}", "");
	differs("{\"handover_ms\":2000}", "{\"handover_ms\":500}",
	        "- .handover_ms: 2000\n+ .handover_ms: 500\n");
	differs("{\"balancer\":{\"enabled\":true,\"x\":1}}",
	        "{\"balancer\":{\"enabled\":false},\"settle_ms\":3}",
	        "- .balancer.enabled: true\n+ .balancer.enabled: false\n"
	        "- .balancer.x: 1\n+ .settle_ms: 3\n");
	differs("{\"a\":1}", "{\"a\":\"1\"}", "- .a: 1\n+ .a: \"1\"\n");
	differs("{\"a\":null}", "{\"a\":null}", "");
	differs("{\"a\":null}", "{}", "- .a: null\n");
}

T_CASE(arrays_of_scalars_are_sets)
{
	differs("{\"drain\":[\"a\",\"b\"]}", "{\"drain\":[\"b\",\"a\"]}", "");
	differs("{\"drain\":[\"a\",\"b\"]}", "{\"drain\":[\"c\",\"b\"]}",
	        "- .drain: \"a\"\n+ .drain: \"c\"\n");
	differs("{\"drain\":[\"a\",\"a\"]}", "{\"drain\":[\"a\"]}", "- .drain: \"a\"\n");
	differs("{\"l\":[{\"a\":1},[2]]}", "{\"l\":[{\"a\":2},[3]]}",
	        "- .l[0].a: 1\n+ .l[0].a: 2\n- .l[1]: 2\n+ .l[1]: 3\n");
}

T_CASE(empty_is_told_from_absent_only)
{
	differs("{\"drain\":[]}", "{\"drain\":[\"a\"]}", "+ .drain: \"a\"\n");
	differs("{\"factors\":{\"a\":1}}", "{\"factors\":{}}", "- .factors.a: 1\n");
	differs("{}", "{\"factors\":{}}", "+ .factors: {}\n");
	differs("{}", "{\"factors\":{\"a.b\":1}}", "+ .factors.\"a.b\": 1\n");
	differs("{\"a\":1}", "{\"a\":{\"b\":1}}", "- .a: 1\n+ .a.b: 1\n");
	differs("{\"a\":[]}", "{\"a\":{}}", "- .a: []\n+ .a: {}\n");
	differs("1", "2", "- .: 1\n+ .: 2\n");
}

static struct pl_json big_before, big_after;

static enum pl_code tortured(void)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, 4096);
	code = config_diff_text(big_before, big_after, &buf, &err);
	pl_buf_done(&buf);
	return code;
}

T_CASE(memory_may_run_out)
{
	pl_arena_init(&arena, 0, 0);
	big_before = parsed("{\"drain\":[\"a\",\"b\"],\"x\":{\"y\":1}}");
	big_after = parsed("{\"drain\":[\"c\",\"b\"],\"x\":{\"y\":2}}");
	t_torture(tortured, false);
	pl_arena_done(&arena);
}
