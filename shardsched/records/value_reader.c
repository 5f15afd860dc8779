#include "shardsched/records/value_reader.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/base/num.h"
#include "store/base/timestamp.h"

/* A value takes at least two bytes with its separator: every value within the bound of
 * bytes can be read. */
enum { DEPTH_MAX = 16, VALUE_BYTES = 2 };

struct pl_json value_reader_begin(struct value_reader *in, struct pl_arena *arena,
                                  struct pl_span text, size_t bytes_max,
                                  struct pl_err *err)
{
	struct pl_json_limits limits = {.bytes = bytes_max,
	                                .depth = DEPTH_MAX,
	                                .values =
	                                        (uint32_t)(bytes_max / VALUE_BYTES) + 1};
	struct pl_json root = {0}, none = {0};
	int64_t version = 0;

	*in = (struct value_reader){.arena = arena, .err = err};
	in->code = pl_json_parse(arena, text, &limits, &root, err);
	value_reader_type(in, root, PL_JSON_OBJECT);
	if (in->code == PL_OK)
		in->code = pl_json_int(root, "v", PL_JSON_REQUIRED, &version, err);
	if (version != 1)
		value_reader_refuse(in, pl_json_member(root, "v"), "want 1");
	return in->code == PL_OK ? root : none;
}

void value_reader_refuse(struct value_reader *in, struct pl_json at, const char *fmt, ...)
{
	char text[PL_ERR_MSG_SIZE];
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): one line above */
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (in->code == PL_OK)
		in->code = pl_json_fail(at, PL_INVALID, in->err, "%s", text);
}

void value_reader_type(struct value_reader *in, struct pl_json value,
                       enum pl_json_type type)
{
	enum pl_json_type got = pl_json_type(value);

	if (got != type)
		value_reader_refuse(in, value, "want %s, got %s", pl_json_type_name(type),
		                    pl_json_type_name(got));
}

struct pl_span value_reader_string(struct value_reader *in, struct pl_json value)
{
	const char *text = NULL;

	if (in->code == PL_OK)
		in->code = pl_json_as_string(value, &text, in->err);
	return pl_span_str(text);
}

static struct pl_json value_member(struct value_reader *in, struct pl_json object,
                                   const char *name, enum pl_json_type type)
{
	struct pl_json value = {0};

	if (in->code == PL_OK)
		value = pl_json_member(object, name);
	if (value.node != NULL)
		value_reader_type(in, value, type);
	return value;
}

struct pl_json value_reader_object(struct value_reader *in, struct pl_json object,
                                   const char *name)
{
	return value_member(in, object, name, PL_JSON_OBJECT);
}

struct pl_json value_reader_array(struct value_reader *in, struct pl_json object,
                                  const char *name)
{
	return value_member(in, object, name, PL_JSON_ARRAY);
}

struct pl_span value_reader_text(struct value_reader *in, struct pl_json object,
                                 const char *name)
{
	struct pl_json value = value_member(in, object, name, PL_JSON_STRING);

	return value.node == NULL ? PL_SPAN_LIT("") : value_reader_string(in, value);
}

struct pl_span value_reader_word(struct value_reader *in, struct pl_json object,
                                 const char *name)
{
	const char *text = "";

	if (in->code == PL_OK)
		in->code = pl_json_string(object, name, PL_JSON_REQUIRED, &text, in->err);
	return pl_span_str(text);
}

static uint64_t read_number(struct value_reader *in, struct pl_json object,
                            const char *name, enum pl_json_need need)
{
	struct pl_json_range range = {0, INT64_MAX};
	int64_t value = 0;

	if (in->code == PL_OK)
		in->code = pl_json_int_in(object, name, need, range, &value, in->err);
	return (uint64_t)value;
}

uint64_t value_reader_number(struct value_reader *in, struct pl_json object,
                             const char *name)
{
	return read_number(in, object, name, PL_JSON_REQUIRED);
}

uint64_t value_reader_count(struct value_reader *in, struct pl_json object,
                            const char *name)
{
	return read_number(in, object, name, PL_JSON_OPTIONAL);
}

int64_t value_reader_stamp(struct value_reader *in, struct pl_json object,
                           const char *name)
{
	struct pl_span text = value_reader_word(in, object, name);
	struct pl_err why = {0};
	int64_t ms = 0;

	if (in->code == PL_OK && pl_timestamp_parse(text, &ms, &why) != PL_OK)
		value_reader_refuse(in, pl_json_member(object, name), "%s", why.msg);
	return ms;
}

uint32_t value_reader_length(struct value_reader *in, struct pl_json list, uint32_t most)
{
	size_t count = in->code == PL_OK ? pl_json_count(list) : 0;

	if (count <= most)
		return (uint32_t)count;
	in->code = pl_json_fail(list, PL_LIMIT, in->err, "want at most %" PRIu32, most);
	return 0;
}

void *value_reader_alloc(struct value_reader *in, size_t count, size_t size)
{
	void *at;

	if (in->code != PL_OK || count == 0)
		return NULL;
	at = pl_arena_zalloc(in->arena, count, size);
	if (at == NULL)
		in->code = pl_err_set(in->err, PL_NOMEM, "read %zu elements", count);
	return at;
}

int64_t value_reader_amount(struct value_reader *in, struct pl_json value,
                            const char *unit, int64_t least)
{
	struct pl_span text = value_reader_string(in, value), end = pl_span_str(unit);
	int64_t amount = 0;

	if (in->code != PL_OK)
		return 0;
	if (text.len > end.len &&
	    pl_span_eq(pl_span(text.at + text.len - end.len, end.len), end) &&
	    pl_num_i64_in(pl_span(text.at, text.len - end.len), least, INT64_MAX, &amount,
	                  NULL) == PL_OK)
		return amount;
	value_reader_refuse(in, value, "want an amount like \"12%s\"", unit);
	return 0;
}
