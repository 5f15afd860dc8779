#include "coord/api/objects/object.h"

#include <stdlib.h>

#include "coord/api/objects/event_object.h"
#include "coord/api/objects/object_writer.h"
#include "coord/api/objects/pod_event.h"
#include "shardsched/model/object.h"
#include "shardsched/records/pod_location.h"
#include "store/base/json_scan.h"

static struct object_piece piece_of(struct pl_span value, struct pl_span part)
{
	if (part.len == 0)
		return (struct object_piece){0};
	return (struct object_piece){(uint32_t)(part.at - value.at), (uint32_t)part.len};
}

static bool is_object(struct pl_span json)
{
	return json.len > 0 && json.at[0] == '{';
}

/* Behind the last member of an object. */
static void pass_bracket(struct pl_span *rest)
{
	if (rest->len > 0 && rest->at[0] == '}')
		*rest = pl_span(rest->at + 1, rest->len - 1);
}

static void read_metadata(struct pl_span whole, struct pl_span *rest,
                          struct object_parts *out)
{
	struct pl_span name, member;

	while (object_pair(rest, &name, &member)) {
		struct object_piece piece = piece_of(whole, member);

		/* A member that comes twice is not copied as it is. */
		if (object_name_is(name, "name")) {
			out->versioned = out->versioned || out->name.len > 0;
			out->name = piece;
		} else if (object_name_is(name, "namespace")) {
			out->versioned = out->versioned || out->namespace.len > 0;
			out->namespace = piece;
		} else if (object_name_is(name, "uid")) {
			out->versioned = out->versioned || out->uid.len > 0;
			out->uid = piece;
		} else if (object_name_is(name, "resourceVersion") ||
		           object_name_is(name, "selfLink")) {
			out->versioned = true;
		} else if (object_name_is(name, "labels") && is_object(member) &&
		           out->labels.len == 0) {
			out->labels = piece;
		}
	}
	pass_bracket(rest);
}

static void read_spec(struct pl_span *rest, struct object_parts *out)
{
	struct pl_span name, member;

	while (object_pair(rest, &name, &member))
		if (object_name_is(name, "nodeName"))
			out->names_node = true;
		else if (object_name_is(name, "schedulingGates"))
			out->gated = member.len > 0 && member.at[0] == '[' &&
			             object_item(&member).len > 0;
	pass_bracket(rest);
}

/* The part that a member is, if it is the first of its name. */
static struct object_piece *part_named(struct object_parts *parts, struct pl_span name)
{
	struct object_piece *part = NULL;

	if (object_name_is(name, "metadata"))
		part = &parts->metadata;
	else if (object_name_is(name, "spec"))
		part = &parts->spec;
	else if (object_name_is(name, "status"))
		part = &parts->status;
	return part != NULL && part->len == 0 ? part : NULL;
}

/* One walk over the text: each byte is looked at once. */
static void read_members(struct pl_span whole, struct pl_span rest,
                         struct object_parts *out, struct pl_span *budget)
{
	struct pl_span name;

	while (object_next_name(&rest, &name)) {
		struct object_piece *part = part_named(out, name);
		struct pl_span from = rest;

		if (part == &out->metadata && is_object(rest))
			read_metadata(whole, &rest, out);
		else if (part == &out->spec && is_object(rest))
			read_spec(&rest, out);
		else
			(void)object_next(&rest);
		from.len = (size_t)(rest.at - from.at);
		if (part != NULL)
			*part = piece_of(whole, from);
		else if (!object_name_is(name, "kind") &&
		         !object_name_is(name, "apiVersion"))
			out->others = true;
		if (object_name_is(name, "budget") && budget->at == NULL)
			*budget = from;
	}
}

void object_parts_find(struct pl_span value, struct object_parts *out)
{
	struct pl_span whole = value; /* pieces count from its beginning */
	struct pl_span budget = {0}, none = {0};
	struct object_piece status;
	struct pl_err err = {0};
	uint32_t partition;

	*out = (struct object_parts){0};
	/* Only white space can stand in front of an object. */
	while (value.len > 0 && value.at[0] != '{') {
		if (value.at[0] == '"' || value.at[0] == '[')
			return;
		value = pl_span(value.at + 1, value.len - 1);
	}
	if (value.len == 0)
		return;
	read_members(whole, value, out, &budget);
	/* A budget's object stands inside its record. */
	if (is_object(budget)) {
		status = out->status;
		*out = (struct object_parts){.others = true};
		read_members(whole, budget, out, &none);
		out->status = status;
	}
	out->valid = true;
	if (pointer_parse(value, &out->pointer, &partition, &err) != PL_OK)
		out->pointer = true; /* a malformed one is no pod either */
}

