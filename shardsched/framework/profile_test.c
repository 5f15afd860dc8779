#include <stdio.h>

#include "shardsched/framework/profile.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

/* Plugins that do nothing: profiles only look at which functions a row has. */
static void says_nothing(const struct plugin_call *call, uint32_t slot,
                         struct verdict *verdict)
{
	(void)call, (void)slot, (void)verdict;
}

static bool scores_nothing(const struct plugin_call *call, struct node_span span,
                           int64_t *score)
{
	(void)call, (void)span, (void)score;
	return false;
}

static enum verdict_code binds(const struct plugin_call *call, uint32_t slot,
                               struct verdict *verdict)
{
	(void)call, (void)slot, (void)verdict;
	return VERDICT_SUCCESS;
}

struct level_args {
	int64_t level;
	uint32_t text;
};

static enum pl_code level_parse(struct model *model, struct pl_json json, void *args,
                                struct pl_err *err)
{
	static const char *const known[] = {"level", NULL};
	struct level_args *to = args;

	to->level = 7;
	if (json.node != NULL) {
		enum pl_code code = pl_json_only(json, known, err);

		if (code == PL_OK)
			code = pl_json_int(json, "level", PL_JSON_OPTIONAL, &to->level,
			                   err);
		if (code != PL_OK)
			return code;
	}
	if (strings_add(&model->strings, pl_span_str("level"), &to->text) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "out of memory");
	return PL_OK;
}

static void level_drop(struct model *model, void *args)
{
	strings_unref(&model->strings, ((struct level_args *)args)->text);
}

static const enum queue_sort by_priority = QUEUE_BY_PRIORITY, by_sla = QUEUE_BY_SLA;

static const struct plugin row_sort = {.name = "Sort", .sort = &by_priority};
static const struct plugin row_sla = {.name = "Sla", .sort = &by_sla};
static const struct plugin row_a = {
	.name = "A", .why = says_nothing, .score = scores_nothing, .weight = 3};
static const struct plugin row_b = {.name = "B",
                                    .why = says_nothing,
                                    .score = scores_nothing,
                                    .args_size = sizeof(struct level_args),
                                    .args_parse = level_parse,
                                    .args_drop = level_drop};
static const struct plugin row_c = {.name = "C", .score = scores_nothing, .weight = 2};
static const struct plugin row_d = {.name = "D", .why = says_nothing};
static const struct plugin row_bind = {.name = "Bind", .bind = binds};

static const struct plugin *const rows[] = {&row_sort, &row_sla, &row_a,   &row_b,
                                            &row_c,    &row_d,   &row_bind};
/* All rows but Sla and D are enabled by default. */
static const struct plugin_table table = {rows, 7, 0x5d};

static struct model model;
static struct profiles profiles;
static struct pl_err err;

static enum pl_code parse(const char *json)
{
	struct pl_span span = pl_span_str(json);

	return profiles_parse(&model, &table, span, &profiles, &err);
}

/* The plugins of a point as "C:2 A:3", with their weights. */
static const char *shown(unsigned profile, enum point point)
{
	static char text[200];
	const struct profile *of = &profiles.at[profile];
	size_t len = 0;

	text[0] = 0;
	for (unsigned i = 0; i < of->at[point].count; i++) {
		unsigned plugin = of->at[point].plugin[i];

		len += (size_t)snprintf(text + len, sizeof text - len, "%s%s",
		                        i == 0 ? "" : " ", rows[plugin]->name);
		if (point == POINT_SCORE)
			len += (size_t)snprintf(text + len, sizeof text - len, ":%d",
			                        of->weight[plugin]);
	}
	return text;
}

static void accepts(const char *plugins, const char *filter, const char *score)
{
	char json[1000];

	model_init(&model);
	(void)snprintf(json, sizeof json, "{\"profiles\":[{\"plugins\":%s}]}", plugins);
	T_OK(parse(json), &err);
	T_STR(shown(0, POINT_FILTER), filter);
	T_STR(shown(0, POINT_SCORE), score);
	T_STR(shown(0, POINT_QUEUE_SORT), "Sort");
	T_STR(shown(0, POINT_BIND), "Bind");
	profiles_drop(&profiles);
	model_done(&model);
}

static void refuses(const char *json, const char *why)
{
	model_init(&model);
	T_EQ(parse(json), PL_INVALID);
	T_STR(err.msg, why);
	model_done(&model); /* asserts that nothing is left */
}

