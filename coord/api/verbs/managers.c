/* The managers of an object's fields, and server-side apply. */
#include "coord/api/verbs/change.h"

enum { MANAGER_MAX = 128 };

static bool fail_memory(struct change *change)
{
	answer_no_memory(change->request);
	return false;
}

/* "kubectl" of "kubectl/v1.35.0 (linux/amd64) ..." */
static struct pl_span agent_name(struct request *request)
{
	struct pl_span agent = http_request_field(request->http, "user-agent");
	const uint8_t *slash = agent.len == 0 ? NULL : memchr(agent.at, '/', agent.len);

	if (slash != NULL)
		agent.len = (size_t)(slash - agent.at);
	return agent;
}

struct field_writer change_writer(struct change *change)
{
	static const char *const not_status[] = {"status", NULL};
	static const char *const only_status[] = {"spec", NULL};
	struct request *request = change->request;
	struct pl_span manager = request->query.fieldManager;
	bool has_status = (request->path.resource->subresources & SCHEMA_SUB_STATUS) != 0;
	char version[128];
	char *time = pl_arena_alloc(&request->arena, CHANGE_TIME_SIZE);

	if (manager.len == 0 && request->http != NULL)
		manager = agent_name(request);
	if (manager.len > MANAGER_MAX)
		manager.len = MANAGER_MAX;
	if (time != NULL)
		time_now(change, time);
	return (struct field_writer){
		.type = request->path.resource->type,
		.manager = pl_arena_printf(&request->arena, PL_SPAN_FMT,
	                                   PL_SPAN_ARG(manager)),
		.api_version = pl_arena_printf(
			&request->arena, "%s",
			schema_api_version(request->path.resource, version)),
		.subresource = pl_arena_printf(&request->arena, PL_SPAN_FMT,
	                                       PL_SPAN_ARG(request->path.subresource)),
		.time = time,
		.ignored = !has_status         ? NULL
	                   : change->is_status ? only_status
	                                       : not_status,
	};
}

static bool is_whole(const struct field_writer *by)
{
	return by->manager != NULL && by->api_version != NULL &&
	       by->subresource != NULL && by->time != NULL;
}

bool change_note_managers(struct change *change, struct pl_json old)
{
	struct field_writer by = change_writer(change);
	struct pl_err err = {0};

	if (!is_whole(&by) ||
	    managed_fields_update(&change->wanted, old, &by, &err) != PL_OK)
		return fail_memory(change);
	return true;
}

static bool answer_conflicts(struct change *change, const struct apply_result *result)
{
	struct request *request = change->request;
	struct status_cause *causes;
	struct api_status status;
	uint32_t count = 0;

	for (const struct apply_conflict *at = result->conflicts; at != NULL;
	     at = at->next)
		count++;
	causes = pl_arena_zalloc(&request->arena, count, sizeof *causes);
	if (causes == NULL)
		return fail_memory(change);
	count = 0;
	for (const struct apply_conflict *at = result->conflicts; at != NULL;
	     at = at->next)
		causes[count++] =
			(struct status_cause){.type = "FieldManagerConflict",
		                              .field = pl_span_str(at->field),
		                              .message = pl_span_str(at->message)};
	status = status_apply_conflict(&request->arena, causes, count,
	                               pl_span_str(result->message));
	answer_status(request, &status);
	return false;
}

bool change_apply(struct change *change, struct pl_json live)
{
	struct request *request = change->request;
	struct apply_options options = {.by = change_writer(change),
	                                .force = request_is_true(request->query.force)};
	struct apply_result result = {0};
	struct pl_err err = {0};
	struct api_status status;
	enum pl_code code;

	if (request->query.fieldManager.len == 0) {
		const struct status_cause cause = {
			.type = "FieldValueRequired",
			.field = PL_SPAN_LIT("fieldManager"),
			.message = PL_SPAN_LIT(
				"Required value: is required for apply patch")};
		struct status_about about = {.group = "meta.k8s.io",
		                             .resource = "PatchOptions"};

		status = status_invalid(&request->arena, about, &cause, 1);
		answer_status(request, &status);
		return false;
	}
	if (!is_whole(&options.by))
		return fail_memory(change);
	if (!body_decode(request, &change->patch, request->path.resource->type,
	                 change->report))
		return false;
	code = apply_config(&request->arena, live, json_tree_root(&change->patch),
	                    &options, &result, &err);
	switch (code) {
	case PL_OK:
		change->wanted = result.object;
		return true;
	case PL_CONFLICT:
		return answer_conflicts(change, &result);
	case PL_NOMEM:
		return fail_memory(change);
	default:
		status = status_bad_request(
			pl_span_str(pl_arena_printf(&request->arena, "%s", err.msg)));
		answer_status(request, &status);
		return false;
	}
}
