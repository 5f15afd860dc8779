/*
 * When all is calm: what was spoilt by hand is found and mended as people would do it,
 * placet fsck --repair first; then there is room for everything, and everything that is
 * wanted is submitted once more, since a restored store may have lost it.
 *
 *	check --> mend what can be derived --> nodes as wanted --> pods --> rest, and
 *again
 */
#include <inttypes.h>

#include "tests/sim/clerk_int.h"

enum { REST_MS = 5000 };

/* -- check, and mend ----------------------------------------------------------- */

static bool is_rule(enum fsck_code code)
{
	return code == FSCK_RULES_APART || code == FSCK_RULES_PORTS ||
	       code == FSCK_RULES_NODE;
}

/* While an alloc was gone, or a spec, nobody knew who is there. Who is where he may not
 * be is asked to move: nothing else mends that. */
static void move_away(struct clerk *clerk, struct pl_span key)
{
	const struct stock *stock = clerk->world->stock;
	struct keys_id id;
	uint32_t pod = STOCK_NONE;

	if (keys_parse(key, &id, NULL) == PL_OK)
		pod = scene_pod_of(&stock->scene, id.scope, id.name);
	if (clerk->calm != CALM_NOT && clerk->moves.wishes == NULL && pod != STOCK_NONE &&
	    (stock->pod[pod].spoilt || stock->pod[pod].blurred))
		clerk_errand_add(&clerk->moves, pod, POD_REQUEST_EVICT, STATE_ENDED_NOT);
}

static void on_finding(void *ctx, const struct fsck_finding *finding)
{
	struct clerk *clerk = ctx;

	if (fsck_is_condition(finding->code))
		return;
	clerk->findings++;
	if (is_rule(finding->code))
		move_away(clerk, finding->key);
	world_hit(clerk->world, COVER_FSCK_FOUND);
	STORY(&clerk->world->story, "fsck", "%s " PL_SPAN_FMT ": %s",
	      fsck_code_word(finding->code), PL_SPAN_ARG(finding->key), finding->what);
	clerk_note(clerk, "%s %.*s: %.80s", fsck_code_word(finding->code),
	           PL_SPAN_ARG(finding->key), finding->what);
}

static void on_mended(void *ctx, const struct repair_result *result)
{
	struct clerk *clerk = ctx;

	if (result->outcome == REPAIR_DONE)
		world_hit(clerk->world,
		          clerk->calm == CALM_NOT ? COVER_MENDED_EARLY : COVER_MENDED);
	STORY(&clerk->world->story, "fsck", "repairs " PL_SPAN_FMT "%s%s",
	      PL_SPAN_ARG(result->key),
	      result->outcome == REPAIR_REFUSED ? ": not, " : "",
	      result->outcome == REPAIR_REFUSED ? result->why : "");
}

static void on_mend_done(void *ctx, const struct pl_err *err)
{
	struct clerk *clerk = ctx;

	clerk->mend = NULL;
	if (err != NULL) {
		STORY(&clerk->world->story, "fsck", "ends: %s", err->msg);
		clerk_note(clerk, "%s", err->msg);
	}
	fsck_free(clerk->fsck);
	clerk->fsck = NULL;
}

