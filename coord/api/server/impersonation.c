#include "coord/api/server/impersonation.h"

#include "coord/api/base/go_quote.h"
#include "coord/api/verbs/request_path.h"

#define EXTRA_PREFIX "impersonate-extra-"

/* -- refusals ------------------------------------------------------------------------------- */

static const char *quote(struct pl_arena *arena, struct pl_span text)
{
	const char *quoted = go_quote(arena, text);

	return quoted == NULL ? "?" : quoted;
}

/* "User "ann" cannot list resource "pods" in API group "" at the cluster scope". */
static char *refusal_text(struct pl_arena *arena, const struct access_attributes *asked,
                          struct pl_span user)
{
	struct pl_span resource = asked->resource;
	const char *whole;

	if (!asked->is_resource)
		return pl_arena_printf(arena, "User %s cannot " PL_SPAN_FMT " path %s",
		                       quote(arena, user), PL_SPAN_ARG(asked->verb),
		                       quote(arena, asked->path));
	if (asked->subresource.len > 0) {
		whole = pl_arena_printf(arena, PL_SPAN_FMT "/" PL_SPAN_FMT,
		                        PL_SPAN_ARG(resource),
		                        PL_SPAN_ARG(asked->subresource));
		resource = pl_span_str(whole);
	}
	if (asked->namespace.len > 0)
		return pl_arena_printf(arena,
		                       "User %s cannot " PL_SPAN_FMT
		                       " resource %s in API group %s in the namespace %s",
		                       quote(arena, user), PL_SPAN_ARG(asked->verb),
		                       quote(arena, resource), quote(arena, asked->group),
		                       quote(arena, asked->namespace));
	return pl_arena_printf(arena,
	                       "User %s cannot " PL_SPAN_FMT
	                       " resource %s in API group %s at the cluster scope",
	                       quote(arena, user), PL_SPAN_ARG(asked->verb),
	                       quote(arena, resource), quote(arena, asked->group));
}

/* NUL-terminated, as a status wants it. */
static const char *text_of(struct pl_arena *arena, struct pl_span span)
{
	return span.len == 0 ? ""
	                     : pl_arena_printf(arena, PL_SPAN_FMT, PL_SPAN_ARG(span));
}

struct api_status access_forbidden(struct pl_arena *arena,
                                   const struct access_attributes *asked,
                                   struct pl_span user)
{
	const char *group = text_of(arena, asked->group);
	const char *resource = text_of(arena, asked->resource);
	const char *why = refusal_text(arena, asked, user);
	struct status_about about = {
		.group = group, .resource = resource, .name = asked->name};

	if (group == NULL || resource == NULL || why == NULL)
		return status_internal(arena, PL_SPAN_LIT("out of memory"));
	if (!asked->is_resource)
		about = (struct status_about){0};
	return status_forbidden(arena, about, pl_span_str(why));
}

/* -- the identity that the headers name ------------------------------------------------------- */

struct naming {
	const struct http_request *http;
	const struct access_document *document;
	const struct identity *sender;
	struct pl_arena *arena;
	struct api_status *status;
	struct identity named;
	struct pl_span *groups;
	struct identity_extra *extra;
};

static bool is_extra(struct pl_span name)
{
	return pl_span_starts(name, PL_SPAN_LIT(EXTRA_PREFIX)) &&
	       name.len > sizeof EXTRA_PREFIX - 1;
}

static bool names_anything(const struct http_request *http)
{
	for (size_t i = 0; i < http->field_count; i++)
		if (pl_span_starts(http->fields[i].name, PL_SPAN_LIT("impersonate-")))
			return true;
	return false;
}

static bool refuse_naming(struct naming *naming, struct pl_span why)
{
	*naming->status = status_bad_request(why);
	return false;
}

/* Whether the sender may take that part of another identity. */
static bool may_take(struct naming *naming, const char *group, const char *resource,
                     struct pl_span sub, struct pl_span name)
{
	const struct access_attributes asked = {.is_resource = true,
	                                        .verb = PL_SPAN_LIT("impersonate"),
	                                        .group = pl_span_str(group),
	                                        .resource = pl_span_str(resource),
	                                        .subresource = sub,
	                                        .name = name};

	if (access_allows(naming->document, naming->sender, &asked, NULL))
		return true;
	*naming->status = access_forbidden(naming->arena, &asked, naming->sender->user);
	return false;
}

