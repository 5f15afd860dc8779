#include "shardsched/model/reader.h"

#include "shardsched/model/timestamp.h"
#include "store/base/json_out.h"

static const struct pl_json_limits limits = {
	.bytes = READER_BYTES_MAX, .depth = 64, .values = 200000};

void reader_over(struct reader *reader, struct pl_arena *arena, struct pl_err *err)
{
	*reader = (struct reader){.arena = arena, .err = err};
}

struct pl_json reader_init(struct reader *reader, struct pl_arena *arena,
                           struct pl_span json, struct pl_err *err)
{
	struct pl_json root = {0};

	reader_over(reader, arena, err);
	reader->code = pl_json_parse(arena, json, &limits, &root, err);
	if (reader->code == PL_OK && pl_json_type(root) != PL_JSON_OBJECT)
		(void)reader_fail(reader, root, PL_INVALID, "want an object");
	return reader->code == PL_OK ? root : (struct pl_json){0};
}

enum pl_code reader_fail(struct reader *reader, struct pl_json at, enum pl_code code,
                         const char *what)
{
	if (reader->code == PL_OK)
		reader->code = pl_json_fail(at, code, reader->err, "%s", what);
	return reader->code;
}

void *reader_alloc(struct reader *reader, size_t count, size_t size)
{
	void *room;

	if (count == 0 || reader->code != PL_OK)
		return NULL;
	room = pl_arena_zalloc(reader->arena, count, size);
	if (room == NULL)
		reader->code = pl_err_set(reader->err, PL_NOMEM, "read an object");
	return room;
}

/* The member; absent when it is null, or after a failure. */
static struct pl_json reader_member(struct reader *reader, struct pl_json object,
                                    const char *name)
{
	struct pl_json value = {0};

	if (reader->code == PL_OK && object.node != NULL)
		value = pl_json_member(object, name);
	return pl_json_type(value) == PL_JSON_NULL ? (struct pl_json){0} : value;
}

bool reader_has(struct pl_json object, const char *name)
{
	enum pl_json_type type = PL_JSON_ABSENT;

	if (object.node != NULL)
		type = pl_json_type(pl_json_member(object, name));
	return type != PL_JSON_ABSENT && type != PL_JSON_NULL;
}

struct pl_json reader_object(struct reader *reader, struct pl_json object,
                             const char *name)
{
	struct pl_json value = reader_member(reader, object, name);

	if (value.node == NULL || pl_json_type(value) == PL_JSON_OBJECT)
		return value;
	(void)reader_fail(reader, value, PL_INVALID, "want an object");
	return (struct pl_json){0};
}

static struct pl_json check_length(struct reader *reader, struct pl_json value,
                                   uint32_t *count)
{
	size_t entries = value.node == NULL ? 0 : pl_json_count(value);

	*count = 0;
	if (entries > READER_ENTRIES_MAX) {
		reader->code = pl_json_fail(value, PL_LIMIT, reader->err,
		                            "has %zu entries, want at most %d", entries,
		                            READER_ENTRIES_MAX);
		return (struct pl_json){0};
	}
	*count = (uint32_t)entries;
	return value;
}

struct pl_json reader_list(struct reader *reader, struct pl_json object, const char *name,
                           uint32_t *count)
{
	struct pl_json value = reader_member(reader, object, name);

	if (value.node != NULL && pl_json_type(value) != PL_JSON_ARRAY) {
		(void)reader_fail(reader, value, PL_INVALID, "want a list");
		value = (struct pl_json){0};
	}
	return check_length(reader, value, count);
}

static struct pl_span text_of(struct reader *reader, struct pl_json value)
{
	const char *text = "";

	if (reader->code == PL_OK && value.node != NULL &&
	    pl_json_type(value) != PL_JSON_NULL)
		reader->code = pl_json_as_string(value, &text, reader->err);
	return pl_span_str(text);
}

struct pl_span reader_text(struct reader *reader, struct pl_json object, const char *name)
{
	return text_of(reader, reader_member(reader, object, name));
}

bool reader_bool(struct reader *reader, struct pl_json object, const char *name)
{
	struct pl_json value = reader_member(reader, object, name);
	bool truth = false;

	if (value.node != NULL)
		reader->code = pl_json_as_bool(value, &truth, reader->err);
	return truth;
}

