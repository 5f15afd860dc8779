#include "coord/config/config.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;
static struct config_value value;

static enum pl_code parse_json(const char *text, struct pl_json *out)
{
	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	return pl_json_parse(&arena, pl_span_str(text), NULL, out, &err);
}

static void accept(enum config_name name, const char *text)
{
	struct pl_json json = {0};

	T_OK(parse_json(text, &json), &err);
	T_OK(config_parse(name, json, &arena, &value, &err), &err);
	T_EQ(value.name, name);
}

static void refuse(enum config_name name, const char *text, const char *why)
{
	struct pl_json json = {0};
	struct config_value before = value;

	T_OK(parse_json(text, &json), &err);
	T_CODE(config_parse(name, json, &arena, &value, &err), PL_INVALID, &err);
	T_STR(err.msg, why);
	T_MEM(&value, &before, sizeof value);
}

static const char *printed(void)
{
	static char text[4096];
	struct pl_buf buf;

	pl_buf_init(&buf, sizeof text - 1);
	T_OK(config_print(&value, &buf, &err), &err);
	memcpy(text, buf.at, buf.len);
	text[buf.len] = 0;
	pl_buf_done(&buf);
	return text;
}

static const char coord_default[] =
	"{\"handover_ms\":2000,\"settle_ms\":300,\"refresh_ms\":10000,"
	"\"balancer\":{\"enabled\":true,\"interval_ms\":30000,\"threshold_percent\":10,"
	"\"moves_percent\":10},"
	"\"janitor\":{\"enabled\":true,\"interval_ms\":30000,\"keep_revisions\":200000,"
	"\"history_bytes\":268435456,"
	"\"pin_max_ms\":600000,\"config_history\":100}}";

T_CASE(unknown_names_are_refused_with_the_known_ones)
{
	enum config_name name = CONFIG_COORD;

	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		const char *text = config_name_text((enum config_name)i);

		T_OK(config_name_parse(pl_span_str(text), &name, &err), &err);
		T_EQ(name, i);
	}
	T_CODE(config_name_parse(PL_SPAN_LIT("coords"), &name, &err), PL_NOTFOUND, &err);
	T_STR(err.msg,
	      "configuration 'coords': there are coord, shards, weights, scheduler and access");
}

T_CASE(absent_fields_have_their_defaults)
{
	config_default(CONFIG_COORD, &value);
	T_STR(printed(), coord_default);
	accept(CONFIG_COORD, "{}");
	T_STR(printed(), coord_default);
	accept(CONFIG_COORD, "{\"janitor\":{\"config_history\":2},\"handover_ms\":null,"
	                     "\"balancer\":{\"enabled\":false},\"settle_ms\":0}");
	T_EQ(value.coord.janitor.config_history, 2);
	T_EQ(value.coord.janitor.keep_revisions, 200000);
	T_EQ(value.coord.handover_ms, 2000);
	T_EQ(value.coord.settle_ms, 0);
	T_TRUE(!value.coord.balancer.enabled && value.coord.janitor.enabled);
	config_default(CONFIG_SHARDS, &value);
	T_STR(printed(), "{\"drain\":[]}");
	config_default(CONFIG_WEIGHTS, &value);
	T_STR(printed(), "{\"factors\":{}}");
}

/* Every field has its own place: what was printed parses to the same value. */
T_CASE(every_field_is_read_and_printed)
{
	static const char text[] =
		"{\"handover_ms\":1,\"settle_ms\":2,\"refresh_ms\":500,"
		"\"balancer\":{\"enabled\":false,\"interval_ms\":1001,"
		"\"threshold_percent\":3,\"moves_percent\":4},"
		"\"janitor\":{\"enabled\":false,\"interval_ms\":1002,"
		"\"keep_revisions\":1003,\"history_bytes\":1048577,\"pin_max_ms\":1004,\"config_history\":5}}";

	accept(CONFIG_COORD, text);
	T_STR(printed(), text);
	T_EQ(value.coord.handover_ms, 1);
	T_EQ(value.coord.settle_ms, 2);
	T_EQ(value.coord.refresh_ms, 500);
	T_EQ(value.coord.balancer.interval_ms, 1001);
	T_EQ(value.coord.balancer.threshold_percent, 3);
	T_EQ(value.coord.balancer.moves_percent, 4);
	T_EQ(value.coord.janitor.interval_ms, 1002);
	T_EQ(value.coord.janitor.keep_revisions, 1003);
	T_EQ(value.coord.janitor.history_bytes, 1048577);
	T_EQ(value.coord.janitor.pin_max_ms, 1004);
}

T_CASE(coord_is_refused_with_the_path)
{
	refuse(CONFIG_COORD, "[]", "document: want an object, got an array");
	refuse(CONFIG_COORD, "{\"handover\":1}", "handover: unknown field");
	refuse(CONFIG_COORD, "{\"balancer\":{\"keep_revisions\":2000}}",
	       "balancer.keep_revisions: unknown field");
	refuse(CONFIG_COORD, "{\"balancer\":3}",
	       "balancer: want an object, got a number");
	refuse(CONFIG_COORD, "{\"handover_ms\":0}",
	       "handover_ms: want 1 to 60000, got 0");
	refuse(CONFIG_COORD, "{\"handover_ms\":60001}",
	       "handover_ms: want 1 to 60000, got 60001");
	refuse(CONFIG_COORD, "{\"handover_ms\":1.5}",
	       "handover_ms: want a whole number, got a fraction");
	refuse(CONFIG_COORD, "{\"janitor\":{\"enabled\":\"yes\"}}",
	       "janitor.enabled: want a boolean, got a string");
	refuse(CONFIG_COORD, "{\"janitor\":{\"config_history\":1}}",
	       "janitor.config_history: want 2 to 1000, got 1");
}

