#include "coord/api/objects/pod_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/objects/object_writer.h"
#include "coord/api/objects/pod_state_text.h"
#include "shardsched/framework/reason.h"
#include "store/base/hash.h"

enum { SENTENCE_PARTS_MAX = 16, MESSAGE_MAX = 16 << 10 };

static const struct {
	const char *reason, *type, *action;
} kinds[POD_EVENT_KINDS] = {
#define POD_EVENT_ROW(kind, reason, type, action) {reason, type, action},
	POD_EVENT_MAP(POD_EVENT_ROW)
#undef POD_EVENT_ROW
};

bool resource_is_events(const struct schema_resource *resource)
{
	return strcmp(resource->plural, "events") == 0;
}

/* -- which events a state has --------------------------------------------------------- */

/* A reason that a cycle found; a gate is no failure. */
static bool failed_to_schedule(const struct state_text *state)
{
	struct pl_span word = json_unquoted(state->reason);
	enum reason_code code = reason_of_word(word);

	if (code == REASON_CODES)
		return pl_span_eq(word, PL_SPAN_LIT("nomination.ended"));
	return code != REASON_NONE && code != REASON_GATED;
}

static bool state_has_event(const struct state_text *state, enum pod_event_kind kind)
{
	bool pending = state_text_phase_is(state, "Pending");
	bool terminating = state_text_phase_is(state, "Terminating");
	bool preempted =
		pl_span_eq(json_unquoted(state->reason), PL_SPAN_LIT("preempted"));

	switch (kind) {
	case POD_EVENT_SCHEDULED:
		return state_text_has_place(state);
	case POD_EVENT_FAILED:
		return pending && failed_to_schedule(state);
	case POD_EVENT_NOMINATED:
		return pending && state->nominated.len > 2;
	case POD_EVENT_PREEMPTED:
		return terminating && preempted;
	case POD_EVENT_EVICTED:
		return terminating && !preempted &&
		       !pl_span_eq(json_unquoted(state->ask), PL_SPAN_LIT("delete"));
	case POD_EVENT_KINDS:
		break;
	}
	PL_UNREACHABLE("no such event");
}

unsigned pod_event_kinds(const struct object *pod)
{
	struct state_text state;
	unsigned out = 0;

	if (pod->part[OBJECT_MAIN] == NULL || pod->part[OBJECT_STATE] == NULL)
		return 0;
	state = pod_state_text(pod);
	for (unsigned kind = 0; kind < POD_EVENT_KINDS; kind++)
		if (state_has_event(&state, (enum pod_event_kind)kind))
			out |= 1U << kind;
	return out;
}

/* -- identity ------------------------------------------------------------------------- */

static void set_name(struct pod_event *event, const struct state_text *state)
{
	char node[MEMBER_NAME_SIZE], word[STABLE_UID_WORD_SIZE];
	size_t len =
		event->kind == POD_EVENT_SCHEDULED ? state_text_node(state, node) : 0;
	uint64_t hash = pl_hash(pl_span_str(event->uid));

	hash = hash * 31 + pl_hash(pl_span_str(kinds[event->kind].reason));
	if (len > 0)
		hash = hash * 31 + pl_hash(pl_span(node, len));
	stable_uid_word(hash, word);
	event->name_len =
		(size_t)snprintf(event->name, sizeof event->name, PL_SPAN_FMT ".%s",
	                         PL_SPAN_ARG(event->pod.name), word);
	PL_ASSERT(event->name_len < sizeof event->name);
}

bool pod_event_make(const struct object *pod, enum pod_event_kind kind,
                    struct pod_event *out)
{
	struct state_text state;

	if (pod->part[OBJECT_MAIN] == NULL || pod->part[OBJECT_STATE] == NULL)
		return false;
	state = pod_state_text(pod);
	if (!state_has_event(&state, kind))
		return false;
	out->kind = kind;
	out->pod = *pod;
	out->order_len = 0;
	object_uid(pod, state.uid, out->uid);
	set_name(out, &state);
	return true;
}

struct object pod_event_object(const struct schema_resource *resource,
                               const struct pod_event *event)
{
	struct object object = {
		.resource = resource,
		.namespace = event->pod.namespace,
		.name = pl_span(event->name, event->name_len),
		.event = event,
		.order = pl_span(event->order, event->order_len),
		.revision = event->pod.part[OBJECT_STATE]->mod_revision,
	};

	memcpy(object.part, event->pod.part, sizeof object.part);
	return object;
}

bool pod_event_same(const struct pod_event *a, const struct pod_event *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0 &&
	       a->pod.part[OBJECT_STATE] == b->pod.part[OBJECT_STATE];
}

static const struct schema_resource *events_resource(void)
{
	return schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                            PL_SPAN_LIT("events"));
}