T_CASE(empty_configuration_is_the_default)
{
	static const char *const nothing[] = {"", "{}", "{\"profiles\":[]}",
	                                      "{\"profiles\":[{}]}"};

	for (unsigned i = 0; i < 4; i++) {
		const struct level_args *args = NULL;
		uint32_t name = 0;

		model_init(&model);
		T_OK(parse(nothing[i]), &err);
		T_EQ(profiles.count, 1);
		T_STR(shown(0, POINT_FILTER), "A B");
		T_STR(shown(0, POINT_SCORE), "A:3 B:1 C:2");
		T_EQ(profiles.at[0].enabled, 0x5d);
		args = profiles.at[0].args[3];
		T_EQ(args->level, 7);
		name = strings_find(&model.strings, pl_span_str("default-scheduler"));
		T_TRUE(profiles_find(&profiles, name) == &profiles.at[0]);
		T_TRUE(profiles_find(&profiles, 0) == NULL);
		profiles_drop(&profiles);
		model_done(&model);
	}
}

T_CASE(points_are_merged_as_in_kube_scheduler)
{
	accepts("{\"score\":{\"disabled\":[{\"name\":\"A\"}]}}", "A B", "B:1 C:2");
	accepts("{\"score\":{\"disabled\":[{\"name\":\"*\"}],"
	        "\"enabled\":[{\"name\":\"C\",\"weight\":5},{\"name\":\"A\"}]}}",
	        "A B", "C:5 A:1");
	/* A plugin that is named again comes before the others, with the given weight. */
	accepts("{\"score\":{\"enabled\":[{\"name\":\"C\",\"weight\":9}]}}", "A B",
	        "C:9 A:3 B:1");
	accepts("{\"filter\":{\"enabled\":[{\"name\":\"D\"},{\"name\":\"B\"}]}}", "B A D",
	        "A:3 B:1 C:2");
	/* multiPoint: a plugin of the defaults keeps its place, another one comes at the
	 * end. */
	accepts("{\"multiPoint\":{\"enabled\":[{\"name\":\"D\"},{\"name\":\"B\","
	        "\"weight\":4},{\"name\":\"A\"}]}}",
	        "A B D", "A:1 B:4 C:2");
	accepts("{\"multiPoint\":{\"disabled\":[{\"name\":\"A\"}]}}", "B", "B:1 C:2");
	accepts("{\"multiPoint\":{\"disabled\":[{\"name\":\"*\"}],\"enabled\":[{\"name\":"
	        "\"Sort\"},{\"name\":\"Bind\"},{\"name\":\"B\"},{\"name\":\"A\"}]}}",
	        "B A", "B:1 A:1");
	accepts("{\"multiPoint\":{\"disabled\":[{\"name\":\"A\"}],\"enabled\":[{\"name\":"
	        "\"A\",\"weight\":8}]},\"score\":null}",
	        "B A", "B:1 C:2 A:8");
}

T_CASE(several_profiles_are_found_by_name)
{
	const struct level_args *args = NULL;

	model_init(&model);
	T_OK(parse("{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":"
	           "\"KubeSchedulerConfiguration\",\"profiles\":[{},{\"schedulerName\":"
	           "\"bulk\",\"pluginConfig\":[{\"name\":\"B\",\"args\":{\"level\":3}},"
	           "{\"name\":\"A\"}]}]}"),
	     &err);
	T_EQ(profiles.count, 2);
	args = profiles.at[1].args[3];
	T_EQ(args->level, 3);
	T_TRUE(profiles_find(&profiles,
	                     strings_find(&model.strings, pl_span_str("bulk"))) ==
	       &profiles.at[1]);
	profiles_drop(&profiles);
	T_OK(parse("{\"profiles\":[{\"plugins\":{\"queueSort\":{\"disabled\":[{\"name\":"
	           "\"*\"}],\"enabled\":[{\"name\":\"Sla\"}]}}}]}"),
	     &err);
	T_STR(shown(0, POINT_QUEUE_SORT), "Sla");
	profiles_drop(&profiles);
	model_done(&model);
}

