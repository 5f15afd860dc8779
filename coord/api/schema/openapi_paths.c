#include "coord/api/schema/openapi_paths.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "store/base/json_put.h"

enum { TEXT_MAX = 256 };

enum param {
	PARAM_DRY_RUN = 1 << 0,
	PARAM_MANAGER = 1 << 1,
	PARAM_VALIDATION = 1 << 2,
	PARAM_FORCE = 1 << 3,
	PARAM_GRACE = 1 << 4,
	PARAM_PROPAGATION = 1 << 5,
	PARAM_LABELS = 1 << 6,
	PARAM_FIELDS = 1 << 7,
	PARAM_LIMIT = 1 << 8,
	PARAM_CONTINUE = 1 << 9,
	PARAM_WATCH = 1 << 10,
	PARAM_REVISION = 1 << 11,
	PARAM_MATCH = 1 << 12,
	PARAM_BOOKMARKS = 1 << 13,
	PARAM_INITIAL = 1 << 14,
	PARAM_TIMEOUT = 1 << 15,
	PARAM_COUNT = 16,
	PARAMS_WRITE = PARAM_DRY_RUN | PARAM_MANAGER | PARAM_VALIDATION,
	PARAMS_DELETE = PARAM_DRY_RUN | PARAM_GRACE | PARAM_PROPAGATION,
	PARAMS_SELECT = PARAM_LABELS | PARAM_FIELDS | PARAM_LIMIT | PARAM_CONTINUE |
	                PARAM_REVISION | PARAM_MATCH | PARAM_TIMEOUT,
	PARAMS_LIST = PARAMS_SELECT | PARAM_WATCH | PARAM_BOOKMARKS | PARAM_INITIAL,
};

/* In the order of the bits. */
static const struct {
	const char *name, *type, *doc;
} params[PARAM_COUNT] = {
	{"dryRun", "string", "All: the request is checked and not carried out."},
	{"fieldManager", "string", "The manager that owns the fields that are set."},
	{"fieldValidation", "string", "Ignore, Warn or Strict: about unknown fields."},
	{"force", "boolean", "Apply takes fields over from other managers."},
	{"gracePeriodSeconds", "integer", "Seconds that the object is given to end."},
	{"propagationPolicy", "string", "Orphan, Background or Foreground."},
	{"labelSelector", "string", "Objects with these labels only."},
	{"fieldSelector", "string", "Objects with these fields only."},
	{"limit", "integer", "At most so many objects."},
	{"continue", "string", "The next page of a list."},
	{"watch", "boolean", "Changes instead of a list."},
	{"resourceVersion", "string", "How new the answer must be."},
	{"resourceVersionMatch", "string", "NotOlderThan or Exact."},
	{"allowWatchBookmarks", "boolean", "Revisions are told in between."},
	{"sendInitialEvents", "boolean", "A watch begins with what there is."},
	{"timeoutSeconds", "integer", "When the answer ends."},
};

struct operation {
	const char *method;  /* of HTTP */
	const char *action;  /* x-kubernetes-action */
	const char *verb;    /* in the operation's id */
	const char *body;    /* schema; NULL: none */
	const char *answer;  /* schema; NULL: a text */
	const char *kind[3]; /* group, version, kind */
	const char *scope;   /* in the operation's id: "Namespaced", ... */
	const char *sub;     /* the same: "Status", ... */
	uint32_t params;
	bool optional_body, patch;
};

struct writer {
	struct pl_json_out *out;
	enum openapi_version version;
	const struct schema_resource *resource;
	char base[TEXT_MAX]; /* the path of the collection */
	char list[OPENAPI_NAME_MAX];
};

static const char *const patch_types[] = {
	"application/json-patch+json", "application/merge-patch+json",
	"application/strategic-merge-patch+json", "application/apply-patch+yaml", NULL};
static const char *const any_type[] = {"*/*", NULL};
static const char *const json_type[] = {"application/json", NULL};

static void put_true(struct pl_json_out *out, const char *name)
{
	pl_json_out_name(out, name);
	pl_json_out_bool(out, true);
}

/* -- parameters ---------------------------------------------------------------------------- */

