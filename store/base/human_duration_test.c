/* Durations read as kubectl shows them. */
#include "store/base/human_duration.h"
#include "tests/harness/t.h"

enum { M = 60, H = 3600, D = 24 * H, Y = 365 * D };

T_CASE(durations_have_two_units_while_the_first_is_small)
{
	static const struct {
		int64_t s;
		const char *text;
	} cases[] = {
		{-2, "<invalid>"},
		{-1, "0s"},
		{0, "0s"},
		{119, "119s"},
		{120, "2m"},
		{9 * M + 59, "9m59s"},
		{10 * M + 30, "10m"},
		{3 * H - 1, "179m"},
		{3 * H, "3h"},
		{3 * H + 20 * M, "3h20m"},
		{8 * H - 1, "7h59m"},
		{8 * H + 59 * M, "8h"},
		{2 * D - 1, "47h"},
		{2 * D, "2d"},
		{2 * D + H, "2d1h"},
		{8 * D - 1, "7d23h"},
		{8 * D + 5 * H, "8d"},
		{2 * Y - 1, "729d"},
		{2 * Y, "2y"},
		{2 * Y + D, "2y1d"},
		{INT64_C(8) * Y - 1, "7y364d"},
		{INT64_C(8) * Y + D, "8y"},
	};
	char text[PL_HUMAN_DURATION_SIZE];

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		T_STR(pl_human_duration(cases[i].s * 1000, text), cases[i].text);
	T_STR(pl_human_duration(-999, text), "0s");
	T_STR(pl_human_duration(1999, text), "1s");
	(void)pl_human_duration(INT64_MAX, text);
	(void)pl_human_duration(INT64_MIN, text);
}

T_CASE(short_durations_have_one_unit)
{
	static const struct {
		int64_t s;
		const char *text;
	} cases[] = {
		{-2, "<invalid>"},
		{-1, "0s"},
		{59, "59s"},
		{60, "1m"},
		{H - 1, "59m"},
		{H, "1h"},
		{D - 1, "23h"},
		{D, "1d"},
		{Y - 1, "364d"},
		{Y + D, "1y"},
		{INT64_C(20) * Y, "20y"},
	};
	char text[PL_HUMAN_DURATION_SIZE];

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		T_STR(pl_human_duration_short(cases[i].s * 1000, text), cases[i].text);
}
