/*
 * The whole store, every so often and in the end, by what placet fsck goes by: it finds
 * nothing but what somebody has spoilt by hand.
 */
#include <inttypes.h>
#include <string.h>

#include "coord/fsck/fsck_core.h"
#include "store/kv/calls.h"
#include "tests/sim/clerk.h"
#include "tests/sim/world.h"

enum { EVERY_MS = 5000, CALL_MS = 1000 };

struct state {
	uint64_t next_ms;
	struct world *world;
	struct fsck_core *core;
	int64_t revision;
};

/* What is held for a gang whose record people took away goes a while later. */
static bool holds_spoilt(const struct stock *stock, const struct stock_node *node)
{
	for (uint32_t i = 0; i < node->gang_holds; i++)
		if (stock->gang_spoilt[node->gang_hold[i].gang])
			return true;
	return false;
}

static bool is_spoilt(const struct world *world, struct pl_span key)
{
	const struct stock *stock = world->stock;
	struct keys_id id;
	uint32_t i;

	if (keys_parse(key, &id, NULL) != PL_OK)
		return true; /* nobody of ours could have written it */
	if (id.kind == KEYS_OWNER)
		return true; /* others judge that */
	if (id.kind == KEYS_GANG) {
		i = scene_gang_of(id.scope, id.name, stock->pods);
		return i == STOCK_NONE || stock->gang_spoilt[i];
	}
	if (id.kind == KEYS_BUDGET)
		return scene_budget_of(id.scope, id.name) == STOCK_NONE;
	if (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC) {
		i = scene_node_of(&stock->scene, id.scope, id.name);
		return i == STOCK_NONE || stock->node[i].spoilt ||
		       holds_spoilt(stock, &stock->node[i]);
	}
	i = scene_pod_of(&stock->scene, id.scope, id.name);
	return i == STOCK_NONE || stock->pod[i].spoilt;
}

/* It was bound while a pod of its rules was spoilt, and its rules could not be held. */
static bool is_blurred(const struct world *world, struct pl_span key)
{
	struct keys_id id;
	uint32_t i;

	if (keys_parse(key, &id, NULL) != PL_OK ||
	    (id.kind != KEYS_STATE && id.kind != KEYS_SPEC))
		return false;
	i = scene_pod_of(&world->stock->scene, id.scope, id.name);
	return i != STOCK_NONE && world->stock->pod[i].blurred;
}

static bool is_of_rules(enum fsck_code code)
{
	return strncmp(fsck_code_word(code), "rules.", 6) == 0;
}

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	struct state *state = ctx;
	struct world *world = state->world;

	if (fsck_is_condition(finding->code) || is_spoilt(world, finding->key) ||
	    (finding->other.len != 0 && is_spoilt(world, finding->other)))
		return;
	if (is_of_rules(finding->code) &&
	    (is_blurred(world, finding->key) || is_blurred(world, finding->other)))
		return;
	check_fail(world, "fsck", "@%" PRId64 ": %s " PL_SPAN_FMT ": %s", state->revision,
	           fsck_code_word(finding->code), PL_SPAN_ARG(finding->key),
	           finding->what);
}

static void feed(struct state *state, const struct kv_result *result,
                 struct pl_span prefix)
{
	for (size_t i = 0; i < result->get.count; i++)
		if (pl_span_starts(result->get.records[i].key, prefix) &&
		    fsck_core_feed(state->core, &result->get.records[i], NULL) != PL_OK)
			PL_UNREACHABLE("no memory");
}

static void on_list(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct state *state = ctx;

	PL_ASSERT(err == NULL);
	state->revision = result->header.revision;
	for (unsigned i = 0; i < FSCK_PREFIXES; i++)
		feed(state, result, pl_span_str(fsck_prefixes[i]));
}

static void look(struct world *world, struct state *state)
{
	const struct fsck_core_opts opts = {
		.partitions = world->plan.partitions, .found = on_found, .ctx = state};

	if (fsck_core_new(&opts, &state->core, NULL) != PL_OK ||
	    kv_get(world->truth.kv, &(struct kv_get){.keys = kv_all_keys()}, CALL_MS,
	           on_list, state, NULL, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
	depot_run(&world->depot);
	if (fsck_core_end(state->core, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
	fsck_core_free(state->core);
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;

	if (world->stock == NULL || (obs->what != OBS_TICK && obs->what != OBS_SETTLED))
		return;
	if (obs->what == OBS_TICK && world->agenda.now_ms < state->next_ms)
		return;
	state->world = world;
	state->next_ms = world->agenda.now_ms + EVERY_MS;
	look(world, state);
}

const struct check check_fsck = {"fsck", sizeof(struct state), see, NULL};
