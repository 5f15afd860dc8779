#include "store/base/duration.h"

#include <stdio.h>

#include "store/base/num.h"
#include "store/base/quote.h"

__extension__ typedef unsigned __int128 wide;

enum { TEXT_LEN_MAX = 128 };

static const uint64_t ns_most = (uint64_t)INT64_MAX + 1;

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	/* Longer names come before their prefixes. */
	{"ns", 1},
	{"us", 1000},
	{"\xc2\xb5s", 1000}, /* U+00B5, the micro sign */
	{"\xce\xbcs", 1000}, /* U+03BC, the Greek letter */
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", UINT64_C(60000000000)},
	{"h", UINT64_C(3600000000000)},
};

static const struct unit *take_unit(struct pl_span *text)
{
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		struct pl_span name = pl_span_str(units[i].name);

		if (pl_span_starts(*text, name)) {
			*text = pl_span(text->at + name.len, text->len - name.len);
			return &units[i];
		}
	}
	return NULL;
}

/* digits[.digits] with at least one digit. A value that does not fit saturates. Digits
 * behind the eighteenth after the point are ignored, because they are less than a
 * nanosecond. */
struct duration_decimal {
	uint64_t whole;
	uint64_t part;
	uint64_t scale; /* part counts units of 1/scale */
};

static bool take_digit(struct pl_span *text, unsigned *digit)
{
	if (text->len == 0 || text->at[0] < '0' || text->at[0] > '9')
		return false;
	*digit = text->at[0] - '0';
	*text = pl_span(text->at + 1, text->len - 1);
	return true;
}

static bool take_decimal(struct pl_span *text, struct duration_decimal *out)
{
	unsigned digit;
	bool some = false;

	*out = (struct duration_decimal){.scale = 1};
	while (take_digit(text, &digit)) {
		some = true;
		if (out->whole > (ns_most - digit) / 10)
			out->whole = ns_most + 1;
		else
			out->whole = out->whole * 10 + digit;
	}
	if (text->len == 0 || text->at[0] != '.')
		return some;
	*text = pl_span(text->at + 1, text->len - 1);
	while (take_digit(text, &digit)) {
		some = true;
		if (out->scale < UINT64_C(1000000000000000000)) {
			out->part = out->part * 10 + digit;
			out->scale *= 10;
		}
	}
	return some;
}

static enum pl_code parse_duration(struct pl_span text, uint64_t *out)
{
	wide sum = 0;

	if (pl_span_eq(text, PL_SPAN_LIT("0"))) {
		*out = 0;
		return PL_OK;
	}
	if (text.len == 0)
		return PL_INVALID;
	while (text.len > 0) {
		struct duration_decimal number;
		const struct unit *unit;

		if (!take_decimal(&text, &number))
			return PL_INVALID;
		unit = take_unit(&text);
		if (unit == NULL)
			return PL_INVALID;
		/* At most TEXT_LEN_MAX / 2 terms below 2^64 * 2^42 are added, so the sum
		 * fits. */
		sum += (wide)number.whole * unit->ns;
		sum += (wide)number.part * unit->ns / number.scale;
	}
	if (sum > ns_most)
		return PL_LIMIT;
	*out = (uint64_t)sum;
	return PL_OK;
}

enum pl_code pl_duration_ns(struct pl_span text, int64_t *out, struct pl_err *err)
{
	struct pl_span rest = text;
	uint64_t ns = 0;
	bool negative = text.len > 0 && text.at[0] == '-';
	enum pl_code code = PL_INVALID;
	char quoted[PL_QUOTE_SIZE];

	if (negative || (text.len > 0 && text.at[0] == '+'))
		rest = pl_span(text.at + 1, text.len - 1);
	if (text.len <= TEXT_LEN_MAX)
		code = parse_duration(rest, &ns);
	if (code == PL_OK && !negative && ns == ns_most)
		code = PL_LIMIT;
	if (code == PL_INVALID)
		return pl_err_set(err, code,
		                  "want a duration like 1m30s or 250ms, got %s",
		                  pl_quote(text, quoted));
	if (code != PL_OK)
		return pl_err_set(err, code, "%s is too long a time",
		                  pl_quote(text, quoted));
	*out = negative && ns > 0 ? -(int64_t)(ns - 1) - 1 : (int64_t)ns;
	return PL_OK;
}

enum pl_code pl_duration_ms(struct pl_span text, uint64_t low_ms, uint64_t high_ms,
                            uint64_t *out, struct pl_err *err)
{
	char low[PL_DURATION_TEXT_SIZE], high[PL_DURATION_TEXT_SIZE],
		quoted[PL_QUOTE_SIZE];
	int64_t ns = 0;
	enum pl_code code = pl_duration_ns(text, &ns, err);

	PL_ASSERT(low_ms <= high_ms && high_ms <= INT64_MAX / 1000000);
	if (code != PL_OK)
		return code;
	if (ns < (int64_t)low_ms * 1000000 || ns > (int64_t)high_ms * 1000000)
		return pl_err_set(err, PL_LIMIT, "want %s to %s, got %s",
		                  pl_duration_print((int64_t)low_ms * 1000000, low),
		                  pl_duration_print((int64_t)high_ms * 1000000, high),
		                  pl_quote(text, quoted));
	if (ns % 1000000 != 0)
		return pl_err_set(err, PL_INVALID, "want whole milliseconds, got %s",
		                  pl_quote(text, quoted));
	*out = (uint64_t)ns / 1000000;
	return PL_OK;
}

/* Prints value / scale with as many digits behind the point as it needs. */
static size_t print_decimal(char *out, uint64_t value, uint64_t scale)
{
	size_t len = pl_num_print_u64(out, value / scale);

	value %= scale;
	if (value > 0)
		out[len++] = '.';
	for (scale /= 10; value > 0 && scale > 0; scale /= 10) {
		out[len++] = (char)('0' + value / scale);
		value %= scale;
	}
	out[len] = 0;
	return len;
}

const char *pl_duration_print(int64_t ns, char *out)
{
	uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	const uint64_t minute = UINT64_C(60000000000), hour = minute * 60;
	char *at = out;
	const char *unit = "s";
	uint64_t scale = 1000000000;

	if (ns < 0)
		*at++ = '-';
	if (left > 0 && left < 1000000000) {
		unit = left < 1000 ? "ns" : left < 1000000 ? "\xc2\xb5s" : "ms";
		scale = left < 1000 ? 1 : left < 1000000 ? 1000 : 1000000;
	}
	if (left >= hour) {
		at += pl_num_print_u64(at, left / hour);
		*at++ = 'h';
	}
	if (left >= minute) {
		at += pl_num_print_u64(at, left % hour / minute);
		*at++ = 'm';
	}
	at += print_decimal(at, left % minute, scale);
	memcpy(at, unit, strlen(unit) + 1);
	return out;
}
