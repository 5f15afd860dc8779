/*
 * One pass over the bytes, one bit of memory for each level of depth.
 *
 *            value              ,             name
 *   VALUE ----------> AFTER --------> VALUE / NAME ----> VALUE
 *     |  [ or {         |  ] or } : one level up
 *     +--> VALUE_OR_END | NAME_OR_END
 */
#include "store/base/json_scan.h"

#include "store/base/json_plain.h"
#include "store/base/utf8.h"

/* cJSON copies a number into 64 bytes, and no number needs more. */
enum { NUMBER_SIZE_MAX = 60 };

enum scan_state { VALUE, VALUE_OR_END, NAME, NAME_OR_END, AFTER };

struct json_scanner {
	struct pl_span text;
	size_t at;
	const struct pl_json_limits *limits;
	struct pl_err *err;
	uint32_t depth;
	uint32_t values;
	enum scan_state state;
	bool in_object[PL_JSON_DEPTH_MAX + 1]; /* by depth */
};

/* Reports line and column, counted in bytes from 1, as editors show them. */
static enum pl_code fail_scan(struct json_scanner *scan, enum pl_code code,
                              const char *what)
{
	size_t line = 1, start = 0;

	for (size_t i = 0; i < scan->at && i < scan->text.len; i++)
		if (scan->text.at[i] == '\n') {
			line++;
			start = i + 1;
		}
	return pl_err_set(scan->err, code, "JSON, line %zu, column %zu: %s", line,
	                  scan->at - start + 1, what);
}

static enum pl_code fail_invalid(struct json_scanner *scan, const char *what)
{
	return fail_scan(scan, PL_INVALID,
	                 scan->at >= scan->text.len ? "ends too early" : what);
}

/* The byte at the position, 0 at the end. A NUL is never valid, so the end needs no other
 * mark. */
static uint8_t peek_byte(const struct json_scanner *scan)
{
	return scan->at < scan->text.len ? scan->text.at[scan->at] : 0;
}

static void skip_space(struct json_scanner *scan)
{
	for (;; scan->at++) {
		uint8_t byte = peek_byte(scan);

		if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r')
			return;
	}
}

static bool is_digit(uint8_t byte)
{
	return byte >= '0' && byte <= '9';
}

static enum pl_code skip_digits(struct json_scanner *scan)
{
	if (!is_digit(peek_byte(scan)))
		return fail_invalid(scan, "want a digit");
	while (is_digit(peek_byte(scan)))
		scan->at++;
	return PL_OK;
}

static enum pl_code skip_number(struct json_scanner *scan)
{
	size_t start = scan->at;
	enum pl_code code = PL_OK;

	if (peek_byte(scan) == '-')
		scan->at++;
	if (peek_byte(scan) == '0')
		scan->at++; /* only . or e may follow a leading zero */
	else
		code = skip_digits(scan);
	if (code == PL_OK && peek_byte(scan) == '.') {
		scan->at++;
		code = skip_digits(scan);
	}
	if (code == PL_OK && (peek_byte(scan) == 'e' || peek_byte(scan) == 'E')) {
		scan->at++;
		if (peek_byte(scan) == '+' || peek_byte(scan) == '-')
			scan->at++;
		code = skip_digits(scan);
	}
	if (code == PL_OK && scan->at - start > NUMBER_SIZE_MAX)
		return fail_scan(scan, PL_LIMIT, "a number that long is not supported");
	return code;
}

