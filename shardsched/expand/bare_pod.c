/* Pods that stand for themselves. */
#include "shardsched/expand/expand_inner.h"
#include "store/keys/names.h"

/* Reads the Pod's name and namespace, and checks them before anything is printed with
 * them. */
static enum pl_code bare_meta(struct expand *expand, struct pl_span json,
                              struct draft_meta *out, struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {
		.model = &expand->model, .arena = &expand->arena, .errors = &errors};

	parse_begin(&parse, json, err);
	if (parse.meta.namespace.len == 0)
		parse.meta.namespace = expand->namespace;
	(void)parse_checks(&parse, VALIDATE_SUBDOMAIN, true);
	(void)parse_makes(&parse);
	*out = parse.meta;
	return parse_end(&parse);
}

/* The pod's text with its name and, unless it has one of its own, its uid open. */
static enum pl_code bare_text(struct expand *expand, struct pl_span json, bool has_uid,
                              struct pl_err *err)
{
	struct object_change changes[] = {
		{{"apiVersion"}, "\"v1\""},
		{{"metadata", "namespace"}, NULL},
		{{"metadata", "name"}, "\"" TEMPLATE_NAME "\""},
		{{"metadata", "resourceVersion"}, NULL},
		{{"metadata", "managedFields"}, NULL},
		{{"metadata", "deletionTimestamp"}, NULL},
		{{"status"}, NULL},
		{{"metadata", "uid"}, "\"" TEMPLATE_UID "\""},
	};
	unsigned count = sizeof changes / sizeof changes[0];

	if (expand_quoted(expand, expand->in_namespace, &changes[1].json) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "expand an object");
	pl_buf_clear(&expand->raw, SIZE_MAX);
	return object_print(json, changes, has_uid ? count - 1 : count, &expand->raw,
	                    err);
}

enum pl_code bare_pod(struct expand *expand, struct pl_span json, struct pl_err *err)
{
	struct draft_meta meta;
	enum pl_code code = bare_meta(expand, json, &meta, err);

	if (code != PL_OK)
		return code;
	expand->in_namespace = meta.namespace;
	expand->base = meta.name;
	expand->count = 1;
	return bare_text(expand, json, meta.uid.len > 0, err);
}

/* A text that is written as it is: nothing in it is escaped. */
static struct pl_span plain_text(struct pl_span meta, const char *name)
{
	struct pl_span text = expand_unquoted(object_member(meta, name));

	return text.len > 0 && memchr(text.at, '\\', text.len) == NULL
	               ? text
	               : (struct pl_span){0};
}

static bool keep_names(struct expand *expand, struct pl_span namespace,
                       struct pl_span name)
{
	if (names_check(NAMES_NAMESPACE, namespace, NULL) != PL_OK ||
	    names_check(NAMES_POD, name, NULL) != PL_OK)
		return false;
	pl_arena_reset(&expand->arena);
	expand->in_namespace = pl_arena_dup(&expand->arena, namespace);
	expand->base = pl_arena_dup(&expand->arena, name);
	return expand->in_namespace.at != NULL && expand->base.at != NULL;
}

bool bare_is_like_last(struct expand *expand, struct pl_span json)
{
	struct pl_span meta = object_member(json, "metadata"), namespace, name;
	struct pl_err err = {0};

	if (meta.len == 0 || meta.at[0] != '{' || object_member(meta, "uid").len > 0)
		return false;
	name = plain_text(meta, "name");
	namespace = plain_text(meta, "namespace");
	if (object_member(meta, "namespace").len == 0) {
		namespace = expand->namespace;
	}
	if (!keep_names(expand, namespace, name) ||
	    bare_text(expand, json, false, &err) != PL_OK ||
	    expand_put_priority(expand, &err) != PL_OK ||
	    json_template_set(&expand->candidate, pl_buf_span(&expand->raw)) != PL_OK ||
	    !json_template_eq(&expand->candidate, &expand->json_template) ||
	    expand_keep_hash(expand, &err) != PL_OK)
		return false;
	expand->next = 0;
	expand->count = 1;
	return true;
}
