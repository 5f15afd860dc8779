#include "coord/cli/output/age.h"

#include <inttypes.h>
#include <stdio.h>

static const int64_t minute = 60, hour = 3600, day = 86400;

/* The second unit is shown while the first one is small. */
static const char *two_units(int64_t first, char first_unit, int64_t second,
                             char second_unit, char out[AGE_SIZE])
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

	if (s < 2 * minute)
		return two_units(s, 's', 0, 's', out);
	if (s < 10 * minute)
		return two_units(s / minute, 'm', s % minute, 's', out);
	if (s < 2 * hour)
		return two_units(s / minute, 'm', 0, 's', out);
	if (s < 10 * hour)
		return two_units(s / hour, 'h', s % hour / minute, 'm', out);
	if (s < 2 * day)
		return two_units(s / hour, 'h', 0, 'm', out);
	if (s < 10 * day)
		return two_units(s / day, 'd', s % day / hour, 'h', out);
	return two_units(s / day, 'd', 0, 'h', out);
}
