#include "shardsched/records/value_writer.h"

#include "store/base/json_out.h"
#include "store/base/timestamp.h"

enum { FIRST_ROOM = 512 };

/* clang-format off */
#define P TEXT_PLAIN
#define N (TEXT_PLAIN | TEXT_NAME)
const uint8_t text_classes[256] = {
	['!'] = P, ['#'] = P, ['$'] = P, ['%'] = P, ['&'] = P, ['\''] = P, ['('] = P,
	[')'] = P, ['*'] = P, ['+'] = P, [','] = P, ['-'] = N, ['.'] = N, ['/'] = P,
	['0'] = N, N, N, N, N, N, N, N, N, N,
	[':'] = P, P, P, P, P, P, P,
	['A'] = P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
	['['] = P, [']'] = P, P, P, P,
	['a'] = N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
	['{'] = P, P, P, P,
};
#undef P
#undef N
/* clang-format on */

static void reserve_room(struct value_writer *out)
{
	out->at = out->buf->at + out->buf->len;
	out->end = out->buf->at + out->buf->cap;
}

/* The bytes that were written become part of the buffer. */
static void commit_written(struct value_writer *out)
{
	out->buf->len = (size_t)(out->at - out->buf->at);
}

void value_writer_fail(struct value_writer *out, enum pl_code code)
{
	if (out->code == PL_OK)
		out->code = code;
	out->end = out->at;
}

bool value_writer_grow(struct value_writer *out, size_t more)
{
	enum pl_code code = out->code;

	if (code == PL_OK) {
		commit_written(out);
		code = pl_buf_reserve(out->buf, more);
		reserve_room(out);
	}
	if (code != PL_OK)
		value_writer_fail(out, code);
	return code == PL_OK;
}

void value_writer_begin(struct value_writer *out, struct pl_buf *buf)
{
	size_t left = buf->max - buf->len;

	*out = (struct value_writer){.buf = buf, .begun = buf->len};
	out->code = pl_buf_reserve(buf, left < FIRST_ROOM ? left : FIRST_ROOM);
	reserve_room(out);
	if (out->code != PL_OK)
		value_writer_fail(out, out->code);
}

enum pl_code value_writer_end(struct value_writer *out, size_t bytes_max)
{
	if (out->code == PL_OK && out->at[-1] == ',')
		out->at--;
	commit_written(out);
	if (out->code == PL_OK && out->buf->len - out->begun > bytes_max)
		out->code = PL_LIMIT;
	if (out->code != PL_OK)
		out->buf->len = out->begun;
	return out->code;
}

void value_writer_escaped(struct value_writer *out, struct pl_span text)
{
	struct pl_json_out json;
	enum pl_code code;

	if (out->code != PL_OK)
		return;
	commit_written(out);
	pl_json_out_init(&json, out->buf);
	pl_json_out_string(&json, text);
	code = pl_json_out_done(&json);
	reserve_room(out);
	if (code != PL_OK)
		value_writer_fail(out, code);
}

void value_writer_stamp(struct value_writer *out, int64_t ms)
{
	char text[PL_TIMESTAMP_SIZE];

	if (ms < 0 || ms > PL_TIMESTAMP_MS_MAX) {
		value_writer_fail(out, PL_INVALID);
		return;
	}
	VALUE_WRITER_LIT(out, "\"");
	value_writer_raw(out, pl_timestamp_print(ms, text), PL_TIMESTAMP_SIZE - 1);
	VALUE_WRITER_LIT(out, "\"");
}

void value_writer_close(struct value_writer *out, char bracket)
{
	char end[2] = {bracket, ','};

	if (out->code == PL_OK && out->at[-1] == ',')
		out->at--;
	value_writer_raw(out, end, sizeof end);
}
