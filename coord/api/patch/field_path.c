/* Paths of fields as Kubernetes prints them: .spec.containers[name="a"].image */
#include <stdio.h>
#include <string.h>

#include "coord/api/patch/field_set.h"

struct path_walk {
	struct field_maker *maker;
	field_each_fn *each;
	void *context;
	struct pl_buf path;
};

static bool add_text(struct path_walk *walk, const char *text, size_t len)
{
	if (pl_buf_add(&walk->path, pl_span(text, len)) != PL_OK)
		walk->maker->failed = true;
	return !walk->maker->failed;
}

static bool add_str(struct path_walk *walk, const char *text)
{
	return add_text(walk, text, strlen(text));
}

/* {"containerPort":80,"protocol":"TCP"} as containerPort=80,protocol="TCP" */
static bool add_keys(struct path_walk *walk, const char *json)
{
	size_t len = strlen(json);
	bool quoted = false, name = true, done = true;

	for (size_t i = 1; i + 1 < len && done; i++) {
		bool is_quote = json[i] == '"';

		if (quoted && json[i] == '\\') {
			done = add_text(walk, json + i, 2);
			i++;
		} else if (is_quote) {
			quoted = !quoted;
			done = name || add_text(walk, json + i, 1);
		} else if (!quoted && name && json[i] == ':') {
			name = false;
			done = add_text(walk, "=", 1);
		} else {
			name = name || (!quoted && json[i] == ',');
			done = add_text(walk, json + i, 1);
		}
	}
	return done;
}

static bool add_element(struct path_walk *walk, const struct field_node *node)
{
	bool done;

	if (node->kind == FIELD_NAME)
		return add_str(walk, ".") && add_str(walk, node->text);
	done = add_str(walk, "[");
	if (node->kind == FIELD_KEY)
		done = done && add_keys(walk, node->text);
	else if (node->kind == FIELD_VALUE)
		done = done && add_str(walk, "=") && add_str(walk, node->text);
	else
		done = done && add_str(walk, node->text);
	return done && add_str(walk, "]");
}

static void call(struct path_walk *walk)
{
	if (!add_text(walk, "", 1))
		return;
	walk->path.len--;
	walk->each(walk->context, (const char *)walk->path.at);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
static void walk_level(struct path_walk *walk, const struct field_node *first)
{
	size_t len = walk->path.len;

	for (const struct field_node *node = first; node != NULL; node = node->next) {
		if (node->member && add_element(walk, node))
			call(walk);
		walk->path.len = len;
	}
	for (const struct field_node *node = first; node != NULL; node = node->next) {
		if (node->child != NULL && add_element(walk, node))
			walk_level(walk, node->child);
		walk->path.len = len;
	}
}

void field_set_each(struct field_maker *maker, struct owned_fields set,
                    field_each_fn *each, void *context)
{
	struct path_walk walk = {.maker = maker, .each = each, .context = context};

	pl_buf_init(&walk.path, 4 << 20);
	walk_level(&walk, set.first);
	pl_buf_done(&walk.path);
}
