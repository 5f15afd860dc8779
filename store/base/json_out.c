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

static void add_span(struct pl_json_out *out, const void *at, size_t len)
{
	if (out->code == PL_OK)
		out->code = pl_buf_add(out->buf, pl_span(at, len));
}

static void add_byte(struct pl_json_out *out, char byte)
{
	add_span(out, &byte, 1);
}

static bool in_object(const struct pl_json_out *out)
{
	return (out->objects >> out->depth & 1) != 0;
}

/* Runs before each value: writes a comma unless it is the first one, and asserts that a
 * value is due. */
static void begin_value(struct pl_json_out *out)
{
	if (out->depth == 0)
		PL_ASSERT(!out->some);
	else if (in_object(out))
		PL_ASSERT(out->named);
	else if (out->some)
		add_byte(out, ',');
	out->named = false;
	out->some = true;
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

/* A string that needs no escape, with the byte behind it, if any. */
static void add_plain(struct pl_json_out *out, struct pl_span text, char after)
{
	size_t len = text.len + 2 + (after != 0);
	uint8_t *to;

	if (out->code != PL_OK)
		return;
	out->code = pl_buf_reserve(out->buf, len);
	if (out->code != PL_OK)
		return;
	to = out->buf->at + out->buf->len;
	to[0] = '"';
	if (text.len > 0)
		memcpy(to + 1, text.at, text.len);
	to[text.len + 1] = '"';
	if (after != 0)
		to[text.len + 2] = (uint8_t)after;
	out->buf->len += len;
}

static void add_quoted(struct pl_json_out *out, struct pl_span text)
{
	if (pl_json_plain_run(text.at, text.len) == text.len) {
		add_plain(out, text, 0);
		return;
	}
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

void pl_json_out_name_span(struct pl_json_out *out, struct pl_span name)
{
	PL_ASSERT(out->depth > 0 && in_object(out) && !out->named);
	if (out->some)
		add_byte(out, ',');
	if (pl_json_plain_run(name.at, name.len) == name.len) {
		add_plain(out, name, ':');
	} else {
		add_quoted(out, name);
		add_byte(out, ':');
	}
	out->named = true;
}

void pl_json_out_name(struct pl_json_out *out, const char *name)
{
	pl_json_out_name_span(out, pl_span_str(name));
}

void pl_json_out_string(struct pl_json_out *out, struct pl_span text)
{
	begin_value(out);
	add_quoted(out, text);
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