/* Reads four hexadecimal digits. -1: there are none. */
static int32_t hex4(struct json_scanner *scan)
{
	int32_t value = 0;

	for (int i = 0; i < 4; i++, scan->at++) {
		uint8_t byte = peek_byte(scan);
		int32_t digit;

		if (is_digit(byte))
			digit = byte - '0';
		else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f')
			digit = (byte | 0x20) - 'a' + 10;
		else
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Skips the rest of an escape behind "\u". */
static enum pl_code skip_unicode_escape(struct json_scanner *scan)
{
	int32_t unit = hex4(scan);

	if (unit < 0)
		return fail_invalid(scan, "want four hexadecimal digits");
	if (unit == 0)
		return fail_scan(scan, PL_INVALID, "an escaped NUL is not supported");
	if (unit >= 0xdc00 && unit <= 0xdfff)
		return fail_scan(scan, PL_INVALID,
		                 "the second half of a surrogate pair alone");
	if (unit < 0xd800 || unit > 0xdbff)
		return PL_OK;
	if (scan->text.len - scan->at < 6 || scan->text.at[scan->at] != '\\' ||
	    scan->text.at[scan->at + 1] != 'u')
		return fail_invalid(scan, "the first half of a surrogate pair alone");
	scan->at += 2;
	unit = hex4(scan);
	if (unit < 0xdc00 || unit > 0xdfff)
		return fail_scan(scan, PL_INVALID,
		                 "a surrogate pair without a second half");
	return PL_OK;
}

static enum pl_code skip_escape(struct json_scanner *scan)
{
	uint8_t byte;

	scan->at++;
	byte = peek_byte(scan);
	if (byte == 0 || strchr("\"\\/bfnrtu", byte) == NULL)
		return fail_invalid(scan, "no such escape");
	scan->at++;
	return byte == 'u' ? skip_unicode_escape(scan) : PL_OK;
}

static enum pl_code skip_string(struct json_scanner *scan)
{
	scan->at++;
	for (;;) {
		uint8_t byte = peek_byte(scan);
		enum pl_code code = PL_OK;
		size_t len;

		if (pl_json_plain_byte(byte)) {
			scan->at += pl_json_plain_run(scan->text.at + scan->at,
			                              scan->text.len - scan->at);
			continue;
		}
		if (byte == '"') {
			scan->at++;
			return PL_OK;
		}
		if (byte < 0x20)
			return fail_invalid(scan, "a control character in a string");
		if (byte == '\\') {
			code = skip_escape(scan);
		} else {
			len = pl_utf8_char(scan->text.at + scan->at,
			                   scan->text.len - scan->at);
			if (len == 0)
				return fail_scan(scan, PL_INVALID, "invalid UTF-8");
			scan->at += len;
		}
		if (code != PL_OK)
			return code;
	}
}

static enum pl_code skip_word(struct json_scanner *scan, const char *word)
{
	for (; *word != 0; word++, scan->at++)
		if (peek_byte(scan) != (uint8_t)*word)
			return fail_invalid(scan, "want a value");
	return PL_OK;
}

static enum pl_code open_level(struct json_scanner *scan, bool object)
{
	if (scan->depth == scan->limits->depth)
		return fail_scan(scan, PL_LIMIT, "nested too deep");
	scan->at++;
	scan->depth++;
	scan->in_object[scan->depth] = object;
	scan->state = object ? NAME_OR_END : VALUE_OR_END;
	return PL_OK;
}

static void close_level(struct json_scanner *scan)
{
	scan->at++;
	scan->depth--;
	scan->state = AFTER;
}

static enum pl_code scan_value(struct json_scanner *scan)
{
	uint8_t byte = peek_byte(scan);

	if (scan->values++ == scan->limits->values)
		return fail_scan(scan, PL_LIMIT, "too many values");
	scan->state = AFTER;
	switch (byte) {
	case '{':
		return open_level(scan, true);
	case '[':
		return open_level(scan, false);
	case '"':
		return skip_string(scan);
	case 't':
		return skip_word(scan, "true");
	case 'f':
		return skip_word(scan, "false");
	case 'n':
		return skip_word(scan, "null");
	default:
		if (byte == '-' || is_digit(byte))
			return skip_number(scan);
		return fail_invalid(scan, "want a value");
	}
}

static enum pl_code scan_name(struct json_scanner *scan)
{
	enum pl_code code;

	if (peek_byte(scan) != '"')
		return fail_invalid(scan, "want a member name");
	code = skip_string(scan);
	if (code != PL_OK)
		return code;
	skip_space(scan);
	if (peek_byte(scan) != ':')
		return fail_invalid(scan, "want ':'");
	scan->at++;
	scan->state = VALUE;
	return PL_OK;
}

static enum pl_code scan_after(struct json_scanner *scan)
{
	bool object = scan->in_object[scan->depth];

	if (peek_byte(scan) == (object ? '}' : ']')) {
		close_level(scan);
		return PL_OK;
	}
	if (peek_byte(scan) != ',')
		return fail_invalid(scan, object ? "want ',' or '}'" : "want ',' or ']'");
	scan->at++;
	scan->state = object ? NAME : VALUE;
	return PL_OK;
}

static enum pl_code scan_step(struct json_scanner *scan)
{
	switch (scan->state) {
	case VALUE_OR_END:
	case NAME_OR_END:
		if (peek_byte(scan) == (scan->state == NAME_OR_END ? '}' : ']')) {
			close_level(scan);
			return PL_OK;
		}
		return scan->state == NAME_OR_END ? scan_name(scan) : scan_value(scan);
	case VALUE:
		return scan_value(scan);
	case NAME:
		return scan_name(scan);
	case AFTER:
		return scan_after(scan);
	}
	PL_UNREACHABLE("scan state");
}

enum pl_code pl_json_scan(struct pl_span text, const struct pl_json_limits *limits,
                          struct pl_err *err)
{
	struct json_scanner scan = {
		.text = text, .limits = limits, .err = err, .state = VALUE};

	PL_ASSERT(limits->depth >= 1 && limits->depth <= PL_JSON_DEPTH_MAX);
	if (text.len > limits->bytes)
		return pl_err_set(err, PL_LIMIT,
		                  "JSON of %zu bytes, at most %zu are taken", text.len,
		                  limits->bytes);
	for (;;) {
		enum pl_code code;

		skip_space(&scan);
		if (scan.state == AFTER && scan.depth == 0)
			break;
		code = scan_step(&scan);
		if (code != PL_OK)
			return code;
	}
	if (scan.at != text.len)
		return fail_scan(&scan, PL_INVALID, "something follows the value");
	return PL_OK;
}