static void put_param(const struct writer *w, const char *in, const char *name,
                      const char *type, const char *doc)
{
	struct pl_json_out *out = w->out;

	pl_json_out_object(out);
	pl_json_put_str(out, "name", name);
	pl_json_put_str(out, "in", in);
	pl_json_put_str(out, "description", doc);
	if (strcmp(in, "path") == 0)
		put_true(out, "required");
	if (w->version == OPENAPI_V3) {
		pl_json_out_name(out, "schema");
		pl_json_out_object(out);
	}
	pl_json_put_str(out, "type", type);
	put_true(out, "uniqueItems");
	if (w->version == OPENAPI_V3)
		pl_json_out_end(out);
	pl_json_out_end(out);
}

static void put_ref_member(const struct writer *w, const char *name)
{
	pl_json_out_name(w->out, "schema");
	pl_json_out_object(w->out);
	if (name == NULL)
		pl_json_put_str(w->out, "type", "string");
	else
		openapi_ref(w->out, w->version, name);
	pl_json_out_end(w->out);
}

static void put_body_param(const struct writer *w, const struct operation *op)
{
	pl_json_out_object(w->out);
	pl_json_put_str(w->out, "name", "body");
	pl_json_put_str(w->out, "in", "body");
	if (!op->optional_body)
		put_true(w->out, "required");
	put_ref_member(w, op->body);
	pl_json_out_end(w->out);
}

static void put_params(const struct writer *w, const struct operation *op)
{
	pl_json_out_name(w->out, "parameters");
	pl_json_out_array(w->out);
	if (w->version == OPENAPI_V2 && op->body != NULL)
		put_body_param(w, op);
	for (unsigned i = 0; i < PARAM_COUNT; i++)
		if ((op->params & (1U << i)) != 0)
			put_param(w, "query", params[i].name, params[i].type,
			          params[i].doc);
	pl_json_out_end(w->out);
}

/* -- operations ------------------------------------------------------------------------------ */

static void put_content(const struct writer *w, const char *const *types,
                        const char *schema)
{
	pl_json_out_name(w->out, "content");
	pl_json_out_object(w->out);
	for (; *types != NULL; types++) {
		pl_json_out_name(w->out, *types);
		pl_json_out_object(w->out);
		put_ref_member(w, schema);
		pl_json_out_end(w->out);
	}
	pl_json_out_end(w->out);
}

static void put_request_body(const struct writer *w, const struct operation *op)
{
	if (w->version == OPENAPI_V2 || op->body == NULL)
		return;
	pl_json_out_name(w->out, "requestBody");
	pl_json_out_object(w->out);
	put_content(w, op->patch ? patch_types : any_type, op->body);
	if (!op->optional_body)
		put_true(w->out, "required");
	pl_json_out_end(w->out);
}

static void put_answers(const struct writer *w, const struct operation *op)
{
	pl_json_out_name(w->out, "responses");
	pl_json_out_object(w->out);
	pl_json_out_name(w->out, strcmp(op->action, "post") == 0 ? "201" : "200");
	pl_json_out_object(w->out);
	pl_json_put_str(w->out, "description", "OK");
	if (w->version == OPENAPI_V2)
		put_ref_member(w, op->answer);
	else
		put_content(w, json_type, op->answer);
	pl_json_out_end(w->out);
	pl_json_out_end(w->out);
}

static void put_id(const struct writer *w, const struct operation *op)
{
	const char *group = *w->resource->group == '\0' ? "core" : w->resource->group;
	char text[TEXT_MAX];
	int start = (int)strlen(op->verb);

	snprintf(text, sizeof text, "%s%.*sV1%s%s%s", op->verb, (int)strcspn(group, "."),
	         group, op->scope, w->resource->kind, op->sub);
	text[start] = (char)toupper((unsigned char)text[start]);
	pl_json_put_str(w->out, "operationId", text);
}

static void put_consumes(const struct writer *w, const struct operation *op)
{
	if (w->version == OPENAPI_V3 || !op->patch)
		return;
	pl_json_out_name(w->out, "consumes");
	pl_json_out_array(w->out);
	for (const char *const *type = patch_types; *type != NULL; type++)
		pl_json_out_str(w->out, *type);
	pl_json_out_end(w->out);
}

static void put_operation(const struct writer *w, const struct operation *op)
{
	pl_json_out_name(w->out, op->method);
	pl_json_out_object(w->out);
	put_id(w, op);
	put_consumes(w, op);
	put_params(w, op);
	put_request_body(w, op);
	put_answers(w, op);
	pl_json_put_str(w->out, "x-kubernetes-action", op->action);
	pl_json_out_name(w->out, "x-kubernetes-group-version-kind");
	openapi_kind(w->out, op->kind[0], op->kind[1], op->kind[2]);
	pl_json_out_end(w->out);
}