static void tell_event(const struct pod_event *before, const struct pod_event *after,
                       int64_t revision,
                       void (*changed)(void *ctx, const struct source_change *change),
                       void *ctx)
{
	const struct schema_resource *events = events_resource();
	struct source_change change = {.before = {.resource = events},
	                               .after = {.resource = events},
	                               .revision = revision};

	if (before != NULL)
		change.before = pod_event_object(events, before);
	if (after != NULL)
		change.after = pod_event_object(events, after);
	if (before != NULL || after != NULL)
		changed(ctx, &change);
}

void pod_event_changes(const struct source_change *change,
                       void (*changed)(void *ctx, const struct source_change *change),
                       void *ctx)
{
	struct pod_event before, after;
	unsigned had = pod_event_kinds(&change->before);
	unsigned has = pod_event_kinds(&change->after);

	for (unsigned i = 0; i < POD_EVENT_KINDS; i++) {
		enum pod_event_kind kind = (enum pod_event_kind)i;
		bool was = (had >> i & 1) != 0 &&
		           pod_event_make(&change->before, kind, &before);
		bool is = (has >> i & 1) != 0 &&
		          pod_event_make(&change->after, kind, &after);

		if (was && is && pod_event_same(&before, &after))
			continue;
		if (was && is && strcmp(before.name, after.name) != 0) {
			tell_event(&before, NULL, change->revision, changed, ctx);
			was = false;
		}
		tell_event(was ? &before : NULL, is ? &after : NULL, change->revision,
		           changed, ctx);
	}
}

/* -- kube-scheduler's sentence --------------------------------------------------------- */

struct sentence_part {
	uint64_t nodes; /* 0: of no node in particular */
	char number[24];
	struct pl_span text;
};

/* Reads "12 nodes: " or "1 node: ". False: text does not begin so. */
static bool read_nodes(struct pl_span text, uint64_t *nodes, size_t *len)
{
	size_t at = 0;

	*nodes = 0;
	for (; at < text.len && at < 9 && text.at[at] >= '0' && text.at[at] <= '9'; at++)
		*nodes = *nodes * 10 + (uint64_t)(text.at[at] - '0');
	if (at == 0)
		return false;
	text = pl_span(text.at + at, text.len - at);
	if (pl_span_starts(text, PL_SPAN_LIT(" nodes: ")))
		*len = at + 8;
	else if (pl_span_starts(text, PL_SPAN_LIT(" node: ")))
		*len = at + 7;
	else
		return false;
	return true;
}

/* The length up to the "; " behind which the nodes of the next part stand. */
static size_t part_len(struct pl_span text)
{
	for (size_t at = 0; at + 2 < text.len; at++) {
		struct pl_span rest = pl_span(text.at + at + 2, text.len - at - 2);
		uint64_t nodes;
		size_t len;

		if (text.at[at] == ';' && text.at[at + 1] == ' ' &&
		    read_nodes(rest, &nodes, &len))
			return at;
	}
	return text.len;
}

static unsigned read_parts(struct pl_span message,
                           struct sentence_part out[SENTENCE_PARTS_MAX])
{
	unsigned count = 0;

	while (message.len > 0 && count < SENTENCE_PARTS_MAX) {
		struct sentence_part *part = &out[count++];
		size_t skip = 0, len;

		if (!read_nodes(message, &part->nodes, &skip))
			part->nodes = 0;
		(void)snprintf(part->number, sizeof part->number, "%" PRIu64,
		               part->nodes);
		message = pl_span(message.at + skip, message.len - skip);
		len = part_len(message);
		part->text = pl_span(message.at, len);
		len = len + 2 < message.len ? len + 2 : message.len;
		message = pl_span(message.at + len, message.len - len);
	}
	return count;
}

/* The order of the parts' texts, the number before the rest: kube-scheduler's. */
static int part_cmp(const void *left, const void *right)
{
	const struct sentence_part *a = left, *b = right;
	int order = 0;

	if (a->nodes == 0 || b->nodes == 0)
		return (a->nodes != 0) - (b->nodes != 0);
	order = strcmp(a->number, b->number);
	return order != 0 ? order : pl_span_cmp(a->text, b->text);
}

enum pl_code pod_event_sentence(struct pl_span message, struct pl_buf *out)
{
	struct sentence_part part[SENTENCE_PARTS_MAX];
	unsigned count = read_parts(message, part);
	uint64_t nodes = 0;
	enum pl_code code;

