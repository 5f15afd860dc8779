/*
 * A pod as Kubernetes' clients know it, from its spec and its state.
 *
 *	state        status.phase  status.reason  and
 *	none         Pending                      with gates PodScheduled False, SchedulingGated
 *	Pending      Pending                      PodScheduled False, Unschedulable
 *	Bound        as stored, or Pending, Bound   spec.nodeName, PodScheduled True
 *	Terminating  the same                     deletionTimestamp, unless it is placed again
 *	Succeeded    Succeeded
 *	Failed       Failed
 *
 * What a member's kubelet reports (status of the stored Pod) is shown as it is; Placet
 * adds what only Placet knows.
 */
#include <stdio.h>

#include "coord/api/objects/object_writer.h"
#include "coord/api/objects/pod_state_text.h"
#include "shardsched/model/object.h"
#include "shardsched/records/pod_state.h"
#include "store/base/timestamp.h"

enum { GRACE_DIGITS_MAX = 9 };

struct state_text pod_state_text(const struct object *object)
{
	const struct cache_entry *entry = object->part[OBJECT_STATE];
	struct state_text out = {0};
	struct pl_span rest, name, value;

	if (entry == NULL || !object_parts_of(entry)->valid)
		return out;
	rest = entry->value;
	while (object_pair(&rest, &name, &value)) {
		struct pl_span key = json_unquoted(name);

#define STATE_TEXT(member)                           \
	if (pl_span_eq(key, PL_SPAN_LIT(#member))) { \
		out.member = value;                  \
		continue;                            \
	}
		STATE_TEXT(phase)
		STATE_TEXT(ask)
		STATE_TEXT(next)
		STATE_TEXT(uid)
		STATE_TEXT(cluster)
		STATE_TEXT(node)
		STATE_TEXT(nominated)
		STATE_TEXT(shard)
		STATE_TEXT(attempts)
		STATE_TEXT(reason)
		STATE_TEXT(message)
		STATE_TEXT(since)
#undef STATE_TEXT
	}
	return out;
}

bool state_text_phase_is(const struct state_text *state, const char *phase)
{
	return pl_span_eq(json_unquoted(state->phase), pl_span_str(phase));
}

bool state_text_has_place(const struct state_text *state)
{
	return state->node.len > 2 && !state_text_phase_is(state, "Pending");
}

/* Whether it goes for good, not to be placed again. */
static bool is_deleted(const struct state_text *state)
{
	if (pl_span_eq(json_unquoted(state->ask), PL_SPAN_LIT("delete")))
		return true;
	return state_text_phase_is(state, "Terminating") && state->next.len == 0;
}

size_t state_text_node(const struct state_text *state, char out[MEMBER_NAME_SIZE])
{
	struct pl_span cluster = json_unquoted(state->cluster),
		       node = json_unquoted(state->node);

	if (cluster.len > 63 || node.len == 0 || node.len > 253)
		return 0;
	return member_name_join(cluster, node, out);
}

size_t state_text_nominated(const struct state_text *state, char out[MEMBER_NAME_SIZE])
{
	struct state_text nominated = {0};

	if (state->nominated.len <= 2 || state->nominated.at[0] != '{')
		return 0;
	nominated.cluster = object_member(state->nominated, "cluster");
	nominated.node = object_member(state->nominated, "node");
	return state_text_node(&nominated, out);
}

/* The pod whose deletion is told. */
struct pod_text {
	const struct object *object;
	const struct state_text *state;
};

/* The grace period that the spec says, as JSON. */
static struct pl_span grace_of(const struct object *object)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	struct pl_span spec = object_entry_spec(entry);
	struct pl_span grace = {0};

	if (spec.len > 0 && spec.at[0] == '{')
		grace = object_member(spec, "terminationGracePeriodSeconds");
	if (grace.len == 0 || grace.len > GRACE_DIGITS_MAX || grace.at[0] < '0' ||
	    grace.at[0] > '9')
		return PL_SPAN_LIT("30");
	return grace;
}

/* Kubernetes' deletionTimestamp is when the grace period is over. */
static void put_deletion(struct object_writer *writer, const void *ctx)
{
	const struct pod_text *pod = ctx;
	struct pl_span since = json_unquoted(pod->state->since),
		       grace = grace_of(pod->object);
	char time[PL_TIMESTAMP_SIZE], text[PL_TIMESTAMP_SIZE + 2];
	int64_t at_ms, grace_s = 0;

	if (!is_deleted(pod->state) || since.len == 0)
		return;
	for (size_t i = 0; i < grace.len && grace.at[i] >= '0' && grace.at[i] <= '9'; i++)
		grace_s = grace_s * 10 + (grace.at[i] - '0');
	object_name(writer, "deletionTimestamp");
	if (pl_timestamp_parse(since, &at_ms, NULL) == PL_OK) {
		(void)pl_timestamp_print(at_ms + grace_s * 1000, time);
		(void)snprintf(text, sizeof text, "\"%s\"", time);
		object_put_time(writer, pl_span_str(text));
	} else {
		object_put_time(writer, pod->state->since);
	}
	object_member_raw(writer, "deletionGracePeriodSeconds", grace);
}

static void put_spec(struct object_writer *writer, const struct object *object,
                     const struct state_text *state)
{
	static const char *const but_node[] = {"nodeName", NULL};
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	const struct object_parts *parts = object_parts_of(entry);
	struct pl_span stored = object_entry_spec(entry);
	char name[MEMBER_NAME_SIZE];
	size_t len = state_text_has_place(state) ? state_text_node(state, name) : 0;

	object_name(writer, "spec");
	object_open(writer);
	if (len > 0)
		object_member_string(writer, "nodeName", pl_span(name, len));
	if (len > 0 && parts->names_node)
		object_members_but(writer, stored, but_node);
	else
		object_put_inner(writer, stored);
	object_close(writer);
}

static void put_condition(struct object_writer *writer, const struct state_text *state)
{
	bool placed = state_text_has_place(state);

	object_put_str(writer, "{\"type\":\"PodScheduled\",\"status\":");
	object_put_str(writer, placed ? "\"True\"" : "\"False\"");
	object_put_str(writer, ",\"lastProbeTime\":null,\"lastTransitionTime\":");
	if (state->since.len > 2)
		object_put_time(writer, state->since);
	else
		object_put_str(writer, "null");
	if (!placed) {
		object_put_str(writer, ",\"reason\":\"Unschedulable\"");
		if (state->message.len > 2) {
			object_put_str(writer, ",\"message\":");
			object_put(writer, state->message);
		}
	}
	object_put_str(writer, "}");
}

/* As Kubernetes says from the beginning: no scheduler has looked at the pod. */
static void put_gated(struct object_writer *writer)
{
	object_put_str(
		writer,
		"{\"type\":\"PodScheduled\",\"status\":\"False\",\"lastProbeTime\":null,"
		"\"lastTransitionTime\":null,\"reason\":\"SchedulingGated\",\"message\":"
		"\"Scheduling is blocked due to non-empty scheduling gates\"}");
}

/* The stored conditions but PodScheduled, which Placet knows better. */
static void put_conditions(struct object_writer *writer, struct pl_span stored,
                           const struct state_text *state, bool gated)
{
	bool known = state->phase.len > 0 || gated, some = known;

	object_name(writer, "conditions");
	object_put_str(writer, "[");
	if (state->phase.len > 0)
		put_condition(writer, state);
	else if (gated)
		put_gated(writer);
	while (stored.len > 0) {
		struct pl_span item = object_item(&stored);

		if (item.len == 0)
			break;
		if (item.at[0] == '{' && known &&
		    pl_span_eq(object_member(item, "type"),
		               PL_SPAN_LIT("\"PodScheduled\"")))
			continue;
		object_put_str(writer, some ? "," : "");
		object_put(writer, item);
		some = true;
	}
	object_put_str(writer, "]");
	writer->some = true;
}

/* The phase for clients, in quotes. */
static struct pl_span shown_phase(struct pl_span stored, const struct state_text *state)
{
	struct pl_span phase = stored.len > 0 ? object_member(stored, "phase") : stored;