static int64_t read_whole(struct reader *reader, struct pl_json value, int64_t most)
{
	struct pl_json_range range = {-most - 1, most};
	int64_t number = 0;

	if (value.node == NULL)
		return 0;
	if (pl_json_type(value) != PL_JSON_NUMBER)
		(void)reader_fail(reader, value, PL_INVALID, "want a number");
	else
		reader->code = pl_json_as_int(value, range, &number, reader->err);
	return number;
}

int32_t reader_int32(struct reader *reader, struct pl_json object, const char *name)
{
	return (int32_t)read_whole(reader, reader_member(reader, object, name),
	                           INT32_MAX);
}

int64_t reader_int64(struct reader *reader, struct pl_json object, const char *name)
{
	return read_whole(reader, reader_member(reader, object, name), INT64_MAX);
}

int64_t reader_time(struct reader *reader, struct pl_json object, const char *name)
{
	struct pl_json value = reader_member(reader, object, name);
	struct pl_span text = text_of(reader, value);
	int64_t ms = 0;

	if (value.node != NULL && reader->code == PL_OK && !timestamp_parse(text, &ms))
		(void)reader_fail(reader, value, PL_INVALID,
		                  "want a time like 2026-11-21T05:00:00Z");
	return ms;
}

struct draft_texts reader_texts(struct reader *reader, struct pl_json object,
                                const char *name)
{
	struct draft_texts out = {0};
	struct pl_json list = reader_list(reader, object, name, &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_texts){0};
	PL_JSON_EACH (item, list)
		out.at[i++] = text_of(reader, item);
	return out;
}

struct draft_pairs reader_pairs(struct reader *reader, struct pl_json object,
                                const char *name)
{
	struct draft_pairs out = {0};
	struct pl_json map =
		check_length(reader, reader_object(reader, object, name), &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_pairs){0};
	PL_JSON_EACH (item, map)
		out.at[i++] = (struct draft_pair){pl_span_str(pl_json_key(item)),
		                                  text_of(reader, item)};
	return out;
}

/* Amounts finer than a thousandth are rounded up, as the API server does. */
static struct pl_quantity to_milli(struct pl_quantity quantity)
{
	pl_int128 rest = quantity.nano % 1000000;

	if (rest > 0)
		quantity.nano += 1000000 - rest;
	else if (rest < 0)
		quantity.nano -= 1000000 + rest;
	return quantity;
}

static void read_quantity(struct reader *reader, struct pl_json value,
                          struct pl_quantity *out)
{
	struct pl_err why = {0};
	struct pl_json_out print;
	struct pl_span text = {0};
	struct pl_quantity quantity = {0};
	struct pl_buf buf;
	enum pl_code code;

	if (reader->code != PL_OK)
		return;
	pl_buf_init(&buf, 64);
	if (pl_json_type(value) == PL_JSON_NUMBER) { /* 2 and "2" are the same quantity */
		pl_json_out_init(&print, &buf);
		pl_json_out_value(&print, value);
		code = pl_json_out_done(&print);
		text = pl_buf_span(&buf);
	} else {
		code = PL_OK;
		text = text_of(reader, value);
	}
	if (code == PL_OK && reader->code == PL_OK && pl_json_type(value) != PL_JSON_NULL)
		code = pl_quantity_parse(text, &quantity, &why);
	if (code == PL_NOMEM)
		reader->code = pl_err_set(reader->err, PL_NOMEM, "read a quantity");
	else if (code != PL_OK)
		(void)reader_fail(reader, value, code, why.msg);
	*out = to_milli(quantity);
	pl_buf_done(&buf);
}

struct draft_amounts reader_amounts(struct reader *reader, struct pl_json object,
                                    const char *name)
{
	struct draft_amounts out = {.set = reader_has(object, name)};
	struct pl_json map =
		check_length(reader, reader_object(reader, object, name), &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_amounts){.set = out.set};
	PL_JSON_EACH (item, map) {
		out.at[i].name = pl_span_str(pl_json_key(item));
		read_quantity(reader, item, &out.at[i++].quantity);
	}
	return out;
}

bool reader_amount(struct reader *reader, struct pl_json object, const char *name,
                   struct pl_quantity *out)
{
	struct pl_json value = reader_member(reader, object, name);

	if (value.node == NULL)
		return false;
	read_quantity(reader, value, out);
	return reader->code == PL_OK;
}