	for (unsigned i = 0; i < count; i++)
		nodes += part[i].nodes;
	if (nodes == 0)
		return pl_span_eq(message, PL_SPAN_LIT("no nodes"))
		               ? pl_buf_add_str(out, "no nodes available to schedule "
		                                     "pods")
		               : pl_buf_add(out, message);
	qsort(part, count, sizeof part[0], part_cmp);
	code = pl_buf_printf(out, "0/%" PRIu64 " nodes are available: ", nodes);
	for (unsigned i = 0; i < count && code == PL_OK; i++)
		code = part[i].nodes == 0
		               ? pl_buf_printf(out, "%s" PL_SPAN_FMT, i > 0 ? ", " : "",
		                               PL_SPAN_ARG(part[i].text))
		               : pl_buf_printf(out, "%s%s " PL_SPAN_FMT,
		                               i > 0 ? ", " : "", part[i].number,
		                               PL_SPAN_ARG(part[i].text));
	return code == PL_OK ? pl_buf_add_str(out, ".") : code;
}

/* -- output ----------------------------------------------------------------------------- */

static enum pl_code add_place(const struct pod_event *event,
                              const struct state_text *state, struct pl_buf *out)
{
	char node[MEMBER_NAME_SIZE];
	size_t len = state_text_node(state, node);
	struct pl_span reason = json_unquoted(state->reason);

	switch (event->kind) {
	case POD_EVENT_SCHEDULED:
		return pl_buf_printf(out,
		                     "Successfully assigned " PL_SPAN_FMT "/" PL_SPAN_FMT
		                     " to %.*s",
		                     PL_SPAN_ARG(event->pod.namespace),
		                     PL_SPAN_ARG(event->pod.name), (int)len, node);
	case POD_EVENT_NOMINATED:
		len = state_text_nominated(state, node);
		return pl_buf_printf(out, "Nominated for %.*s", (int)len, node);
	case POD_EVENT_PREEMPTED:
		return pl_buf_printf(out, "Preempted by a more important pod on %.*s",
		                     (int)len, node);
	case POD_EVENT_EVICTED:
		return pl_buf_printf(out, "Evicted from %.*s: " PL_SPAN_FMT, (int)len,
		                     node, PL_SPAN_ARG(reason));
	case POD_EVENT_FAILED:
	case POD_EVENT_KINDS:
		break;
	}
	PL_UNREACHABLE("no such event");
}

/* The message without its quotes; a state's message is JSON already. */
static enum pl_code add_message(const struct pod_event *event,
                                const struct state_text *state, struct pl_buf *out)
{
	struct pl_span message = json_unquoted(state->message);
	bool tells = pl_span_eq(json_unquoted(state->reason), PL_SPAN_LIT("preempting"));
	enum pl_code code;

	if (event->kind == POD_EVENT_FAILED)
		return pod_event_sentence(message, out);
	if (event->kind == POD_EVENT_NOMINATED && tells && message.len > 0)
		return pl_buf_add(out, message);
	code = add_place(event, state, out);
	if (code == PL_OK && event->kind == POD_EVENT_EVICTED && message.len > 0)
		code = pl_buf_printf(out, ", " PL_SPAN_FMT, PL_SPAN_ARG(message));
	return code;
}

static void put_message(struct object_writer *writer, const char *name,
                        const struct pod_event *event, const struct state_text *state)
{
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, MESSAGE_MAX);
	code = add_message(event, state, &text);
	object_name(writer, name);
	object_put_str(writer, "\"");
	object_put(writer, pl_buf_span(&text));
	object_put_str(writer, "\"");
	pl_buf_done(&text);
	if (code != PL_OK && writer->code == PL_OK)
		writer->code = code;
}

static void put_pod(struct object_writer *writer, const char *name,
                    const struct pod_event *event, int64_t revision)
{
	char version[24];

	(void)snprintf(version, sizeof version, "%" PRId64, revision);
	object_name(writer, name);
	object_open(writer);
	object_member_string(writer, "kind", PL_SPAN_LIT("Pod"));
	object_member_string(writer, "namespace", event->pod.namespace);
	object_member_string(writer, "name", event->pod.name);
	object_member_string(writer, "uid", pl_span_str(event->uid));
	object_member_string(writer, "apiVersion", PL_SPAN_LIT("v1"));
	object_member_string(writer, "resourceVersion", pl_span_str(version));
	object_close(writer);
}

static void put_metadata(struct object_writer *writer, const struct object *object,
                         const struct state_text *state)
{
	const struct pl_span parts[] = {PL_SPAN_LIT("events"), object->namespace,
	                                object->name};
	char uid[UID_SIZE], version[24];

	stable_uid_print(parts, 3, uid);
	(void)snprintf(version, sizeof version, "%" PRId64, object->revision);
	object_name(writer, "metadata");
	object_open(writer);
	object_member_string(writer, "name", object->name);
	object_member_string(writer, "namespace", object->namespace);
	object_member_string(writer, "uid", pl_span_str(uid));
	object_member_string(writer, "resourceVersion", pl_span_str(version));
	object_name(writer, "creationTimestamp");
	object_put_time(writer, state->since);
	object_close(writer);
}

