/* PUT and PATCH: a whole object, or what is to change of it. */
#include "coord/api/patch/json_patch.h"
#include "coord/api/patch/merge_patch.h"
#include "coord/api/patch/strategic_merge.h"
#include "coord/api/schema/schema_defaults.h"
#include "coord/api/verbs/finalizer.h"

static bool fail_not_found(struct request *request)
{
	struct api_status status =
		status_not_found(&request->arena, request_about(request));

	answer_status(request, &status);
	return false;
}

/* The current object, decoded as the wanted one is, so that both can be compared. */
static bool read_current(struct change *change, struct json_tree *out)
{
	struct request *request = change->request;
	struct pl_json_limits limits = pl_json_limits_default;
	struct schema_report *report =
		pl_arena_zalloc(&request->arena, 1, sizeof *report);
	struct pl_err err = {0};
	struct pl_buf buf;
	enum pl_code code = report == NULL ? PL_NOMEM : PL_OK;

	limits.bytes = 16 << 20;
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	if (code == PL_OK)
		code = object_write(&change->current, &buf);
	if (code == PL_OK)
		code = json_tree_parse(&request->arena, pl_buf_span(&buf), &limits, out,
		                       &err);
	pl_buf_done(&buf);
	if (code == PL_OK) {
		schema_report_init(report, &request->arena);
		/* The stored object may be older than a rule. */
		code = schema_decode(out, request->path.resource->type, report);
		if (code == PL_INVALID)
			code = PL_OK;
	}
	if (code == PL_OK)
		return true;
	answer_no_memory(request);
	return false;
}

static bool answer_patch_error(struct request *request, enum pl_code code,
                               const struct pl_err *err)
{
	struct api_status status;
	const struct status_cause cause = {.type = "FieldValueInvalid",
	                                   .field = PL_SPAN_LIT("patch"),
	                                   .message = pl_span_str(err->msg)};
	struct status_about about = {.group = request->path.resource->group,
	                             .resource = request->path.resource->kind,
	                             .name = request->path.name};

	switch (code) {
	case PL_INVALID:
		status = status_bad_request(pl_span_str(err->msg));
		break;
	case PL_LIMIT:
		status = status_too_large(&request->arena, pl_span_str(err->msg));
		break;
	case PL_CONFLICT:
		status = status_invalid(&request->arena, about, &cause, 1);
		break;
	default:
		answer_no_memory(request);
		return false;
	}
	answer_status(request, &status);
	return false;
}

/* Applies the patch to the wanted object, which is a copy of the current one. */
static bool apply_patch(struct change *change)
{
	struct request *request = change->request;
	struct pl_json patch = json_tree_root(&change->patch);
	struct pl_err err = {0};
	enum pl_code code;

	switch (change->format) {
	case BODY_JSON_PATCH:
		code = json_patch_apply(&change->wanted, patch, &err);
		break;
	case BODY_MERGE_PATCH:
		code = merge_patch_apply(&change->wanted, patch, &err);
		break;
	default:
		code = strategic_merge_apply(&change->wanted,
		                             request->path.resource->type, patch, &err);
		break;
	}
	return code == PL_OK || answer_patch_error(request, code, &err);
}

static void again_fresh(struct request *request);

/* A patch is made from the newest object unless it names a version itself. */
static void forget_own_version(struct change *change)
{
	struct cJSON *meta = json_get(change->wanted.root, "metadata");
	struct pl_json named =
		pl_json_member(pl_json_member(json_tree_root(&change->patch), "metadata"),
	                       "resourceVersion");

	if (meta != NULL && pl_json_type(named) == PL_JSON_ABSENT)
		(void)json_remove(meta, "resourceVersion");
}

