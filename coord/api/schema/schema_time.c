#include "coord/api/schema/schema_time.h"

#include <stdio.h>

enum { DAY = 86400 };

static const int64_t first_second = INT64_C(-62167219200); /* of the year 0 */
static const int64_t last_second = INT64_C(253402300799);  /* of the year 9999 */

struct reader {
	struct pl_span text;
	size_t at;
	bool failed;
};

static int read_digit(struct reader *in)
{
	if (in->at >= in->text.len || in->text.at[in->at] < '0' ||
	    in->text.at[in->at] > '9') {
		in->failed = true;
		return 0;
	}
	return in->text.at[in->at++] - '0';
}

static int read_number(struct reader *in, int digits, int low, int high)
{
	int value = 0;

	while (digits-- > 0)
		value = value * 10 + read_digit(in);
	if (value < low || value > high)
		in->failed = true;
	return value;
}

static bool skip(struct reader *in, char c)
{
	if (in->at >= in->text.len || in->text.at[in->at] != (uint8_t)c)
		return false;
	in->at++;
	return true;
}

static void want(struct reader *in, char c)
{
	if (!skip(in, c))
		in->failed = true;
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of(int64_t year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Days between 1970-01-01 and the first day of the month, in the proleptic Gregorian
 * calendar. Years are counted from March, so that a leap day comes last. */
static int64_t days_before(int64_t year, int month)
{
	int64_t from_march = month > 2 ? month - 3 : month + 9;
	int64_t shifted = month > 2 ? year : year - 1;
	int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
	int64_t of_era = shifted - era * 400;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
	       (153 * from_march + 2) / 5 - 719468;
}

static int32_t read_fraction(struct reader *in)
{
	int32_t nanos = 0, scale = 100000000;

	if (!skip(in, '.'))
		return 0;
	nanos = read_digit(in) * scale;
	while (in->at < in->text.len && in->text.at[in->at] >= '0' &&
	       in->text.at[in->at] <= '9') {
		scale /= 10;
		nanos += read_digit(in) * scale;
	}
	return nanos;
}

static int read_offset(struct reader *in)
{
	int sign = 1, hours;

	if (skip(in, 'Z'))
		return 0;
	if (skip(in, '-'))
		sign = -1;
	else
		want(in, '+');
	hours = read_number(in, 2, 0, 23);
	want(in, ':');
	return sign * (hours * 3600 + read_number(in, 2, 0, 59) * 60);
}

bool schema_time_parse(struct pl_span text, struct schema_time *out)
{
	struct reader in = {.text = text};
	int year = read_number(&in, 4, 0, 9999), month, day, clock;
	int64_t seconds;
	int32_t nanos;

	want(&in, '-');
	month = read_number(&in, 2, 1, 12);
	want(&in, '-');
	if (in.failed)
		return false;
	day = read_number(&in, 2, 1, days_of(year, month));
	want(&in, 'T');
	clock = read_number(&in, 2, 0, 23) * 3600;
	want(&in, ':');
	clock += read_number(&in, 2, 0, 59) * 60;
	want(&in, ':');
	clock += read_number(&in, 2, 0, 59);
	nanos = read_fraction(&in);
	seconds = (days_before(year, month) + day - 1) * DAY + clock - read_offset(&in);
	if (in.failed || in.at != text.len || seconds < first_second ||
	    seconds > last_second)
		return false;
	*out = (struct schema_time){seconds, nanos};
	return true;
}

struct date {
	int64_t year;
	int month, day;
};

static struct date date_of(int64_t days)
{
	struct date date = {.year = 1970 + days * 400 / 146097, .month = 1};

	while (days_before(date.year, 1) > days)
		date.year--;
	while (days_before(date.year + 1, 1) <= days)
		date.year++;
	while (date.month < 12 && days_before(date.year, date.month + 1) <= days)
		date.month++;
	date.day = (int)(days - days_before(date.year, date.month)) + 1;
	return date;
}

bool schema_time_print(struct schema_time time, bool micro, char out[SCHEMA_TIME_SIZE])
{
	int64_t days = time.seconds / DAY, rest = time.seconds % DAY;
	struct date date;
	int length;

	if (time.seconds < first_second || time.seconds > last_second)
		return false;
	if (rest < 0) {
		rest += DAY;
		days--;
	}
	date = date_of(days);
	length = snprintf(out, SCHEMA_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d",
	                  (int)date.year, date.month, date.day, (int)(rest / 3600),
	                  (int)(rest / 60 % 60), (int)(rest % 60));
	if (micro)
		length += snprintf(out + length, SCHEMA_TIME_SIZE - (size_t)length,
		                   ".%06d", (int)(time.nanos / 1000));
	snprintf(out + length, SCHEMA_TIME_SIZE - (size_t)length, "Z");
	return true;
}