static struct operation operation_of(const struct writer *w, const char *method,
                                     const char *action, const char *verb)
{
	const struct schema_resource *resource = w->resource;

	return (struct operation){
		.method = method,
		.action = action,
		.verb = verb,
		.answer = resource->type->name,
		.kind = {resource->group, resource->version, resource->kind},
		.scope = resource->namespaced ? "Namespaced" : "",
		.sub = ""};
}

/* -- collections and objects ------------------------------------------------------------------- */

static void begin_path(const struct writer *w, const char *path, bool in_namespace,
                       bool named)
{
	pl_json_out_name(w->out, path);
	pl_json_out_object(w->out);
	if (!in_namespace && !named)
		return;
	pl_json_out_name(w->out, "parameters");
	pl_json_out_array(w->out);
	if (named)
		put_param(w, "path", "name", "string", "Name of the object.");
	if (in_namespace)
		put_param(w, "path", "namespace", "string", "Namespace of the object.");
	pl_json_out_end(w->out);
}

static struct operation list_of(const struct writer *w)
{
	struct operation op = operation_of(w, "get", "list", "list");

	op.answer = w->list;
	op.params = PARAMS_LIST;
	return op;
}

/* The list of all namespaces. */
static void put_all(const struct writer *w, const char *path)
{
	struct operation op = list_of(w);

	op.scope = "";
	op.sub = "ForAllNamespaces";
	begin_path(w, path, false, false);
	put_operation(w, &op);
	pl_json_out_end(w->out);
}

static void put_collection(const struct writer *w)
{
	uint16_t verbs = w->resource->verbs;
	struct operation op;

	begin_path(w, w->base, w->resource->namespaced, false);
	if ((verbs & SCHEMA_LIST_VERB) != 0) {
		op = list_of(w);
		put_operation(w, &op);
	}
	if ((verbs & SCHEMA_CREATE) != 0) {
		op = operation_of(w, "post", "post", "create");
		op.body = w->resource->type->name;
		op.params = PARAMS_WRITE;
		put_operation(w, &op);
	}
	if ((verbs & SCHEMA_DELETE_COLLECTION) != 0) {
		op = operation_of(w, "delete", "deletecollection", "delete");
		op.scope =
			w->resource->namespaced ? "CollectionNamespaced" : "Collection";
		op.body = OPENAPI_META "DeleteOptions";
		op.answer = OPENAPI_META "Status";
		op.optional_body = true;
		op.params = PARAMS_DELETE | PARAMS_SELECT;
		put_operation(w, &op);
	}
	pl_json_out_end(w->out);
}

static void put_get(const struct writer *w, const char *sub, const char *answer,
                    const char *const kind[3])
{
	struct operation op = operation_of(w, "get", "get", "read");

	op.sub = sub;
	op.answer = answer;
	memcpy(op.kind, kind, sizeof op.kind);
	put_operation(w, &op);
}

static void put_changes(const struct writer *w, const char *sub, const char *type,
                        const char *const kind[3])
{
	struct operation op = operation_of(w, "put", "put", "replace");

	op.sub = sub;
	op.body = op.answer = type;
	op.params = PARAMS_WRITE;
	memcpy(op.kind, kind, sizeof op.kind);
	put_operation(w, &op);
	op.method = op.action = op.verb = "patch";
	op.body = OPENAPI_META "Patch";
	op.params = PARAMS_WRITE | PARAM_FORCE;
	op.patch = true;
	put_operation(w, &op);
}

static void put_delete(const struct writer *w)
{
	struct operation op = operation_of(w, "delete", "delete", "delete");

	op.body = OPENAPI_META "DeleteOptions";
	op.answer = OPENAPI_META "Status";
	op.optional_body = true;
	op.params = PARAMS_DELETE;
	put_operation(w, &op);
}

