#include "store/base/quantity.h"

#include <stdio.h>

#include "store/base/num.h"
#include "store/base/quote.h"

__extension__ typedef unsigned __int128 wide;

enum {
	TEXT_LEN_MAX = 256,
	DIGITS_MAX = 28, /* digits of the largest quantity, in 10^-9 */
	BINARY_DIGITS_MAX = 19,
	EXPONENT_MAX = 100000, /* beyond this only the sign of the exponent matters */
	NANO_EXPONENT = 9,
};

static const wide nano_most = (wide)INT64_MAX * 1000000000;

/* mantissa * 10^exponent * 2^shift, plus a little more when there is a rest. */
struct quantity_number {
	wide mantissa;
	unsigned digits; /* digits of the mantissa */
	bool rest;
	bool negative;
	int exponent;
	unsigned shift;
	enum pl_quantity_form form;
};

static uint8_t peek_byte(struct pl_span text)
{
	return text.len == 0 ? 0 : text.at[0];
}

static struct pl_span skip_bytes(struct pl_span text, size_t count)
{
	return pl_span(text.at + count, text.len - count);
}

static bool is_digit(uint8_t byte)
{
	return byte >= '0' && byte <= '9';
}

/* Keeps the first DIGITS_MAX significant digits. The last digit is not zero, so there is
 * a rest exactly when digits are left over. */
static void set_mantissa(struct quantity_number *out, const uint8_t *digit, size_t count)
{
	while (count > 0 && digit[0] == '0') {
		digit++;
		count--;
	}
	while (count > 0 && digit[count - 1] == '0') {
		out->exponent++;
		count--;
	}
	for (; out->digits < count && out->digits < DIGITS_MAX; out->digits++)
		out->mantissa = out->mantissa * 10 + (unsigned)(digit[out->digits] - '0');
	out->rest = count > DIGITS_MAX;
	out->exponent += out->rest ? (int)count - DIGITS_MAX : 0;
}

static bool take_decimal(struct pl_span *text, struct quantity_number *out)
{
	uint8_t digit[TEXT_LEN_MAX];
	size_t count = 0;
	bool point = false;

	for (;; *text = skip_bytes(*text, 1)) {
		uint8_t byte = peek_byte(*text);

		if (byte == '.' && !point) {
			point = true;
			continue;
		}
		if (!is_digit(byte))
			break;
		digit[count++] = byte;
		out->exponent -= point;
	}
	set_mantissa(out, digit, count);
	return count > 0;
}

static bool take_exponent(struct pl_span text, int *out)
{
	bool negative = peek_byte(text) == '-';
	int value = 0;

	if (negative || peek_byte(text) == '+')
		text = skip_bytes(text, 1);
	if (text.len == 0)
		return false;
	for (; is_digit(peek_byte(text)); text = skip_bytes(text, 1))
		if (value < EXPONENT_MAX)
			value = value * 10 + (peek_byte(text) - '0');
	*out = negative ? -value : value;
	return text.len == 0;
}

