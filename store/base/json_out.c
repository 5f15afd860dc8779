#include "store/base/json_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/json_plain.h"
#include "store/base/num.h"
#include "store/base/utf8.h"

static const int64_t exact_max = (INT64_C(1) << 53) - 1;

void pl_json_out_init(struct pl_json_out *out, struct pl_buf *buf)
{
	*out = (struct pl_json_out){.buf = buf};
}

/* Room for so many bytes, which then count as written; NULL after a failure. Most of the
 * time there is room, and growing is left to the buffer. */
static uint8_t *add_room(struct pl_json_out *out, size_t len)
{
	struct pl_buf *buf = out->buf;
	uint8_t *at;

	if (out->code == PL_OK && buf->cap - buf->len < len)
		out->code = pl_buf_reserve(buf, len);
	if (out->code != PL_OK)
		return NULL;
	at = buf->at + buf->len;
	buf->len += len;
	return at;
}

static void add_span(struct pl_json_out *out, const void *at, size_t len)
{
	uint8_t *to = len == 0 ? NULL : add_room(out, len);

	if (to != NULL)
		memcpy(to, at, len);
}

static void add_byte(struct pl_json_out *out, char byte)
{
	uint8_t *to = add_room(out, 1);

	if (to != NULL)
		*to = (uint8_t)byte;
}

static bool in_object(const struct pl_json_out *out)
{
	return (out->objects >> out->depth & 1) != 0;
}

/* Runs before each value, and asserts that one is due. Whether a comma comes first. */
static bool value_due(struct pl_json_out *out)
{
	bool comma = false;

	if (out->depth == 0)
		PL_ASSERT(!out->some);
	else if (in_object(out))
		PL_ASSERT(out->named);
	else
		comma = out->some;
	out->named = false;
	out->some = true;
	return comma;
}

static void begin_value(struct pl_json_out *out)
{
	if (value_due(out))
		add_byte(out, ',');
}

static void open_level(struct pl_json_out *out, bool object)
{
	begin_value(out);
	PL_ASSERT(out->depth < PL_JSON_OUT_DEPTH_MAX);
	out->depth++;
	out->objects &= ~(UINT64_C(1) << out->depth);
	out->objects |= (uint64_t)object << out->depth;
	out->some = false;
	add_byte(out, object ? '{' : '[');
}

void pl_json_out_object(struct pl_json_out *out)
{
	open_level(out, true);
}

void pl_json_out_array(struct pl_json_out *out)
{
	open_level(out, false);
}

void pl_json_out_end(struct pl_json_out *out)
{
	PL_ASSERT(out->depth > 0 && !out->named);
	add_byte(out, in_object(out) ? '}' : ']');
	out->depth--;
	out->some = true;
}

enum pl_code pl_json_out_done(struct pl_json_out *out)
{
	PL_ASSERT(out->depth == 0 && out->some);
	return out->code;
}

static void add_escape(struct pl_json_out *out, uint8_t byte)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *found = byte == 0 ? NULL : strchr(from, byte);
	char text[8];

	if (found != NULL) {
		text[0] = '\\';
		text[1] = to[found - from];
		add_span(out, text, 2);
		return;
	}
	(void)snprintf(text, sizeof text, "\\u%04x", byte);
	add_span(out, text, 6);
}

/* A string that needs no escape, in its quotes, with a comma before it and a colon behind
 * it where they belong. */
static void add_plain(struct pl_json_out *out, bool comma, struct pl_span text,
                      bool colon)
{
	uint8_t *to = add_room(out, text.len + 2 + comma + colon);

	if (to == NULL)
		return;
	if (comma)
		*to++ = ',';
	*to++ = '"';
	if (text.len > 0)
		memcpy(to, text.at, text.len);
	to += text.len;
	*to++ = '"';
	if (colon)
		*to = ':';
}

static void add_escaped(struct pl_json_out *out, struct pl_span text)
{
	add_byte(out, '"');
	while (text.len > 0) {
		size_t take = pl_json_plain_run(text.at, text.len);

		if (take > 0) {
			add_span(out, text.at, take);
		} else if (text.at[0] < 0x80) {
			add_escape(out, text.at[0]);
			take = 1;
		} else {
			take = pl_utf8_char(text.at, text.len);
			add_span(out,
			         take > 0 ? text.at : (const uint8_t *)"\xef\xbf\xbd",
			         take > 0 ? take : 3);
			take += take == 0;
		}
		text.at += take;
		text.len -= take;
	}
	add_byte(out, '"');
}

static void add_quoted(struct pl_json_out *out, bool comma, struct pl_span text,
                       bool colon)
{
	if (pl_json_plain_run(text.at, text.len) == text.len) {
		add_plain(out, comma, text, colon);
		return;
	}
	if (comma)
		add_byte(out, ',');
	add_escaped(out, text);
	if (colon)
		add_byte(out, ':');
}

void pl_json_out_name_span(struct pl_json_out *out, struct pl_span name)
{
	PL_ASSERT(out->depth > 0 && in_object(out) && !out->named);
	add_quoted(out, out->some, name, true);
	out->named = true;
}

void pl_json_out_name(struct pl_json_out *out, const char *name)
{
	pl_json_out_name_span(out, pl_span_str(name));
}

void pl_json_out_string(struct pl_json_out *out, struct pl_span text)
{
	bool comma = value_due(out);

	add_quoted(out, comma, text, false);
}

void pl_json_out_str(struct pl_json_out *out, const char *text)
{
	pl_json_out_string(out, pl_span_str(text));
}

void pl_json_out_bool(struct pl_json_out *out, bool value)
{
	begin_value(out);
	if (value)
		add_span(out, "true", 4);
	else
		add_span(out, "false", 5);
}

void pl_json_out_null(struct pl_json_out *out)
{
	begin_value(out);
	add_span(out, "null", 4);
}

void pl_json_out_int(struct pl_json_out *out, int64_t value)
{
	char text[PL_NUM_TEXT_SIZE];

	if (value > exact_max || value < -exact_max) {
		pl_json_out_int_string(out, value);
		return;
	}
	begin_value(out);
	add_span(out, text, pl_num_print_i64(text, value));
}

void pl_json_out_int_string(struct pl_json_out *out, int64_t value)
{
	char text[PL_NUM_TEXT_SIZE + 2];
	size_t len = pl_num_print_i64(text + 1, value);

	begin_value(out);
	text[0] = '"';
	text[len + 1] = '"';
	add_span(out, text, len + 2);
}

void pl_json_out_double(struct pl_json_out *out, double value)
{
	char text[32];
	int len = 0;

	PL_ASSERT(isfinite(value));
	begin_value(out);
	for (int digits = 15; digits <= 17; digits++) {
		len = snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	add_span(out, text, (size_t)len);
}

void pl_json_out_raw(struct pl_json_out *out, struct pl_span json)
{
	PL_ASSERT(json.len > 0);
	begin_value(out);
	add_span(out, json.at, json.len);
}
