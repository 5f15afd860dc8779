/* A digest says no only where no node of its partition would do. */
#include "tests/support/shardsched/shard/shards_rig.h"

static char name_of[16];

static uint32_t pod_location_of;

/* Picks a node of another shard than a (0). */
static void pick(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		(void)snprintf(name_of, sizeof name_of, "%s", node_name(i));
		pod_location_of = partition_of_name(name_of);
		if (owner[pod_location_of] != 0)
			return;
	}
	T_TRUE(false);
}

static void all_nodes(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned n = 0; n < SHARDS; n++) {
			select_shard(n);
			rig_run_idle(&rig);
		}
		rig.now_ms += 250;
	}
}

static void node_is(const char *more)
{
	char key[128];

	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", pod_location_of, name_of);
	rig_put(&rig, key, rig_node_json(name_of, "4", more));
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", pod_location_of, name_of);
	rig_put(&rig, key, "{\"v\":1,\"generation\":2}");
}

static void configure(const char *profiles)
{
	for (unsigned n = 0; n < SHARDS; n++) {
		struct sched_settings settings = {.profiles = pl_span_str(profiles)};

		select_shard(n);
		T_OK(sched_configure(rig.sched, &settings, &rig.err), &rig.err);
	}
}

static const char *placed_with(const char *node_more, const char *pod_more,
                               const char *profiles)
{
	static char where[128];
	char more[512];

	remote_ever = 0;
	open_all(3);
	pick();
	if (profiles != NULL)
		configure(profiles);
	node_is(node_more);
	all_nodes(60);
	(void)snprintf(more, sizeof more, ",\"nodeSelector\":{\"host\":\"%s\"}%s",
	               name_of, pod_more);
	rig_pod(&rig, 0, "p-0", "1", more);
	all_nodes(400); /* 100 s */
	(void)snprintf(where, sizeof where, "%s", rig_where(&rig, 0, "p-0"));
	close_all();
	return where;
}

T_CASE(nothing_keeps_the_pod_away)
{
	T_STR(placed_with("", "", NULL), name_of);
}

T_CASE(a_taint_that_is_tolerated)
{
	T_STR(placed_with("\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]",
	                  ",\"tolerations\":[{\"operator\":\"Exists\"}]", NULL),
	      name_of);
}

T_CASE(a_taint_without_a_value_that_is_tolerated)
{
	T_STR(placed_with("\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]",
	                  ",\"tolerations\":[{\"key\":\"a\",\"operator\":\"Equal\"}]",
	                  NULL),
	      name_of);
}

T_CASE(a_cordoned_node_that_is_tolerated)
{
	T_STR(placed_with("\"unschedulable\":true",
	                  ",\"tolerations\":[{\"operator\":\"Exists\"}]", NULL),
	      name_of);
}

T_CASE(taints_that_the_profile_ignores)
{
	T_STR(placed_with("\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]", "",
	                  "{\"profiles\":[{\"schedulerName\":\"default-scheduler\","
	                  "\"plugins\":{\"multiPoint\":{\"disabled\":[{\"name\":"
	                  "\"TaintToleration\"}]}}}]}"),
	      name_of);
}

/* The Node has none of the resource, and the profile does not ask for it. */
static const char *foo(const char *profiles)
{
	static char where[128];
	char key[128], json[1024];

	open_all(3);
	pick();
	if (profiles != NULL)
		configure(profiles);
	all_nodes(60);
	(void)snprintf(key, sizeof key, "/schedules/0000/web/p-0/spec");
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"p-0\",\"uid\":"
	               "\"u-p\"},\"spec\":{\"nodeSelector\":{\"host\":\"%s\"},"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"1\",\"example.com/foo\":\"1\"}}}]}}",
	               name_of);
	rig_put(&rig, key, json);
	all_nodes(400);
	(void)snprintf(where, sizeof where, "%s", rig_where(&rig, 0, "p-0"));
	close_all();
	return where;
}

T_CASE(a_resource_that_no_node_has)
{
	T_STR(foo(NULL), "Pending");
}

T_CASE(a_resource_that_the_profile_ignores)
{
	T_STR(foo("{\"profiles\":[{\"schedulerName\":\"default-scheduler\","
	          "\"pluginConfig\":[{\"name\":\"NodeResourcesFit\",\"args\":{"
	          "\"ignoredResources\":[\"example.com/foo\"]}}]}]}"),
	      name_of);
}
