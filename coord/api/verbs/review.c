#include "coord/api/verbs/review.h"

#include "coord/api/objects/member_name.h"
#include "coord/api/verbs/change.h"
#include "coord/api/verbs/explanation.h"

enum { REVIEW_BYTES_MAX = 8 << 20 };

struct review {
	struct request *request;
	struct json_tree body;
	struct pl_json spec;
	struct pl_json_out out;
};

typedef void write_fn(struct review *review);

static struct pl_span text_of(struct pl_json object, const char *name)
{
	struct pl_json value = pl_json_member(object, name);
	const char *text = "";

	if (pl_json_type(value) == PL_JSON_STRING)
		(void)!pl_json_as_string(value, &text, NULL);
	return pl_span_str(text);
}

/* -- the answer ------------------------------------------------------------------------------ */

/* The object as it came, with the status. The token is not shown again. */
static void answer_review(struct review *review, write_fn *write_status)
{
	struct request *request = review->request;
	const struct schema_resource *resource = request->path.resource;
	struct pl_json metadata =
		pl_json_member(json_tree_root(&review->body), "metadata");
	struct pl_json_out *out = &review->out;
	char version[128];
	struct pl_buf buf;

	pl_buf_init(&buf, REVIEW_BYTES_MAX);
	pl_json_out_init(out, &buf);
	pl_json_out_object(out);
	pl_json_out_name(out, "kind");
	pl_json_out_str(out, resource->kind);
	pl_json_out_name(out, "apiVersion");
	pl_json_out_str(out, schema_api_version(resource, version));
	pl_json_out_name(out, "metadata");
	if (pl_json_type(metadata) == PL_JSON_OBJECT)
		pl_json_out_value(out, metadata);
	else
		pl_json_out_raw(out, PL_SPAN_LIT("{\"creationTimestamp\":null}"));
	if (pl_json_type(review->spec) == PL_JSON_OBJECT &&
	    strcmp(resource->plural, "tokenreviews") != 0) {
		pl_json_out_name(out, "spec");
		pl_json_out_value(out, review->spec);
	}
	pl_json_out_name(out, "status");
	write_status(review);
	pl_json_out_end(out);
	if (pl_json_out_done(out) == PL_OK)
		answer_made(request, 201, pl_buf_span(&buf));
	else
		answer_no_memory(request);
	pl_buf_done(&buf);
}

static void answer_fault(struct review *review, const char *field, const char *message)
{
	struct request *request = review->request;
	const struct status_cause cause = {.type = "FieldValueInvalid",
	                                   .field = pl_span_str(field),
	                                   .message = pl_span_str(message)};
	const struct status_about about = {.group = request->path.resource->group,
	                                   .resource = request->path.resource->kind};
	struct api_status status = status_invalid(&request->arena, about, &cause, 1);

	answer_status(request, &status);
}

/* -- who ------------------------------------------------------------------------------------- */

static void put_names(struct pl_json_out *out, const struct pl_span *names, size_t count)
{
	pl_json_out_array(out);
	for (size_t i = 0; i < count; i++)
		pl_json_out_string(out, names[i]);
	pl_json_out_end(out);
}

