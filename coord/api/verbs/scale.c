/* The subresource scale: the number of replicas of a workload, whatever its kind. */
#include <inttypes.h>

#include "coord/api/patch/json_patch.h"
#include "coord/api/patch/merge_patch.h"
#include "coord/api/verbs/change.h"
#include "shardsched/model/object.h"

static const struct schema_type *scale_type(void)
{
	return schema_type_named("io.k8s.api.autoscaling.v1.Scale");
}

static struct pl_span member_of(struct pl_span json, const char *outer, const char *inner)
{
	struct pl_span value = object_member(json, outer);

	return value.len > 0 && value.at[0] == '{' ? object_member(value, inner)
	                                           : (struct pl_span){0};
}

/* "app=web,tier=front" of a selector's matchLabels, or of a plain selector. */
static enum pl_code put_selector(struct pl_span json, struct pl_buf *out)
{
	struct pl_span selector = member_of(json, "spec", "selector"), name, value;
	struct pl_span labels = {0};
	enum pl_code code = PL_OK;
	bool some = false;

	if (selector.len > 0 && selector.at[0] == '{')
		labels = object_member(selector, "matchLabels");
	if (labels.len == 0 || labels.at[0] != '{')
		labels = selector;
	if (labels.len == 0 || labels.at[0] != '{')
		return PL_OK;
	while (code == PL_OK && object_pair(&labels, &name, &value)) {
		if (value.len < 2 || value.at[0] != '"')
			continue;
		code = pl_buf_printf(out, "%s" PL_SPAN_FMT "=" PL_SPAN_FMT,
		                     some ? "," : "", (int)name.len - 2,
		                     (const char *)name.at + 1, (int)value.len - 2,
		                     (const char *)value.at + 1);
		some = true;
	}
	return code;
}

static enum pl_code write_scale(const struct object *object, struct pl_buf *out)
{
	static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
	                                   "creationTimestamp"};
	struct pl_span metadata, replicas, current;
	struct pl_buf whole;
	enum pl_code code;

	pl_buf_init(&whole, OBJECT_TEXT_MAX);
	code = object_write(object, &whole);
	metadata = code == PL_OK ? object_member(pl_buf_span(&whole), "metadata")
	                         : (struct pl_span){0};
	if (code == PL_OK)
		code = pl_buf_add_str(out, "{\"kind\":\"Scale\",\"apiVersion\":"
		                           "\"autoscaling/v1\",\"metadata\":{");
	for (unsigned i = 0, some = 0; i < sizeof kept / sizeof kept[0]; i++) {
		struct pl_span value =
			code == PL_OK ? object_member(metadata, kept[i]) : metadata;

		if (code != PL_OK || value.len == 0)
			continue;
		code = pl_buf_printf(out, "%s\"%s\":" PL_SPAN_FMT, some++ > 0 ? "," : "",
		                     kept[i], PL_SPAN_ARG(value));
	}
	if (code == PL_OK) {
		replicas = member_of(pl_buf_span(&whole), "spec", "replicas");
		current = member_of(pl_buf_span(&whole), "status", "replicas");
		code = pl_buf_printf(
			out,
			"},\"spec\":{\"replicas\":" PL_SPAN_FMT
			"},\"status\":{\"replicas\":" PL_SPAN_FMT ",\"selector\":\"",
			PL_SPAN_ARG(replicas.len > 0 ? replicas : PL_SPAN_LIT("1")),
			PL_SPAN_ARG(current.len > 0 ? current : PL_SPAN_LIT("0")));
	}
	if (code == PL_OK)
		code = put_selector(pl_buf_span(&whole), out);
	pl_buf_done(&whole);
	return code == PL_OK ? pl_buf_add_str(out, "\"}}") : code;
}

void answer_scale(struct request *request, int http_status, const struct object *object)
{
	struct pl_buf buf;

	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	if (write_scale(object, &buf) == PL_OK)
		answer_json(request, http_status, pl_buf_span(&buf));
	else
		answer_no_memory(request);
	pl_buf_done(&buf);
}

/* The Scale that the client wants: its body, or the present one with its patch. */
static bool wanted_scale(struct change *change, struct json_tree *out)
{
	struct request *request = change->request;
	struct pl_json patch = json_tree_root(&change->patch);
	struct pl_buf buf;
	struct pl_err err = {0};
	struct api_status status;
	enum pl_code code;

	if (request->verb == REQUEST_UPDATE) {
		*out = change->patch;
		return true;
	}
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	code = write_scale(&change->current, &buf);
	if (code == PL_OK)
		code = json_tree_parse(&request->arena, pl_buf_span(&buf), NULL, out,
		                       &err);
	pl_buf_done(&buf);
	if (code == PL_OK)
		code = change->format == BODY_JSON_PATCH
		               ? json_patch_apply(out, patch, &err)
		               : merge_patch_apply(out, patch, &err);
	if (code == PL_OK)
		return true;
	status = status_bad_request(
		pl_span_str(pl_arena_printf(&request->arena, "%s", err.msg)));
	answer_status(request, &status);
	return false;
}

/* Turns the change into a merge patch of the workload. */
bool scale_to_patch(struct change *change)
{
	struct request *request = change->request;
	struct pl_arena *arena = &request->arena;
	struct json_tree scale = {0}, patch = {.arena = arena};
	struct cJSON *root, *spec, *number;
	struct api_status status;
	double replicas = -1;
	char *text;
	struct pl_err err = {0};

	if (!wanted_scale(change, &scale))
		return false;
	if (scale.root == NULL ||
	    !body_decode(request, &scale, scale_type(), change->report)) {
		if (!request->answered) {
			status = status_bad_request(PL_SPAN_LIT("the body is empty"));
			answer_status(request, &status);
		}
		return false;
	}
	if (!body_is_of(request, &scale, "Scale"))
		return false;
	root = scale.root;
	spec = json_get(root, "spec");
	number = spec == NULL ? NULL : json_get(spec, "replicas");
	if (number == NULL)
		replicas = 0;
	else
		(void)!pl_json_as_double(json_tree_value(&scale, number), &replicas,
		                         NULL);
	text = pl_arena_printf(arena,
	                       "{\"metadata\":{\"resourceVersion\":\"" PL_SPAN_FMT
	                       "\"},\"spec\":{\"replicas\":%" PRId64 "}}",
	                       PL_SPAN_ARG(request->verb == REQUEST_UPDATE
	                                           ? meta_text(json_get(root, "metadata"),
	                                                       "resourceVersion")
	                                           : (struct pl_span){0}),
	                       (int64_t)replicas);
	if (text == NULL ||
	    json_tree_parse(arena, pl_span_str(text), NULL, &patch, &err) != PL_OK) {
		answer_no_memory(request);
		return false;
	}
	change->scaled = patch;
	return true;
}