T_CASE(errors_carry_the_path_of_their_field)
{
	refuses("[]", "document: want an object, got an array");
	refuses("{\"kind\":\"Pod\"}", "kind: must be KubeSchedulerConfiguration");
	refuses("{\"apiVersion\":\"v1\"}",
	        "apiVersion: must be kubescheduler.config.k8s.io/v1");
	refuses("{\"parallelism\":16}", "parallelism: unknown field");
	refuses("{\"profiles\":[{\"plugins\":{\"sort\":{}}}]}",
	        "profiles[0].plugins.sort: unknown field");
	refuses("{\"profiles\":[{\"schedulerName\":\"\"}]}",
	        "profiles[0].schedulerName: a name is required");
	refuses("{\"profiles\":[{},{\"schedulerName\":\"default-scheduler\"}]}",
	        "profiles[1]: there is another profile named default-scheduler");
	refuses("{\"profiles\":[{\"plugins\":{\"filter\":{\"enabled\":[{\"name\":\"X\"}]}}}]}",
	        "profiles[0].plugins.filter.enabled[0].name: there is no such plugin");
	refuses("{\"profiles\":[{\"plugins\":{\"filter\":{\"enabled\":[{\"name\":\"C\"}]}}}]}",
	        "profiles[0].plugins.filter.enabled[0]: this plugin has no function at filter");
	refuses("{\"profiles\":[{\"plugins\":{\"score\":{\"enabled\":[{\"name\":\"A\"},"
	        "{\"name\":\"A\"}]}}}]}",
	        "profiles[0].plugins.score.enabled[1]: this plugin is enabled twice");
	refuses("{\"profiles\":[{\"plugins\":{\"score\":{\"disabled\":[{\"name\":\"A\"},"
	        "{\"name\":\"A\"}]}}}]}",
	        "profiles[0].plugins.score.disabled[1]: this plugin is disabled twice");
	refuses("{\"profiles\":[{\"plugins\":{\"score\":{\"enabled\":[{\"name\":\"A\","
	        "\"weight\":100001}]}}}]}",
	        "profiles[0].plugins.score.enabled[0].weight: want 0 to 100000, got 100001");
	refuses("{\"profiles\":[{\"plugins\":{\"score\":{\"enabled\":[{\"weight\":1}]}}}]}",
	        "profiles[0].plugins.score.enabled[0].name: missing");
	refuses("{\"profiles\":[{\"pluginConfig\":[{\"name\":\"A\",\"args\":{}}]}]}",
	        "profiles[0].pluginConfig[0].args: this plugin takes no arguments");
	refuses("{\"profiles\":[{\"pluginConfig\":[{\"name\":\"B\"},{\"name\":\"B\"}]}]}",
	        "profiles[0].pluginConfig[1]: this plugin is configured twice");
	refuses("{\"profiles\":[{\"pluginConfig\":[{\"name\":\"B\",\"args\":{\"levle\":1}}]}]}",
	        "profiles[0].pluginConfig[0].args.levle: unknown field");
	refuses("{\"profiles\":[{\"plugins\":{\"queueSort\":{\"enabled\":[{\"name\":\"Sla\"}]}}}]}",
	        "profiles[0]: exactly one plugin is required at queueSort, not 2");
	refuses("{\"profiles\":[{\"plugins\":{\"bind\":{\"disabled\":[{\"name\":\"*\"}]}}}]}",
	        "profiles[0]: a plugin is required at bind");
	refuses("{\"profiles\":[{},{\"schedulerName\":\"x\",\"plugins\":{\"queueSort\":"
	        "{\"disabled\":[{\"name\":\"Sort\"}],\"enabled\":[{\"name\":\"Sla\"}]}}}]}",
	        "profiles[1]: all profiles need the same plugin at queueSort");
}

T_CASE(profiles_are_bounded)
{
	char json[2000] = "{\"profiles\":[{}";

	model_init(&model);
	for (unsigned i = 0; i < PROFILES_MAX; i++)
		(void)snprintf(json + strlen(json), sizeof json - strlen(json),
		               ",{\"schedulerName\":\"s%u\"}", i);
	(void)snprintf(json + strlen(json), sizeof json - strlen(json), "]}");
	T_EQ(parse(json), PL_LIMIT);
	model_done(&model);
}

static enum pl_code tortured(void)
{
	enum pl_code code = PL_OK;

	model_init(&model);
	code = parse("{\"profiles\":[{},{\"schedulerName\":\"bulk\",\"pluginConfig\":"
	             "[{\"name\":\"B\",\"args\":{\"level\":3}}]}]}");
	if (code == PL_OK)
		profiles_drop(&profiles);
	model_done(&model);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(tortured, false);
}
