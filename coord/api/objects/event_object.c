#include "coord/api/objects/event_object.h"

#include <stdio.h>

#include "coord/api/objects/object_writer.h"
#include "shardsched/model/object.h"

static const struct {
	const char *core, *other;
} names[] = {
	{"involvedObject", "regarding"},
	{"message", "note"},
	{"source", "deprecatedSource"},
	{"firstTimestamp", "deprecatedFirstTimestamp"},
	{"lastTimestamp", "deprecatedLastTimestamp"},
	{"count", "deprecatedCount"},
	{"reportingComponent", "reportingController"},
};
enum { NAMES = sizeof names / sizeof names[0] };

static bool is_quoted(struct pl_span quoted, const char *name)
{
	return quoted.len == strlen(name) + 2 &&
	       memcmp(quoted.at + 1, name, quoted.len - 2) == 0;
}

/* The name under which the resource shows a stored member. NULL: as it is. */
static const char *shown_name(bool core, struct pl_span quoted)
{
	for (unsigned i = 0; i < NAMES && !core; i++)
		if (is_quoted(quoted, names[i].core))
			return names[i].other;
	return NULL;
}

void object_write_event(struct object_writer *writer, const struct object *object)
{
	bool core = object->resource->group[0] == 0;
	struct pl_span rest = object->part[OBJECT_MAIN]->value, name, value;

	object_put_metadata(writer, object, NULL, NULL, (struct pl_span){0});
	while (object_pair(&rest, &name, &value)) {
		const char *shown = shown_name(core, name);

		if (is_quoted(name, "kind") || is_quoted(name, "apiVersion") ||
		    is_quoted(name, "metadata"))
			continue;
		object_put_str(writer, ",");
		if (shown != NULL)
			object_put_string(writer, pl_span_str(shown));
		else
			object_put(writer, name);
		object_put_str(writer, ":");
		object_put(writer, value);
	}
}

struct pl_span object_event_field(const struct object *object, struct pl_span path)
{
	struct pl_span json = object->part[OBJECT_MAIN]->value, value;
	char text[64];

	if (pl_span_starts(path, PL_SPAN_LIT("regarding."))) {
		if (path.len + 8 > sizeof text)
			return (struct pl_span){0};
		(void)snprintf(text, sizeof text, "involvedObject" PL_SPAN_FMT,
		               (int)path.len - 9, (const char *)path.at + 9);
		return object_path(json, pl_span_str(text));
	}
	if (pl_span_eq(path, PL_SPAN_LIT("reportingController")))
		return object_path(json, PL_SPAN_LIT("reportingComponent"));
	if (!pl_span_eq(path, PL_SPAN_LIT("source")))
		return object_path(json, path);
	value = object_path(json, PL_SPAN_LIT("source.component"));
	return value.len > 0 ? value
	                     : object_path(json, PL_SPAN_LIT("reportingComponent"));
}

enum pl_code event_to_core(struct json_tree *tree)
{
	for (unsigned i = 0; i < NAMES; i++) {
		struct cJSON *node = json_get(tree->root, names[i].other);

		if (node == NULL)
			continue;
		json_detach(tree->root, node);
		if (!json_set(tree->arena, tree->root, names[i].core, node))
			return PL_NOMEM;
	}
	if (!json_set(tree->arena, tree->root, "kind",
	              json_new_str(tree->arena, "Event")) ||
	    !json_set(tree->arena, tree->root, "apiVersion",
	              json_new_str(tree->arena, "v1")))
		return PL_NOMEM;
	return PL_OK;
}