T_CASE(drains_are_sorted_names)
{
	accept(CONFIG_SHARDS, "{\"drain\":[\"west-1\",\"east-10\",\"east-1\"]}");
	T_STR(printed(), "{\"drain\":[\"east-1\",\"east-10\",\"west-1\"]}");
	T_TRUE(config_drains(&value.shards, PL_SPAN_LIT("east-1")));
	T_TRUE(config_drains(&value.shards, PL_SPAN_LIT("east-10")));
	T_TRUE(config_drains(&value.shards, PL_SPAN_LIT("west-1")));
	T_TRUE(!config_drains(&value.shards, PL_SPAN_LIT("east-")));
	T_TRUE(!config_drains(&value.shards, PL_SPAN_LIT("x")));
	refuse(CONFIG_SHARDS, "{\"drain\":[\"a\",\"b\",\"a\"]}",
	       "drain: 'a' stands twice");
	refuse(CONFIG_SHARDS, "{\"drain\":[\"a\",7]}",
	       "drain[1]: want a string, got a number");
	refuse(CONFIG_SHARDS, "{\"drain\":[\"A\"]}",
	       "drain[0]: shard 'A': want only a-z, 0-9, - and .");
	refuse(CONFIG_SHARDS, "{\"undrain\":[]}", "undrain: unknown field");
}

T_CASE(factors_are_thousandths)
{
	accept(CONFIG_WEIGHTS, "{\"factors\":{\"b\":1250,\"a\":1,\"c\":1000000}}");
	T_STR(printed(), "{\"factors\":{\"a\":1,\"b\":1250,\"c\":1000000}}");
	T_EQ(config_factor(&value.weights, PL_SPAN_LIT("a")), 1);
	T_EQ(config_factor(&value.weights, PL_SPAN_LIT("b")), 1250);
	T_EQ(config_factor(&value.weights, PL_SPAN_LIT("c")), 1000000);
	T_EQ(config_factor(&value.weights, PL_SPAN_LIT("d")), 1000);
	refuse(CONFIG_WEIGHTS, "{\"factors\":{\"a\":0}}",
	       "factors.a: want 1 to 1000000, got 0");
	refuse(CONFIG_WEIGHTS, "{\"factors\":{\"a_b\":1}}",
	       "factors: shard 'a_b': want only a-z, 0-9, - and .");
}

/* settings_test.c has the rest. */
T_CASE(the_scheduler_is_configured_as_kubernetes_does)
{
	accept(CONFIG_SCHEDULER, "{}");
	T_STR(printed(), "{\"profiles\":[{\"schedulerName\":\"default-scheduler\"}],"
	                 "\"queue\":{\"sort\":\"priority\",\"fair\":false,"
	                 "\"backoff_first_ms\":1000,\"backoff_max_ms\":10000},"
	                 "\"shard\":{}}");
	accept(CONFIG_SCHEDULER, "{\"queue\":{\"backoff_max_ms\":500}}");
	T_EQ(value.scheduler.backoff_max_ms, 500);
	accept(CONFIG_SCHEDULER, printed());
	T_EQ(value.scheduler.backoff_first_ms, 500);
}

/* access_document_test.c has the rest. */
T_CASE(access_says_who_may_what)
{
	config_default(CONFIG_ACCESS, &value);
	T_EQ(value.access.binding_count, 0);
	accept(CONFIG_ACCESS, printed());
	accept(CONFIG_ACCESS, "{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"a\"]}]}");
	T_EQ(value.access.binding_count, 1);
	refuse(CONFIG_ACCESS, "{\"bindings\":[{\"role\":\"viewer\"}]}",
	       "bindings[0]: want users or groups");
}

/* The operator's rule names the configurations, so that one that is added is the admin's until
 * its rule is written. */
T_CASE(operators_change_all_configurations_but_access)
{
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		const struct access_attributes asked = {
			.is_resource = true,
			.verb = PL_SPAN_LIT("update"),
			.group = PL_SPAN_LIT("placet.io"),
			.resource = PL_SPAN_LIT("configs"),
			.name = pl_span_str(config_name_text((enum config_name)i))};

		T_EQ(access_role_gives(ACCESS_OPERATOR, &asked), i != CONFIG_ACCESS);
	}
}

static enum pl_code tortured(void)
{
	static const char *const texts[CONFIG_NAME_COUNT] = {
		[CONFIG_COORD] = "{\"settle_ms\":1}",
		[CONFIG_SHARDS] = "{\"drain\":[\"a\",\"b\"]}",
		[CONFIG_WEIGHTS] = "{\"factors\":{\"a\":1,\"b\":2}}",
		[CONFIG_SCHEDULER] = "{\"shard\":{\"batch\":9}}",
		[CONFIG_ACCESS] =
			"{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"a\"]}]}",
	};
	struct pl_arena small;
	struct pl_buf buf;
	struct pl_json json = {0};
	enum pl_code code = PL_OK;

	pl_arena_init(&small, 64, 0);
	pl_buf_init(&buf, 4096);
	for (unsigned i = 0; i < CONFIG_NAME_COUNT && code == PL_OK; i++) {
		code = pl_json_parse(&small, pl_span_str(texts[i]), NULL, &json, &err);
		if (code == PL_OK)
			code = config_parse((enum config_name)i, json, &small, &value,
			                    &err);
		if (code == PL_OK)
			code = config_print(&value, &buf, &err);
	}
	pl_buf_done(&buf);
	pl_arena_done(&small);
	return code;
}

T_CASE(memory_may_run_out)
{
	t_torture(tortured, false);
}