void object_parts_read(struct pl_span value, struct object_parts *out)
{
	struct pl_err err = {0};

	*out = (struct object_parts){0};
	if (pl_json_scan(value, &pl_json_limits_default, &err) == PL_OK)
		object_parts_find(value, out);
}

enum { SHARED_SPEC_LEAST = 200 }; /* bytes; a shared text costs about a hundred */

static void shift(struct object_piece *piece, uint32_t behind, uint32_t by)
{
	if (piece->at > behind)
		piece->at -= by;
}

bool object_parts_cut(struct pl_span value, struct object_parts *parts,
                      struct pl_buf *rest)
{
	struct object_piece spec = parts->spec;
	uint32_t by = spec.len - 1; /* the place has one byte */

	/* A spec that names a node is hardly that of another pod, and those who write pods
	 * look for the name in the value. */
	if (!parts->valid || parts->others || parts->pointer || parts->names_node ||
	    spec.len < SHARED_SPEC_LEAST)
		return false;
	rest->len = 0;
	if (pl_buf_add(rest, pl_span(value.at, spec.at)) != PL_OK ||
	    pl_buf_add_str(rest, "0") != PL_OK ||
	    pl_buf_add(rest, pl_span(value.at + spec.at + spec.len,
	                             value.len - spec.at - spec.len)) != PL_OK)
		return false;
	parts->spec.len = 1;
	shift(&parts->metadata, spec.at, by);
	shift(&parts->labels, spec.at, by);
	shift(&parts->status, spec.at, by);
	shift(&parts->name, spec.at, by);
	shift(&parts->namespace, spec.at, by);
	shift(&parts->uid, spec.at, by);
	return true;
}

void object_parts_free(void *parts)
{
	struct object_parts *own = parts;

	if (own != NULL)
		object_share_unref(own->share);
	free(own);
}

struct pl_span object_entry_spec(const struct cache_entry *entry)
{
	const struct object_parts *parts = object_parts_of(entry);

	return parts->share != NULL ? pl_span(parts->share->at, parts->share->len)
	                            : object_piece_text(entry, parts->spec);
}

struct pl_span object_entry_value(const struct cache_entry *entry, struct pl_arena *arena)
{
	const struct object_parts *parts = object_parts_of(entry);
	struct pl_span value = entry->value, spec = object_entry_spec(entry);
	size_t head = parts->spec.at, tail;
	uint8_t *at;

	if (parts->share == NULL)
		return value;
	tail = value.len - head - 1;
	at = pl_arena_alloc(arena, head + spec.len + tail);
	if (at == NULL)
		return (struct pl_span){0};
	memcpy(at, value.at, head);
	memcpy(at + head, spec.at, spec.len);
	memcpy(at + head + spec.len, value.at + head + 1, tail);
	return pl_span(at, head + spec.len + tail);
}

struct pl_span object_piece_text(const struct cache_entry *entry,
                                 struct object_piece piece)
{
	if (piece.len == 0)
		return (struct pl_span){0};
	return pl_span(entry->value.at + piece.at, piece.len);
}

static struct object_parts no_parts = {.valid = true}; /* never changed */
static const struct cache_entry no_entry = {.value = {(const uint8_t *)"{}", 2},
                                            .object = &no_parts};
const struct cache_entry *const object_no_entry = &no_entry;

struct pl_span object_labels(const struct object *object)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];

	if (object->event != NULL)
		return (struct pl_span){0};
	return object_piece_text(entry, object_parts_of(entry)->labels);
}

/* The string without its quotes; other scalars as they are written. */
static struct pl_span scalar_text(struct pl_span json)
{
	if (json.len >= 2 && json.at[0] == '"')
		return pl_span(json.at + 1, json.len - 2);
	if (json.len > 0 && (json.at[0] == '{' || json.at[0] == '[' || json.at[0] == 'n'))
		return (struct pl_span){0};
	return json;
}

struct pl_span object_path(struct pl_span json, struct pl_span path)
{
	while (path.len > 0 && json.len > 0 && json.at[0] == '{') {
		const uint8_t *dot = memchr(path.at, '.', path.len);
		size_t len = dot == NULL ? path.len : (size_t)(dot - path.at);
		char name[64];

		if (len >= sizeof name)
			return (struct pl_span){0};
		memcpy(name, path.at, len);
		name[len] = 0;
		json = object_member(json, name);
		path = dot == NULL ? (struct pl_span){0}
		                   : pl_span(path.at + len + 1, path.len - len - 1);
	}
	return path.len > 0 ? (struct pl_span){0} : scalar_text(json);
}

