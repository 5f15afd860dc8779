#include "store/base/quantity.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static struct pl_quantity read_one(const char *text)
{
	struct pl_quantity out = {.nano = -77};
	struct pl_err err = {0};

	T_OK(pl_quantity_parse(pl_span_str(text), &out, &err), &err);
	return out;
}

enum { BEYOND = -12345 }; /* for milli: 64 bits cannot hold it */

struct row {
	const char *text;
	int64_t units;
	int64_t milli;
	const char *canonical;
};

static void check(const struct row *row)
{
	struct pl_quantity quantity = read_one(row->text);
	char text[PL_QUANTITY_TEXT_SIZE];
	int64_t milli = BEYOND;
	enum pl_code code = pl_quantity_milli(quantity, &milli, NULL);

	if (strcmp(pl_quantity_print(quantity, text), row->canonical) != 0)
		t_fail(__FILE__, __LINE__, "%s prints as %s, want %s", row->text, text,
		       row->canonical);
	if (pl_quantity_units(quantity) != row->units || milli != row->milli)
		t_fail(__FILE__, __LINE__, "%s is %" PRId64 " and %" PRId64 " m",
		       row->text, pl_quantity_units(quantity), milli);
	T_EQ(code, row->milli == BEYOND ? PL_LIMIT : PL_OK);
}

