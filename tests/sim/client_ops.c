/* Operations of a client of a cluster in use: pods are submitted and removed, and
 * nodes are added, changed and deleted. */
#include <inttypes.h>

#include "shardsched/model/parse.h"
#include "store/kv/calls.h"
#include "tests/sim/client_int.h"

enum { PODS_AT_ONCE = 40, NODES_AT_ONCE = 8 };

static struct pl_span text(const char *at)
{
	return pl_span_str(at);
}

/* -- pods: submit ----------------------------------------------------------- */

/* The partition as the submitter computes it. */
static struct pod_location location_in(struct client *client, struct pl_span json)
{
	struct parse parse = {.model = &client->model, .arena = &client->arena};
	struct pl_err err = {0};
	struct pod_location location;
	struct pod pod;

	pl_arena_reset(&client->arena);
	if (pod_parse(&parse, json, &pod, &err) != PL_OK ||
	    pod_location_of(&client->model, &pod, client->world->plan.partitions,
	                    &location, &err) != PL_OK)
		PL_UNREACHABLE(err.msg);
	pod_drop(&client->model, &pod);
	return location;
}

static enum pl_code next_pod(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	struct client *client = ctx;
	struct client_list *list = &client->submits;
	uint32_t pod;

	if (list->next == list->count)
		return pl_err_set(err, PL_NOTFOUND, "that was all");
	pod = list->at[list->next++];
	scenario_pod_json(pod, &client->pod[pod].what, client->json);
	scenario_pod_namespace(pod, client->namespace);
	scenario_pod_name(pod, client->pod_name);
	*out = (struct submit_pod){.namespace = text(client->namespace),
	                           .name = text(client->pod_name),
	                           .spec = text(client->json),
	                           .location = location_in(client, text(client->json))};
	return PL_OK;
}

static void on_submitted(void *ctx, const struct submit_counts *counts,
                         const struct pl_err *err)
{
	struct client *client = ctx;
	struct cover *cover = &client->world->cover;

	client->submit = NULL;
	cover->count[COVER_SUBMITTED] += counts->submitted;
	cover->count[COVER_SUBMITTED_AGAIN] += counts->unchanged + counts->others;
	STORY(&client->world->story, "client",
	      "submitted %" PRIu64 ", there were %" PRIu64 " and %" PRIu64
	      " with another spec%s%s",
	      counts->submitted, counts->unchanged, counts->others,
	      err == NULL ? "" : "; then: ", err == NULL ? "" : err->msg);
	if (err != NULL && client->phase == CLIENT_PODS)
		client_note(client, "submitting: %s", err->msg);
}

