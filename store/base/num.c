#include "store/base/num.h"

#include <inttypes.h>

#include "store/base/quote.h"

static enum pl_code not_a_number(struct pl_span text, struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];

	return pl_err_set(err, PL_INVALID, "want a whole number, got %s",
	                  pl_quote(text, quoted));
}

static enum pl_code out_of_range(struct pl_span text, struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];

	return pl_err_set(err, PL_LIMIT, "%s is out of range", pl_quote(text, quoted));
}

/* PL_LIMIT only for text that is a number, however long. PL_INVALID for other text. */
static enum pl_code parse_digits(struct pl_span text, uint64_t *out)
{
	uint64_t value = 0;
	bool over = false;

	if (text.len == 0 || (text.len > 1 && text.at[0] == '0'))
		return PL_INVALID;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t digit = (uint8_t)(text.at[i] - '0');

		if (digit > 9)
			return PL_INVALID;
		if (value > (UINT64_MAX - digit) / 10)
			over = true;
		else
			value = value * 10 + digit;
	}
	if (over)
		return PL_LIMIT;
	*out = value;
	return PL_OK;
}

enum pl_code pl_num_u64_in(struct pl_span text, uint64_t low, uint64_t high,
                           uint64_t *out, struct pl_err *err)
{
	uint64_t value = 0;
	enum pl_code code = parse_digits(text, &value);
	char quoted[PL_QUOTE_SIZE];

	if (code == PL_INVALID)
		return not_a_number(text, err);
	if (code == PL_LIMIT || value < low || value > high)
		return pl_err_set(err, PL_LIMIT,
		                  "want %" PRIu64 " to %" PRIu64 ", got %s", low, high,
		                  pl_quote(text, quoted));
	*out = value;
	return PL_OK;
}

enum pl_code pl_num_u64(struct pl_span text, uint64_t *out, struct pl_err *err)
{
	uint64_t value = 0;
	enum pl_code code = parse_digits(text, &value);

	if (code == PL_INVALID)
		return not_a_number(text, err);
	if (code == PL_LIMIT)
		return out_of_range(text, err);
	*out = value;
	return PL_OK;
}

enum pl_code pl_num_i64(struct pl_span text, int64_t *out, struct pl_err *err)
{
	bool negative = text.len > 0 && text.at[0] == '-';
	uint64_t most = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	uint64_t value = 0;
	enum pl_code code;

	code = parse_digits(negative ? pl_span(text.at + 1, text.len - 1) : text, &value);
	if (code == PL_INVALID || (code == PL_OK && negative && value == 0))
		return not_a_number(text, err);
	if (code == PL_LIMIT || value > most)
		return out_of_range(text, err);
	/* INT64_MIN has no positive counterpart to negate. */
	*out = negative ? -(int64_t)(value - 1) - 1 : (int64_t)value;
	return PL_OK;
}

enum pl_code pl_num_i64_in(struct pl_span text, int64_t low, int64_t high, int64_t *out,
                           struct pl_err *err)
{
	int64_t value = 0;
	enum pl_code code = pl_num_i64(text, &value, err);
	char quoted[PL_QUOTE_SIZE];

	if (code == PL_INVALID)
		return code;
	if (code == PL_LIMIT || value < low || value > high)
		return pl_err_set(err, PL_LIMIT,
		                  "want %" PRId64 " to %" PRId64 ", got %s", low, high,
		                  pl_quote(text, quoted));
	*out = value;
	return PL_OK;
}

enum pl_code pl_num_port(struct pl_span text, uint16_t *out, struct pl_err *err)
{
	uint64_t value = 0;
	enum pl_code code = pl_num_u64_in(text, 1, UINT16_MAX, &value, err);

	if (code == PL_OK)
		*out = (uint16_t)value;
	return code;
}

size_t pl_num_print_u64(char *out, uint64_t value)
{
	char digit[PL_NUM_TEXT_SIZE];
	size_t at = sizeof digit, len;

	do
		digit[--at] = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	len = sizeof digit - at;
	memcpy(out, digit + at, len);
	out[len] = 0;
	return len;
}

size_t pl_num_print_i64(char *out, int64_t value)
{
	if (value >= 0)
		return pl_num_print_u64(out, (uint64_t)value);
	out[0] = '-';
	return 1 + pl_num_print_u64(out + 1, 0 - (uint64_t)value);
}
