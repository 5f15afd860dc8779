#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/client_int.h"

enum { ARENA_CHUNK = 1 << 14, ARENA_MAX = 4 << 20 };

static void *alloc_zeroed(uint32_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

static bool is_busy(const struct client *client)
{
	return client->submit != NULL || client->removal.active != NULL ||
	       client->change != NULL || client->edit.busy || client->budgeting ||
	       client->fsck != NULL || client->repair != NULL ||
	       client->moves.active != NULL;
}

static void on_closed(void *ctx)
{
	struct client *client = ctx;

	client->closed = true;
}

static void close_when_idle(struct client *client)
{
	if (!is_busy(client) && client->members.active == NULL && !client->closing) {
		client->closing = true;
		kv_close(client->kv, on_closed, client);
	}
}

static void cancel_all(struct client *client)
{
	struct pod_requests *const active[] = {
		client->removal.active, client->members.active, client->moves.active};

	if (client->submit != NULL)
		submit_cancel(client->submit);
	if (client->change != NULL)
		nodes_cancel(client->change);
	for (unsigned i = 0; i < sizeof active / sizeof active[0]; i++)
		if (active[i] != NULL)
			pod_requests_cancel(active[i]);
	client_edit_cancel(client);
}

/* -- crash and restart ---------------------------------------------------------- */

static void client_connect(struct client *client)
{
	struct world *world = client->world;
	struct simlink healthy = {.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};

	client->sim = simkv_new(&(struct simkv_opts){
		.agenda = &world->agenda,
		.store = &world->store,
		.story = &world->story,
		.name = "client",
		.writer = SIMSTORE_CLIENT,
		.clock = {.true_ms = world->agenda.now_ms, .local_ms = 5000},
		.link = world->recovering ? healthy : world->plan.link,
		.seed = pl_rng_next(&world->rng),
		.counts = &world->counts});
	client->kv = simkv_kv(client->sim);
}

/* Requests that were sent may arrive or not; nothing else that was planned is done. */
void client_crash(struct client *client)
{
	struct world *world = client->world;

	if (client->dead || client->leaving)
		return;
	STORY(&world->story, "client", "dies%s", is_busy(client) ? ", half-way" : "");
	world_hit(world, COVER_CLIENT_CRASH);
	if (is_busy(client))
		world_hit(world, COVER_CLIENT_CRASH_BUSY);
	client->dead = true;
	client->drain.node = MIRROR_NONE;
	client->restart_ms = world->agenda.now_ms + 1 + world_below(world, 3000);
	cancel_all(client);
	if (client->fsck != NULL && client->repair == NULL)
		fsck_cancel(client->fsck);
	if (client->repair != NULL)
		repair_cancel(client->repair);
	simkv_crash(client->sim);
}

/* Restarts the client once everything of the dead one has ended. */
static void restart_client(struct client *client)
{
	if (!client->closed || client->world->agenda.now_ms < client->restart_ms) {
		close_when_idle(client);
		return;
	}
	STORY(&client->world->story, "client", "is back");
	simkv_free(client->sim);
	client->dead = client->closing = client->closed = false;
	client_connect(client);
}

static void on_next(void *ctx)
{
	struct client *client = ctx;
	struct world *world = client->world;
	bool resting = false;
	uint64_t gap = client->phase != CLIENT_RUNNING ? 50 : world->plan.client_ms;

	if (client->phase == CLIENT_REST && client->satisfied &&
	    world->agenda.now_ms < client->rest_ms)
		resting = true;
	agenda_set(&world->agenda, &client->next,
	           world->agenda.now_ms + 1 + world_below(world, 2 * gap));
	if (client->dead) {
		restart_client(client);
		return;
	}
	if (!client->leaving) {
		client_rollout_step(client);
		client_member_requests(client);
		client_drain_step(client);
	}
	if (client->leaving)
		close_when_idle(client);
	else if (client->phase == CLIENT_RUNNING)
		client_start_op(client);
	else if (!is_busy(client) && !resting)
		client_recovery_step(client);
}

struct client *client_open(struct world *world)
{
	struct client *client = alloc_zeroed(1, sizeof *client);
	const struct scenario *scenario = &world->plan.scenario;

	client->world = world;
	client->nodes = scenario->nodes + scenario->extra;
	client->pods = scenario->pods;
	client->node = alloc_zeroed(client->nodes, sizeof *client->node);
	client->pod = alloc_zeroed(client->pods, sizeof *client->pod);
	client->submits.at = alloc_zeroed(client->pods, sizeof *client->submits.at);
	client->changes.at = alloc_zeroed(client->nodes, sizeof *client->changes.at);
	for (uint32_t i = 0; i < client->nodes; i++)
		client->node[i].what = scenario_node_first(scenario, i);
	for (uint32_t i = 0; i < client->pods; i++)
		client->pod[i].what = scenario_pod_first(i);
	client->removal.client = client->members.client = client->moves.client = client;
	client->drain.node = MIRROR_NONE;
	for (unsigned i = 0; i < CLIENT_ROLLOUTS; i++)
		client->rollout[i].first = MIRROR_NONE;
	model_init(&client->model);
	pl_arena_init(&client->arena, ARENA_CHUNK, ARENA_MAX);
	client_edit_init(client);
	client_connect(client);
	agenda_item_init(&client->next, on_next, client);
	agenda_set(&world->agenda, &client->next, world->agenda.now_ms + 1);
	return client;
}

/* Operations that began during the faults are canceled, and everything is checked
 * again. */
void client_recover(struct client *client)
{
	*simkv_link(client->sim) =
		(struct simlink){.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};
	client->phase = CLIENT_REST; /* the next step is the check */
	cancel_all(client);
}

/* A running check is not canceled: the lease of a pin whose grant was canceled would stay
 * for a while. */
void client_leave(struct client *client)
{
	client->leaving = true;
	if (client->submit != NULL)
		submit_cancel(client->submit);
	if (client->change != NULL)
		nodes_cancel(client->change);
	agenda_set(&client->world->agenda, &client->next, client->world->agenda.now_ms);
}

bool client_has_left(const struct client *client)
{
	return client == NULL || (client->leaving && client->closed);
}

void client_set_wall(struct client *client, int64_t ahead_ms)
{
	client->wall_ms = ahead_ms;
}

void client_free(struct client *client)
{
	if (client == NULL)
		return;
	PL_ASSERT(client->closed);
	agenda_stop(&client->world->agenda, &client->next);
	simkv_free(client->sim);
	pl_arena_done(&client->arena);
	client_edit_done(client);
	model_done(&client->model);
	free(client->submits.at);
	free(client->changes.at);
	free(client->node);
	free(client->pod);
	free(client);
}

bool client_wants_pod(const struct client *client, uint32_t pod)
{
	return client->pod[pod].wanted && !client->pod[pod].removed;
}

bool client_has_run_pod(const struct client *client, uint32_t pod, uint32_t incarnation)
{
	return incarnation < SCENARIO_INCARNATIONS &&
	       (client->pod[pod].ran >> incarnation & 1) != 0;
}

bool client_removes_pod(const struct client *client, uint32_t pod)
{
	uint64_t removed_ms = client->pod[pod].removed_ms;

	return client->pod[pod].removed ||
	       (client->world->cover.count[COVER_RESTORE] > 0 && removed_ms != 0 &&
	        client->world->agenda.now_ms - removed_ms < CLIENT_ECHO_MS);
}

void client_note(struct client *client, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(client->why, sizeof client->why, fmt, args);
	va_end(args);
}

bool client_is_satisfied(const struct client *client, char *why, size_t size)
{
	if (client->satisfied)
		return true;
	(void)snprintf(why, size, "the client: %s", client->why);
	return false;
}

void client_break(struct client *client, bool forget)
{
	simkv_break(client->sim, forget);
}
