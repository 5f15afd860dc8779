#include "coord/api/verbs/request_verb.h"

#include "coord/api/objects/member_name.h"

const char *request_verb_word(enum request_verb verb)
{
	static const char *const words[] = {
		"get",    "list",  "watch",  "create",
		"update", "patch", "delete", "deletecollection"};

	return words[verb];
}

static bool method_is(struct pl_span method, const char *word)
{
	return pl_span_eq(method, pl_span_str(word));
}

bool request_verb_find(struct pl_span method, const struct request_path *path,
                       const struct request_query *query, enum request_verb *out,
                       uint16_t *needed)
{
	bool one = path->name.len > 0;
	/* A watch is one of objects; of a subresource it is a GET like any other. */
	bool watches = path->subresource.len == 0 && request_is_true(query->watch);

	if (method_is(method, "GET") || method_is(method, "HEAD")) {
		*out = watches ? REQUEST_WATCH : one ? REQUEST_GET : REQUEST_LIST;
		*needed = watches ? SCHEMA_WATCH : one ? SCHEMA_GET : SCHEMA_LIST_VERB;
		return true;
	}
	if (method_is(method, "POST")) {
		*out = REQUEST_CREATE;
		*needed = SCHEMA_CREATE;
		return !one || path->subresource.len > 0;
	}
	if (method_is(method, "PUT")) {
		*out = REQUEST_UPDATE;
		*needed = SCHEMA_UPDATE;
		return one;
	}
	if (method_is(method, "PATCH")) {
		*out = REQUEST_PATCH;
		*needed = SCHEMA_PATCH;
		return one;
	}
	if (method_is(method, "DELETE")) {
		*out = one ? REQUEST_DELETE : REQUEST_DELETE_COLLECTION;
		*needed = one ? SCHEMA_DELETE : SCHEMA_DELETE_COLLECTION;
		return path->subresource.len == 0;
	}
	return false;
}

/* -- attributes ----------------------------------------------------------------------------- */

/* A method without a verb of its own, in lower case. */
static enum pl_code lower_method(struct pl_arena *arena, struct pl_span method,
                                 struct pl_span *out)
{
	uint8_t *text = pl_arena_alloc(arena, method.len + 1);

	if (text == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < method.len; i++)
		text[i] = (uint8_t)(method.at[i] >= 'A' && method.at[i] <= 'Z'
		                            ? method.at[i] | 0x20
		                            : method.at[i]);
	*out = pl_span(text, method.len);
	return PL_OK;
}

static bool is_core(const struct access_attributes *asked, const char *resource)
{
	return asked->group.len == 0 &&
	       pl_span_eq(asked->resource, pl_span_str(resource));
}

/* A Namespace stands in itself, a node in the cluster that its name says. */
static void add_places(struct access_attributes *out)
{
	struct pl_span plain;

	if (is_core(out, "namespaces"))
		out->namespace = out->name;
	if (is_core(out, "nodes") && out->name.len > 0)
		member_name_split(out->name, &out->cluster, &plain);
}

static enum pl_code of_path(struct pl_arena *arena, struct pl_span method,
                            const struct request_path *path,
                            const struct request_query *query,
                            struct access_attributes *out)
{
	enum request_verb verb;
	uint16_t needed;

	*out = (struct access_attributes){
		.is_resource = true,
		.group = pl_span_str(path->resource->group),
		.version = pl_span_str(path->resource->version),
		.resource = pl_span_str(path->resource->plural),
		.subresource = path->subresource,
		.namespace = path->namespace,
		.name = path->name,
	};
	add_places(out);
	/* There is none for some methods and paths; these will be refused for that. */
	if (!request_verb_find(method, path, query, &verb, &needed))
		return lower_method(arena, method, &out->verb);
	out->verb = pl_span_str(request_verb_word(verb));
	return PL_OK;
}

/* The next part of a path, without the slash before it; empty: the end. */
static struct pl_span part_next(struct pl_span *rest)
{
	const uint8_t *slash;
	struct pl_span part;

	while (rest->len > 0 && rest->at[0] == '/')
		*rest = pl_span(rest->at + 1, rest->len - 1);
	slash = rest->len == 0 ? NULL : memchr(rest->at, '/', rest->len);
	part = pl_span(rest->at, slash == NULL ? rest->len : (size_t)(slash - rest->at));
	*rest = pl_span(rest->at + part.len, rest->len - part.len);
	return part;
}

/* A path below /api/v1 or /apis/<group>/<version> that is not served. */
static bool loose_resource(struct pl_span path, struct access_attributes *out)
{
	struct pl_span root = part_next(&path), part;

	*out = (struct access_attributes){.is_resource = true};
	if (pl_span_eq(root, PL_SPAN_LIT("apis")))
		out->group = part_next(&path);
	else if (!pl_span_eq(root, PL_SPAN_LIT("api")))
		return false;
	out->version = part_next(&path);
	part = part_next(&path);
	if (pl_span_eq(part, PL_SPAN_LIT("namespaces"))) {
		out->namespace = part_next(&path);
		part = part_next(&path);
		if (part.len == 0) {
			out->resource = PL_SPAN_LIT("namespaces");
			out->name = out->namespace;
			return true;
		}
	}
	out->resource = part;
	out->name = part_next(&path);
	out->subresource = part_next(&path);
	return out->resource.len > 0;
}

static enum pl_code loosely(struct pl_arena *arena, const struct http_request *http,
                            struct access_attributes *out)
{
	struct request_path names = {0};
	struct request_query query = {0};
	enum request_verb verb;
	uint16_t needed;

	if (!loose_resource(http->path, out)) {
		*out = (struct access_attributes){.path = http->path};
		return lower_method(arena, http->method, &out->verb);
	}
	names.name = out->name;
	names.subresource = out->subresource;
	if (!request_verb_find(http->method, &names, &query, &verb, &needed))
		return lower_method(arena, http->method, &out->verb);
	out->verb = pl_span_str(request_verb_word(verb));
	return PL_OK;
}

enum pl_code request_attributes(struct pl_arena *arena, const struct http_request *http,
                                struct access_attributes *out)
{
	struct request_path path;
	struct request_query query;
	struct api_status status;

	if (!request_path_parse(arena, http->path, &path, &status))
		return loosely(arena, http, out);
	/* A query that can not be read is refused, whatever the verb. */
	if (!request_query_parse(arena, http->query, &query, &status))
		query = (struct request_query){0};
	return of_path(arena, http->method, &path, &query, out);
}
