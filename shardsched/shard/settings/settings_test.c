#include <stdio.h>

#include "shardsched/shard/settings/settings.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct sched_settings settings;
static struct pl_err err;

static enum pl_code read_it(const char *text)
{
	struct pl_json json;

	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(text), NULL, &json, &err), &err);
	return settings_read(json, &arena, &settings, &err);
}

static void accept(const char *text)
{
	T_OK(read_it(text), &err);
}

static void refuse(const char *text, const char *why)
{
	struct sched_settings before = settings;

	T_CODE(read_it(text), PL_INVALID, &err);
	T_STR(err.msg, why);
	T_MEM(&settings, &before, sizeof settings);
}

static void prints(const char *want)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 16);
	pl_json_out_init(&out, &buf);
	settings_print(&settings, &out);
	T_EQ(pl_json_out_done(&out), PL_OK);
	T_SPAN(pl_buf_span(&buf), pl_span_str(want));
	pl_buf_done(&buf);
}

T_CASE(empty_settings_are_the_default)
{
	accept("{}");
	T_EQ(settings.sort, QUEUE_BY_PRIORITY);
	T_TRUE(!settings.fair && settings.batch_size == 0 && settings.cache_bytes == 0);
	T_TRUE(!settings.sort_given && settings.profiles.len == 0);
	prints("{\"profiles\":[{\"schedulerName\":\"default-scheduler\"}],"
	       "\"queue\":{\"sort\":\"priority\",\"fair\":false,"
	       "\"backoff_first_ms\":1000,\"backoff_max_ms\":10000},\"shard\":{}}");
	/* However the default profile is written. */
	accept("{\"kind\":\"KubeSchedulerConfiguration\",\"profiles\":[],"
	       "\"queue\":{\"backoff_max_ms\":500}}");
	T_EQ(settings.profiles.len, 0);
	prints("{\"profiles\":[{\"schedulerName\":\"default-scheduler\"}],"
	       "\"queue\":{\"sort\":\"priority\",\"fair\":false,"
	       "\"backoff_first_ms\":500,\"backoff_max_ms\":500},\"shard\":{}}");
	pl_arena_done(&arena);
}

T_CASE(all_settings_are_read_and_printed)
{
	accept("{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\","
	       "\"kind\":\"KubeSchedulerConfiguration\","
	       "\"profiles\":[{\"schedulerName\":\"a\"},{\"schedulerName\":\"b\"}],"
	       "\"queue\":{\"sort\":\"sla\",\"fair\":true,"
	       "\"weights\":{\"web\":3,\"shop\":2},\"backoff_first_ms\":10,"
	       "\"backoff_max_ms\":20},"
	       "\"shard\":{\"batch\":64,\"inflight\":2,\"cache_bytes\":1048576,"
	       "\"plugin_budget_ms\":250}}");
	T_EQ(settings.sort, QUEUE_BY_SLA);
	T_TRUE(settings.sort_given);
	T_EQ(settings.plugin_budget_ms, 250);
	T_EQ(settings.weights, 2);
	T_SPAN(settings.weight[0].namespace, PL_SPAN_LIT("shop"));
	T_EQ(settings.weight[1].weight, 3);
	prints("{\"profiles\":[{\"schedulerName\":\"a\"},{\"schedulerName\":\"b\"}],"
	       "\"queue\":{\"sort\":\"sla\",\"fair\":true,"
	       "\"weights\":{\"shop\":2,\"web\":3},\"backoff_first_ms\":10,"
	       "\"backoff_max_ms\":20},"
	       "\"shard\":{\"batch\":64,\"inflight\":2,\"cache_bytes\":1048576,"
	       "\"plugin_budget_ms\":250}}");
	pl_arena_done(&arena);
}

T_CASE(the_profiles_sort_the_queue_unless_queue_sort_does)
{
	static const char by_sla[] =
		"\"profiles\":[{\"plugins\":{\"queueSort\":{\"enabled\":[{\"name\":"
		"\"SLASort\"}],\"disabled\":[{\"name\":\"*\"}]}}}]";
	char text[512];

	(void)snprintf(text, sizeof text, "{%s}", by_sla);
	accept(text);
	T_EQ(settings.sort, QUEUE_BY_SLA);
	(void)snprintf(text, sizeof text, "{%s,\"queue\":{\"sort\":\"sla\"}}", by_sla);
	accept(text);
	(void)snprintf(text, sizeof text, "{%s,\"queue\":{\"sort\":\"priority\"}}",
	               by_sla);
	refuse(text, "queue.sort: the profiles sort by SLASort");
	pl_arena_done(&arena);
}

