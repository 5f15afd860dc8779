#include "tests/sim/spoil.h"

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

/* At once. value NULL: deleted. */
static void write_key(struct world *world, struct pl_span key, const char *value)
{
	struct kv_req req = value == NULL ? kv_op_delete(kv_key(key))
	                                  : kv_op_put(key, pl_span_str(value));

	depot_run(&world->depot);
	if (kv_start(world->truth.kv, &req, CALL_MS, on_done, world, NULL, NULL) != PL_OK)
		PL_UNREACHABLE("by hand");
	depot_run(&world->depot);
}

static struct pl_span node_key(struct world *world, uint32_t node, enum keys_kind kind,
                               struct keys_text *out)
{
	char cluster[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	struct keys_id id = {.kind = kind};

	scene_node_cluster(&world->plan.scene, node, cluster);
	scene_node_name(node, name);
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
	char namespace[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	struct keys_id id = {.kind = kind, .partition = world->stock->pod[pod].partition};

	scene_pod_space(pod, namespace);
	scene_pod_name(pod, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	return keys_span(out);
}

static const char *garbage(struct world *world)
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

static void spoil(struct world *world, struct pl_span key)
{
	const char *value = world_chance(world, 1, 2) ? NULL : garbage(world);

	if (value == NULL)
		STORY(&world->story, "hands", "delete " PL_SPAN_FMT, PL_SPAN_ARG(key));
	else
		STORY(&world->story, "hands", "write '%s' to " PL_SPAN_FMT, value,
		      PL_SPAN_ARG(key));
	write_key(world, key, value);
}

/* Of those nothing is expected until they are mended. */
static void mark_node(struct world *world, uint32_t node)
{
	struct stock *stock = world->stock;

	stock->node[node].spoilt = true;
	for (uint32_t i = 0; i < stock->pods; i++)
		if (stock->pod[i].node == node || stock_lists(&stock->node[node], i))
			stock->pod[i].spoilt = true;
}

static void mark_pod(struct world *world, uint32_t pod)
{
	struct stock *stock = world->stock;

	stock->pod[pod].spoilt = true;
	for (uint32_t i = 0; i < stock->nodes; i++)
		if (stock->pod[pod].node == i || stock_lists(&stock->node[i], pod))
			stock->node[i].spoilt = true;
}

void spoil_alloc(struct world *world)
{
	uint32_t node = (uint32_t)world_below(world, world->plan.scene.nodes);
	struct keys_text key;

	if (!world->stock->node[node].has_alloc)
		return;
	world_hit(world, COVER_SPOIL_ALLOC);
	mark_node(world, node);
	spoil(world, node_key(world, node,
	                      world_chance(world, 1, 4) ? KEYS_NODE : KEYS_ALLOC, &key));
}

void spoil_state(struct world *world)
{
	uint32_t pod = (uint32_t)world_below(world, world->stock->pods);
	struct keys_text key;

	if (world->stock->pod[pod].phase == STOCK_NO_STATE)
		return;
	world_hit(world, COVER_SPOIL_STATE);
	mark_pod(world, pod);
	spoil(world, pod_key(world, pod, KEYS_STATE, &key));
}

void spoil_spec(struct world *world)
{
	uint32_t pod = (uint32_t)world_below(world, world->stock->pods);
	struct keys_text key;

	if (!world->stock->pod[pod].has_spec)
		return;
	world_hit(world, COVER_SPOIL_SPEC);
	mark_pod(world, pod);
	spoil(world, pod_key(world, pod, KEYS_SPEC, &key));
}

struct pick {
	struct world *world;
	struct keys_text key;
	bool found;
};

static void on_rules(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pick *pick = ctx;
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

/* What a lock says does not matter, only that it is there or not, and since when. Who
 * takes a registry away takes the rules away that nobody carries who waits. */
void spoil_rules(struct world *world)
{
	struct pick pick = {.world = world};
	struct kv_get get = {.keys = kv_prefix(PL_SPAN_LIT("/groups/"))};

	depot_run(&world->depot);
	if (kv_get(world->truth.kv, &get, CALL_MS, on_rules, &pick, NULL, NULL) != PL_OK)
		PL_UNREACHABLE("by hand");
	depot_run(&world->depot);
	if (!pick.found)
		return;
	if (is_registry(keys_span(&pick.key))) {
		if (!world_chance(world, 1, 4))
			return;
		world_hit(world, COVER_SPOIL_REGISTRY);
		world->stock->rules_spoilt = true;
	}
	world_hit(world, COVER_SPOIL_RULES);
	spoil(world, keys_span(&pick.key));
}

/* One that is under way. */
void spoil_gang(struct world *world)
{
	struct stock *stock = world->stock;
	uint32_t from = (uint32_t)world_below(world, stock->gangs);
	struct keys_id id = {.kind = KEYS_GANG};
	char namespace[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	struct keys_text key;
	uint32_t k = 0, gang = from;

	for (; k < stock->gangs; k++) {
		gang = (from + k) % stock->gangs;
		if (stock->gang[gang].phase != STOCK_GANG_NONE)
			break;
	}
	if (k == stock->gangs)
		return;
	scene_gang_space(gang, namespace);
	scene_gang_name(gang, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	world_hit(world, COVER_SPOIL_GANG);
	stock->gang_spoilt[gang] = true;
	spoil(world, keys_span(&key));
}

static const char *const strays[] = {
	"/nodes/0000/c0/Not-A-Name",      "/alloc/0000/c0/ghost",
	"/schedules/0001/ns0/odd/state",  "/schedules/0002/ns0/odd/spec",
	"/schedules/0001/ns0/odd/status", "/nodes/0001/lonely",
};
enum { STRAYS = sizeof strays / sizeof strays[0] };

void spoil_stray(struct world *world)
{
	const char *key = strays[world_below(world, STRAYS)];

	world_hit(world, COVER_STRAY);
	spoil(world, pl_span_str(key));
}

/* -- put right ---------------------------------------------------------------- */

/* Specs only: states are derived, and Nodes are applied by those who run them. */
static void calm_pod(struct world *world, uint32_t i)
{
	const struct stock_pod *pod = &world->stock->pod[i];
	/* A restored store may never have shown what it was. */
	struct scene_pod what = pod->what.cpu_milli != 0 ? pod->what : scene_pod_first(i);
	char json[SCENE_JSON_SIZE];
	struct keys_text key;

	if (!pod->spoilt || (pod->has_spec && !pod->bad_spec) ||
	    (!pod->has_spec && !pod->has_pointer && pod->phase == STOCK_NO_STATE))
		return;
	scene_pod_json(i, &what, json);
	write_key(world, pod_key(world, i, KEYS_SPEC, &key), json);
}

void spoil_calm(struct world *world)
{
	struct stock *stock = world->stock;

	STORY(&world->story, "hands", "put right what only they know");
	for (uint32_t i = 0; i < stock->pods; i++)
		calm_pod(world, i);
	for (unsigned i = 0; i < STRAYS; i++)
		write_key(world, pl_span_str(strays[i]), NULL);
}