static void put_user(struct pl_json_out *out, const struct identity *identity)
{
	pl_json_out_object(out);
	pl_json_out_name(out, "username");
	pl_json_out_string(out, identity->user);
	if (identity->uid.len > 0) {
		pl_json_out_name(out, "uid");
		pl_json_out_string(out, identity->uid);
	}
	pl_json_out_name(out, "groups");
	put_names(out, identity->groups, identity->group_count);
	if (identity->extra_count > 0) {
		pl_json_out_name(out, "extra");
		pl_json_out_object(out);
		for (size_t i = 0; i < identity->extra_count; i++) {
			pl_json_out_name_span(out, identity->extra[i].key);
			put_names(out, identity->extra[i].values,
			          identity->extra[i].count);
		}
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void write_self(struct review *review)
{
	pl_json_out_object(&review->out);
	pl_json_out_name(&review->out, "userInfo");
	put_user(&review->out, review->request->identity);
	pl_json_out_end(&review->out);
}

static void write_token(struct review *review)
{
	struct request *request = review->request;
	struct api *api = request->api;
	struct pl_json_out *out = &review->out;
	struct identity identity;
	struct pl_err err = {0};
	bool good = api->identifier.of_token(
			    api->identifier.ctx, text_of(review->spec, "token"),
			    &request->arena, api->wall_ms(api->clock_ctx) / 1000,
			    &identity, &err) == PL_OK;

	pl_json_out_object(out);
	if (good) {
		pl_json_out_name(out, "authenticated");
		pl_json_out_bool(out, true);
		pl_json_out_name(out, "user");
		put_user(out, &identity);
	} else {
		/* The cause is for the audit only. */
		pl_json_out_name(out, "error");
		pl_json_out_str(out, "invalid bearer token");
	}
	pl_json_out_end(out);
}

/* -- whether it may -------------------------------------------------------------------------- */

/* Objects of that resource have the cluster's scope. */
static bool is_cluster_scoped(struct pl_span group, struct pl_span resource)
{
	size_t count;
	const struct schema_resource *all = schema_resources(&count);

	for (size_t i = 0; i < count; i++)
		if (pl_span_eq(group, pl_span_str(all[i].group)) &&
		    pl_span_eq(resource, pl_span_str(all[i].plural)))
			return !all[i].namespaced;
	return false;
}

static struct access_attributes attributes_of(struct pl_json spec)
{
	struct pl_json resource = pl_json_member(spec, "resourceAttributes");
	struct pl_json path = pl_json_member(spec, "nonResourceAttributes");
	struct access_attributes out = {.is_resource = true,
	                                .verb = text_of(resource, "verb"),
	                                .group = text_of(resource, "group"),
	                                .resource = text_of(resource, "resource"),
	                                .subresource = text_of(resource, "subresource"),
	                                .namespace = text_of(resource, "namespace"),
	                                .name = text_of(resource, "name")};
	struct pl_span plain;

	if (pl_json_type(resource) != PL_JSON_OBJECT)
		return (struct access_attributes){.verb = text_of(path, "verb"),
		                                  .path = text_of(path, "path")};
	if (is_cluster_scoped(out.group, out.resource))
		out.namespace = (struct pl_span){0};
	if (out.group.len == 0 && pl_span_eq(out.resource, PL_SPAN_LIT("namespaces")))
		out.namespace = out.name;
	if (out.group.len == 0 && out.name.len > 0 &&
	    pl_span_eq(out.resource, PL_SPAN_LIT("nodes")))
		member_name_split(out.name, &out.cluster, &plain);
	return out;
}

static void put_verdict(struct review *review, const struct identity *identity)
{
	struct request *request = review->request;
	const struct access_document *access = request->api->access;
	const struct access_attributes asked = attributes_of(review->spec);
	struct pl_json_out *out = &review->out;
	struct access_grant grant;
	bool allowed = access_allows(access, identity, &asked, &grant);
	const char *why = access_grant_text(access, &grant, &request->arena);

	pl_json_out_object(out);
	pl_json_out_name(out, "allowed");
	pl_json_out_bool(out, allowed);
	if (why != NULL && why[0] != 0) {
		pl_json_out_name(out, "reason");
		pl_json_out_str(out, why);
	}
	pl_json_out_end(out);
}

static void write_own_verdict(struct review *review)
{
	put_verdict(review, review->request->identity);
}

/* The user that a review is about. PL_INVALID: it can be none. */
static enum pl_code read_subject(struct review *review, struct identity *out)
{
	struct pl_arena *arena = &review->request->arena;
	struct pl_json groups = pl_json_member(review->spec, "groups");
	size_t count = pl_json_count(groups), i = 0;
	struct pl_span *names = pl_arena_zalloc(arena, count + 1, sizeof *names);
	struct identity from = {.user = text_of(review->spec, "user"),
	                        .uid = text_of(review->spec, "uid"),
	                        .groups = names,
	                        .group_count = count,
	                        .via = IDENTITY_IMPERSONATED};
	const char *text = "";

	if (names == NULL)
		return PL_NOMEM;
	PL_JSON_EACH (item, groups) {
		if (pl_json_as_string(item, &text, NULL) == PL_OK)
			names[i++] = pl_span_str(text);
	}
	/* A question about groups alone. */
	if (from.user.len == 0 && count > 0)
		from.user = PL_SPAN_LIT("system:unnamed");
	if (pl_span_eq(from.user, PL_SPAN_LIT(IDENTITY_ANONYMOUS_USER))) {
		*out = identity_anonymous();
		return PL_OK;
	}
	return identity_make(arena, &from, out, NULL);
}

static void write_verdict(struct review *review)
{
	struct identity identity;

	if (read_subject(review, &identity) != PL_OK)
		identity = identity_anonymous();
	put_verdict(review, &identity);
}

/* False: it has been answered. */
static bool check_attributes(struct review *review)
{
	bool resource =
		pl_json_type(pl_json_member(review->spec, "resourceAttributes")) ==
		PL_JSON_OBJECT;
	bool path = pl_json_type(pl_json_member(review->spec, "nonResourceAttributes")) ==
	            PL_JSON_OBJECT;

	if (resource != path)
		return true;
	answer_fault(review, "spec.resourceAttributes",
	             "Invalid value: exactly one of nonResourceAttributes or "
	             "resourceAttributes must be specified");
	return false;
}

static bool check_subject(struct review *review)
{
	struct identity identity;
	enum pl_code code = read_subject(review, &identity);

	if (code == PL_OK)
		return true;
	if (code == PL_NOMEM)
		answer_no_memory(review->request);
	else
		answer_fault(review, "spec.user",
		             "Invalid value: at least one of user or group must be "
		             "specified, with names that a user can have");
	return false;
}

static bool check_place(struct review *review)
{
	struct pl_json resource = pl_json_member(review->spec, "resourceAttributes");

	if (pl_span_eq(text_of(resource, "namespace"), review->request->path.namespace))
		return true;
	answer_fault(review, "spec.resourceAttributes.namespace",
	             "Invalid value: must match metadata.namespace");
	return false;
}

static void write_rules(struct review *review)
{
	review_write_rules(review->request, text_of(review->spec, "namespace"),
	                   &review->out);
}

/* -- the request ----------------------------------------------------------------------------- */

static const struct review_kind {
	const char *group, *plural;
	bool attributes, subject, local; /* the checks of it */
	write_fn *write;
} kinds[] = {
	{"authentication.k8s.io", "selfsubjectreviews", false, false, false, write_self},
	{"authentication.k8s.io", "tokenreviews", false, false, false, write_token},
	{"authorization.k8s.io", "selfsubjectaccessreviews", true, false, false,
         write_own_verdict},
	{"authorization.k8s.io", "subjectaccessreviews", true, true, false,
         write_verdict},
	{"authorization.k8s.io", "localsubjectaccessreviews", true, true, true,
         write_verdict},
	{"authorization.k8s.io", "selfsubjectrulesreviews", false, false, false,
         write_rules},
};

static const struct review_kind *kind_of(const struct schema_resource *resource)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(resource->group, kinds[i].group) == 0 &&
		    strcmp(resource->plural, kinds[i].plural) == 0)
			return &kinds[i];
	return NULL;
}

