#include "coord/api/objects/object_writer.h"

#include <inttypes.h>
#include <stdio.h>

#include "shardsched/model/object.h"
#include "store/base/json_out.h"
#include "store/base/num.h"

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

/* Objects without a uid get one that stays the same as long as they live. */
static void stable_uid(const struct object *object, char out[UID_SIZE])
{
	char revision[24];
	struct pl_span parts[4] = {pl_span_str(object->resource->plural),
	                           object->namespace, object->name};

	(void)snprintf(revision, sizeof revision, "%" PRId64,
	               object->part[OBJECT_MAIN]->create_revision);
	parts[3] = pl_span_str(revision);
	stable_uid_print(parts, 4, out);
}

static bool copy_uid(struct pl_span json, char out[UID_SIZE])
{
	if (json.len <= 2 || json.at[0] != '"' || json.len - 2 >= UID_SIZE)
		return false;
	memcpy(out, json.at + 1, json.len - 2);
	out[json.len - 2] = 0;
	return true;
}

static struct pl_span stored_metadata(const struct object *object)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	struct pl_span json = object_piece_text(entry, object_parts_of(entry)->metadata);

	return json.len > 0 && json.at[0] == '{' ? json : (struct pl_span){0};
}

void object_uid(const struct object *object, struct pl_span uid, char out[UID_SIZE])
{
	struct pl_span stored = stored_metadata(object);

	if (stored.len > 0 && copy_uid(object_member(stored, "uid"), out))
		return;
	if (!copy_uid(uid, out))
		stable_uid(object, out);
}

void object_put_time(struct object_writer *writer, struct pl_span json)
{
	struct pl_span text =
		json.len >= 2 ? pl_span(json.at + 1, json.len - 2) : (struct pl_span){0};
	const uint8_t *dot = text.len == 0 ? NULL : memchr(text.at, '.', text.len);

	if (text.len == 0) {
		object_put_str(writer, "null");
		return;
	}
	object_put_str(writer, "\"");
	object_put(writer,
	           dot == NULL ? text : pl_span(text.at, (size_t)(dot - text.at)));
	object_put_str(writer, dot == NULL ? "\"" : "Z\"");
}

static void put_version(struct object_writer *writer, const struct object *object)
{
	char text[PL_NUM_TEXT_SIZE];
	size_t len = pl_num_print_i64(text, object->revision);

	object_name(writer, "resourceVersion");
	object_put_str(writer, "\"");
	object_put(writer, pl_span(text, len));
	object_put_str(writer, "\"");
}

static bool is_quoted(struct pl_span json, struct pl_span text)
{
	return json.len == text.len + 2 && memcmp(json.at + 1, text.at, text.len) == 0;
}

/* Whether metadata is shown as it is stored, but for the version. Names need no
 * escapes. */
static bool is_as_stored(const struct object *object, const struct object_parts *parts)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];

	return parts->metadata.len > 2 && !parts->versioned && parts->uid.len > 2 &&
	       is_quoted(object_piece_text(entry, parts->name), object->name) &&
	       (object->namespace.len == 0
	                ? parts->namespace.len == 0
	                : is_quoted(object_piece_text(entry, parts->namespace),
	                            object->namespace));
}

void object_put_inner(struct object_writer *writer, struct pl_span json)
{
	struct pl_span inner;

	if (json.len < 2 || json.at[0] != '{')
		return;
	inner = pl_span(json.at + 1, json.len - 2);
	while (inner.len > 0 && inner.at[0] <= ' ')
		inner = pl_span(inner.at + 1, inner.len - 1);
	if (inner.len == 0)
		return;
	object_put_str(writer, writer->some ? "," : "");
	object_put(writer, inner);
	writer->some = true;
}

/* Members that are shown in another way than they are stored come first, then the rest. */
static void put_own_metadata(struct object_writer *writer, const struct object *object,
                             struct pl_span stored, struct pl_span uid)
{
	static const char *const own[] = {"name", "namespace", "resourceVersion",
	                                  "uid",  "selfLink",  NULL};
	struct pl_span stored_uid = {0};
	char stable[UID_SIZE];

	object_member_string(writer, "name", object->name);
	if (object->namespace.len > 0)
		object_member_string(writer, "namespace", object->namespace);
	if (stored.len > 0)
		stored_uid = object_member(stored, "uid");
	if (stored_uid.len > 2)
		object_member_raw(writer, "uid", stored_uid);
	else if (uid.len > 2)
		object_member_raw(writer, "uid", uid);
	else {
		stable_uid(object, stable);
		object_member_string(writer, "uid", pl_span_str(stable));
	}
	object_members_but(writer, stored, own);
}

void object_put_metadata(struct object_writer *writer, const struct object *object,
                         void (*extra)(struct object_writer *writer, const void *ctx),
                         const void *ctx, struct pl_span uid)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	const struct object_parts *parts = object_parts_of(entry);
	struct pl_span stored = object_piece_text(entry, parts->metadata);

	object_name(writer, "metadata");
	object_open(writer);
	if (is_as_stored(object, parts))
		object_put_inner(writer, stored);
	else
		put_own_metadata(writer, object, stored, uid);
	if (object->revision > 0) /* 0: what a dry run would create */
		put_version(writer, object);
	if (extra != NULL)
		extra(writer, ctx);
	object_close(writer);
}
