/*
 * The whole store is checked as placet fsck does, every so often and at the end: fsck
 * finds nothing but keys that were damaged by hand.
 */
#include <inttypes.h>
#include <string.h>

#include "coord/service/fsck/fsck_core.h"
#include "store/kv/calls.h"
#include "tests/sim/client.h"
#include "tests/sim/world.h"

enum { EVERY_MS = 5000, CALL_MS = 1000 };

struct fsck_state {
	uint64_t next_ms;
	struct world *world;
	struct fsck_core *core;
	int64_t revision;
};

/* A reservation for a gang whose record was deleted by hand is removed a while later. */
static bool has_corrupted_reservations(const struct mirror *mirror,
                                       const struct mirror_node *node)
{
	for (uint32_t i = 0; i < node->gang_reservations; i++)
		if (mirror->gang_corrupted[node->gang_reservation[i].gang])
			return true;
	return false;
}

static bool is_corrupted(const struct world *world, struct pl_span key)
{
	const struct mirror *mirror = world->mirror;
	struct keys_id id;
	uint32_t i;

	if (keys_parse(key, &id, NULL) != PL_OK)
		return true; /* no writer of the simulation writes such a value */
	if (id.kind == KEYS_OWNER)
		return true; /* other judges cover the finding */
	if (id.kind == KEYS_GANG) {
		i = scenario_gang_of(id.scope, id.name, mirror->pods);
		return i == MIRROR_NONE || mirror->gang_corrupted[i];
	}
	if (id.kind == KEYS_BUDGET)
		return scenario_budget_of(id.scope, id.name) == MIRROR_NONE;
	if (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC) {
		i = scenario_node_of(&mirror->scenario, id.scope, id.name);
		return i == MIRROR_NONE || mirror->node[i].corrupted ||
		       has_corrupted_reservations(mirror, &mirror->node[i]);
	}
	i = scenario_pod_of(&mirror->scenario, id.scope, id.name);
	return i == MIRROR_NONE || mirror->pod[i].corrupted;
}

/* The pod was bound while a pod of its rules was corrupted, so that the rules could not
 * be kept. */
static bool is_uncertain(const struct world *world, struct pl_span key)
{
	struct keys_id id;
	uint32_t i;

	if (keys_parse(key, &id, NULL) != PL_OK ||
	    (id.kind != KEYS_STATE && id.kind != KEYS_SPEC))
		return false;
	i = scenario_pod_of(&world->mirror->scenario, id.scope, id.name);
	return i != MIRROR_NONE && world->mirror->pod[i].uncertain;
}

static bool is_of_rules(enum fsck_code code)
{
	return strncmp(fsck_code_word(code), "rules.", 6) == 0;
}

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	struct fsck_state *state = ctx;
	struct world *world = state->world;

	if (fsck_is_condition(finding->code) || is_corrupted(world, finding->key) ||
	    (finding->other.len != 0 && is_corrupted(world, finding->other)))
		return;
	if (is_of_rules(finding->code) &&
	    (is_uncertain(world, finding->key) || is_uncertain(world, finding->other)))
		return;
	check_fail(world, "fsck", "@%" PRId64 ": %s " PL_SPAN_FMT ": %s", state->revision,
	           fsck_code_word(finding->code), PL_SPAN_ARG(finding->key),
	           finding->what);
}

static void feed_keys(struct fsck_state *state, const struct kv_result *result,
                      struct pl_span prefix)
{
	for (size_t i = 0; i < result->get.count; i++)
		if (pl_span_starts(result->get.records[i].key, prefix) &&
		    fsck_core_feed(state->core, &result->get.records[i], NULL) != PL_OK)
			PL_UNREACHABLE("no memory");
}

static void on_list(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct fsck_state *state = ctx;

	PL_ASSERT(err == NULL);
	state->revision = result->header.revision;
	for (unsigned i = 0; i < FSCK_PREFIXES; i++)
		feed_keys(state, result, pl_span_str(fsck_prefixes[i]));
}

static void start_check(struct world *world, struct fsck_state *state)
{
	const struct fsck_core_opts opts = {
		.partitions = world->plan.partitions, .found = on_found, .ctx = state};

	if (fsck_core_new(&opts, &state->core, NULL) != PL_OK ||
	    kv_get(world->truth.kv, &(struct kv_get){.keys = kv_all_keys()}, CALL_MS,
	           on_list, state, NULL, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
	simstore_run(&world->store);
	if (fsck_core_end(state->core, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
	fsck_core_free(state->core);
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct fsck_state *state = me;

	if (world->mirror == NULL ||
	    (obs->what != OBS_TICK && obs->what != OBS_CONVERGED))
		return;
	if (obs->what == OBS_TICK && world->agenda.now_ms < state->next_ms)
		return;
	state->world = world;
	state->next_ms = world->agenda.now_ms + EVERY_MS;
	start_check(world, state);
}

const struct check check_fsck = {"fsck", sizeof(struct fsck_state), observe, NULL};