void client_submit(struct client *client)
{
	struct submit_opts opts = {
		.slots = 1 + (unsigned)world_below(client->world, 4),
		.timeout_ms = CLIENT_CALL_MS,
		.patience_ms = CLIENT_PATIENCE_MS,
		.next = next_pod,
		.done = on_submitted,
		.ctx = client,
	};

	if (submit_open(client->kv, &opts, &client->submit, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

/* A request that is under way names the pod, and might hit the next incarnation. */
static bool is_named(const struct client_requests *requests, uint32_t pod)
{
	for (uint32_t i = 0; i < requests->count && requests->active != NULL; i++)
		if (requests->request[i].pod == pod)
			return true;
	return false;
}

bool client_is_free(const struct client *client, uint32_t pod)
{
	const struct mirror_pod *seen = &client->world->mirror->pod[pod];

	return client->pod[pod].removed && !is_named(&client->removal, pod) &&
	       !is_named(&client->members, pod) && !seen->has_spec && !seen->corrupted &&
	       client->pod[pod].what.incarnation + 1 < SCENARIO_INCARNATIONS;
}

void client_add_pod(struct client *client, uint32_t pod)
{
	struct client_list *list = &client->submits;

	if (client_is_free(client, pod)) {
		client->pod[pod].removed = false;
		client->pod[pod].what.incarnation++;
		client->pod[pod].what.labels = client->pod[pod].what.incarnation;
	}
	if (client->pod[pod].removed || list->count == client->pods)
		return;
	client->pod[pod].wanted = true;
	list->at[list->count++] = pod;
}

static void submit_some_pods(struct client *client)
{
	struct world *world = client->world;
	struct client_list *list = &client->submits;
	uint64_t count = 1 + world_below(world, PODS_AT_ONCE);

	list->count = list->next = 0;
	for (; count > 0; count--) {
		/* Now and then a pod is submitted again. */
		if (client->first_new == client->pods || world_chance(world, 1, 10))
			client_add_pod(client,
			               (uint32_t)world_below(world, client->pods));
		else
			client_add_pod(client, client->first_new++);
	}
	if (list->count > 0)
		client_submit(client);
}

/* -- whole gangs: as work that is done, and is submitted again -------------------- */

static void remove_gang(struct client *client, const uint32_t *pod, uint32_t count)
{
	struct client_requests *requests = &client->removal;
	bool waits = world_chance(client->world, 1, 2);

	requests->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!client->pod[pod[i]].wanted || client->pod[pod[i]].removed)
			continue;
		client->pod[pod[i]].removed = true;
		client_requests_add(requests, pod[i], POD_REQUEST_DELETE,
		                    waits ? STATE_ENDED_NOT : STATE_ENDED_GONE);
	}
	STORY(&client->world->story, "client", "removes g-%u, %u pods",
	      scenario_gang(pod[0]), requests->count);
	client_requests_start(requests);
}

/* Removes or submits a gang, mostly a large one. */
static void toggle_gang(struct client *client)
{
	struct world *world = client->world;
	uint32_t pods[SCENARIO_GANG_PODS], count, there = 0;
	enum scenario_kind kind =
		world_chance(world, 3, 4) ? SCENARIO_LARGE : SCENARIO_GANG;
	uint32_t turns =
		(client->pods / SCENARIO_GROUP + SCENARIO_KINDS - 1) / SCENARIO_KINDS;
	uint32_t rollout =
		(uint32_t)kind + (uint32_t)world_below(world, turns) * SCENARIO_KINDS;

	if (rollout * SCENARIO_GROUP >= client->pods)
		return;
	count = scenario_gang_pods(scenario_gang(rollout * SCENARIO_GROUP), client->pods,
	                           pods);
	for (uint32_t i = 0; i < count; i++)
		there += client->pod[pods[i]].wanted && !client->pod[pods[i]].removed;
	if (there == count && client->removal.active == NULL) {
		remove_gang(client, pods, count);
	} else if (client->submit == NULL) {
		client->submits.count = client->submits.next = 0;
		for (uint32_t i = 0; i < count; i++)
			client_add_pod(client, pods[i]);
		if (client->submits.count > 0)
			client_submit(client);
	}
}

/* -- pods: remove -------------------------------------------------------------- */

static void remove_some_pods(struct client *client)
{
	struct world *world = client->world;
	struct client_requests *requests = &client->removal;
	uint64_t count = 1 + world_below(world, 4);

	requests->count = 0;
	for (; count > 0 && client->first_new > 0; count--) {
		uint32_t pod = (uint32_t)world_below(world, client->first_new);

		if (!client->pod[pod].wanted)
			continue;
		client->pod[pod].removed = true;
		client_requests_add(requests, pod, POD_REQUEST_DELETE,
		                    world_chance(world, 1, 8) ? STATE_ENDED_GONE
		                                              : STATE_ENDED_NOT);
	}
	STORY(&world->story, "client", "removes %u pods, p-%u first", requests->count,
	      requests->count == 0 ? 0 : requests->request[0].pod);
	client_requests_start(requests);
}

/* -- nodes ---------------------------------------------------------------------- */

static enum pl_code next_node(void *ctx, struct nodes_item *out, bool *more,
                              struct pl_err *err)
{
	struct client *client = ctx;
	struct client_list *list = &client->changes;
	uint32_t node;

	(void)err;
	*more = list->next < list->count;
	if (!*more)
		return PL_OK;
	node = list->at[list->next++];
	scenario_node_cluster(&client->world->plan.scenario, node, client->cluster);
	scenario_node_name(node, client->name);
	scenario_node_json(&client->world->plan.scenario, node, &client->node[node].what,
	                   client->node_json);
	*out = (struct nodes_item){.cluster = text(client->cluster),
	                           .name = text(client->name),
	                           .json = text(client->node_json),
	                           .tag = node};
	return PL_OK;
}

static void on_node_result(void *ctx, const struct nodes_item *item,
                           enum nodes_outcome outcome, const struct pl_err *err)
{
	static const enum cover_what hits[] = {
		[NODES_CREATED] = COVER_NODE_CREATED,
		[NODES_CHANGED] = COVER_NODE_CHANGED,
		[NODES_DELETED] = COVER_NODE_DELETED,
		[NODES_UNCHANGED] = COVER_COUNT,
		[NODES_REFUSED] = COVER_NODE_REFUSED,
	};
	struct client *client = ctx;

	if (hits[outcome] != COVER_COUNT)
		world_hit(client->world, hits[outcome]);
	if (outcome != NODES_REFUSED || client->phase == CLIENT_RUNNING)
		return;
	STORY(&client->world->story, "client", "node " PL_SPAN_FMT " is refused: %s",
	      PL_SPAN_ARG(item->name), err->msg);
	client_note(client, "node %.*s: %.100s", PL_SPAN_ARG(item->name), err->msg);
}

static void on_changed(void *ctx, const struct pl_err *err)
{
	struct client *client = ctx;

	client->change = NULL;
	if (err != NULL && client->phase == CLIENT_NODES)
		client_note(client, "nodes: %s", err->msg);
}

void client_change(struct client *client, enum nodes_verb verb)
{
	struct nodes_opts opts = {.verb = verb,
	                          .partitions = client->world->plan.partitions,
	                          .inflight = 1 + (unsigned)world_below(client->world, 4),
	                          .timeout_ms = CLIENT_CALL_MS,
	                          .patience_ms = CLIENT_PATIENCE_MS,
	                          .next = next_node,
	                          .report = on_node_result,
	                          .done = on_changed,
	                          .ctx = client};

	client->verb = verb;
	if (nodes_open(client->kv, &opts, &client->change, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

/* The taint says since when the node is closed, by the client's clock, or leaves that to
 * each reader. */
void client_close_node(struct client *client, uint32_t node)
{
	struct scenario_node *what = &client->node[node].what;

	what->closed = true;
	what->closed_ms = 0;
	if (world_chance(client->world, 1, 2))
		what->closed_ms = world_wall_ms(client->world) + client->wall_ms;
}

static void change_node(struct client *client, uint32_t node)
{
	struct scenario_node *what = &client->node[node].what;
	const struct scenario_node first =
		scenario_node_first(&client->world->plan.scenario, node);

	what->version++;
	if (world_chance(client->world, 1, 3))
		what->cpu_milli = first.cpu_milli / 4 *
		                  (1 + (int64_t)world_below(client->world, 5));
	if (world_chance(client->world, 1, 4))
		what->tainted = !what->tainted;
	if (world_chance(client->world, 1, 5)) {
		what->zone = (unsigned)world_below(client->world, SCENARIO_ZONES_ALL);
		world_hit(client->world, COVER_RELABELLED);
	}
	if (world_chance(client->world, 1, 4))
		what->pods = 1 + (int64_t)world_below(client->world, 14);
	if (world_chance(client->world, 1, 3))
		what->cordoned = !what->cordoned;
	if (what->closed && world_chance(client->world, 1, 2)) {
		what->closed = false;
		world_hit(client->world, COVER_OPENED_AGAIN);
	} else if (!what->closed && world_chance(client->world, 1, 3)) {
		client_close_node(client, node);
		world_hit(client->world, COVER_CLOSED);
	}
}

/* Picks a node, often one with a reservation. */
static uint32_t pick_node(struct client *client)
{
	struct world *world = client->world;
	uint32_t nodes = world->plan.scenario.nodes;
	uint32_t from = (uint32_t)world_below(world, nodes);

	if (!world_chance(world, 1, 2))
		return from;
	for (uint32_t k = 0; k < nodes; k++) {
		uint32_t n = (from + k) % nodes;

		if (world->mirror->node[n].gang_reservations > 0) {
			world_hit(world, COVER_LARGE_NODE);
			return n;
		}
	}
	return from;
}

static void change_some_nodes(struct client *client)
{
	static const enum nodes_verb verbs[] = {NODES_APPLY, NODES_APPLY, NODES_CORDON,
	                                        NODES_UNCORDON, NODES_DELETE};
	struct world *world = client->world;
	struct client_list *list = &client->changes;
	enum nodes_verb verb = verbs[world_below(world, 5)];
	uint64_t count = 1 + world_below(world, NODES_AT_ONCE);

	list->count = list->next = 0;
	for (; count > 0 && list->count < client->nodes; count--) {
		uint32_t node = pick_node(client);

		if (verb == NODES_APPLY && client->node[node].wanted)
			change_node(client, node);
		client->node[node].wanted = true;
		list->at[list->count++] = node;
	}
	client_change(client, verb);
}

/* Applies most nodes in the beginning, the others later. */
static void apply_initial_nodes(struct client *client)
{
	struct client_list *list = &client->changes;

	client->nodes_applied = true;
	list->count = list->next = 0;
	for (uint32_t i = 0; i < client->world->plan.scenario.nodes; i++) {
		if (world_chance(client->world, 1, 8))
			continue;
		client->node[i].wanted = true;
		list->at[list->count++] = i;
	}
	client_change(client, NODES_APPLY);
}

void client_start_op(struct client *client)
{
	struct world *world = client->world;
	uint64_t draw = world_below(world, 100);

	if (world->mirror->world->truth.revision == 0)
		return;
	if (!client->nodes_applied && client->change == NULL &&
	    world->agenda.now_ms >= world->plan.nodes_late_ms)
		apply_initial_nodes(client);
	else if (draw < 37 && client->submit == NULL)
		submit_some_pods(client);
	else if (draw >= 37 && draw < 45)
		client_rollout(client);
	else if (draw >= 45 && draw < 51)
		toggle_gang(client);
	else if (draw >= 51 && draw < 57 && !client->budgeting)
		client_budget(client);
	else if (draw >= 57 && draw < 70 && client->change == NULL &&
	         client->nodes_applied)
		change_some_nodes(client);
	else if (draw >= 70 && draw < 85 && !client->edit.busy)
		client_edit_some(client);
	else if (draw >= 85 && draw < 92 && client->removal.active == NULL)
		remove_some_pods(client);
	else if (draw >= 92 && draw < 96 && client->drain.node == MIRROR_NONE)
		client_drain_begin(client);
	else if (draw >= 96 && draw < 98 && client->fsck == NULL)
		client_fsck(client);
}
