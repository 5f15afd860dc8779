/* The stored form of a pod: what clients have written, and nothing that is only shown.
 *
 *	shown, not stored                  from
 *	deletionTimestamp, nodeName        the state
 *	status.phase, status.reason        the state, as long as no client has said them
 *	nominatedNodeName, PodScheduled    the state, whatever clients say
 *
 * A client that reads a pod and writes it back with one more condition has not said the rest.
 */
#include "coord/api/objects/pod_state_text.h"
#include "coord/api/verbs/change.h"
#include "shardsched/model/object.h"

bool change_stores(const struct change *change, const char *outer, const char *inner)
{
	struct pl_span value =
		object_member(change->current.part[OBJECT_MAIN]->value, outer);

	return value.len > 0 && value.at[0] == '{' && object_member(value, inner).len > 0;
}

static bool is_bound(const struct state_text *state)
{
	return state_text_phase_is(state, "Bound") && state_text_has_place(state);
}

/* Phase and reason as they were shown are not the client's, unless the client has taken the
 * reason "Bound" away: then it says the phase itself. */
static void strip_phase(struct change *change, struct cJSON *status,
                        const struct state_text *state)
{
	bool stores_phase = change_stores(change, "status", "phase");
	bool stores_reason = change_stores(change, "status", "reason");
	bool shows_bound = is_bound(state) && !stores_phase && !stores_reason;
	bool has_bound = pl_span_eq(meta_text(status, "reason"), PL_SPAN_LIT("Bound"));
	char scratch[MEMBER_NAME_SIZE];
	struct pl_span shown =
		object_field(&change->current, PL_SPAN_LIT("status.phase"), scratch);

	if (has_bound && !stores_reason)
		(void)json_remove(status, "reason");
	if (!stores_phase && pl_span_eq(meta_text(status, "phase"), shown) &&
	    (has_bound || !shows_bound))
		(void)json_remove(status, "phase");
}

static void strip_conditions(struct cJSON *status)
{
	struct cJSON *list = json_get(status, "conditions");

	for (size_t i = json_length(list); i-- > 0;)
		if (pl_span_eq(meta_text(json_at(list, i), "type"),
		               PL_SPAN_LIT("PodScheduled")))
			json_detach(list, json_at(list, i));
	if (list != NULL && json_length(list) == 0)
		(void)json_remove(status, "conditions");
}

static void strip_status(struct change *change, struct cJSON *root)
{
	struct state_text state = pod_state_text(&change->current);
	struct cJSON *status = json_get(root, "status");

	if (status == NULL)
		return;
	strip_phase(change, status, &state);
	(void)json_remove(status, "nominatedNodeName");
	if (state.phase.len > 0)
		strip_conditions(status);
	if (pl_json_count((struct pl_json){.node = status}) == 0)
		(void)json_remove(root, "status");
}

/* A change of the rest leaves the status as it is stored. */
static bool keep_status(struct change *change, struct cJSON *root)
{
	struct pl_arena *arena = &change->request->arena;
	struct pl_span stored =
		object_member(change->current.part[OBJECT_MAIN]->value, "status");
	struct json_tree tree;
	struct pl_err err = {0};

	if (stored.len == 0) {
		(void)json_remove(root, "status");
		return true;
	}
	return json_tree_parse(arena, stored, NULL, &tree, &err) == PL_OK &&
	       json_set(arena, root, "status",
	                json_new_copy(arena, json_tree_root(&tree)));
}

bool pod_strip(struct change *change)
{
	struct cJSON *root = change->wanted.root;
	struct cJSON *meta = json_get(root, "metadata"), *spec = json_get(root, "spec");

	if (change->kind == CHANGE_CREATE) {
		(void)json_remove(root, "status");
		return true;
	}
	(void)json_remove(meta, "deletionTimestamp");
	(void)json_remove(meta, "deletionGracePeriodSeconds");
	if (!change_stores(change, "metadata", "uid"))
		(void)json_remove(meta, "uid");
	if (spec != NULL && !change_stores(change, "spec", "nodeName"))
		(void)json_remove(spec, "nodeName");
	if (!change->is_status)
		return keep_status(change, root);
	strip_status(change, root);
	return true;
}