bool review_is_one(const struct schema_resource *resource)
{
	return kind_of(resource) != NULL;
}

/* False: it has been answered. An empty body is a review without a spec. */
static bool read_body(struct review *review)
{
	struct request *request = review->request;
	const struct schema_type *type = request->path.resource->type;
	struct schema_report *report =
		pl_arena_zalloc(&request->arena, 1, sizeof *report);

	if (report == NULL) {
		answer_no_memory(request);
		return false;
	}
	schema_report_init(report, &request->arena);
	if (!body_read(request, type, &review->body))
		return false;
	if (review->body.root == NULL)
		return true;
	if (!body_decode(request, &review->body, type, report))
		return false;
	review->spec = pl_json_member(json_tree_root(&review->body), "spec");
	return true;
}

void request_review(struct request *request)
{
	const struct review_kind *kind = kind_of(request->path.resource);
	struct review review = {.request = request};
	struct api_status status;

	if (request->verb != REQUEST_CREATE || request->path.name.len > 0) {
		status = status_no_such_method();
		answer_status(request, &status);
		return;
	}
	if (!read_body(&review) || (kind->attributes && !check_attributes(&review)) ||
	    (kind->subject && !check_subject(&review)) ||
	    (kind->local && !check_place(&review)))
		return;
	answer_review(&review, kind->write);
}
