/* Bodies: JSON, YAML and protobuf become trees, and unknown fields warnings. */
#include "coord/api/schema/schema_protobuf.h"
#include "coord/api/verbs/change.h"
#include "store/base/yaml.h"

enum { BODY_DEPTH_MAX = 64, BODY_VALUES_MAX = 500000, BODY_BYTES_MAX = 16 << 20 };

static const struct pl_json_limits body_limits = {
	.bytes = BODY_BYTES_MAX, .depth = BODY_DEPTH_MAX, .values = BODY_VALUES_MAX};

void request_warn(struct request *request, struct pl_span text)
{
	char line[512];
	size_t len = 0;

	/* 299 - "text": quotes and backslashes are escaped, controls dropped. */
	for (size_t i = 0; i < text.len && len + 3 < sizeof line; i++) {
		if (text.at[i] < ' ' || text.at[i] == 0x7f)
			continue;
		if (text.at[i] == '"' || text.at[i] == '\\')
			line[len++] = '\\';
		line[len++] = (char)text.at[i];
	}
	/* Warnings are lost without memory, and beyond a bound. */
	if (pl_buf_reserve(&request->warnings, len + 16) == PL_OK)
		(void)!pl_buf_printf(&request->warnings, "299 - \"%.*s\"\n", (int)len,
		                     line);
}

static bool bad_request(struct request *request, struct pl_span why)
{
	struct api_status status = status_bad_request(why);

	answer_status(request, &status);
	return false;
}

static bool no_memory(struct request *request)
{
	answer_no_memory(request);
	return false;
}

struct yaml_result {
	struct request *request;
	struct pl_span json;
	unsigned count;
};

static enum pl_code take_document(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct yaml_result *result = ctx;

	if (result->count++ > 0)
		return pl_err_set(err, PL_INVALID, "the body has several documents");
	result->json = pl_arena_dup(&result->request->arena, json);
	return result->json.at == NULL ? pl_err_set(err, PL_NOMEM, "a body") : PL_OK;
}

static bool body_protobuf(struct request *request, const struct schema_type *type,
                          struct json_tree *out)
{
	struct schema_protobuf body = {0};
	struct pl_err err = {0};
	enum pl_code code = schema_protobuf_decode(&request->arena, request->http->body,
	                                           type, &body_limits, &body, &err);

	if (code == PL_NOMEM)
		return no_memory(request);
	if (code != PL_OK)
		return bad_request(request,
		                   pl_span_str(pl_arena_printf(
					   &request->arena, "error decoding the body: %s",
					   err.msg)));
	*out = body.tree;
	return true;
}

static bool body_json(struct request *request, enum body_format format,
                      struct pl_span *out)
{
	struct yaml_result yaml = {.request = request};
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	*out = request->http->body;
	if (out->len == 0)
		return true;
	if (format == BODY_YAML || format == BODY_APPLY) {
		code = pl_yaml_to_json(*out, &body_limits, take_document, &yaml, &err);
		*out = yaml.json;
	}
	if (code == PL_OK)
		return true;
	if (code == PL_NOMEM)
		return no_memory(request);
	return bad_request(request, pl_span_str(pl_arena_printf(
					    &request->arena,
					    "error decoding the body: %s", err.msg)));
}

/* Members that come twice: the last one counts, as in Kubernetes, and the client is told.
 * False: it has been answered. */
static bool without_duplicates(struct request *request, struct pl_span *json)
{
	struct schema_report *report =
		pl_arena_zalloc(&request->arena, 1, sizeof *report);
	enum schema_strictness strictness;

	if (report == NULL)
		return no_memory(request);
	if (!schema_strictness_of(request->query.fieldValidation, &strictness))
		strictness = SCHEMA_STRICT;
	schema_report_init(report, &request->arena);
	if (schema_drop_duplicates(*json, report, json) != PL_OK)
		return no_memory(request);
	if (strictness == SCHEMA_STRICT && report->unknown_count > 0)
		return bad_request(request, schema_report_strict(report));
	for (uint32_t i = 0; strictness == SCHEMA_WARN && i < report->unknown_count; i++)
		request_warn(request, report->unknown[i]);
	return true;
}

