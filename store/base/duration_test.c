#include "store/base/duration.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static void reads(const char *text, int64_t want)
{
	struct pl_err err = {0};
	int64_t got = -77;

	T_OK(pl_duration_ns(pl_span_str(text), &got, &err), &err);
	if (got != want)
		t_fail(__FILE__, __LINE__, "%s is %" PRId64 ", want %" PRId64, text, got,
		       want);
}

static void refuses(const char *text, enum pl_code want)
{
	struct pl_err err = {0};
	int64_t got = -77;
	enum pl_code code = pl_duration_ns(pl_span_str(text), &got, &err);

	if (code != want)
		t_fail(__FILE__, __LINE__, "%s: %s %s", text, pl_code_name(code),
		       err.msg);
	T_EQ(err.code, want);
	T_EQ(got, -77);
}

static void prints(int64_t ns, const char *want)
{
	char text[PL_DURATION_TEXT_SIZE];

	T_STR(pl_duration_print(ns, text), want);
}

#define SECOND INT64_C(1000000000)

T_CASE(reads_what_go_reads)
{
	reads("0", 0);
	reads("0s", 0);
	reads("-0", 0);
	reads("+5s", 5 * SECOND);
	reads("5s", 5 * SECOND);
	reads("1h30m", 5400 * SECOND);
	reads("250ms", SECOND / 4);
	reads("1.5s", SECOND * 3 / 2);
	reads(".5s", SECOND / 2);
	reads("5.s", 5 * SECOND);
	reads("-1.004s", -1004000000);
	reads("3m2h1ns", 7380 * SECOND + 1);
	reads("12us", 12000);
	reads("12\xc2\xb5s", 12000);
	reads("12\xce\xbcs", 12000);
	reads("0.3333333333333333333h", INT64_C(1199999999999));
	reads("0.9ns", 0);
	reads("00012s", 12 * SECOND);
	reads("9223372036854775807ns", INT64_MAX);
	reads("-9223372036854775808ns", INT64_MIN);
	reads("-2562047h47m16.854775808s", INT64_MIN);
}

T_CASE(refuses_what_go_refuses)
{
	static const char *const bad[] = {"",    "3",     "-",         "s",      ".",
	                                  "-.",  ".s",    "+.s",       "1e3s",   " 5s",
	                                  "5s ", "5 s",   "--5s",      "1.1.1s", "5S",
	                                  "5d",  "1h-5m", "\xc2\xb5s", "5\xb5s", "1m5"};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refuses(bad[i], PL_INVALID);
	refuses("9223372036854775808ns", PL_LIMIT);
	refuses("-9223372036854775809ns", PL_LIMIT);
	refuses("2562048h", PL_LIMIT);
	refuses("99999999999999999999999999h", PL_LIMIT);
	refuses("9223372036854775807ns1ns", PL_LIMIT);
}

T_CASE(errors_quote_the_text)
{
	struct pl_err err = {0};
	int64_t got;

	T_EQ(pl_duration_ns(pl_span_str("5 min\x1b"), &got, &err), PL_INVALID);
	T_STR(err.msg, "want a duration like 1m30s or 250ms, got '5 min\\x1b'");
}

T_CASE(milliseconds_within_bounds)
{
	struct pl_err err = {0};
	uint64_t got = 0;

	T_OK(pl_duration_ms(PL_SPAN_LIT("1.5s"), 1, 60000, &got, &err), &err);
	T_EQ(got, 1500);
	T_OK(pl_duration_ms(PL_SPAN_LIT("1m"), 1, 60000, &got, &err), &err);
	T_OK(pl_duration_ms(PL_SPAN_LIT("0"), 0, 5, &got, &err), &err);
	T_EQ(got, 0);
	T_EQ(pl_duration_ms(PL_SPAN_LIT("61s"), 1, 60000, &got, &err), PL_LIMIT);
	T_STR(err.msg, "want 1ms to 1m0s, got '61s'");
	T_EQ(pl_duration_ms(PL_SPAN_LIT("0"), 1, 60000, &got, &err), PL_LIMIT);
	T_EQ(pl_duration_ms(PL_SPAN_LIT("-5s"), 0, 60000, &got, &err), PL_LIMIT);
	T_EQ(pl_duration_ms(PL_SPAN_LIT("1500us"), 1, 60000, &got, &err), PL_INVALID);
	T_STR(err.msg, "want whole milliseconds, got '1500us'");
	T_EQ(pl_duration_ms(PL_SPAN_LIT("x"), 1, 60000, &got, NULL), PL_INVALID);
}

T_CASE(prints_as_go_does)
{
	prints(0, "0s");
	prints(1, "1ns");
	prints(1100, "1.1\xc2\xb5s");
	prints(2200000, "2.2ms");
	prints(250000000, "250ms");
	prints(SECOND * 3 / 2, "1.5s");
	prints(SECOND * 60, "1m0s");
	prints(SECOND * 5400, "1h30m0s");
	prints(SECOND * 3600 + 1, "1h0m0.000000001s");
	prints(-SECOND, "-1s");
	prints(INT64_MAX, "2562047h47m16.854775807s");
	prints(INT64_MIN, "-2562047h47m16.854775808s");
}

T_CASE(printed_durations_read_back)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int i = 0; i < 20000; i++) {
		int64_t ns = (int64_t)(pl_rng_next(&rng) >> pl_rng_below(&rng, 64));
		char text[PL_DURATION_TEXT_SIZE];

		if (pl_rng_chance(&rng, 1, 2))
			ns = -(ns / 2);
		reads(pl_duration_print(ns, text), ns);
	}
}