static const struct suffix {
	const char *name;
	int exponent;
	unsigned shift;
} suffixes[] = {
	{"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"", 0, 0},    {"k", 3, 0},
	{"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},
	{"", 0, 0},    {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40},
	{"Pi", 0, 50}, {"Ei", 0, 60},
};

enum { SUFFIX_N = 0, SUFFIX_NONE = 3, SUFFIX_E = 9, SUFFIX_BINARY = 10 };

static bool take_suffix(struct pl_span text, struct quantity_number *out)
{
	int exponent = 0;

	for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
		if (pl_span_eq(text, pl_span_str(suffixes[i].name))) {
			out->exponent += suffixes[i].exponent;
			out->shift = suffixes[i].shift;
			out->form =
				out->shift > 0 ? PL_QUANTITY_BINARY : PL_QUANTITY_DECIMAL;
			return true;
		}
	if ((peek_byte(text) | 0x20) != 'e' ||
	    !take_exponent(skip_bytes(text, 1), &exponent))
		return false;
	out->exponent += exponent;
	out->form = PL_QUANTITY_EXPONENT;
	return true;
}

/* Rounds away from zero. False: the quantity is beyond the largest one. */
static bool to_nano(struct quantity_number *number, wide *out)
{
	wide nano = number->mantissa;
	int exponent = number->exponent + NANO_EXPONENT;

	if (number->shift > 0 && number->digits > BINARY_DIGITS_MAX)
		return false;
	nano <<= number->shift; /* stays below 2^64 * 2^60 */
	for (; exponent > 0 && nano != 0; exponent--) {
		if (nano > nano_most / 10)
			return false; /* so a rest is never multiplied */
		nano *= 10;
	}
	for (; exponent < 0 && nano != 0; exponent++) {
		number->rest = number->rest || nano % 10 != 0;
		nano /= 10;
	}
	nano += number->rest;
	*out = nano;
	return nano <= nano_most;
}

static bool parse_number(struct pl_span text, struct quantity_number *out)
{
	if (text.len == 0 || text.len > TEXT_LEN_MAX)
		return false;
	out->negative = text.at[0] == '-';
	if (out->negative || text.at[0] == '+')
		text = skip_bytes(text, 1);
	return take_decimal(&text, out) && take_suffix(text, out);
}

enum pl_code pl_quantity_parse(struct pl_span text, struct pl_quantity *out,
                               struct pl_err *err)
{
	struct quantity_number number = {0};
	char quoted[PL_QUOTE_SIZE];
	wide nano = 0;

	if (!parse_number(text, &number))
		return pl_err_set(err, PL_INVALID,
		                  "want a quantity like 250m or 1.5Gi, got %s",
		                  pl_quote(text, quoted));
	if (!to_nano(&number, &nano))
		return pl_err_set(err, PL_LIMIT, "quantity %s is too large or too long",
		                  pl_quote(text, quoted));
	out->nano = number.negative ? -(pl_int128)nano : (pl_int128)nano;
	out->form = number.form;
	return PL_OK;
}

static pl_int128 divide_away(pl_int128 value, pl_int128 by)
{
	pl_int128 rest = value % by;

	return value / by + (rest > 0) - (rest < 0);
}

int64_t pl_quantity_units(struct pl_quantity quantity)
{
	pl_int128 units = divide_away(quantity.nano, 1000000000);

	PL_ASSERT(units <= INT64_MAX && units >= -INT64_MAX);
	return (int64_t)units;
}

enum pl_code pl_quantity_milli(struct pl_quantity quantity, int64_t *out,
                               struct pl_err *err)
{
	pl_int128 milli = divide_away(quantity.nano, 1000000);
	char text[PL_QUANTITY_TEXT_SIZE];

	if (milli > INT64_MAX || milli < -INT64_MAX)
		return pl_err_set(err, PL_LIMIT, "%s is too large in thousandths",
		                  pl_quantity_print(quantity, text));
	*out = (int64_t)milli;
	return PL_OK;
}

static size_t print_wide(char *out, wide value)
{
	static const uint64_t half = UINT64_C(1000000000000000000);
	size_t len;

	if (value < half)
		return pl_num_print_u64(out, (uint64_t)value);
	len = pl_num_print_u64(out, (uint64_t)(value / half));
	return len + (size_t)snprintf(out + len, PL_NUM_TEXT_SIZE, "%018llu",
	                              (unsigned long long)(value % half));
}

static void print_decimal(char *out, wide value, enum pl_quantity_form form)
{
	size_t suffix = SUFFIX_N, len;

	for (; value % 1000 == 0 && suffix < SUFFIX_E; suffix++)
		value /= 1000;
	len = print_wide(out, value);
	if (form != PL_QUANTITY_EXPONENT)
		(void)snprintf(out + len, 4, "%s", suffixes[suffix].name);
	else if (suffix != SUFFIX_NONE)
		(void)snprintf(out + len, 8, "e%d", suffixes[suffix].exponent);
}

static void print_binary(char *out, uint64_t units)
{
	size_t suffix = SUFFIX_BINARY, len;

	for (; units % 1024 == 0; suffix++)
		units /= 1024;
	len = pl_num_print_u64(out, units);
	(void)snprintf(out + len, 4, "%s", suffixes[suffix].name);
}

const char *pl_quantity_print(struct pl_quantity quantity, char *out)
{
	wide nano = quantity.nano < 0 ? (wide)-quantity.nano : (wide)quantity.nano;
	char *at = out;

	PL_ASSERT(nano <= nano_most);
	if (quantity.nano < 0)
		*at++ = '-';
	if (nano == 0)
		(void)snprintf(at, 2, "0");
	else if (quantity.form == PL_QUANTITY_BINARY && nano >= (wide)1024 * 1000000000)
		print_binary(at, (uint64_t)((nano + 999999999) / 1000000000));
	else
		print_decimal(at, nano, quantity.form);
	return out;
}