/* since is the beginning of the present phase: of a pod that has left Bound nothing says
 * any more when it came there. */
static bool time_is_known(const struct pod_event *event, const struct state_text *state)
{
	return state->since.len > 2 && (event->kind != POD_EVENT_SCHEDULED ||
	                                state_text_phase_is(state, "Bound"));
}

static void put_times(struct object_writer *writer, const struct pod_event *event,
                      const struct state_text *state, const char *first, const char *last)
{
	bool known = time_is_known(event, state);

	object_name(writer, first);
	if (known)
		object_put_time(writer, state->since);
	else
		object_put_str(writer, "null");
	object_name(writer, last);
	if (known)
		object_put_time(writer, state->since);
	else
		object_put_str(writer, "null");
}

void object_write_pod_event(struct object_writer *writer, const struct object *object)
{
	const struct pod_event *event = object->event;
	struct state_text state = pod_state_text(&event->pod);
	bool old = object->resource->group[0] == 0;
	struct pl_span count = state.attempts.len > 0 && event->kind == POD_EVENT_FAILED
	                               ? state.attempts
	                               : PL_SPAN_LIT("1");

	put_metadata(writer, object, &state);
	put_pod(writer, old ? "involvedObject" : "regarding", event, object->revision);
	object_member_string(writer, "reason", pl_span_str(kinds[event->kind].reason));
	put_message(writer, old ? "message" : "note", event, &state);
	object_member_raw(writer, old ? "source" : "deprecatedSource",
	                  PL_SPAN_LIT("{\"component\":\"placet\"}"));
	put_times(writer, event, &state,
	          old ? "firstTimestamp" : "deprecatedFirstTimestamp",
	          old ? "lastTimestamp" : "deprecatedLastTimestamp");
	object_member_raw(writer, old ? "count" : "deprecatedCount", count);
	object_member_string(writer, "type", pl_span_str(kinds[event->kind].type));
	object_member_raw(writer, "eventTime", PL_SPAN_LIT("null"));
	object_member_string(writer, "action", pl_span_str(kinds[event->kind].action));
	object_member_string(writer, old ? "reportingComponent" : "reportingController",
	                     PL_SPAN_LIT("placet"));
	object_member_raw(writer, "reportingInstance",
	                  state.shard.len > 2 ? state.shard : PL_SPAN_LIT("\"\""));
}

/* -- fields ------------------------------------------------------------------------------- */

static struct pl_span pod_field(const struct pod_event *event, struct pl_span field,
                                char out[MEMBER_NAME_SIZE])
{
	if (pl_span_eq(field, PL_SPAN_LIT("kind")))
		return PL_SPAN_LIT("Pod");
	if (pl_span_eq(field, PL_SPAN_LIT("namespace")))
		return event->pod.namespace;
	if (pl_span_eq(field, PL_SPAN_LIT("name")))
		return event->pod.name;
	if (pl_span_eq(field, PL_SPAN_LIT("uid")))
		return pl_span_str(event->uid);
	if (pl_span_eq(field, PL_SPAN_LIT("apiVersion")))
		return PL_SPAN_LIT("v1");
	if (!pl_span_eq(field, PL_SPAN_LIT("resourceVersion")))
		return pl_span("", 0); /* fieldPath */
	(void)snprintf(out, MEMBER_NAME_SIZE, "%" PRId64,
	               event->pod.part[OBJECT_STATE]->mod_revision);
	return pl_span_str(out);
}

struct pl_span pod_event_field(const struct pod_event *event, struct pl_span path,
                               char out[MEMBER_NAME_SIZE])
{
	static const char *const prefixes[] = {"involvedObject.", "regarding."};

	for (unsigned i = 0; i < 2; i++) {
		size_t len = strlen(prefixes[i]);

		if (pl_span_starts(path, pl_span_str(prefixes[i])))
			return pod_field(event, pl_span(path.at + len, path.len - len),
			                 out);
	}
	if (pl_span_eq(path, PL_SPAN_LIT("reason")))
		return pl_span_str(kinds[event->kind].reason);
	if (pl_span_eq(path, PL_SPAN_LIT("type")))
		return pl_span_str(kinds[event->kind].type);
	if (pl_span_eq(path, PL_SPAN_LIT("source")) ||
	    pl_span_eq(path, PL_SPAN_LIT("reportingComponent")) ||
	    pl_span_eq(path, PL_SPAN_LIT("reportingController")))
		return PL_SPAN_LIT("placet");
	return (struct pl_span){0};
}
