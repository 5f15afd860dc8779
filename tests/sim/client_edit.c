/*
 * Edits of pods as the API makes them (coord/service/pods/pod_changes.h). The client reads a
 * pod and changes what it read: the request of a waiting pod, the labels of a placed one, so
 * that rules and budgets select it by others, or a number that no decision reads.
 */
#include <inttypes.h>

#include "store/kv/calls.h"
#include "tests/sim/client_int.h"

enum { ARENA_CHUNK = 1 << 12, ARENA_MAX = 1 << 20 };

void client_edit_init(struct client *client)
{
	struct client_edit *edit = &client->edit;

	pl_arena_init(&edit->arena, ARENA_CHUNK, ARENA_MAX);
}

void client_edit_done(struct client *client)
{
	pl_arena_done(&client->edit.arena);
}

void client_edit_cancel(struct client *client)
{
	struct client_edit *edit = &client->edit;

	if (edit->active != NULL)
		pod_changes_cancel(edit->active);
	else if (edit->busy)
		sequence_cancel(&edit->read);
}

static void edit_end(struct client_edit *edit)
{
	sequence_done(&edit->read);
	edit->active = NULL;
	edit->busy = false;
}

static void on_report(void *ctx, uint32_t i, const struct pod_change_result *result)
{
	struct client *client = ctx;
	struct client_edit *edit = &client->edit;
	struct world *world = client->world;

	(void)i;
	if (result->outcome == POD_CHANGE_CONFLICT)
		world_hit(world, COVER_EDIT_REFUSED);
	if (result->outcome != POD_CHANGE_DONE)
		return;
	world_hit(world, edit->hit);
	STORY(&world->story, "client", "has edited p-%u: %" PRId64 "m, labels %u",
	      edit->pod, edit->what.cpu_milli, edit->what.labels);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct client *client = ctx;

	(void)err;
	edit_end(&client->edit);
}

static bool is_one(const struct kv_record *record, enum keys_kind kind)
{
	struct keys_id id;

	return keys_parse(record->key, &id, NULL) == PL_OK && id.kind == kind;
}

static struct pod_value keep_value(struct client_edit *edit,
                                   const struct kv_result *result, enum keys_kind kind)
{
	struct pod_value value = {0};

	for (size_t i = 0; i < result->get.count; i++) {
		const struct kv_record *record = &result->get.records[i];

		if (!is_one(record, kind))
			continue;
		value.rev = record->mod_revision;
		value.value = pl_arena_dup(&edit->arena, record->value);
		PL_ASSERT(value.value.at != NULL);
	}
	return value;
}

/* False: nothing is to be edited. */
static bool draw_edit(struct client *client, const struct pod_change *change)
{
	struct client_edit *edit = &client->edit;
	struct world *world = client->world;
	struct mirror_pod state = {0};
	bool placed;

	if (change->spec.rev == 0 ||
	    !scenario_pod_read(change->spec.value, &edit->what) ||
	    (change->state.rev != 0 &&
	     !mirror_read_state(world->mirror, change->state.value, &state)))
		return false;
	placed = change->state.rev != 0 && mirror_is_placed(&state);
	edit->what.version++;
	if (!placed &&
	    (state.phase == MIRROR_NO_STATE || state.phase == MIRROR_PENDING) &&
	    scenario_must_fit(scenario_kind(edit->pod)) && world_chance(world, 3, 4)) {
		edit->hit = COVER_EDITED;
		edit->what.cpu_milli = 100 + (int64_t)world_below(world, 8) * 100;
		return true;
	}
	if (placed && scenario_may_relabel(edit->pod, edit->what.incarnation) &&
	    world_chance(world, 3, 4)) {
		edit->hit = COVER_EDITED_LABELS;
		edit->what.labels ^= 1;
		return true;
	}
	edit->hit = COVER_EDITED_NOTE;
	return !scenario_is_gang(edit->pod);
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct client *client = ctx;
	struct client_edit *edit = &client->edit;
	struct pod_change *change = &edit->change;
	const struct pod_changes_opts opts = {.change = change,
	                                      .count = 1,
	                                      .who = "client",
	                                      .wall_ms = (int64_t)client->world->wall_ms,
	                                      .patience_ms = CLIENT_PATIENCE_MS,
	                                      .report = on_report,
	                                      .done = on_done,
	                                      .ctx = client};

	if (err != NULL) {
		edit_end(edit);
		return;
	}
	change->spec = keep_value(edit, result, KEYS_SPEC);
	change->state = keep_value(edit, result, KEYS_STATE);
	change->has_other_keys =
		result->get.count >
		(change->spec.rev != 0) + (change->state.rev != 0 ? 1U : 0U);
	if (!draw_edit(client, change)) {
		edit_end(edit);
		return;
	}
	scenario_pod_json(edit->pod, &edit->what, edit->json);
	change->edited = pl_span_str(edit->json);
	if (pod_changes_start(&edit->service, &opts, &edit->active,
	                      &(struct pl_err){0}) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void start_edit(struct client *client, uint32_t pod)
{
	struct client_edit *edit = &client->edit;
	struct keys_id id = {.kind = KEYS_SPEC,
	                     .partition = client->world->mirror->pod[pod].partition};
	struct keys_text prefix;
	struct kv_req req;

	pl_arena_reset(&edit->arena);
	edit->pod = pod;
	edit->busy = true;
	edit->service = (struct service){.kv = client->kv,
	                                 .partitions = client->world->plan.partitions,
	                                 .timeout_ms = CLIENT_CALL_MS,
	                                 .user = "the client"};
	scenario_pod_namespace(pod, edit->namespace);
	scenario_pod_name(pod, edit->name);
	edit->change =
		(struct pod_change){.verb = POD_CHANGE_EDIT,
	                            .pod = {.partition = id.partition,
	                                    .namespace = pl_span_str(edit->namespace),
	                                    .name = pl_span_str(edit->name)}};
	id.scope = edit->change.pod.namespace;
	id.name = edit->change.pod.name;
	if (keys_prefix(&id, 4, &prefix, NULL) != PL_OK ||
	    sequence_init(&edit->read, client->kv, CLIENT_CALL_MS, client,
	                  &(struct pl_err){0}) != PL_OK)
		PL_UNREACHABLE("key, or no memory");
	req = kv_op_get(kv_prefix(keys_span(&prefix)));
	sequence_send(&edit->read, &req, on_read);
}

void client_edit_some(struct client *client)
{
	struct world *world = client->world;
	const struct mirror_pod *seen;
	uint32_t pod;

	if (client->first_new == 0)
		return;
	pod = (uint32_t)world_below(world, client->first_new);
	seen = &world->mirror->pod[pod];
	if (seen->has_spec && !seen->bad_spec && !seen->corrupted)
		start_edit(client, pod);
}
