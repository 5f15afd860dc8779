#include "shardsched/model/timestamp.h"

/* "2026-11-21T05:00:00": where digits must stand is a d. */
static const char shape[] = "dddd-dd-ddTdd:dd:dd";

static bool matches_layout(struct pl_span text, const char *want, size_t len)
{
	if (text.len < len)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool digit = text.at[i] >= '0' && text.at[i] <= '9';

		if (want[i] == 'd' ? !digit : text.at[i] != (uint8_t)want[i])
			return false;
	}
	return true;
}

static int read_digits(const uint8_t *at, size_t digits)
{
	int value = 0;

	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (at[i] - '0');
	return value;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Since 1970-01-01, counting years from March so that the leap day is last. */
static int64_t days_since_1970(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t m = month <= 2 ? month + 9 : month - 3;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 -
	       719468;
}

/* "Z" or "+hh:mm", in milliseconds. */
static bool parse_offset(struct pl_span text, int64_t *out)
{
	int hours, minutes;

	if (text.len == 1 && text.at[0] == 'Z') {
		*out = 0;
		return true;
	}
	if (text.len != 6 || (text.at[0] != '+' && text.at[0] != '-') ||
	    !matches_layout(pl_span(text.at + 1, 5), "dd:dd", 5))
		return false;
	hours = read_digits(text.at + 1, 2);
	minutes = read_digits(text.at + 4, 2);
	*out = ((int64_t)hours * 60 + minutes) * 60000 * (text.at[0] == '-' ? -1 : 1);
	return hours < 24 && minutes < 60;
}

/* ".123", of any length, in milliseconds; what is left comes back. */
static struct pl_span parse_fraction(struct pl_span text, int64_t *out)
{
	size_t at = 1;
	int64_t ms = 0;

	if (text.len < 2 || text.at[0] != '.')
		return text;
	for (; at < text.len && text.at[at] >= '0' && text.at[at] <= '9'; at++)
		if (at <= 3)
			ms = ms * 10 + (text.at[at] - '0');
	for (size_t digits = at; digits <= 3; digits++)
		ms *= 10;
	if (at > 1)
		*out = ms;
	return pl_span(text.at + (at > 1 ? at : 0), text.len - (at > 1 ? at : 0));
}

bool timestamp_parse(struct pl_span text, int64_t *out)
{
	int64_t offset = 0, fraction = 0, seconds;
	int year, month, day;
	size_t len = sizeof shape - 1;

	if (!matches_layout(text, shape, len))
		return false;
	year = read_digits(text.at, 4);
	month = read_digits(text.at + 5, 2);
	day = read_digits(text.at + 8, 2);
	if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month))
		return false;
	if (read_digits(text.at + 11, 2) > 23 || read_digits(text.at + 14, 2) > 59 ||
	    read_digits(text.at + 17, 2) > 59)
		return false;
	if (!parse_offset(
		    parse_fraction(pl_span(text.at + len, text.len - len), &fraction),
		    &offset))
		return false;
	seconds =
		(read_digits(text.at + 11, 2) * 60 + read_digits(text.at + 14, 2)) * 60 +
		read_digits(text.at + 17, 2);
	*out = (days_since_1970(year, month, day) * 86400 + seconds) * 1000 + fraction -
	       offset;
	return true;
}