T_CASE(values_and_canonical_forms)
{
	static const struct row rows[] = {
		{"0", 0, 0, "0"},
		{"0n", 0, 0, "0"},
		{"-0", 0, 0, "0"},
		{"+0.000Gi", 0, 0, "0"},
		{"1", 1, 1000, "1"},
		{"+5", 5, 5000, "5"},
		{"007", 7, 7000, "7"},
		{"250m", 1, 250, "250m"},
		{"1500m", 2, 1500, "1500m"},
		{"2000m", 2, 2000, "2"},
		{"0.1", 1, 100, "100m"},
		{".5", 1, 500, "500m"},
		{"5.", 5, 5000, "5"},
		{"1n", 1, 1, "1n"},
		{"0.1n", 1, 1, "1n"},
		{"1u", 1, 1, "1u"},
		{"1001u", 1, 2, "1001u"},
		{"12k", 12000, 12000000, "12k"},
		{"1000", 1000, 1000000, "1k"},
		{"1500", 1500, 1500000, "1500"},
		{"1M", 1000000, 1000000000, "1M"},
		{"1G", 1000000000, INT64_C(1000000000000), "1G"},
		{"1T", INT64_C(1000000000000), INT64_C(1000000000000000), "1T"},
		{"1P", INT64_C(1000000000000000), INT64_C(1000000000000000000), "1P"},
		{"1E", INT64_C(1000000000000000000), BEYOND, "1E"},
		{"1Ki", 1024, 1024000, "1Ki"},
		{"0.5Ki", 512, 512000, "512"},
		{"1023", 1023, 1023000, "1023"},
		{"1.5Gi", INT64_C(1610612736), INT64_C(1610612736000), "1536Mi"},
		{"64Mi", 67108864, INT64_C(67108864000), "64Mi"},
		{"1024Mi", 1073741824, INT64_C(1073741824000), "1Gi"},
		{"0.0009765625Ki", 1, 1000, "1"},
		{"1.0000001Ki", 1025, 1024001, "1025"},
		{"1Ti", INT64_C(1) << 40, (INT64_C(1) << 40) * 1000, "1Ti"},
		{"1Pi", INT64_C(1) << 50, (INT64_C(1) << 50) * 1000, "1Pi"},
		{"7Ei", INT64_C(7) << 60, BEYOND, "7Ei"},
		{"2e3", 2000, 2000000, "2e3"},
		{"2E3", 2000, 2000000, "2e3"},
		{"1e+6", 1000000, 1000000000, "1e6"},
		{"15e2", 1500, 1500000, "1500"},
		{"5e-1", 1, 500, "500e-3"},
		{"1e0", 1, 1000, "1"},
		{"1e-100", 1, 1, "1e-9"},
		{"0e999999999999999999", 0, 0, "0"},
		{"-1.5", -2, -1500, "-1500m"},
		{"-1n", -1, -1, "-1n"},
		{"-2Ki", -2048, -2048000, "-2Ki"},
		{"9223372036854775807", INT64_MAX, BEYOND, "9223372036854775807"},
		{"9223372036854775.807k", INT64_MAX, BEYOND, "9223372036854775807"},
		{"9223372036854775807000000000n", INT64_MAX, BEYOND,
	         "9223372036854775807"},
		{"9223372036854775.807", INT64_C(9223372036854776), INT64_MAX,
	         "9223372036854775807m"},
		{"0.3333333333333333333333333333333333333333", 1, 334, "333333334n"},
		{"1.000000000000000000000000000000000000000000", 1, 1000, "1"},
		{"100000000000000000000000000000000e-32", 1, 1000, "1"},
		{"7.9999999999999999Ei", INT64_C(9223372036854775693), BEYOND,
	         "9223372036854775693"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check(&rows[i]);
}

static void refuses(const char *text, enum pl_code want)
{
	struct pl_quantity out = {.nano = -77};
	struct pl_err err = {0};
	enum pl_code code = pl_quantity_parse(pl_span_str(text), &out, &err);

	if (code != want)
		t_fail(__FILE__, __LINE__, "%s: %s", text, pl_code_name(code));
	T_EQ(err.code, want);
	T_TRUE(out.nano == -77);
}

T_CASE(text_that_is_no_quantity_is_refused)
{
	static const char *const bad[] = {
		"",      "-",     "+",     ".",    "-.",    "1.1.M",    "1+1.0M",
		"0.1mi", "0.1am", "aoeu",  ".5i",  "1i",    "-3.01i",   "-3.01e-",
		"1e",    "1e+",   "1K",    "1ki",  "1 ",    " 1",       "1 k",
		"1kk",   "++1",   "1e1.5", "1Mib", "m",     "Gi",       "1e5k",
		"1ee5",  "0x10",  "1,000", "1Ni",  "1e--5", "1\xc2\xb5"};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refuses(bad[i], PL_INVALID);
}

T_CASE(quantities_that_do_not_fit_are_refused)
{
	char text[300];

	refuses("9223372036854775807.000000001", PL_LIMIT);
	refuses("9223372036854775808", PL_LIMIT);
	refuses("-9223372036854775808", PL_LIMIT);
	refuses("8Ei", PL_LIMIT);
	refuses("10E", PL_LIMIT);
	refuses("1e19", PL_LIMIT);
	refuses("1e99999999999999999999999", PL_LIMIT);
	refuses("9223372036854775807000000000.1n", PL_LIMIT);
	refuses("12345678901234567890123456789012345", PL_LIMIT);
	refuses("0.12345678901234567891Ki", PL_LIMIT);
	memset(text, '1', sizeof text);
	text[257] = 0;
	refuses(text, PL_INVALID);
	text[256] = 0;
	refuses(text, PL_LIMIT);
}

T_CASE(errors_quote_the_text)
{
	struct pl_quantity out = read_one("1E");
	struct pl_err err = {0};
	int64_t milli = 5;

	T_EQ(pl_quantity_milli(out, &milli, &err), PL_LIMIT);
	T_STR(err.msg, "1E is too large in thousandths");
	T_EQ(milli, 5);
	T_EQ(pl_quantity_parse(PL_SPAN_LIT("4 GB"), &out, &err), PL_INVALID);
	T_STR(err.msg, "want a quantity like 250m or 1.5Gi, got '4 GB'");
}

T_CASE(printed_quantities_read_back)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int i = 0; i < 20000; i++) {
		struct pl_quantity q, back;
		char text[PL_QUANTITY_TEXT_SIZE];
		uint64_t units = pl_rng_next(&rng) >> pl_rng_between(&rng, 1, 63);

		q.form = (enum pl_quantity_form)pl_rng_below(&rng, 3);
		q.nano = (pl_int128)units * 1000000000;
		if (q.form != PL_QUANTITY_BINARY && units < INT64_MAX)
			q.nano += (pl_int128)pl_rng_below(&rng, 1000000000);
		if (pl_rng_chance(&rng, 1, 2))
			q.nano = -q.nano;
		back = read_one(pl_quantity_print(q, text));
		T_TRUE(back.nano == q.nano);
		T_TRUE(back.form == q.form || q.form != PL_QUANTITY_DECIMAL);
	}
}
