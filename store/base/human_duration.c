#include "store/base/human_duration.h"

#include <inttypes.h>
#include <stdio.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 24 * HOUR, YEAR = 365 * DAY };

static const char *print_one(int64_t value, char unit, char out[PL_HUMAN_DURATION_SIZE])
{
	(void)snprintf(out, PL_HUMAN_DURATION_SIZE, "%" PRId64 "%c", value, unit);
	return out;
}

struct two_units {
	int64_t size, of; /* seconds of the first and the second unit */
	char unit, of_unit;
};

static const char *print_two(int64_t s, struct two_units units,
                             char out[PL_HUMAN_DURATION_SIZE])
{
	int64_t first = s / units.size, second = s % units.size / units.of;

	if (second == 0)
		return print_one(first, units.unit, out);
	(void)snprintf(out, PL_HUMAN_DURATION_SIZE, "%" PRId64 "%c%" PRId64 "%c", first,
	               units.unit, second, units.of_unit);
	return out;
}

/* Less than zero. */
static const char *print_negative(int64_t s, char out[PL_HUMAN_DURATION_SIZE])
{
	(void)snprintf(out, PL_HUMAN_DURATION_SIZE, "%s", s < -1 ? "<invalid>" : "0s");
	return out;
}

const char *pl_human_duration(int64_t ms, char out[PL_HUMAN_DURATION_SIZE])
{
	static const struct two_units minutes = {MINUTE, 1, 'm', 's'};
	static const struct two_units hours = {HOUR, MINUTE, 'h', 'm'};
	static const struct two_units days = {DAY, HOUR, 'd', 'h'};
	static const struct two_units years = {YEAR, DAY, 'y', 'd'};
	int64_t s = ms / 1000;

	if (ms < 0)
		return print_negative(s, out);
	if (s < 2 * MINUTE)
		return print_one(s, 's', out);
	if (s < 10 * MINUTE)
		return print_two(s, minutes, out);
	if (s < 3 * HOUR)
		return print_one(s / MINUTE, 'm', out);
	if (s < 8 * HOUR)
		return print_two(s, hours, out);
	if (s < 2 * DAY)
		return print_one(s / HOUR, 'h', out);
	if (s < 8 * DAY)
		return print_two(s, days, out);
	if (s < 2 * YEAR)
		return print_one(s / DAY, 'd', out);
	if (s < INT64_C(8) * YEAR)
		return print_two(s, years, out);
	return print_one(s / YEAR, 'y', out);
}

const char *pl_human_duration_short(int64_t ms, char out[PL_HUMAN_DURATION_SIZE])
{
	int64_t s = ms / 1000;

	if (ms < 0)
		return print_negative(s, out);
	if (s < MINUTE)
		return print_one(s, 's', out);
	if (s < HOUR)
		return print_one(s / MINUTE, 'm', out);
	if (s < DAY)
		return print_one(s / HOUR, 'h', out);
	if (s < YEAR)
		return print_one(s / DAY, 'd', out);
	return print_one(s / YEAR, 'y', out);
}