bool body_read(struct request *request, const struct schema_type *type,
               struct json_tree *out)
{
	bool patch = request->verb == REQUEST_PATCH;
	enum body_format format;
	struct api_status status;
	struct pl_span json;
	struct pl_err err = {0};
	enum pl_code code;

	if (!accept_body(http_request_field(request->http, "content-type"), patch,
	                 &format)) {
		status = status_unsupported_media_type(
			&request->arena, patch ? accept_patch_types : accept_body_types);
		answer_status(request, &status);
		return false;
	}
	if (format == BODY_PROTOBUF)
		return body_protobuf(request, type, out);
	if (!body_json(request, format, &json))
		return false;
	if (json.len == 0) {
		*out = (struct json_tree){.arena = &request->arena};
		return true;
	}
	code = json_tree_parse(&request->arena, json, &body_limits, out, &err);
	if (code == PL_INVALID) {
		if (!without_duplicates(request, &json))
			return false;
		code = json_tree_parse(&request->arena, json, &body_limits, out, &err);
	}
	if (code == PL_NOMEM)
		return no_memory(request);
	if (code == PL_LIMIT) {
		status = status_too_large(&request->arena, pl_span_str(err.msg));
		answer_status(request, &status);
		return false;
	}
	if (code != PL_OK)
		return bad_request(request,
		                   pl_span_str(pl_arena_printf(
					   &request->arena,
					   "the object provided is unrecognized (must "
					   "be of type %s): %s",
					   request->path.resource->kind, err.msg)));
	return true;
}

bool body_strictness(struct request *request, enum schema_strictness *out)
{
	if (schema_strictness_of(request->query.fieldValidation, out))
		return true;
	return bad_request(request, PL_SPAN_LIT("fieldValidation: must be one of: "
	                                        "Ignore, Strict, Warn"));
}

bool body_is_of(struct request *request, const struct json_tree *tree, const char *kind)
{
	struct pl_arena *arena = &request->arena;
	struct pl_span own = meta_text(tree->root, "kind");
	struct pl_span name = meta_text(json_get(tree->root, "metadata"), "name");
	char *why;

	if (own.len > 0 && !pl_span_eq(own, pl_span_str(kind)))
		why = pl_arena_printf(arena, PL_SPAN_FMT " cannot be handled as a %s",
		                      PL_SPAN_ARG(own), kind);
	else if (name.len > 0 && !pl_span_eq(name, request->path.name))
		why = pl_arena_printf(arena,
		                      "name in URL does not match name in %s object: "
		                      "\"" PL_SPAN_FMT "\" and \"" PL_SPAN_FMT "\"",
		                      kind, PL_SPAN_ARG(request->path.name),
		                      PL_SPAN_ARG(name));
	else
		return true;
	return why == NULL ? no_memory(request) : bad_request(request, pl_span_str(why));
}

bool body_decode(struct request *request, struct json_tree *tree,
                 const struct schema_type *type, struct schema_report *report)
{
	enum schema_strictness strictness;
	enum pl_code code;

	if (!body_strictness(request, &strictness))
		return false;
	if (pl_json_type(json_tree_root(tree)) != PL_JSON_OBJECT)
		return bad_request(request, PL_SPAN_LIT("the body is no object"));
	code = schema_decode(tree, type, report);
	if (code == PL_NOMEM || report->code != PL_OK)
		return no_memory(request);
	if (code != PL_OK)
		return bad_request(request, report->wrong);
	if (strictness == SCHEMA_STRICT && report->unknown_count > 0)
		return bad_request(request, schema_report_strict(report));
	for (uint32_t i = 0; strictness == SCHEMA_WARN && i < report->unknown_count; i++)
		request_warn(request, report->unknown[i]);
	return true;
}
