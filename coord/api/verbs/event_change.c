/* Events that clients report: the rules of both resources, and the lease that they hang on. */
#include "coord/api/objects/event_object.h"
#include "coord/api/objects/shown_walk.h"
#include "coord/api/verbs/change.h"

enum { WORD_MAX = 128, NOTE_MAX = 1024 };

bool is_event(const struct request *request)
{
	return resource_is_events(request->path.resource);
}

/* -- rules --------------------------------------------------------------------------- */

static void add_cause(struct change *change, const char *type, const char *field,
                      const char *message)
{
	struct schema_report *report = change->report;

	if (message == NULL || report->cause_count == SCHEMA_CAUSES_MAX)
		return;
	report->cause[report->cause_count++] =
		(struct schema_cause){.type = type,
	                              .field = pl_span_str(field),
	                              .message = pl_span_str(message)};
}

static void want_word(struct change *change, const char *field, size_t max)
{
	struct pl_span text = meta_text(change->wanted.root, field);

	if (text.len == 0)
		add_cause(change, "FieldValueRequired", field, "Required value");
	else if (text.len > max)
		add_cause(change, "FieldValueInvalid", field,
		          pl_arena_printf(&change->request->arena,
		                          "Invalid value: \"" PL_SPAN_FMT
		                          "\": can have at most %zu characters",
		                          PL_SPAN_ARG(text), max));
}

/* An event stands in the namespace of what it is about; one about what has none stands in
 * default or kube-system. */
static void check_namespaces(struct change *change, const char *member)
{
	struct pl_arena *arena = &change->request->arena;
	struct pl_span own = change->request->path.namespace;
	struct pl_span about =
		meta_text(json_get(change->wanted.root, member), "namespace");

	if (about.len == 0 && (pl_span_eq(own, PL_SPAN_LIT("default")) ||
	                       pl_span_eq(own, PL_SPAN_LIT("kube-system"))))
		return;
	if (!pl_span_eq(about, own))
		add_cause(change, "FieldValueInvalid",
		          pl_arena_printf(arena, "%s.namespace", member),
		          pl_arena_printf(arena,
		                          "Invalid value: \"" PL_SPAN_FMT
		                          "\": does not match event.namespace",
		                          PL_SPAN_ARG(about)));
}

/* The newer resource is stricter about new events. */
static void check_new(struct change *change)
{
	struct pl_span type = meta_text(change->wanted.root, "type");
	struct pl_span note = meta_text(change->wanted.root, "note");

	if (meta_text(change->wanted.root, "eventTime").len == 0)
		add_cause(change, "FieldValueRequired", "eventTime", "Required value");
	want_word(change, "reportingController", WORD_MAX);
	want_word(change, "reportingInstance", WORD_MAX);
	want_word(change, "action", WORD_MAX);
	want_word(change, "reason", WORD_MAX);
	if (note.len > NOTE_MAX)
		add_cause(change, "FieldValueInvalid", "note",
		          "Invalid value: can have at most 1024 characters");
	if (!pl_span_eq(type, PL_SPAN_LIT("Normal")) &&
	    !pl_span_eq(type, PL_SPAN_LIT("Warning")))
		add_cause(change, "FieldValueInvalid", "type",
		          pl_arena_printf(&change->request->arena,
		                          "Invalid value: \"" PL_SPAN_FMT
		                          "\": has invalid value",
		                          PL_SPAN_ARG(type)));
}

bool event_admit_checked(struct change *change)
{
	bool core = change->request->path.resource->group[0] == 0;

	check_namespaces(change, core ? "involvedObject" : "regarding");
	if (!core && change->kind == CHANGE_CREATE)
		check_new(change);
	if (change->report->cause_count == 0)
		return true;
	change_invalid(change);
	return false;
}

/* -- what is stored --------------------------------------------------------------------- */

bool event_stored_form(struct change *change, struct json_tree *out)
{
	struct pl_arena *arena = &change->request->arena;

	if (change->request->path.resource->group[0] == 0)
		return true;
	return json_tree_copy(arena, json_tree_root(&change->wanted), out) == PL_OK &&
	       event_to_core(out) == PL_OK;
}

static void on_lease(void *ctx, int64_t lease, const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;

	change->lease = lease;
	if (err == NULL)
		change_enqueue(change);
	else
		answer_store_error(request, err);
	request_unbusy(request);
}

void event_commit(struct change *change)
{
	struct request *request = change->request;

	change->lease_wait = (struct event_lease_wait){.fn = on_lease, .ctx = change};
	request->busy++;
	event_store_lease(request->api->events, &change->lease_wait);
}

/* -- events that are not stored ----------------------------------------------------------- */

bool event_refuse_derived(struct request *request)
{
	struct shown_walk walk;
	struct object object;
	struct api_status status;

	if (!is_event(request) ||
	    !shown_get(request->api->sources, request->path.resource,
	               request->path.namespace, request->path.name, &walk, &object))
		return false;
	status = status_forbidden(
		&request->arena, request_about(request),
		PL_SPAN_LIT(
			"the event follows from the state of its pod: it is not stored, "
			"and goes when that changes"));
	answer_status(request, &status);
	return true;
}
