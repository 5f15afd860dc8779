#include "coord/api/objects/object_writer.h"

#include <inttypes.h>
#include <stdio.h>

#include "shardsched/expand/stable_uid.h"
#include "shardsched/model/object.h"
#include "store/base/json_out.h"

void object_put(struct object_writer *writer, struct pl_span text)
{
	if (writer->code == PL_OK)
		writer->code = pl_buf_add(writer->buf, text);
}

void object_put_str(struct object_writer *writer, const char *text)
{
	object_put(writer, pl_span_str(text));
}

void object_put_string(struct object_writer *writer, struct pl_span text)
{
	struct pl_json_out out;

	if (writer->code != PL_OK)
		return;
	pl_json_out_init(&out, writer->buf);
	pl_json_out_string(&out, text);
	writer->code = pl_json_out_done(&out);
}

void object_open(struct object_writer *writer)
{
	object_put_str(writer, "{");
	writer->some = false;
}

void object_close(struct object_writer *writer)
{
	object_put_str(writer, "}");
	writer->some = true;
}

void object_name(struct object_writer *writer, const char *name)
{
	object_put_str(writer, writer->some ? ",\"" : "\"");
	object_put_str(writer, name);
	object_put_str(writer, "\":");
	writer->some = true;
}

void object_member_raw(struct object_writer *writer, const char *name,
                       struct pl_span json)
{
	object_name(writer, name);
	object_put(writer, json);
}

void object_member_string(struct object_writer *writer, const char *name,
                          struct pl_span text)
{
	object_name(writer, name);
	object_put_string(writer, text);
}

static bool is_among(struct pl_span quoted, const char *const *names)
{
	for (; *names != NULL; names++)
		if (quoted.len == strlen(*names) + 2 &&
		    memcmp(quoted.at + 1, *names, quoted.len - 2) == 0)
			return true;
	return false;
}

void object_members_but(struct object_writer *writer, struct pl_span json,
                        const char *const *but)
{
	struct pl_span name, value;

	if (json.len == 0 || json.at[0] != '{')
		return;
	while (object_pair(&json, &name, &value)) {
		if (is_among(name, but))
			continue;
		object_put_str(writer, writer->some ? "," : "");
		object_put(writer, name);
		object_put_str(writer, ":");
		object_put(writer, value);
		writer->some = true;
	}
}

/* Objects that nobody gave a uid get one that stays the same as long as they live. */
static void put_stable_uid(struct object_writer *writer, const struct object *object)
{
	char uid[UID_SIZE], revision[24];
	struct pl_span parts[4] = {pl_span_str(object->resource->plural),
	                           object->namespace, object->name};

	(void)snprintf(revision, sizeof revision, "%" PRId64,
	               object->part[OBJECT_MAIN]->create_revision);
	parts[3] = pl_span_str(revision);
	stable_uid_print(parts, 4, uid);
	object_member_string(writer, "uid", pl_span_str(uid));
}

void object_put_metadata(struct object_writer *writer, const struct object *object,
                         void (*extra)(struct object_writer *writer, const void *ctx),
                         const void *ctx, struct pl_span uid)
{
	static const char *const own[] = {"name", "namespace", "resourceVersion",
	                                  "uid",  "selfLink",  NULL};
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	struct pl_span stored =
		object_piece_text(entry, object_parts_of(entry)->metadata);
	struct pl_span stored_uid = {0};
	char version[24];

	object_name(writer, "metadata");
	object_open(writer);
	object_member_string(writer, "name", object->name);
	if (object->namespace.len > 0)
		object_member_string(writer, "namespace", object->namespace);
	if (stored.len > 0 && stored.at[0] == '{')
		stored_uid = object_member(stored, "uid");
	if (stored_uid.len > 2)
		object_member_raw(writer, "uid", stored_uid);
	else if (uid.len > 2)
		object_member_raw(writer, "uid", uid);
	else
		put_stable_uid(writer, object);
	(void)snprintf(version, sizeof version, "%" PRId64, object->revision);
	object_member_string(writer, "resourceVersion", pl_span_str(version));
	if (extra != NULL)
		extra(writer, ctx);
	object_members_but(writer, stored, own);
	object_close(writer);
}
