#include "tests/harness/t.h"

#include <time.h>

#include "store/base/rng.h"
#include "store/base/timestamp.h"

static const char *print(int64_t ms)
{
	static char text[PL_TIMESTAMP_SIZE];

	return pl_timestamp_print(ms, text);
}

static enum pl_code parse(const char *text, int64_t *out)
{
	struct pl_err err = {0};
	enum pl_code code = pl_timestamp_parse(pl_span_str(text), out, &err);

	T_EQ(err.code, code);
	return code;
}

T_CASE(known_times_print_and_parse)
{
	int64_t ms = 0;

	T_STR(print(0), "1970-01-01T00:00:00.000Z");
	T_STR(print(-5), "1970-01-01T00:00:00.000Z");
	T_STR(print(951782400000), "2000-02-29T00:00:00.000Z");
	T_STR(print(1795237200001), "2026-11-21T05:00:00.001Z");
	T_STR(print(PL_TIMESTAMP_MS_MAX), "9999-12-31T23:59:59.999Z");
	T_STR(print(INT64_MAX), "9999-12-31T23:59:59.999Z");
	T_EQ(parse("2026-11-21T05:00:00.001Z", &ms), PL_OK);
	T_EQ(ms, 1795237200001);
	T_EQ(parse("9999-12-31T23:59:59.999Z", &ms), PL_OK);
	T_EQ(ms, PL_TIMESTAMP_MS_MAX);
}

/* The C library's calendar gives the expected values. */
T_CASE(each_day_agrees_with_the_c_library)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 200000; i++) {
		int64_t ms =
			(int64_t)pl_rng_below(&rng, (uint64_t)PL_TIMESTAMP_MS_MAX + 1);
		int64_t back = -1;
		time_t seconds = ms / 1000;
		struct tm tm;
		char want[32];

		T_TRUE(gmtime_r(&seconds, &tm) != NULL);
		T_EQ(strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S", &tm), 19);
		T_MEM(print(ms), want, 19);
		T_EQ(parse(print(ms), &back), PL_OK);
		T_EQ(back, ms);
	}
}

T_CASE(other_spellings_are_refused)
{
	static const char *const wrong[] = {
		"",
		"2026-11-21",
		"2026-11-21T05:00:00Z",
		"2026-11-21 05:00:00.000Z",
		"2026-11-21T05:00:00.000z",
		"2026-11-21T05:00:00.000Z ",
		"2026-11-21T05:00:00.000+00:00",
		"1969-12-31T23:59:59.999Z",
		"2026-02-29T00:00:00.000Z",
		"2100-02-29T00:00:00.000Z",
		"2026-00-10T00:00:00.000Z",
		"2026-13-10T00:00:00.000Z",
		"2026-04-31T00:00:00.000Z",
		"2026-04-00T00:00:00.000Z",
		"2026-04-01T24:00:00.000Z",
		"2026-04-01T00:60:00.000Z",
		"2026-04-01T00:00:60.000Z",
		"2026-04-01T00:00:-1.000Z",
	};
	int64_t ms = 7;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		T_EQ(parse(wrong[i], &ms), PL_INVALID);
		T_EQ(ms, 7);
	}
}