	if (state_text_phase_is(state, "Succeeded") ||
	    state_text_phase_is(state, "Failed"))
		return state->phase;
	if (state_text_has_place(state) && phase.len > 2)
		return phase;
	return PL_SPAN_LIT("\"Pending\"");
}

static void put_status(struct object_writer *writer, const struct object *object,
                       const struct state_text *state)
{
	static const char *const own[] = {"phase",  "conditions", "nominatedNodeName",
	                                  "reason", "message",    NULL};
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	struct pl_span stored = object_piece_text(entry, object_parts_of(entry)->status);
	struct pl_span reason = {0}, message = {0}, conditions = {0};
	char name[MEMBER_NAME_SIZE];
	size_t len;

	if (stored.len > 0 && stored.at[0] != '{')
		stored = (struct pl_span){0};
	if (stored.len > 0) {
		reason = object_member(stored, "reason");
		message = object_member(stored, "message");
		conditions = object_member(stored, "conditions");
	}
	object_name(writer, "status");
	object_open(writer);
	object_member_raw(writer, "phase", shown_phase(stored, state));
	put_conditions(writer, conditions, state, object_parts_of(entry)->gated);
	len = state_text_nominated(state, name);
	if (len > 0)
		object_member_string(writer, "nominatedNodeName", pl_span(name, len));
	if (reason.len > 2)
		object_member_raw(writer, "reason", reason);
	else if (state_text_has_place(state) && state_text_phase_is(state, "Bound") &&
	         (stored.len == 0 || object_member(stored, "phase").len <= 2))
		object_member_raw(writer, "reason", PL_SPAN_LIT("\"Bound\""));
	if (message.len > 2)
		object_member_raw(writer, "message", message);
	object_members_but(writer, stored, own);
	object_close(writer);
}

void object_write_pod(struct object_writer *writer, const struct object *object)
{
	static const char *const own[] = {"kind", "apiVersion", "metadata",
	                                  "spec", "status",     NULL};
	struct state_text state = pod_state_text(object);
	struct pod_text pod = {object, &state};

	object_put_metadata(writer, object, put_deletion, &pod, state.uid);
	put_spec(writer, object, &state);
	put_status(writer, object, &state);
	if (object_parts_of(object->part[OBJECT_MAIN])->others)
		object_members_but(writer, object->part[OBJECT_MAIN]->value, own);
}

struct pl_span object_pod_field(const struct object *object, struct pl_span path,
                                char out[MEMBER_NAME_SIZE])
{
	struct state_text state = pod_state_text(object);
	const struct cache_entry *entry = object->part[OBJECT_MAIN];

	if (pl_span_eq(path, PL_SPAN_LIT("spec.nodeName"))) {
		size_t len =
			state_text_has_place(&state) ? state_text_node(&state, out) : 0;

		return len == 0 ? (struct pl_span){0} : pl_span(out, len);
	}
	if (pl_span_eq(path, PL_SPAN_LIT("status.phase")))
		return json_unquoted(shown_phase(
			object_piece_text(entry, object_parts_of(entry)->status),
			&state));
	if (pl_span_eq(path, PL_SPAN_LIT("status.nominatedNodeName")))
		return pl_span(out, state_text_nominated(&state, out));
	return (struct pl_span){0};
}
