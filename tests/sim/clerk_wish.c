/* What a client wants of a cluster in use: pods, now and then fewer of them, and nodes
 * that come, change and go. */
#include <inttypes.h>

#include "shardsched/model/parse.h"
#include "store/kv/calls.h"
#include "tests/sim/clerk_int.h"

enum { EDIT_MS = 2000, PODS_AT_ONCE = 40, NODES_AT_ONCE = 8 };

static struct pl_span text(const char *at)
{
	return pl_span_str(at);
}

/* -- pods: into the store --------------------------------------------------- */

/* Where it falls, as who submits it says. */
static struct pod_location location_in(struct clerk *clerk, struct pl_span json)
{
	struct parse parse = {.model = &clerk->model, .arena = &clerk->arena};
	struct pl_err err = {0};
	struct pod_location location;
	struct pod pod;

	pl_arena_reset(&clerk->arena);
	if (pod_parse(&parse, json, &pod, &err) != PL_OK ||
	    pod_location_of(&clerk->model, &pod, clerk->world->plan.partitions, &location,
	                    &err) != PL_OK)
		PL_UNREACHABLE(err.msg);
	pod_drop(&clerk->model, &pod);
	return location;
}

static enum pl_code next_pod(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	struct clerk *clerk = ctx;
	struct clerk_list *list = &clerk->submits;
	uint32_t pod;

	if (list->next == list->count)
		return pl_err_set(err, PL_NOTFOUND, "that was all");
	pod = list->at[list->next++];
	scene_pod_json(pod, &clerk->pod[pod].what, clerk->json);
	scene_pod_space(pod, clerk->namespace);
	scene_pod_name(pod, clerk->pod_name);
	*out = (struct submit_pod){.namespace = text(clerk->namespace),
	                           .name = text(clerk->pod_name),
	                           .spec = text(clerk->json),
	                           .location = location_in(clerk, text(clerk->json))};
	return PL_OK;
}

static void on_submitted(void *ctx, const struct submit_counts *counts,
                         const struct pl_err *err)
{
	struct clerk *clerk = ctx;
	struct cover *cover = &clerk->world->cover;

	clerk->submit = NULL;
	cover->count[COVER_SUBMITTED] += counts->submitted;
	cover->count[COVER_SUBMITTED_AGAIN] += counts->unchanged + counts->others;
	STORY(&clerk->world->story, "clerk",
	      "submitted %" PRIu64 ", there were %" PRIu64 " and %" PRIu64
	      " with another spec%s%s",
	      counts->submitted, counts->unchanged, counts->others,
	      err == NULL ? "" : "; then: ", err == NULL ? "" : err->msg);
	if (err != NULL && clerk->calm == CALM_PODS)
		clerk_note(clerk, "submitting: %s", err->msg);
}

