#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/clerk_int.h"

enum { ARENA_CHUNK = 1 << 14, ARENA_MAX = 4 << 20 };

static void *room(uint32_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

static bool is_busy(const struct clerk *clerk)
{
	return clerk->submit != NULL || clerk->removal.wishes != NULL ||
	       clerk->change != NULL || clerk->editing || clerk->budgeting ||
	       clerk->fsck != NULL || clerk->mend != NULL || clerk->moves.wishes != NULL;
}

static void on_closed(void *ctx)
{
	struct clerk *clerk = ctx;

	clerk->closed = true;
}

static void go(struct clerk *clerk)
{
	if (!is_busy(clerk) && clerk->members.wishes == NULL && !clerk->closing) {
		clerk->closing = true;
		kv_close(clerk->kv, on_closed, clerk);
	}
}

static void cancel_all(struct clerk *clerk)
{
	struct pod_requests *const wishes[] = {
		clerk->removal.wishes, clerk->members.wishes, clerk->moves.wishes};

	if (clerk->submit != NULL)
		submit_cancel(clerk->submit);
	if (clerk->change != NULL)
		nodes_cancel(clerk->change);
	for (unsigned i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
		if (wishes[i] != NULL)
			pod_requests_cancel(wishes[i]);
}

/* -- it dies, and comes back ---------------------------------------------------- */

static void clerk_connect(struct clerk *clerk)
{
	struct world *world = clerk->world;
	struct simlink calm = {.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};

	clerk->sim = simkv_new(&(struct simkv_opts){
		.agenda = &world->agenda,
		.depot = &world->depot,
		.story = &world->story,
		.name = "clerk",
		.whose = DEPOT_CLERK,
		.clock = {.true_ms = world->agenda.now_ms, .local_ms = 5000},
		.link = world->calm ? calm : world->plan.link,
		.seed = pl_rng_next(&world->rng),
		.counts = &world->counts});
	clerk->kv = simkv_kv(clerk->sim);
}

/* What it has sent arrives, or not; nothing that it wanted to do next is done. */
void clerk_crash(struct clerk *clerk)
{
	struct world *world = clerk->world;

	if (clerk->dead || clerk->leaving)
		return;
	STORY(&world->story, "clerk", "dies%s", is_busy(clerk) ? ", half-way" : "");
	world_hit(world, COVER_CLERK_CRASH);
	if (is_busy(clerk))
		world_hit(world, COVER_CLERK_CRASH_BUSY);
	clerk->dead = true;
	clerk->drain.node = STOCK_NONE;
	clerk->again_ms = world->agenda.now_ms + 1 + world_below(world, 3000);
	cancel_all(clerk);
	if (clerk->fsck != NULL && clerk->mend == NULL)
		fsck_cancel(clerk->fsck);
	if (clerk->mend != NULL)
		repair_cancel(clerk->mend);
	simkv_crash(clerk->sim);
}

/* When nothing is left of it. */
static void come_back(struct clerk *clerk)
{
	if (!clerk->closed || clerk->world->agenda.now_ms < clerk->again_ms) {
		go(clerk);
		return;
	}
	STORY(&clerk->world->story, "clerk", "is back");
	simkv_free(clerk->sim);
	clerk->dead = clerk->closing = clerk->closed = false;
	clerk_connect(clerk);
}

static void on_next(void *ctx)
{
	struct clerk *clerk = ctx;
	struct world *world = clerk->world;
	bool resting = false;
	uint64_t gap = clerk->calm != CALM_NOT ? 50 : world->plan.clerk_ms;

	if (clerk->calm == CALM_REST && clerk->content &&
	    world->agenda.now_ms < clerk->rest_ms)
		resting = true;
	agenda_set(&world->agenda, &clerk->next,
	           world->agenda.now_ms + 1 + world_below(world, 2 * gap));
	if (clerk->dead) {
		come_back(clerk);
		return;
	}
	if (!clerk->leaving) {
		clerk_row_step(clerk);
		clerk_members(clerk);
		clerk_drain_step(clerk);
	}
	if (clerk->leaving)
		go(clerk);
	else if (clerk->calm == CALM_NOT)
		clerk_wish(clerk);
	else if (!is_busy(clerk) && !resting)
		clerk_mend_step(clerk);
}

struct clerk *clerk_open(struct world *world)
{
	struct clerk *clerk = room(1, sizeof *clerk);
	const struct scene *scene = &world->plan.scene;

	clerk->world = world;
	clerk->nodes = scene->nodes + scene->extra;
	clerk->pods = scene->pods;
	clerk->node = room(clerk->nodes, sizeof *clerk->node);
	clerk->pod = room(clerk->pods, sizeof *clerk->pod);
	clerk->submits.at = room(clerk->pods, sizeof *clerk->submits.at);
	clerk->changes.at = room(clerk->nodes, sizeof *clerk->changes.at);
	for (uint32_t i = 0; i < clerk->nodes; i++)
		clerk->node[i].what = scene_node_first(scene, i);
	for (uint32_t i = 0; i < clerk->pods; i++)
		clerk->pod[i].what = scene_pod_first(i);
	clerk->removal.clerk = clerk->members.clerk = clerk->moves.clerk = clerk;
	clerk->drain.node = STOCK_NONE;
	for (unsigned i = 0; i < CLERK_ROWS; i++)
		clerk->row[i].first = STOCK_NONE;
	model_init(&clerk->model);
	pl_arena_init(&clerk->arena, ARENA_CHUNK, ARENA_MAX);
	clerk_connect(clerk);
	agenda_item_init(&clerk->next, on_next, clerk);
	agenda_set(&world->agenda, &clerk->next, world->agenda.now_ms + 1);
	return clerk;
}

/* What was begun while nothing worked is given up, and everything is looked at anew. */
void clerk_calm(struct clerk *clerk)
{
	*simkv_link(clerk->sim) =
		(struct simlink){.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};
	clerk->calm = CALM_REST; /* what comes next is the check */
	cancel_all(clerk);
}

/* A check is left to end: a lease that was granted to one that was canceled would stay
 * for a while. */
void clerk_leave(struct clerk *clerk)
{
	clerk->leaving = true;
	if (clerk->submit != NULL)
		submit_cancel(clerk->submit);
	if (clerk->change != NULL)
		nodes_cancel(clerk->change);
	agenda_set(&clerk->world->agenda, &clerk->next, clerk->world->agenda.now_ms);
}

bool clerk_has_left(const struct clerk *clerk)
{
	return clerk == NULL || (clerk->leaving && clerk->closed);
}

void clerk_set_wall(struct clerk *clerk, int64_t ahead_ms)
{
	clerk->wall_ms = ahead_ms;
}

void clerk_free(struct clerk *clerk)
{
	if (clerk == NULL)
		return;
	PL_ASSERT(clerk->closed);
	agenda_stop(&clerk->world->agenda, &clerk->next);
	simkv_free(clerk->sim);
	pl_arena_done(&clerk->arena);
	model_done(&clerk->model);
	free(clerk->submits.at);
	free(clerk->changes.at);
	free(clerk->node);
	free(clerk->pod);
	free(clerk);
}

bool clerk_wants_pod(const struct clerk *clerk, uint32_t pod)
{
	return clerk->pod[pod].wanted && !clerk->pod[pod].removed;
}

bool clerk_has_run_pod(const struct clerk *clerk, uint32_t pod, uint32_t life)
{
	return life < SCENE_LIVES && (clerk->pod[pod].over >> life & 1) != 0;
}

bool clerk_removes_pod(const struct clerk *clerk, uint32_t pod)
{
	uint64_t removed_ms = clerk->pod[pod].removed_ms;

	return clerk->pod[pod].removed ||
	       (clerk->world->cover.count[COVER_RESTORE] > 0 && removed_ms != 0 &&
	        clerk->world->agenda.now_ms - removed_ms < CLERK_HEARD_MS);
}

void clerk_note(struct clerk *clerk, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(clerk->why, sizeof clerk->why, fmt, args);
	va_end(args);
}

bool clerk_is_content(const struct clerk *clerk, char *why, size_t size)
{
	if (clerk->content)
		return true;
	(void)snprintf(why, size, "the clerk: %s", clerk->why);
	return false;
}

void clerk_break(struct clerk *clerk, bool forget)
{
	simkv_break(clerk->sim, forget);
}
