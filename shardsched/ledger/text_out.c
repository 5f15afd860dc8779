#include "shardsched/ledger/text_out.h"

#include "store/base/json_out.h"
#include "store/base/stamp.h"

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

static void look(struct text_out *out)
{
	out->at = out->buf->at + out->buf->len;
	out->end = out->buf->at + out->buf->cap;
}

/* What was written counts. */
static void settle(struct text_out *out)
{
	out->buf->len = (size_t)(out->at - out->buf->at);
}

void text_out_fail(struct text_out *out, enum pl_code code)
{
	if (out->code == PL_OK)
		out->code = code;
	out->end = out->at;
}

bool text_out_grow(struct text_out *out, size_t more)
{
	enum pl_code code = out->code;

	if (code == PL_OK) {
		settle(out);
		code = pl_buf_reserve(out->buf, more);
		look(out);
	}
	if (code != PL_OK)
		text_out_fail(out, code);
	return code == PL_OK;
}

void text_out_begin(struct text_out *out, struct pl_buf *buf)
{
	size_t left = buf->max - buf->len;

	*out = (struct text_out){.buf = buf, .begun = buf->len};
	out->code = pl_buf_reserve(buf, left < FIRST_ROOM ? left : FIRST_ROOM);
	look(out);
	if (out->code != PL_OK)
		text_out_fail(out, out->code);
}

enum pl_code text_out_end(struct text_out *out, size_t bytes_max)
{
	if (out->code == PL_OK && out->at[-1] == ',')
		out->at--;
	settle(out);
	if (out->code == PL_OK && out->buf->len - out->begun > bytes_max)
		out->code = PL_LIMIT;
	if (out->code != PL_OK)
		out->buf->len = out->begun;
	return out->code;
}

void text_out_escaped(struct text_out *out, struct pl_span text)
{
	struct pl_json_out json;
	enum pl_code code;

	if (out->code != PL_OK)
		return;
	settle(out);
	pl_json_out_init(&json, out->buf);
	pl_json_out_string(&json, text);
	code = pl_json_out_done(&json);
	look(out);
	if (code != PL_OK)
		text_out_fail(out, code);
}

void text_out_stamp(struct text_out *out, int64_t ms)
{
	char text[PL_STAMP_SIZE];

	if (ms < 0 || ms > PL_STAMP_MS_MAX) {
		text_out_fail(out, PL_INVALID);
		return;
	}
	TEXT_OUT_LIT(out, "\"");
	text_out_raw(out, pl_stamp_print(ms, text), PL_STAMP_SIZE - 1);
	TEXT_OUT_LIT(out, "\"");
}

void text_out_close(struct text_out *out, char bracket)
{
	char end[2] = {bracket, ','};

	if (out->code == PL_OK && out->at[-1] == ',')
		out->at--;
	text_out_raw(out, end, sizeof end);
}