void clerk_submit(struct clerk *clerk)
{
	struct submit_opts opts = {
		.slots = 1 + (unsigned)world_below(clerk->world, 4),
		.timeout_ms = CLERK_CALL_MS,
		.patience_ms = CLERK_PATIENCE_MS,
		.next = next_pod,
		.done = on_submitted,
		.ctx = clerk,
	};

	if (submit_open(clerk->kv, &opts, &clerk->submit, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

/* Who says something of it by its name might mean the next one. */
static bool is_named(const struct clerk_errand *errand, uint32_t pod)
{
	for (uint32_t i = 0; i < errand->count && errand->wishes != NULL; i++)
		if (errand->word[i].pod == pod)
			return true;
	return false;
}

bool clerk_is_free(const struct clerk *clerk, uint32_t pod)
{
	const struct stock_pod *seen = &clerk->world->stock->pod[pod];

	return clerk->pod[pod].removed && !is_named(&clerk->removal, pod) &&
	       !is_named(&clerk->members, pod) && !seen->has_spec && !seen->spoilt &&
	       clerk->pod[pod].what.life + 1 < SCENE_LIVES;
}

void clerk_add_pod(struct clerk *clerk, uint32_t pod)
{
	struct clerk_list *list = &clerk->submits;

	if (clerk_is_free(clerk, pod)) {
		clerk->pod[pod].removed = false;
		clerk->pod[pod].what.life++;
	}
	if (clerk->pod[pod].removed || list->count == clerk->pods)
		return;
	clerk->pod[pod].wanted = true;
	list->at[list->count++] = pod;
}

static void wish_pods(struct clerk *clerk)
{
	struct world *world = clerk->world;
	struct clerk_list *list = &clerk->submits;
	uint64_t count = 1 + world_below(world, PODS_AT_ONCE);

	list->count = list->next = 0;
	for (; count > 0; count--) {
		/* Now and then what was submitted before. */
		if (clerk->fresh == clerk->pods || world_chance(world, 1, 10))
			clerk_add_pod(clerk, (uint32_t)world_below(world, clerk->pods));
		else
			clerk_add_pod(clerk, clerk->fresh++);
	}
	if (list->count > 0)
		clerk_submit(clerk);
}

/* -- whole gangs: as work that is done, and comes again --------------------------- */

static void remove_gang(struct clerk *clerk, const uint32_t *pod, uint32_t count)
{
	struct clerk_errand *errand = &clerk->removal;
	bool waits = world_chance(clerk->world, 1, 2);

	errand->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!clerk->pod[pod[i]].wanted || clerk->pod[pod[i]].removed)
			continue;
		clerk->pod[pod[i]].removed = true;
		clerk_errand_add(errand, pod[i], POD_REQUEST_DELETE,
		                 waits ? STATE_ENDED_NOT : STATE_ENDED_GONE);
	}
	STORY(&clerk->world->story, "clerk", "removes g-%u, %u pods", scene_gang(pod[0]),
	      errand->count);
	clerk_errand_go(errand);
}

/* The larger ones, mostly. */
static void wish_gang(struct clerk *clerk)
{
	struct world *world = clerk->world;
	uint32_t pods[SCENE_GANG_PODS], count, there = 0;
	enum scene_kind kind = world_chance(world, 3, 4) ? SCENE_LARGE : SCENE_GANG;
	uint32_t turns = (clerk->pods / SCENE_GROUP + SCENE_KINDS - 1) / SCENE_KINDS;
	uint32_t row = (uint32_t)kind + (uint32_t)world_below(world, turns) * SCENE_KINDS;

	if (row * SCENE_GROUP >= clerk->pods)
		return;
	count = scene_gang_pods(scene_gang(row * SCENE_GROUP), clerk->pods, pods);
	for (uint32_t i = 0; i < count; i++)
		there += clerk->pod[pods[i]].wanted && !clerk->pod[pods[i]].removed;
	if (there == count && clerk->removal.wishes == NULL) {
		remove_gang(clerk, pods, count);
	} else if (clerk->submit == NULL) {
		clerk->submits.count = clerk->submits.next = 0;
		for (uint32_t i = 0; i < count; i++)
			clerk_add_pod(clerk, pods[i]);
		if (clerk->submits.count > 0)
			clerk_submit(clerk);
	}
}

/* -- pods: out of it ----------------------------------------------------------- */

static void wish_fewer(struct clerk *clerk)
{
	struct world *world = clerk->world;
	struct clerk_errand *errand = &clerk->removal;
	uint64_t count = 1 + world_below(world, 4);

	errand->count = 0;
	for (; count > 0 && clerk->fresh > 0; count--) {
		uint32_t pod = (uint32_t)world_below(world, clerk->fresh);

		if (!clerk->pod[pod].wanted)
			continue;
		clerk->pod[pod].removed = true;
		clerk_errand_add(errand, pod, POD_REQUEST_DELETE,
		                 world_chance(world, 1, 8) ? STATE_ENDED_GONE
		                                           : STATE_ENDED_NOT);
	}
	STORY(&world->story, "clerk", "removes %u pods, p-%u first", errand->count,
	      errand->count == 0 ? 0 : errand->word[0].pod);
	clerk_errand_go(errand);
}

/* -- a pod that waits, edited -------------------------------------------------- */

static void on_edited(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct clerk *clerk = ctx;

	clerk->editing = false;
	if (err != NULL || !result->txn.succeeded)
		return;
	world_hit(clerk->world, COVER_EDITED);
	STORY(&clerk->world->story, "clerk", "has edited p-%u: %" PRId64 "m",
	      clerk->edited, clerk->edit.cpu_milli);
}

static struct pl_span edited_key(struct clerk *clerk, enum keys_kind kind,
                                 struct keys_text *out)
{
	struct keys_id id = {.kind = kind,
	                     .partition =
	                             clerk->world->stock->pod[clerk->edited].partition};
	char namespace[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];

	scene_pod_space(clerk->edited, namespace);
	scene_pod_name(clerk->edited, name);
	id.scope = text(namespace);
	id.name = text(name);
	if (keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	return keys_span(out);
}

/* The state goes with it, as what it says of the old spec means nothing any more. */
void clerk_edit(struct clerk *clerk, uint32_t pod)
{
	const struct stock_pod *seen = &clerk->world->stock->pod[pod];
	struct keys_text spec, state;
	char json[SCENE_JSON_SIZE];
	struct kv_compare compare[2];
	struct kv_req then[2];
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = compare,
	                             .compare_count = 2,
	                             .then = then,
	                             .then_count = seen->state_rev == 0 ? 1 : 2}};

	clerk->edited = pod;
	clerk->edit = seen->what;
	clerk->edit.version++;
	clerk->edit.cpu_milli = 100 + (int64_t)world_below(clerk->world, 8) * 100;
	scene_pod_json(pod, &clerk->edit, json);
	compare[0] =
		kv_if_mod_rev(edited_key(clerk, KEYS_SPEC, &spec), KV_EQ, seen->spec_rev);
	compare[1] = kv_if_mod_rev(edited_key(clerk, KEYS_STATE, &state), KV_EQ,
	                           seen->state_rev);
	then[0] = kv_op_put(keys_span(&spec), text(json));
	then[1] = kv_op_delete(kv_key(keys_span(&state)));
	clerk->editing =
		kv_start(clerk->kv, &req, EDIT_MS, on_edited, clerk, NULL, NULL) == PL_OK;
}