/* A field of a pod's stored text, whose spec may stand elsewhere. */
static struct pl_span pod_path(const struct cache_entry *entry, struct pl_span path)
{
	struct pl_span spec = PL_SPAN_LIT("spec.");

	if (!pl_span_starts(path, spec))
		return object_path(entry->value, path);
	return object_path(object_entry_spec(entry),
	                   pl_span(path.at + spec.len, path.len - spec.len));
}

struct pl_span object_field(const struct object *object, struct pl_span path,
                            char out[MEMBER_NAME_SIZE])
{
	struct pl_span json = object->part[OBJECT_MAIN]->value;

	if (pl_span_eq(path, PL_SPAN_LIT("metadata.name")))
		return object->name;
	if (pl_span_eq(path, PL_SPAN_LIT("metadata.namespace")))
		return object->namespace;
	if (strcmp(object->resource->plural, "pods") == 0) {
		struct pl_span field = object_pod_field(object, path, out);

		return field.at != NULL ? field
		                        : pod_path(object->part[OBJECT_MAIN], path);
	}
	if (object->event != NULL)
		return pod_event_field(object->event, path, out);
	if (resource_is_events(object->resource))
		return object_event_field(object, path);
	return object_path(json, path);
}

static void put_count(struct object_writer *writer, const char *name,
                      struct pl_span status, const char *member)
{
	struct pl_span value = {0};

	if (status.len > 0 && status.at[0] == '{')
		value = object_member(status, member);
	object_member_raw(writer, name, value.len > 0 ? value : PL_SPAN_LIT("0"));
}

/* A disruption budget: the object that was submitted, and what was counted of it. */
static void write_budget(struct object_writer *writer, const struct object *object)
{
	static const char *const own[] = {"kind", "apiVersion", "metadata", "status",
	                                  NULL};
	struct pl_span value = object->part[OBJECT_MAIN]->value;
	struct pl_span budget = object_member(value, "budget");
	struct pl_span status = object_member(value, "status");

	object_put_metadata(writer, object, NULL, NULL, (struct pl_span){0});
	object_members_but(writer, budget, own);
	object_name(writer, "status");
	object_open(writer);
	put_count(writer, "disruptionsAllowed", status, "allowed");
	put_count(writer, "currentHealthy", status, "healthy");
	put_count(writer, "desiredHealthy", status, "desired");
	put_count(writer, "expectedPods", status, "expected");
	object_close(writer);
}

static void write_plain(struct object_writer *writer, const struct object *object)
{
	static const char *const own[] = {"kind", "apiVersion", "metadata", NULL};
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	const struct object_parts *parts = object_parts_of(entry);

	object_put_metadata(writer, object, NULL, NULL, (struct pl_span){0});
	if (parts->others) {
		object_members_but(writer, entry->value, own);
		return;
	}
	if (parts->spec.len > 0)
		object_member_raw(writer, "spec", object_piece_text(entry, parts->spec));
	if (parts->status.len > 0)
		object_member_raw(writer, "status",
		                  object_piece_text(entry, parts->status));
}

static void put_type(struct object_writer *writer, const struct schema_resource *resource)
{
	object_put_str(writer, "\"kind\":\"");
	object_put_str(writer, resource->kind);
	object_put_str(writer, "\",\"apiVersion\":\"");
	if (resource->group[0] != 0) {
		object_put_str(writer, resource->group);
		object_put_str(writer, "/");
	}
	object_put_str(writer, resource->version);
	object_put_str(writer, "\"");
	writer->some = true;
}

enum pl_code object_write(const struct object *object, struct pl_buf *out)
{
	struct object_writer writer = {.buf = out};

	object_open(&writer);
	put_type(&writer, object->resource);
	if (strcmp(object->resource->plural, "pods") == 0)
		object_write_pod(&writer, object);
	else if (strcmp(object->resource->plural, "poddisruptionbudgets") == 0)
		write_budget(&writer, object);
	else if (object->event != NULL)
		object_write_pod_event(&writer, object);
	else if (resource_is_events(object->resource))
		object_write_event(&writer, object);
	else if (strcmp(object->resource->group, "placet.io") == 0)
		object_write_placet(&writer, object);
	else
		write_plain(&writer, object);
	object_close(&writer);
	return writer.code;
}