static bool add_group(struct naming *naming, struct pl_span group)
{
	if (naming->named.group_count == IDENTITY_GROUPS_MAX)
		return refuse_naming(naming,
		                     PL_SPAN_LIT("too many groups to impersonate"));
	naming->groups[naming->named.group_count++] = group;
	return may_take(naming, "", "groups", (struct pl_span){0}, group);
}

/* A key that comes several times has several values; each is one entry here, which says the
 * same. */
static bool add_extra(struct naming *naming, const struct http_field *field)
{
	struct pl_span key = pl_span(field->name.at + sizeof EXTRA_PREFIX - 1,
	                             field->name.len - (sizeof EXTRA_PREFIX - 1));
	struct identity_extra *extra = &naming->extra[naming->named.extra_count];

	if (naming->named.extra_count == IDENTITY_EXTRA_MAX)
		return refuse_naming(naming,
		                     PL_SPAN_LIT("too much extra to impersonate"));
	extra->key = request_decode(naming->arena, key, false);
	if (extra->key.at == NULL || !identity_name_ok(extra->key))
		return refuse_naming(naming,
		                     PL_SPAN_LIT("the key of an extra to impersonate is "
		                                 "malformed"));
	extra->values = &field->value;
	extra->count = 1;
	naming->named.extra_count++;
	return may_take(naming, "authentication.k8s.io", "userextras", extra->key,
	                field->value);
}

static bool add_field(struct naming *naming, const struct http_field *field)
{
	if (pl_span_eq(field->name, PL_SPAN_LIT("impersonate-user"))) {
		if (naming->named.user.len > 0)
			return refuse_naming(naming,
			                     PL_SPAN_LIT("two users to impersonate"));
		naming->named.user = field->value;
		return may_take(naming, "", "users", (struct pl_span){0}, field->value);
	}
	if (pl_span_eq(field->name, PL_SPAN_LIT("impersonate-group")))
		return add_group(naming, field->value);
	if (pl_span_eq(field->name, PL_SPAN_LIT("impersonate-uid"))) {
		naming->named.uid = field->value;
		return may_take(naming, "authentication.k8s.io", "uids",
		                (struct pl_span){0}, field->value);
	}
	if (is_extra(field->name))
		return add_extra(naming, field);
	return true;
}

static bool take_names(struct naming *naming, struct identity *out)
{
	struct pl_err err = {0};
	enum pl_code code;

	naming->groups = pl_arena_zalloc(naming->arena, IDENTITY_GROUPS_MAX,
	                                 sizeof *naming->groups);
	naming->extra =
		pl_arena_zalloc(naming->arena, IDENTITY_EXTRA_MAX, sizeof *naming->extra);
	if (naming->groups == NULL || naming->extra == NULL) {
		*naming->status =
			status_internal(naming->arena, PL_SPAN_LIT("out of memory"));
		return false;
	}
	for (size_t i = 0; i < naming->http->field_count; i++)
		if (!add_field(naming, &naming->http->fields[i]))
			return false;
	if (naming->named.user.len == 0)
		return refuse_naming(naming, PL_SPAN_LIT("no user to impersonate"));
	if (pl_span_eq(naming->named.user, PL_SPAN_LIT(IDENTITY_ANONYMOUS_USER))) {
		*out = identity_anonymous();
		return true;
	}
	naming->named.groups = naming->groups;
	naming->named.extra = naming->extra;
	naming->named.via = IDENTITY_IMPERSONATED;
	code = identity_make(naming->arena, &naming->named, out, &err);
	if (code == PL_OK)
		return true;
	if (code == PL_NOMEM)
		*naming->status =
			status_internal(naming->arena, PL_SPAN_LIT("out of memory"));
	else
		*naming->status = status_bad_request(
			PL_SPAN_LIT("the identity to impersonate is malformed"));
	return false;
}

enum impersonation impersonate(const struct http_request *http,
                               const struct access_document *document,
                               const struct identity *sender, struct pl_arena *arena,
                               struct identity *out, struct api_status *status)
{
	struct naming naming = {.http = http,
	                        .document = document,
	                        .sender = sender,
	                        .arena = arena,
	                        .status = status};

	if (!names_anything(http))
		return IMPERSONATION_NONE;
	return take_names(&naming, out) ? IMPERSONATION_DONE : IMPERSONATION_REFUSED;
}