static void wish_edit(struct clerk *clerk)
{
	struct world *world = clerk->world;
	uint32_t pod;
	const struct stock_pod *seen;

	if (clerk->fresh == 0)
		return;
	pod = (uint32_t)world_below(world, clerk->fresh);
	seen = &world->stock->pod[pod];
	if (seen->has_spec && !seen->bad_spec && !seen->spoilt &&
	    (seen->phase == STOCK_NO_STATE || seen->phase == STOCK_PENDING) &&
	    scene_must_fit(scene_kind(pod)))
		clerk_edit(clerk, pod);
}

/* -- nodes ---------------------------------------------------------------------- */

static enum pl_code next_node(void *ctx, struct nodes_item *out, bool *more,
                              struct pl_err *err)
{
	struct clerk *clerk = ctx;
	struct clerk_list *list = &clerk->changes;
	uint32_t node;

	(void)err;
	*more = list->next < list->count;
	if (!*more)
		return PL_OK;
	node = list->at[list->next++];
	scene_node_cluster(&clerk->world->plan.scene, node, clerk->cluster);
	scene_node_name(node, clerk->name);
	scene_node_json(&clerk->world->plan.scene, node, &clerk->node[node].what,
	                clerk->node_json);
	*out = (struct nodes_item){.cluster = text(clerk->cluster),
	                           .name = text(clerk->name),
	                           .json = text(clerk->node_json),
	                           .tag = node};
	return PL_OK;
}

static void on_node_outcome(void *ctx, const struct nodes_item *item,
                            enum nodes_outcome outcome, const struct pl_err *err)
{
	static const enum cover_what hits[] = {
		[NODES_CREATED] = COVER_NODE_CREATED,
		[NODES_CHANGED] = COVER_NODE_CHANGED,
		[NODES_DELETED] = COVER_NODE_DELETED,
		[NODES_UNCHANGED] = COVER_COUNT,
		[NODES_REFUSED] = COVER_NODE_REFUSED,
	};
	struct clerk *clerk = ctx;

	if (hits[outcome] != COVER_COUNT)
		world_hit(clerk->world, hits[outcome]);
	if (outcome != NODES_REFUSED || clerk->calm == CALM_NOT)
		return;
	STORY(&clerk->world->story, "clerk", "node " PL_SPAN_FMT " is refused: %s",
	      PL_SPAN_ARG(item->name), err->msg);
	clerk_note(clerk, "node %.*s: %.100s", PL_SPAN_ARG(item->name), err->msg);
}

static void on_changed(void *ctx, const struct pl_err *err)
{
	struct clerk *clerk = ctx;

	clerk->change = NULL;
	if (err != NULL && clerk->calm == CALM_NODES)
		clerk_note(clerk, "nodes: %s", err->msg);
}