/* From the current object to the commit. Everything is answered where it fails. */
static void make_change(struct change *change)
{
	struct request *request = change->request;
	struct json_tree old;

	schema_report_init(change->report, &request->arena);
	if (!read_current(change, &old))
		return;
	if (change->is_scale) {
		struct pl_err err = {0};

		if (!scale_to_patch(change))
			return;
		if (json_tree_copy(&request->arena, json_tree_root(&old),
		                   &change->wanted) != PL_OK ||
		    merge_patch_apply(&change->wanted, json_tree_root(&change->scaled),
		                      &err) != PL_OK) {
			answer_no_memory(request);
			return;
		}
	} else if (change->format == BODY_APPLY && request->verb == REQUEST_PATCH) {
		if (!change_apply(change, json_tree_root(&old)))
			return;
		forget_own_version(change);
	} else if (request->verb == REQUEST_PATCH) {
		if (json_tree_copy(&request->arena, json_tree_root(&old),
		                   &change->wanted) != PL_OK) {
			answer_no_memory(request);
			return;
		}
		if (!apply_patch(change))
			return;
		forget_own_version(change);
	} else if (json_tree_copy(&request->arena, json_tree_root(&change->patch),
	                          &change->wanted) != PL_OK) {
		answer_no_memory(request);
		return;
	}
	if (!change_decode(change) || !meta_of_changed(change) || !change_default(change))
		return;
	if (change->wanted_revision != 0 &&
	    change->wanted_revision != change->current.revision) {
		if (!change_not_sure(change, again_fresh))
			change_conflict(change);
		return;
	}
	if (!admit(change) || !change_check(change, json_tree_root(&old)) ||
	    !admit_checked(change))
		return;
	if (change->format != BODY_APPLY &&
	    !change_note_managers(change, json_tree_root(&old)))
		return;
	(void)json_remove(json_get(old.root, "metadata"), "resourceVersion");
	change->ends = finalizers_done(change);
	if (!change->ends &&
	    json_equal(json_tree_root(&old), json_tree_root(&change->wanted))) {
		/* Nothing changes, so nothing is written. */
		change_show(change, 200, &change->current);
		return;
	}
	change_commit(change);
}

/* The informer has the newer object soon: the write that was first is in the store. */
static void again_fresh(struct request *request)
{
	struct object current;

	if (!request_object(request, &current)) {
		(void)fail_not_found(request);
		return;
	}
	request->change->kind = CHANGE_UPDATE; /* an apply may have begun as a creation */
	request->change->companions = 0;
	change_set_current(request->change, &current);
	make_change(request->change);
}

static bool update_again(struct change *change)
{
	change->sure = false;
	return change_not_sure(change, again_fresh);
}

static bool is_known_subresource(const struct request *request)
{
	struct pl_span sub = request->path.subresource;
	uint16_t has = request->path.resource->subresources;

	return sub.len == 0 ||
	       (pl_span_eq(sub, PL_SPAN_LIT("status")) &&
	        (has & SCHEMA_SUB_STATUS) != 0) ||
	       (pl_span_eq(sub, PL_SPAN_LIT("scale")) && (has & SCHEMA_SUB_SCALE) != 0) ||
	       (pl_span_eq(sub, PL_SPAN_LIT("finalize")) &&
	        (has & SCHEMA_SUB_FINALIZE) != 0);
}

/* An apply with a uid is one of an object that is there. */
static bool has_no_uid(struct change *change)
{
	struct request *request = change->request;
	struct cJSON *meta = json_get(change->patch.root, "metadata");
	struct pl_span uid = meta == NULL ? (struct pl_span){0} : meta_text(meta, "uid");
	struct api_status status;

	if (uid.len == 0)
		return true;
	status = status_conflict(
		&request->arena, request_about(request),
		pl_span_str(pl_arena_printf(
			&request->arena,
			"uid mismatch: the provided object specified uid " PL_SPAN_FMT
			", and no existing object was found",
			PL_SPAN_ARG(uid))));
	answer_status(request, &status);
	return false;
}

/* Server-side apply creates an object that is not there. */
static void update_absent(struct request *request)
{
	struct change *change = request->change;
	struct pl_json none = {0};

	if (event_refuse_derived(request))
		return;
	if (change->format != BODY_APPLY || request->verb != REQUEST_PATCH ||
	    request->path.subresource.len > 0) {
		(void)fail_not_found(request);
		return;
	}
	change->kind = CHANGE_CREATE;
	if (!has_no_uid(change))
		return;
	if (change_apply(change, none) && change_decode(change) && meta_of_new(change) &&
	    change_default(change))
		create_admitted(request);
}

static void update_fresh(struct request *request)
{
	struct change *change = request->change;
	struct object current;

	if (!request_object(request, &current)) {
		if (!change_not_sure(change, update_fresh))
			update_absent(request);
		return;
	}
	change_set_current(change, &current);
	make_change(change);
}

void request_update(struct request *request)
{
	struct change *change;

	if (!is_known_subresource(request)) {
		(void)fail_not_found(request);
		return;
	}
	change = change_new(request, CHANGE_UPDATE);
	if (change == NULL)
		return;
	change->again = update_again;
	change->is_scale = pl_span_eq(request->path.subresource, PL_SPAN_LIT("scale"));
	(void)accept_body(http_request_field(request->http, "content-type"),
	                  request->verb == REQUEST_PATCH, &change->format);
	if (!body_read(request,
	               change->is_scale
	                       ? schema_type_named("io.k8s.api.autoscaling.v1.Scale")
	                       : request->path.resource->type,
	               &change->patch))
		return;
	/* From the informer as it is: a change made from an old object is refused by the
	 * store, and made again. */
	update_fresh(request);
}