static void mend(struct clerk *clerk, int64_t revision)
{
	struct repair_opts opts = {.core = fsck_core(clerk->fsck),
	                           .partitions = clerk->world->plan.partitions,
	                           .revision = revision,
	                           .timeout_ms = CLERK_CALL_MS,
	                           .patience_ms = CLERK_PATIENCE_MS,
	                           .report = on_mended,
	                           .done = on_mend_done,
	                           .ctx = clerk};

	if (repair_open(clerk->kv, &opts, &clerk->mend, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void on_checked(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct clerk *clerk = ctx;

	if (err == NULL && clerk->calm != CALM_NOT && clerk->moves.wishes == NULL)
		clerk_errand_go(&clerk->moves);
	if (err != NULL) {
		clerk_note(clerk, "%s", err->msg);
	} else if (clerk->findings > 0 && !clerk->leaving) {
		mend(clerk, revision);
		return;
	} else if (clerk->findings == 0) {
		world_hit(clerk->world, COVER_FSCK_CLEAN);
	}
	fsck_free(clerk->fsck);
	clerk->fsck = NULL;
}

void clerk_check(struct clerk *clerk)
{
	struct world *world = clerk->world;
	struct fsck_opts opts = {.partitions = world->plan.partitions,
	                         .by = PL_SPAN_LIT("the clerk"),
	                         .wall_ms = world_wall_ms(world) + clerk->wall_ms,
	                         .seed = pl_rng_next(&world->rng) | 1,
	                         .page_keys = 1 + (uint32_t)world_below(world, 2000),
	                         .timeout_ms = CLERK_CALL_MS,
	                         .patience_ms = CLERK_PATIENCE_MS,
	                         .found = on_finding,
	                         .done = on_checked,
	                         .ctx = clerk};

	clerk->findings = 0;
	clerk->why[0] = 0;
	if (clerk->calm != CALM_NOT && clerk->moves.wishes == NULL)
		clerk->moves.count = 0;
	if (fsck_open(clerk->kv, &opts, &clerk->fsck, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

/* -- room for everything, and everything --------------------------------------- */

/* Whoever has closed one goes on saying since when, however often he says it: pods have
 * to leave it some time after that. */
static void calm_node(struct clerk *clerk, uint32_t node)
{
	const struct scene *scene = &clerk->world->plan.scene;
	struct scene_node was = clerk->node[node].what;
	struct scene_node *what = &clerk->node[node].what;

	*what = scene_node_first(scene, node);
	what->version = was.version;
	clerk->node[node].wanted = true;
	if (!scene_stays_closed(node) || node >= scene->nodes)
		return;
	if (!was.closed) {
		clerk_close_node(clerk, node);
		return;
	}
	what->closed = true;
	what->closed_ms = was.closed_ms;
}

static void all_nodes(struct clerk *clerk)
{
	clerk->changes.count = clerk->changes.next = 0;
	for (uint32_t i = 0; i < clerk->nodes; i++) {
		calm_node(clerk, i);
		clerk->changes.at[clerk->changes.count++] = i;
	}
	clerk_change(clerk, NODES_APPLY);
}

static void all_pods(struct clerk *clerk)
{
	const struct stock *stock = clerk->world->stock;

	clerk->submits.count = clerk->submits.next = 0;
	for (uint32_t i = 0; i < clerk->pods; i++) {
		struct clerk_pod *pod = &clerk->pod[i];

		/* The store went back to when it was asked to end. */
		if (stock->pod[i].phase == STOCK_TERMINATING &&
		    clerk->world->cover.count[COVER_RESTORE] > 0)
			pod->removed = true;
		if (!clerk_wants_pod(clerk, i))
			continue;
		/* It may have been edited, by whoever: what stands there is wanted. */
		if (stock->pod[i].has_spec && !stock->pod[i].bad_spec)
			pod->what = stock->pod[i].what;
		clerk->submits.at[clerk->submits.count++] = i;
	}
	clerk_submit(clerk);
}

/* What was found then is mended, so it is looked at again. */
static void rest(struct clerk *clerk)
{
	clerk->content = clerk->why[0] == 0;
	clerk->rest_ms = clerk->world->agenda.now_ms + REST_MS;
	clerk->calm = CALM_REST;
}

void clerk_mend_step(struct clerk *clerk)
{
	switch (clerk->calm) {
	case CALM_NOT:
		break;
	case CALM_REST:
		clerk->calm = CALM_FSCK;
		clerk_check(clerk);
		break;
	case CALM_FSCK:
		clerk->calm = CALM_NODES;
		all_nodes(clerk);
		break;
	case CALM_NODES:
		clerk->calm = CALM_PODS;
		all_pods(clerk);
		break;
	case CALM_PODS:
		rest(clerk);
		break;
	}
}