void clerk_change(struct clerk *clerk, enum nodes_verb verb)
{
	struct nodes_opts opts = {.verb = verb,
	                          .partitions = clerk->world->plan.partitions,
	                          .inflight = 1 + (unsigned)world_below(clerk->world, 4),
	                          .timeout_ms = CLERK_CALL_MS,
	                          .patience_ms = CLERK_PATIENCE_MS,
	                          .next = next_node,
	                          .report = on_node_outcome,
	                          .done = on_changed,
	                          .ctx = clerk};

	clerk->verb = verb;
	if (nodes_open(clerk->kv, &opts, &clerk->change, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

/* Who closes one says since when, by his own clock, or leaves that to whoever sees it. */
void clerk_close_node(struct clerk *clerk, uint32_t node)
{
	struct scene_node *what = &clerk->node[node].what;

	what->closed = true;
	what->closed_ms = 0;
	if (world_chance(clerk->world, 1, 2))
		what->closed_ms = world_wall_ms(clerk->world) + clerk->wall_ms;
}

static void change_one(struct clerk *clerk, uint32_t node)
{
	struct scene_node *what = &clerk->node[node].what;
	const struct scene_node first = scene_node_first(&clerk->world->plan.scene, node);

	what->version++;
	if (world_chance(clerk->world, 1, 3))
		what->cpu_milli =
			first.cpu_milli / 4 * (1 + (int64_t)world_below(clerk->world, 5));
	if (world_chance(clerk->world, 1, 4))
		what->tainted = !what->tainted;
	if (world_chance(clerk->world, 1, 5)) {
		what->zone = (unsigned)world_below(clerk->world, SCENE_ZONES_ALL);
		world_hit(clerk->world, COVER_RELABELLED);
	}
	if (world_chance(clerk->world, 1, 4))
		what->pods = 1 + (int64_t)world_below(clerk->world, 14);
	if (world_chance(clerk->world, 1, 3))
		what->cordoned = !what->cordoned;
	if (what->closed && world_chance(clerk->world, 1, 2)) {
		what->closed = false;
		world_hit(clerk->world, COVER_OPENED_AGAIN);
	} else if (!what->closed && world_chance(clerk->world, 1, 3)) {
		clerk_close_node(clerk, node);
		world_hit(clerk->world, COVER_CLOSED);
	}
}

/* Often one on which room is held. */
static uint32_t some_node(struct clerk *clerk)
{
	struct world *world = clerk->world;
	uint32_t nodes = world->plan.scene.nodes;
	uint32_t from = (uint32_t)world_below(world, nodes);

	if (!world_chance(world, 1, 2))
		return from;
	for (uint32_t k = 0; k < nodes; k++) {
		uint32_t n = (from + k) % nodes;

		if (world->stock->node[n].gang_holds > 0) {
			world_hit(world, COVER_LARGE_NODE);
			return n;
		}
	}
	return from;
}

static void wish_nodes(struct clerk *clerk)
{
	static const enum nodes_verb verbs[] = {NODES_APPLY, NODES_APPLY, NODES_CORDON,
	                                        NODES_UNCORDON, NODES_DELETE};
	struct world *world = clerk->world;
	struct clerk_list *list = &clerk->changes;
	enum nodes_verb verb = verbs[world_below(world, 5)];
	uint64_t count = 1 + world_below(world, NODES_AT_ONCE);

	list->count = list->next = 0;
	for (; count > 0 && list->count < clerk->nodes; count--) {
		uint32_t node = some_node(clerk);

		if (verb == NODES_APPLY && clerk->node[node].wanted)
			change_one(clerk, node);
		clerk->node[node].wanted = true;
		list->at[list->count++] = node;
	}
	clerk_change(clerk, verb);
}

/* All that there are in the beginning, some of them later. */
static void first_nodes(struct clerk *clerk)
{
	struct clerk_list *list = &clerk->changes;

	clerk->brought = true;
	list->count = list->next = 0;
	for (uint32_t i = 0; i < clerk->world->plan.scene.nodes; i++) {
		if (world_chance(clerk->world, 1, 8))
			continue;
		clerk->node[i].wanted = true;
		list->at[list->count++] = i;
	}
	clerk_change(clerk, NODES_APPLY);
}

void clerk_wish(struct clerk *clerk)
{
	struct world *world = clerk->world;
	uint64_t wish = world_below(world, 100);

	if (world->stock->world->truth.revision == 0)
		return;
	if (!clerk->brought && clerk->change == NULL &&
	    world->agenda.now_ms >= world->plan.nodes_late_ms)
		first_nodes(clerk);
	else if (wish < 37 && clerk->submit == NULL)
		wish_pods(clerk);
	else if (wish >= 37 && wish < 45)
		clerk_row(clerk);
	else if (wish >= 45 && wish < 51)
		wish_gang(clerk);
	else if (wish >= 51 && wish < 57 && !clerk->budgeting)
		clerk_budget(clerk);
	else if (wish >= 57 && wish < 70 && clerk->change == NULL && clerk->brought)
		wish_nodes(clerk);
	else if (wish >= 70 && wish < 85 && !clerk->editing)
		wish_edit(clerk);
	else if (wish >= 85 && wish < 92 && clerk->removal.wishes == NULL)
		wish_fewer(clerk);
	else if (wish >= 92 && wish < 96 && clerk->drain.node == STOCK_NONE)
		clerk_drain_begin(clerk);
	else if (wish >= 96 && wish < 98 && clerk->fsck == NULL)
		clerk_check(clerk);
}
