#include "store/base/timestamp.h"

#include <stdbool.h>

#include "store/base/quote.h"

/* Days are counted from the first of March of the year 0, so that a leap day is the last
 * day of its year and months and years follow by division. */
enum {
	DAY_MS = 24 * 60 * 60 * 1000,
	DAYS_TO_1970 = 719468,
	DAYS_400_YEARS = 146097,
	DAYS_100_YEARS = 36524,
	DAYS_4_YEARS = 1461,
};

struct date {
	int year, month, day;
};

static struct date date_of(int64_t days_since_1970)
{
	int64_t days = days_since_1970 + DAYS_TO_1970, era = days / DAYS_400_YEARS;
	int64_t rest = days % DAYS_400_YEARS;
	int64_t year = (rest - rest / (DAYS_4_YEARS - 1) + rest / DAYS_100_YEARS -
	                rest / (DAYS_400_YEARS - 1)) /
	               365;
	int64_t of_year = rest - (365 * year + year / 4 - year / 100);
	int64_t march = (5 * of_year + 2) / 153; /* months since March */
	struct date date = {.day = (int)(of_year - (153 * march + 2) / 5 + 1),
	                    .month = (int)(march < 10 ? march + 3 : march - 9)};

	date.year = (int)(era * 400 + year + (date.month <= 2));
	return date;
}

static int64_t days_of(struct date date)
{
	int64_t year = date.year - (date.month <= 2), era = year / 400;
	int64_t march = date.month > 2 ? date.month - 3 : date.month + 9;
	int64_t of_era = year % 400;
	int64_t of_year = (153 * march + 2) / 5 + date.day - 1;

	return era * DAYS_400_YEARS + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
	       DAYS_TO_1970;
}

static const char shape[] = "0000-00-00T00:00:00.000Z";

static void put_digits(char *out, unsigned count, unsigned value)
{
	while (count-- > 0) {
		out[count] = (char)('0' + value % 10);
		value /= 10;
	}
}

const char *pl_timestamp_print(int64_t ms, char out[PL_TIMESTAMP_SIZE])
{
	int64_t within = ms < 0 ? 0 : ms;
	unsigned rest;
	struct date date;

	if (within > PL_TIMESTAMP_MS_MAX)
		within = PL_TIMESTAMP_MS_MAX;
	date = date_of(within / DAY_MS);
	rest = (unsigned)(within % DAY_MS);
	memcpy(out, shape, PL_TIMESTAMP_SIZE);
	put_digits(out, 4, (unsigned)date.year);
	put_digits(out + 5, 2, (unsigned)date.month);
	put_digits(out + 8, 2, (unsigned)date.day);
	put_digits(out + 11, 2, rest / 3600000);
	put_digits(out + 14, 2, rest / 60000 % 60);
	put_digits(out + 17, 2, rest / 1000 % 60);
	put_digits(out + 20, 3, rest % 1000);
	return out;
}

/* Checks the text against a pattern: digits where the pattern has a 0, else the same
 * byte. */
static bool has_shape(struct pl_span text)
{
	if (text.len != sizeof shape - 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = text.at[i];

		if (shape[i] == '0' ? byte < '0' || byte > '9'
		                    : byte != (uint8_t)shape[i])
			return false;
	}
	return true;
}

static int parse_digits(struct pl_span text, size_t at, size_t len)
{
	int value = 0;

	for (size_t i = at; i < at + len; i++)
		value = value * 10 + (text.at[i] - '0');
	return value;
}

/* A day that its month does not have comes back as another day. */
static bool date_exists(struct date date)
{
	struct date back;

	if (date.year < 1970 || date.month < 1 || date.month > 12 || date.day < 1 ||
	    date.day > 31)
		return false;
	back = date_of(days_of(date));
	return back.month == date.month && back.day == date.day;
}

enum pl_code pl_timestamp_parse(struct pl_span text, int64_t *out, struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];
	struct date date;
	int hour, minute, second;

	if (!has_shape(text))
		return pl_err_set(err, PL_INVALID,
		                  "%s: want a time like 2026-11-21T05:00:00.000Z",
		                  pl_quote(text, quoted));
	date = (struct date){parse_digits(text, 0, 4), parse_digits(text, 5, 2),
	                     parse_digits(text, 8, 2)};
	hour = parse_digits(text, 11, 2);
	minute = parse_digits(text, 14, 2);
	second = parse_digits(text, 17, 2);
	if (!date_exists(date) || hour > 23 || minute > 59 || second > 59)
		return pl_err_set(err, PL_INVALID, "%s: there is no such time",
		                  pl_quote(text, quoted));
	*out = days_of(date) * DAY_MS +
	       (((int64_t)hour * 60 + minute) * 60 + second) * 1000 +
	       parse_digits(text, 20, 3);
	return PL_OK;
}
