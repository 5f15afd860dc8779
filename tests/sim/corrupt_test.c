/*
 * Operators restore, after manual edits, the spec that belongs in the partition in which
 * it is missing. For that the scenario knows the partition of each incarnation of a pod,
 * and it is the product's.
 */
#include <string.h>

#include "shardsched/model/parse.h"
#include "shardsched/records/pod_location.h"
#include "store/kv/calls.h"
#include "tests/harness/t.h"
#include "tests/sim/client.h"
#include "tests/sim/corrupt.h"

enum {
	PARTITIONS = 13,
	PODS = SCENARIO_PODS_MIN,
	CALL_MS = 1000,
	ARENA_CHUNK = 1 << 16,
	/* This pod of a StatefulSet has a rule at first, and then none. The controller
	 * falls in partition 10, and the name in partition 0. */
	POD = 181,
	WITH_RULE_AT = 10,
	WITHOUT_RULE_AT = 0,
};

static const char state_of_third[] = "{\"v\":1,\"uid\":\"u-181-2\",\"phase\":\"Pending\","
				     "\"since\":\"2026-09-21T14:13:29.186Z\"}";

/* -- where pods stand -------------------------------------------------------- */

static uint32_t product_partition(uint32_t pod, uint32_t incarnation)
{
	struct scenario_pod what = scenario_pod_first(pod);
	char json[SCENARIO_JSON_SIZE];
	struct pod_location location = {0};
	struct pl_err err = {0};
	struct model model;
	struct pl_arena arena;
	struct parse parse = {.model = &model, .arena = &arena};
	struct pod parsed;

	what.incarnation = incarnation;
	scenario_pod_json(pod, &what, json);
	model_init(&model);
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	T_OK(pod_parse(&parse, pl_span_str(json), &parsed, &err), &err);
	T_OK(pod_location_of(&model, &parsed, PARTITIONS, &location, &err), &err);
	pod_drop(&model, &parsed);
	pl_arena_done(&arena);
	model_done(&model);
	return location.partition;
}

T_CASE(partitions_are_those_of_the_product)
{
	unsigned moves = 0;

	for (uint32_t pod = 0; pod < PODS; pod++)
		for (uint32_t i = 0; i <= SCENARIO_LABEL_SETS; i++) {
			T_EQ(scenario_pod_partition(pod, i, PARTITIONS),
			     product_partition(pod, i));
			moves += i > 0 &&
			         scenario_pod_partition(pod, i, PARTITIONS) !=
			                 scenario_pod_partition(pod, i - 1, PARTITIONS);
		}
	T_TRUE(moves > PODS / 4);
}

T_CASE(known_incarnation_counts_where_it_stands)
{
	T_EQ(scenario_pod_partition(POD, 0, PARTITIONS), WITH_RULE_AT);
	T_EQ(scenario_pod_partition(POD, 1, PARTITIONS), WITHOUT_RULE_AT);
	T_EQ(scenario_pod_in(POD, 2, WITHOUT_RULE_AT, PARTITIONS).incarnation, 2);
	T_EQ(scenario_pod_in(POD, 2, WITH_RULE_AT, PARTITIONS).incarnation, 0);
	T_EQ(scenario_pod_in(POD, 0, WITHOUT_RULE_AT, PARTITIONS).incarnation, 1);
	T_EQ(scenario_pod_in(POD, UINT32_MAX, WITH_RULE_AT, PARTITIONS).incarnation, 0);
}

/* -- what is restored -------------------------------------------------------- */

static struct world world;

static void on_failed(struct world *w, const char *check, const char *why)
{
	(void)w;
	t_fail(__FILE__, __LINE__, "%s: %s", check, why);
}

static void begin(void)
{
	struct plan plan = {
		.shards = 1,
		.partitions = PARTITIONS,
		.ttl_s = 4,
		.work_ms = 100,
		.client_ms = 1000,
		.scenario = {.clusters = 2, .nodes = SCENARIO_NODES_MIN, .pods = PODS}};

	memset(&world, 0, sizeof world);
	world.failed = on_failed;
	world.items_max = UINT64_MAX;
	world_open(&world, &plan, 1, &(struct story){.terse = true});
}

static void on_put(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	T_TRUE(err == NULL);
}

static void put(uint32_t partition, enum keys_kind kind, const char *value)
{
	struct keys_id id = {.kind = kind, .partition = partition};
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_text key;
	struct kv_req req;

	scenario_pod_namespace(POD, namespace);
	scenario_pod_name(POD, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	T_OK(keys_build(&id, &key, NULL), NULL);
	req = kv_op_put(keys_span(&key), pl_span_str(value));
	T_OK(kv_start(world.truth.kv, &req, CALL_MS, on_put, NULL, NULL, NULL), NULL);
	simstore_run(&world.store);
}

static void put_second_incarnation(void)
{
	struct scenario_pod what = scenario_pod_first(POD);
	char json[SCENARIO_JSON_SIZE];

	what.incarnation = 1;
	what.cpu_milli = 800;
	scenario_pod_json(POD, &what, json);
	put(WITHOUT_RULE_AT, KEYS_SPEC, json);
}

/* The operators restore the spec of that incarnation, and leave it in its partition. */
static void restores(uint32_t incarnation)
{
	const struct mirror_pod *pod = &world.mirror->pod[POD];

	world.mirror->pod[POD].corrupted = true;
	corrupt_repair(&world);
	T_TRUE(pod->has_spec && !pod->bad_spec);
	T_EQ(pod->partition, WITHOUT_RULE_AT);
	T_EQ(pod->what.incarnation, incarnation);
	T_EQ(scenario_pod_partition(POD, incarnation, PARTITIONS), pod->partition);
	client_leave(world.client);
	while (!client_has_left(world.client))
		world_run(&world, world.agenda.now_ms + 100);
	world_close(&world);
}

T_CASE(spec_is_restored_as_it_was)
{
	begin();
	put_second_incarnation();
	put(WITHOUT_RULE_AT, KEYS_SPEC, "[]");
	restores(1);
}

/* A store that is restored from a snapshot shows the damaged spec, and no other. */
T_CASE(spec_that_was_never_shown_is_of_an_incarnation_of_its_partition)
{
	begin();
	put(WITHOUT_RULE_AT, KEYS_SPEC, "[]");
	restores(1);
	begin();
	put(WITHOUT_RULE_AT, KEYS_SPEC, "[]");
	put(WITHOUT_RULE_AT, KEYS_STATE, state_of_third);
	restores(2);
}
