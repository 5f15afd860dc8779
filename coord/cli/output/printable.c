#include "coord/cli/output/printable.h"

#include "store/base/utf8.h"

enum { ESCAPE_LEN = 4 }; /* \xNN */

static uint32_t code_point(const uint8_t *at, size_t len)
{
	static const uint8_t lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t point = at[0] & lead_mask[len];

	for (size_t i = 1; i < len; i++)
		point = point << 6 | (at[i] & 0x3fU);
	return point;
}

/* C0, DEL, C1; zero-width and direction marks; line separators; the byte order
 * mark. */
static bool is_plain(uint32_t point)
{
	if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xfeff)
		return false;
	if (point >= 0x200b && point <= 0x200f)
		return false;
	if (point >= 0x2028 && point <= 0x202e)
		return false;
	return point < 0x2060 || point > 0x206f;
}

/* The length of the leading text that needs no escape; 0 when the first character
 * does. */
static size_t plain_len(struct pl_span text)
{
	size_t len = pl_utf8_char(text.at, text.len);

	return len > 0 && is_plain(code_point(text.at, len)) ? len : 0;
}

enum pl_code printable_add(struct pl_buf *out, struct pl_span text, size_t *width)
{
	size_t at = 0, points = 0;

	while (at < text.len) {
		struct pl_span rest = pl_span(text.at + at, text.len - at);
		size_t len = plain_len(rest);
		enum pl_code code = len > 0 ? pl_buf_add(out, pl_span(rest.at, len))
		                            : pl_buf_printf(out, "\\x%02x", rest.at[0]);

		if (code != PL_OK)
			return code;
		points += len > 0 ? 1 : ESCAPE_LEN;
		at += len > 0 ? len : 1;
	}
	if (width != NULL)
		*width += points;
	return PL_OK;
}

size_t printable_width(struct pl_span text)
{
	size_t at = 0, points = 0;

	while (at < text.len) {
		size_t len = plain_len(pl_span(text.at + at, text.len - at));

		points += len > 0 ? 1 : ESCAPE_LEN;
		at += len > 0 ? len : 1;
	}
	return points;
}

/* Outside of strings JSON has no such characters, so it need not be understood. */
enum pl_code printable_add_json(struct pl_buf *out, struct pl_span json)
{
	size_t at = 0;

	while (at < json.len) {
		struct pl_span rest = pl_span(json.at + at, json.len - at);
		size_t len = pl_utf8_char(rest.at, rest.len);
		enum pl_code code;

		PL_ASSERT(len > 0);
		code = plain_len(rest) > 0
		               ? pl_buf_add(out, pl_span(rest.at, len))
		               : pl_buf_printf(out, "\\u%04x", code_point(rest.at, len));
		if (code != PL_OK)
			return code;
		at += len;
	}
	return PL_OK;
}
