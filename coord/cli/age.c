#include "coord/cli/age.h"

#include <inttypes.h>
#include <stdio.h>

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

/* The second unit matters while there are few of the first. */
static const char *two(int64_t first, char first_unit, int64_t second, char second_unit,
                       char out[AGE_SIZE])
{
	if (second == 0)
		(void)snprintf(out, AGE_SIZE, "%" PRId64 "%c", first, first_unit);
	else
		(void)snprintf(out, AGE_SIZE, "%" PRId64 "%c%" PRId64 "%c", first,
		               first_unit, second, second_unit);
	return out;
}

const char *age_text(int64_t ms, char out[AGE_SIZE])
{
	int64_t s = ms < 0 ? 0 : ms / 1000;

	if (s < 2 * MINUTE)
		return two(s, 's', 0, 's', out);
	if (s < 10 * MINUTE)
		return two(s / MINUTE, 'm', s % MINUTE, 's', out);
	if (s < 2 * HOUR)
		return two(s / MINUTE, 'm', 0, 's', out);
	if (s < 10 * HOUR)
		return two(s / HOUR, 'h', s % HOUR / MINUTE, 'm', out);
	if (s < 2 * DAY)
		return two(s / HOUR, 'h', 0, 'm', out);
	if (s < 10 * DAY)
		return two(s / DAY, 'd', s % DAY / HOUR, 'h', out);
	return two(s / DAY, 'd', 0, 'h', out);
}
