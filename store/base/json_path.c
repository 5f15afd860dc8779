/*
 * Paths for errors. A value does not know its parents. They are searched for from the
 * root when an error is written, which happens at most once a document.
 */
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>

#include "store/base/json_tree.h"
#include "store/base/quote.h"

void pl_json_walk_init(struct pl_json_walk *walk, const struct cJSON *root)
{
	walk->node = root;
	walk->depth = 0;
}

void pl_json_walk_next(struct pl_json_walk *walk)
{
	const struct cJSON *node = walk->node;

	if (node->child != NULL) {
		PL_ASSERT(walk->depth <= PL_JSON_DEPTH_MAX);
		walk->up[walk->depth++] = node;
		walk->node = node->child;
		return;
	}
	while (walk->depth > 0 && node->next == NULL)
		node = walk->up[--walk->depth];
	walk->node = walk->depth == 0 ? NULL : node->next;
}

struct json_path {
	char *out;
	size_t len;
	bool cut;
};

static void path_add(struct json_path *path, const char *text)
{
	static const char dots[] = "...";
	size_t len = strlen(text), room = PL_JSON_PATH_SIZE - sizeof dots - path->len;

	if (path->cut)
		return;
	if (len > room) { /* a segment is printed whole or not at all */
		text = dots;
		len = sizeof dots - 1;
		path->cut = true;
	}
	memcpy(path->out + path->len, text, len + 1);
	path->len += len;
}

static bool is_plain(const char *name)
{
	const char *at = name;

	while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
	       (*at >= '0' && *at <= '9') || *at == '_' || *at == '-')
		at++;
	return *at == 0 && at != name && at - name < PL_QUOTE_SIZE;
}

static void path_add_name(struct json_path *path, const char *name)
{
	char quoted[PL_QUOTE_SIZE], text[PL_QUOTE_SIZE + 4];

	if (is_plain(name))
		(void)snprintf(text, sizeof text, "%s%s", path->len == 0 ? "" : ".",
		               name);
	else
		(void)snprintf(text, sizeof text, "[%s]",
		               pl_quote(pl_span_str(name), quoted));
	path_add(path, text);
}

static void path_add_step(struct json_path *path, const struct cJSON *parent,
                          const struct cJSON *node)
{
	char text[32];
	size_t index = 0;

	if (cJSON_IsObject(parent)) {
		path_add_name(path, node->string);
		return;
	}
	for (const struct cJSON *at = parent->child; at != node; at = at->next)
		index++;
	(void)snprintf(text, sizeof text, "[%zu]", index);
	path_add(path, text);
}

static void path_to(struct json_path *path, struct pl_json value)
{
	struct pl_json_walk walk;

	path->out[0] = 0;
	pl_json_walk_init(&walk, value.doc->root);
	while (walk.node != value.node) {
		pl_json_walk_next(&walk);
		PL_ASSERT(walk.node != NULL);
	}
	for (size_t i = 0; i < walk.depth; i++)
		path_add_step(path, walk.up[i],
		              i + 1 < walk.depth ? walk.up[i + 1] : walk.node);
}

void pl_json_path(struct pl_json value, char out[PL_JSON_PATH_SIZE])
{
	struct json_path path = {.out = out};

	out[0] = 0;
	if (value.node != NULL)
		path_to(&path, value);
	if (path.len == 0)
		path_add(&path, "document");
}

enum pl_code pl_json_fail(struct pl_json value, enum pl_code code, struct pl_err *err,
                          const char *fmt, ...)
{
	char path[PL_JSON_PATH_SIZE], what[PL_ERR_MSG_SIZE];
	va_list args;

	if (err == NULL)
		return code;
	va_start(args, fmt);
	(void)vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	pl_json_path(value, path);
	return pl_err_set(err, code, "%s: %s", path, what);
}

enum pl_code pl_json_missing(struct pl_json object, const char *name, struct pl_err *err)
{
	char text[PL_JSON_PATH_SIZE];
	struct json_path path = {.out = text};

	if (err == NULL)
		return PL_INVALID;
	path_to(&path, object);
	path_add_name(&path, name);
	return pl_err_set(err, PL_INVALID, "%s: missing", text);
}