static void put_object(const struct writer *w)
{
	const struct schema_resource *resource = w->resource;
	const char *const kind[3] = {resource->group, resource->version, resource->kind};
	char path[TEXT_MAX + 32];

	if ((resource->verbs & (SCHEMA_GET | SCHEMA_UPDATE | SCHEMA_DELETE)) == 0)
		return;
	snprintf(path, sizeof path, "%s/{name}", w->base);
	begin_path(w, path, resource->namespaced, true);
	if ((resource->verbs & SCHEMA_GET) != 0)
		put_get(w, "", resource->type->name, kind);
	if ((resource->verbs & SCHEMA_UPDATE) != 0)
		put_changes(w, "", resource->type->name, kind);
	if ((resource->verbs & SCHEMA_DELETE) != 0)
		put_delete(w);
	pl_json_out_end(w->out);
}

/* -- subresources -------------------------------------------------------------------------------- */

static void begin_sub(const struct writer *w, const char *sub)
{
	char path[TEXT_MAX + 64];

	snprintf(path, sizeof path, "%s/{name}/%s", w->base, sub);
	begin_path(w, path, w->resource->namespaced, true);
}

/* Read and changed like the object: status, scale. */
static void put_view(const struct writer *w, const char *path, const char *sub,
                     const char *type, const char *const kind[3])
{
	begin_sub(w, path);
	put_get(w, sub, type, kind);
	put_changes(w, sub, type, kind);
	pl_json_out_end(w->out);
}

static void put_action(const struct writer *w, const char *path, const char *sub,
                       const char *type, const char *const kind[3])
{
	bool replaces = strcmp(path, "finalize") == 0;
	struct operation op =
		operation_of(w, replaces ? "put" : "post", replaces ? "put" : "post",
	                     replaces ? "replace" : "create");

	op.sub = sub;
	op.body = op.answer = type;
	op.params = PARAMS_WRITE;
	memcpy(op.kind, kind, sizeof op.kind);
	begin_sub(w, path);
	put_operation(w, &op);
	pl_json_out_end(w->out);
}

static void put_text(const struct writer *w, const char *path, const char *sub)
{
	const struct schema_resource *resource = w->resource;
	const char *const kind[3] = {resource->group, resource->version, resource->kind};

	begin_sub(w, path);
	put_get(w, sub, NULL, kind);
	pl_json_out_end(w->out);
}

static void put_subresources(const struct writer *w)
{
	static const char *const scale[3] = {"autoscaling", "v1", "Scale"};
	static const char *const eviction[3] = {"policy", "v1", "Eviction"};
	static const char *const binding[3] = {"", "v1", "Binding"};
	const struct schema_resource *resource = w->resource;
	const char *const kind[3] = {resource->group, resource->version, resource->kind};
	uint16_t subs = resource->subresources;

	if ((subs & SCHEMA_SUB_STATUS) != 0)
		put_view(w, "status", "Status", resource->type->name, kind);
	if ((subs & SCHEMA_SUB_SCALE) != 0)
		put_view(w, "scale", "Scale", "io.k8s.api.autoscaling.v1.Scale", scale);
	if ((subs & SCHEMA_SUB_BINDING) != 0)
		put_action(w, "binding", "Binding", "io.k8s.api.core.v1.Binding",
		           binding);
	if ((subs & SCHEMA_SUB_EVICTION) != 0)
		put_action(w, "eviction", "Eviction", "io.k8s.api.policy.v1.Eviction",
		           eviction);
	if ((subs & SCHEMA_SUB_FINALIZE) != 0)
		put_action(w, "finalize", "Finalize", resource->type->name, kind);
	if ((subs & SCHEMA_SUB_LOG) != 0)
		put_text(w, "log", "Log");
	if ((subs & SCHEMA_SUB_EXEC) != 0)
		put_text(w, "exec", "Exec");
}

void openapi_paths(struct pl_json_out *out, enum openapi_version version,
                   const struct schema_resource *resource)
{
	struct writer w = {.out = out, .version = version, .resource = resource};
	bool core = *resource->group == '\0';
	char top[TEXT_MAX], all[TEXT_MAX];

	snprintf(top, sizeof top, "%s%s/%s", core ? "/api" : "/apis/", resource->group,
	         resource->version);
	snprintf(all, sizeof all, "%.160s/%.60s", top, resource->plural);
	snprintf(w.base, sizeof w.base, "%.160s%s/%.60s", top,
	         resource->namespaced ? "/namespaces/{namespace}" : "", resource->plural);
	openapi_list_name(resource, w.list);
	if (resource->namespaced && (resource->verbs & SCHEMA_LIST_VERB) != 0)
		put_all(&w, all);
	put_collection(&w);
	put_object(&w);
	put_subresources(&w);
}
