#include "tests/sim/corrupt.h"

#include "store/keys/partition.h"
#include "store/kv/calls.h"
#include "store/kv/keys.h"

enum { CALL_MS = 1000 };

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	(void)err;
}

/* Runs at once. value NULL: the key is deleted. */
static void write_key(struct world *world, struct pl_span key, const char *value)
{
	struct kv_req req = value == NULL ? kv_op_delete(kv_key(key))
	                                  : kv_op_put(key, pl_span_str(value));

	simstore_run(&world->store);
	if (kv_start(world->truth.kv, &req, CALL_MS, on_done, world, NULL, NULL) != PL_OK)
		PL_UNREACHABLE("by hand");
	simstore_run(&world->store);
}

static struct pl_span node_key(struct world *world, uint32_t node, enum keys_kind kind,
                               struct keys_text *out)
{
	char cluster[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_id id = {.kind = kind};

	scenario_node_cluster(&world->plan.scenario, node, cluster);
	scenario_node_name(node, name);
	id.scope = pl_span_str(cluster);
	id.name = pl_span_str(name);
	if (partition_of_node(id.scope, id.name, world->plan.partitions, &id.partition,
	                      NULL) != PL_OK ||
	    keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	return keys_span(out);
}

static struct pl_span pod_key(struct world *world, uint32_t pod, enum keys_kind kind,
                              struct keys_text *out)
{
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_id id = {.kind = kind,
	                     .partition = world->mirror->pod[pod].partition};

	scenario_pod_namespace(pod, namespace);
	scenario_pod_name(pod, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	return keys_span(out);
}

static const char *pick_garbage(struct world *world)
{
	static const char *const values[] = {"",
	                                     "{",
	                                     "{}",
	                                     "{\"v\":1}",
	                                     "[]",
	                                     "null",
	                                     "{\"v\":2,\"generation\":1}",
	                                     "{\"v\":1,\"at\":\"home\"}",
	                                     "{\"v\":1,\"phase\":\"Bound\"}",
	                                     "{\"v\":1,\"generation\":\"many\"}"};

	return values[world_below(world, sizeof values / sizeof values[0])];
}

static void corrupt_key(struct world *world, struct pl_span key)
{
	const char *value = world_chance(world, 1, 2) ? NULL : pick_garbage(world);

	if (value == NULL)
		STORY(&world->story, "operators", "delete " PL_SPAN_FMT,
		      PL_SPAN_ARG(key));
	else
		STORY(&world->story, "operators", "write '%s' to " PL_SPAN_FMT, value,
		      PL_SPAN_ARG(key));
	write_key(world, key, value);
}

/* Nothing is expected of a marked node until it is repaired. */
static void mark_node(struct world *world, uint32_t node)
{
	struct mirror *mirror = world->mirror;

	mirror->node[node].corrupted = true;
	for (uint32_t i = 0; i < mirror->pods; i++)
		if (mirror->pod[i].node == node || mirror_lists(&mirror->node[node], i))
			mirror->pod[i].corrupted = true;
}

static void mark_pod(struct world *world, uint32_t pod)
{
	struct mirror *mirror = world->mirror;

	mirror->pod[pod].corrupted = true;
	for (uint32_t i = 0; i < mirror->nodes; i++)
		if (mirror->pod[pod].node == i || mirror_lists(&mirror->node[i], pod))
			mirror->node[i].corrupted = true;
}

void corrupt_alloc(struct world *world)
{
	uint32_t node = (uint32_t)world_below(world, world->plan.scenario.nodes);
	struct keys_text key;

	if (!world->mirror->node[node].has_alloc)
		return;
	world_hit(world, COVER_CORRUPT_ALLOC);
	mark_node(world, node);
	corrupt_key(world,
	            node_key(world, node,
	                     world_chance(world, 1, 4) ? KEYS_NODE : KEYS_ALLOC, &key));
}

void corrupt_state(struct world *world)
{
	uint32_t pod = (uint32_t)world_below(world, world->mirror->pods);
	struct keys_text key;

	if (world->mirror->pod[pod].phase == MIRROR_NO_STATE)
		return;
	world_hit(world, COVER_CORRUPT_STATE);
	mark_pod(world, pod);
	corrupt_key(world, pod_key(world, pod, KEYS_STATE, &key));
}

void corrupt_spec(struct world *world)
{
	uint32_t pod = (uint32_t)world_below(world, world->mirror->pods);
	struct keys_text key;

	if (!world->mirror->pod[pod].has_spec)
		return;
	world_hit(world, COVER_CORRUPT_SPEC);
	mark_pod(world, pod);
	corrupt_key(world, pod_key(world, pod, KEYS_SPEC, &key));
}

struct rules_pick {
	struct world *world;
	struct keys_text key;
	bool found;
};

static void on_rules(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct rules_pick *pick = ctx;
	struct keys_id id;
	uint64_t i;

	PL_ASSERT(err == NULL);
	if (result->get.count == 0)
		return;
	i = world_below(pick->world, result->get.count);
	pick->found = keys_parse(result->get.records[i].key, &id, NULL) == PL_OK &&
	              keys_build(&id, &pick->key, NULL) == PL_OK;
}

static bool is_registry(struct pl_span key)
{
	struct keys_id id;

	return keys_parse(key, &id, NULL) == PL_OK &&
	       (id.kind == KEYS_REGISTRY || id.kind == KEYS_REGISTRY_GLOBAL);
}

/* The value of a lock does not matter, only that it exists, and since when. Deleting a
 * registry also deletes the rules of pending pods that no placed pod has. */
void corrupt_rules(struct world *world)
{
	struct rules_pick pick = {.world = world};
	struct kv_get get = {.keys = kv_prefix(PL_SPAN_LIT("/groups/"))};

	simstore_run(&world->store);
	if (kv_get(world->truth.kv, &get, CALL_MS, on_rules, &pick, NULL, NULL) != PL_OK)
		PL_UNREACHABLE("by hand");
	simstore_run(&world->store);
	if (!pick.found)
		return;
	if (is_registry(keys_span(&pick.key))) {
		if (!world_chance(world, 1, 4))
			return;
		world_hit(world, COVER_CORRUPT_REGISTRY);
		world->mirror->rules_corrupted = true;
	}
	world_hit(world, COVER_CORRUPT_RULES);
	corrupt_key(world, keys_span(&pick.key));
}

/* Picks a gang that is under way. */
void corrupt_gang(struct world *world)
{
	struct mirror *mirror = world->mirror;
	uint32_t from = (uint32_t)world_below(world, mirror->gangs);
	struct keys_id id = {.kind = KEYS_GANG};
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_text key;
	uint32_t k = 0, gang = from;

	for (; k < mirror->gangs; k++) {
		gang = (from + k) % mirror->gangs;
		if (mirror->gang[gang].phase != MIRROR_GANG_NONE)
			break;
	}
	if (k == mirror->gangs)
		return;
	scenario_gang_namespace(gang, namespace);
	scenario_gang_name(gang, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	world_hit(world, COVER_CORRUPT_GANG);
	mirror->gang_corrupted[gang] = true;
	corrupt_key(world, keys_span(&key));
}

static const char *const unknown_keys[] = {
	"/nodes/0000/c0/Not-A-Name",      "/alloc/0000/c0/ghost",
	"/schedules/0001/ns0/odd/state",  "/schedules/0002/ns0/odd/spec",
	"/schedules/0001/ns0/odd/status", "/nodes/0001/lonely",
};
enum { UNKNOWN_KEYS = sizeof unknown_keys / sizeof unknown_keys[0] };

void corrupt_add_unknown_key(struct world *world)
{
	const char *key = unknown_keys[world_below(world, UNKNOWN_KEYS)];

	world_hit(world, COVER_UNKNOWN_KEY);
	corrupt_key(world, pl_span_str(key));
}

/* -- repair ------------------------------------------------------------------- */

/* A restored store may never have shown the pod's spec: then the spec is of the
 * incarnation that the pod's state names, or of one that stands in this partition. */
static struct scenario_pod lost_pod(const struct world *world, uint32_t i)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];

	if (pod->what.cpu_milli != 0)
		return pod->what;
	return scenario_pod_in(i, pod->incarnation, pod->partition,
	                       world->plan.partitions);
}

/* Only specs: states are derived, and Nodes are applied by the client. */
static void restore_spec(struct world *world, uint32_t i)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];
	struct scenario_pod what = lost_pod(world, i);
	char json[SCENARIO_JSON_SIZE];
	struct keys_text key;

	if (!pod->corrupted || (pod->has_spec && !pod->bad_spec) ||
	    (!pod->has_spec && !pod->has_pointer && pod->phase == MIRROR_NO_STATE))
		return;
	scenario_pod_json(i, &what, json);
	write_key(world, pod_key(world, i, KEYS_SPEC, &key), json);
}

void corrupt_repair(struct world *world)
{
	struct mirror *mirror = world->mirror;

	STORY(&world->story, "operators", "restore what only they know");
	for (uint32_t i = 0; i < mirror->pods; i++)
		restore_spec(world, i);
	for (unsigned i = 0; i < UNKNOWN_KEYS; i++)
		write_key(world, pl_span_str(unknown_keys[i]), NULL);
}
