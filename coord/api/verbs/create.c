/* POST: new objects, bindings, evictions. */
#include "coord/api/schema/schema_defaults.h"
#include "coord/api/verbs/change.h"

/* The object is of the kind that the path says, or says none. */
static bool settle_kind(struct change *change)
{
	struct request *request = change->request;
	const struct schema_resource *resource = request->path.resource;
	struct cJSON *root = change->wanted.root;
	struct pl_span kind = meta_text(root, "kind"),
		       version = meta_text(root, "apiVersion");
	char own[128];
	struct api_status status;

	(void)schema_api_version(resource, own);
	if ((kind.len > 0 && !pl_span_eq(kind, pl_span_str(resource->kind))) ||
	    (version.len > 0 && !pl_span_eq(version, pl_span_str(own)))) {
		status = status_bad_request(pl_span_str(pl_arena_printf(
			&request->arena,
			PL_SPAN_FMT " in version \"" PL_SPAN_FMT
				    "\" cannot be handled as a %s: the path wants %s %s",
			PL_SPAN_ARG(kind), PL_SPAN_ARG(version), resource->kind, own,
			resource->kind)));
		answer_status(request, &status);
		return false;
	}
	if (meta_set(change, root, "kind", pl_span_str(resource->kind)) &&
	    meta_set(change, root, "apiVersion", pl_span_str(own)))
		return true;
	answer_no_memory(request);
	return false;
}

bool change_decode(struct change *change)
{
	struct request *request = change->request;

	if (change->wanted.root == NULL) {
		struct api_status status =
			status_bad_request(PL_SPAN_LIT("the body is empty"));

		answer_status(request, &status);
		return false;
	}
	return body_decode(request, &change->wanted, request->path.resource->type,
	                   change->report) &&
	       settle_kind(change);
}

bool change_check(struct change *change, struct pl_json old)
{
	struct request *request = change->request;
	struct schema_object object = {.resource = request->path.resource,
	                               .value = json_tree_root(&change->wanted)};

	schema_check(&object, change->report);
	if (pl_json_type(old) == PL_JSON_OBJECT)
		schema_check_update(&object, old, change->report);
	if (change->report->code != PL_OK) {
		answer_no_memory(request);
		return false;
	}
	if (change->report->cause_count == 0)
		return true;
	change_invalid(change);
	return false;
}

bool change_default(struct change *change)
{
	if (schema_defaults(&change->wanted, change->request->path.resource->type) ==
	    PL_OK)
		return true;
	answer_no_memory(change->request);
	return false;
}

void create_admitted(struct request *request)
{
	struct change *change = request->change;
	bool applies = change->format == BODY_APPLY && request->verb == REQUEST_PATCH;
	struct pl_json none = {0};

	schema_report_init(change->report, &request->arena);
	if (admit(change) && change_check(change, none) && admit_checked(change) &&
	    (applies || change_note_managers(change, none)))
		change_commit(change);
}

void create_wanted(struct change *change)
{
	if (change_decode(change) && meta_of_new(change) && change_default(change))
		create_admitted(change->request);
}

static void create_object(struct request *request)
{
	struct change *change = change_new(request, CHANGE_CREATE);

	if (change == NULL ||
	    !body_read(request, request->path.resource->type, &change->wanted))
		return;
	if (change->wanted.root != NULL && bulk_is_list(change))
		(void)bulk_create(change);
	else
		create_wanted(change);
}

void request_create(struct request *request)
{
	struct pl_span sub = request->path.subresource;
	uint16_t has = request->path.resource->subresources;
	struct api_status status;

	if (sub.len == 0) {
		create_object(request);
	} else if (pl_span_eq(sub, PL_SPAN_LIT("binding")) &&
	           (has & SCHEMA_SUB_BINDING) != 0) {
		request_bind(request);
	} else if (pl_span_eq(sub, PL_SPAN_LIT("eviction")) &&
	           (has & SCHEMA_SUB_EVICTION) != 0) {
		request_evict(request);
	} else {
		status = status_not_found(&request->arena, request_about(request));
		answer_status(request, &status);
	}
}
