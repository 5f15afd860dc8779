/*
 * The recovery phase: damage by hand is found and repaired as users would do it, first by
 * placet fsck --repair; then room is made for everything, and every desired pod is
 * submitted once more, since a restored store may have lost it.
 *
 *	check --> repair --> nodes as desired --> pods --> rest --> check ...
 */
#include <inttypes.h>

#include "tests/sim/client_int.h"

enum { REST_MS = 5000 };

/* -- check and repair ---------------------------------------------------------- */

static bool is_rule(enum fsck_code code)
{
	return code == FSCK_RULES_APART || code == FSCK_RULES_PORTS ||
	       code == FSCK_RULES_NODE;
}

/* While an alloc or a spec was gone, no shard knew which pods were there. A pod that
 * breaks a rule because of that is evicted: nothing else repairs it. */
static void evict_misplaced(struct client *client, struct pl_span key)
{
	const struct mirror *mirror = client->world->mirror;
	struct keys_id id;
	uint32_t pod = MIRROR_NONE;

	if (keys_parse(key, &id, NULL) == PL_OK)
		pod = scenario_pod_of(&mirror->scenario, id.scope, id.name);
	if (client->phase != CLIENT_RUNNING && client->moves.active == NULL &&
	    pod != MIRROR_NONE &&
	    (mirror->pod[pod].corrupted || mirror->pod[pod].uncertain))
		client_requests_add(&client->moves, pod, POD_REQUEST_EVICT,
		                    STATE_ENDED_NOT);
}

static void on_finding(void *ctx, const struct fsck_finding *finding)
{
	struct client *client = ctx;

	if (fsck_is_condition(finding->code))
		return;
	client->findings++;
	if (is_rule(finding->code))
		evict_misplaced(client, finding->key);
	world_hit(client->world, COVER_FSCK_FOUND);
	STORY(&client->world->story, "fsck", "%s " PL_SPAN_FMT ": %s",
	      fsck_code_word(finding->code), PL_SPAN_ARG(finding->key), finding->what);
	client_note(client, "%s %.*s: %.80s", fsck_code_word(finding->code),
	            PL_SPAN_ARG(finding->key), finding->what);
}

static void on_repaired(void *ctx, const struct repair_result *result)
{
	struct client *client = ctx;

	if (result->outcome == REPAIR_DONE)
		world_hit(client->world, client->phase == CLIENT_RUNNING
		                                 ? COVER_REPAIRED_EARLY
		                                 : COVER_REPAIRED);
	STORY(&client->world->story, "fsck", "repairs " PL_SPAN_FMT "%s%s",
	      PL_SPAN_ARG(result->key),
	      result->outcome == REPAIR_REFUSED ? ": not, " : "",
	      result->outcome == REPAIR_REFUSED ? result->why : "");
}

static void on_repair_done(void *ctx, const struct pl_err *err)
{
	struct client *client = ctx;

	client->repair = NULL;
	if (err != NULL) {
		STORY(&client->world->story, "fsck", "ends: %s", err->msg);
		client_note(client, "%s", err->msg);
	}
	fsck_free(client->fsck);
	client->fsck = NULL;
}

static void start_repair(struct client *client, int64_t revision)
{
	struct repair_opts opts = {.core = fsck_core(client->fsck),
	                           .partitions = client->world->plan.partitions,
	                           .revision = revision,
	                           .timeout_ms = CLIENT_CALL_MS,
	                           .patience_ms = CLIENT_PATIENCE_MS,
	                           .report = on_repaired,
	                           .done = on_repair_done,
	                           .ctx = client};

	if (repair_open(client->kv, &opts, &client->repair, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void on_checked(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct client *client = ctx;

	if (err == NULL && client->phase != CLIENT_RUNNING &&
	    client->moves.active == NULL)
		client_requests_start(&client->moves);
	if (err != NULL) {
		client_note(client, "%s", err->msg);
	} else if (client->findings > 0 && !client->leaving) {
		start_repair(client, revision);
		return;
	} else if (client->findings == 0) {
		world_hit(client->world, COVER_FSCK_CLEAN);
	}
	fsck_free(client->fsck);
	client->fsck = NULL;
}

void client_fsck(struct client *client)
{
	struct world *world = client->world;
	struct fsck_opts opts = {.partitions = world->plan.partitions,
	                         .by = PL_SPAN_LIT("the client"),
	                         .wall_ms = world_wall_ms(world) + client->wall_ms,
	                         .seed = pl_rng_next(&world->rng) | 1,
	                         .page_keys = 1 + (uint32_t)world_below(world, 2000),
	                         .timeout_ms = CLIENT_CALL_MS,
	                         .patience_ms = CLIENT_PATIENCE_MS,
	                         .found = on_finding,
	                         .done = on_checked,
	                         .ctx = client};

	client->findings = 0;
	client->why[0] = 0;
	if (client->phase != CLIENT_RUNNING && client->moves.active == NULL)
		client->moves.count = 0;
	if (fsck_open(client->kv, &opts, &client->fsck, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

/* -- room for everything, and everything --------------------------------------- */

/* A closed node keeps the time since which it is closed, however often it is applied:
 * pods have to leave it some time after that. */
static void reset_node(struct client *client, uint32_t node)
{
	const struct scenario *scenario = &client->world->plan.scenario;
	struct scenario_node was = client->node[node].what;
	struct scenario_node *what = &client->node[node].what;

	*what = scenario_node_first(scenario, node);
	what->version = was.version;
	client->node[node].wanted = true;
	if (!scenario_stays_closed(node) || node >= scenario->nodes)
		return;
	if (!was.closed) {
		client_close_node(client, node);
		return;
	}
	what->closed = true;
	what->closed_ms = was.closed_ms;
}

static void apply_all_nodes(struct client *client)
{
	client->changes.count = client->changes.next = 0;
	for (uint32_t i = 0; i < client->nodes; i++) {
		reset_node(client, i);
		client->changes.at[client->changes.count++] = i;
	}
	client_change(client, NODES_APPLY);
}

static void submit_all_pods(struct client *client)
{
	const struct mirror *mirror = client->world->mirror;

	client->submits.count = client->submits.next = 0;
	for (uint32_t i = 0; i < client->pods; i++) {
		struct client_pod *pod = &client->pod[i];

		/* A restored store shows a removal that was asked for before. */
		if (mirror->pod[i].phase == MIRROR_TERMINATING &&
		    client->world->cover.count[COVER_RESTORE] > 0)
			pod->removed = true;
		if (!client_wants_pod(client, i))
			continue;
		/* The pod may have been edited: the spec that stands there is desired. */
		if (mirror->pod[i].has_spec && !mirror->pod[i].bad_spec)
			pod->what = mirror->pod[i].what;
		client->submits.at[client->submits.count++] = i;
	}
	client_submit(client);
}

/* The findings were repaired, so the store is checked again. */
static void start_rest(struct client *client)
{
	client->satisfied = client->why[0] == 0;
	client->rest_ms = client->world->agenda.now_ms + REST_MS;
	client->phase = CLIENT_REST;
}

void client_recovery_step(struct client *client)
{
	switch (client->phase) {
	case CLIENT_RUNNING:
		break;
	case CLIENT_REST:
		client->phase = CLIENT_FSCK;
		client_fsck(client);
		break;
	case CLIENT_FSCK:
		client->phase = CLIENT_NODES;
		apply_all_nodes(client);
		break;
	case CLIENT_NODES:
		client->phase = CLIENT_PODS;
		submit_all_pods(client);
		break;
	case CLIENT_PODS:
		start_rest(client);
		break;
	}
}
