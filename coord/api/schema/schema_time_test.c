#include "coord/api/schema/schema_time.h"
#include "tests/harness/t.h"

static void same(const char *text, const char *want, bool micro)
{
	char out[SCHEMA_TIME_SIZE];
	struct schema_time time;

	T_TRUE(schema_time_parse(pl_span_str(text), &time));
	T_TRUE(schema_time_print(time, micro, out));
	T_STR(out, want);
}

static void refused(const char *text)
{
	struct schema_time time;

	if (schema_time_parse(pl_span_str(text), &time))
		t_fail(__FILE__, __LINE__, "%s is a time", text);
}

T_CASE(times_are_printed_in_utc)
{
	same("2026-11-21T05:00:00Z", "2026-11-21T05:00:00Z", false);
	same("2026-11-21T05:00:00.25Z", "2026-11-21T05:00:00Z", false);
	same("2026-11-21T05:00:00.123456789Z", "2026-11-21T05:00:00.123456Z", true);
	same("2026-01-01T00:30:00+02:00", "2025-12-31T22:30:00Z", false);
	same("2024-02-28T23:00:00-01:30", "2024-02-29T00:30:00Z", false);
	same("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", false);
	same("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z", false);
	same("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", false);
	same("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z", true);
}

T_CASE(seconds_are_counted_from_1970)
{
	struct schema_time time;

	T_TRUE(schema_time_parse(PL_SPAN_LIT("2001-09-09T01:46:40.5Z"), &time));
	T_EQ(time.seconds, 1000000000);
	T_EQ(time.nanos, 500000000);
}

T_CASE(every_day_of_four_centuries_comes_back)
{
	for (int64_t day = -719528; day < 146097 - 719528 + 200000; day += 1) {
		char out[SCHEMA_TIME_SIZE];
		struct schema_time time = {day * 86400 + 3, 0}, again;

		T_TRUE(schema_time_print(time, false, out));
		T_TRUE(schema_time_parse(pl_span_str(out), &again));
		T_EQ(again.seconds, time.seconds);
	}
}

T_CASE(what_is_no_time_is_refused)
{
	static const char *const bad[] = {"",
	                                  "2026",
	                                  "2026-11-21",
	                                  "2026-11-21T05:00:00",
	                                  "2026-11-21 05:00:00Z",
	                                  "2026-13-21T05:00:00Z",
	                                  "2026-02-29T05:00:00Z",
	                                  "2026-11-21T24:00:00Z",
	                                  "2026-11-21T05:00:60Z",
	                                  "2026-11-21T05:00:00.Z",
	                                  "2026-11-21T05:00:00Zx",
	                                  "2026-11-21T05:00:00+0100",
	                                  "2026-11-21T05:00:00+25:00",
	                                  "0000-01-01T00:00:00+01:00",
	                                  "9999-12-31T23:59:59-00:01",
	                                  "26-11-21T05:00:00Z"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refused(bad[i]);
}