T_CASE(errors_carry_the_path_of_their_field)
{
	refuse("{\"profile\":[]}", "profile: unknown field");
	refuse("{\"queue\":{\"sort\":\"age\"}}", "queue.sort: want priority or sla");
	refuse("{\"queue\":{\"weights\":{\"shop\":3}}}",
	       "queue.weights: mean nothing without fair: true");
	refuse("{\"queue\":{\"fair\":true,\"weights\":{\"shop\":0}}}",
	       "queue.weights.shop: want 1 to 10000, got 0");
	refuse("{\"queue\":{\"fair\":true,\"weights\":{\"Shop\":1}}}",
	       "queue.weights: namespace 'Shop': want only a-z, 0-9 and -");
	refuse("{\"queue\":{\"backoff_first_ms\":20000}}",
	       "queue.backoff_first_ms: is over backoff_max_ms, 10000");
	refuse("{\"queue\":{\"backoff_first_ms\":30,\"backoff_max_ms\":20}}",
	       "queue.backoff_first_ms: is over backoff_max_ms, 20");
	refuse("{\"queue\":{\"backoff_first_ms\":0}}",
	       "queue.backoff_first_ms: want 1 to 3600000, got 0");
	refuse("{\"queue\":{\"backoff_max_ms\":3600001}}",
	       "queue.backoff_max_ms: want 1 to 3600000, got 3600001");
	refuse("{\"queue\":{\"weight\":{}}}", "queue.weight: unknown field");
	refuse("{\"shard\":{\"cache_bytes\":1048575}}",
	       "shard.cache_bytes: want 1048576 to 1099511627776, got 1048575");
	refuse("{\"shard\":{\"batch\":513}}", "shard.batch: want 1 to 512, got 513");
	refuse("{\"shard\":{\"inflight\":0}}", "shard.inflight: want 1 to 16, got 0");
	refuse("{\"shard\":{\"plugin_budget_ms\":0}}",
	       "shard.plugin_budget_ms: want 1 to 3600000, got 0");
	refuse("{\"shard\":{\"threads\":3}}", "shard.threads: unknown field");
	refuse("{\"profiles\":[{\"plugins\":{\"score\":{\"enabled\":[{\"name\":\"Nope\"}]"
	       "}}}]}",
	       "profiles[0].plugins.score.enabled[0].name: there is no such plugin");
	refuse("{\"profiles\":{}}", "profiles: want an array, got an object");
	refuse("{\"kind\":\"Pod\"}", "kind: must be KubeSchedulerConfiguration");
	pl_arena_done(&arena);
}

T_CASE(so_many_namespaces_have_weights_and_no_more)
{
	struct pl_buf buf;

	for (unsigned more = 0; more < 2; more++) {
		pl_buf_init(&buf, 1 << 20);
		T_EQ(pl_buf_add_str(&buf, "{\"queue\":{\"fair\":true,\"weights\":{"),
		     PL_OK);
		for (unsigned i = 0; i < SETTINGS_WEIGHTS_MAX + more; i++)
			T_EQ(pl_buf_printf(&buf, "%s\"n-%u\":1", i == 0 ? "" : ",", i),
			     PL_OK);
		T_EQ(pl_buf_add(&buf, pl_span("}}}", 4)), PL_OK);
		T_EQ(read_it((const char *)pl_buf_span(&buf).at),
		     more == 0 ? PL_OK : PL_LIMIT);
		pl_buf_done(&buf);
	}
	T_STR(err.msg, "queue.weights: more than 4096 namespaces");
	pl_arena_done(&arena);
}

static enum pl_code tortured(void)
{
	static const char text[] = "{\"profiles\":[{\"schedulerName\":\"a\"}],"
				   "\"queue\":{\"fair\":true,\"weights\":{\"a\":2}}}";
	struct pl_arena small;
	struct pl_json json;
	enum pl_code code;

	pl_arena_init(&small, 64, 0);
	code = pl_json_parse(&small, pl_span_str(text), NULL, &json, &err);
	if (code == PL_OK)
		code = settings_read(json, &small, &settings, &err);
	pl_arena_done(&small);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(tortured, false);
}
