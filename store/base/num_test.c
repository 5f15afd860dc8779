#include <stdio.h>

#include "store/base/num.h"
#include "store/base/quote.h"
#include "store/base/rng.h"
#include "store/base/utf8.h"
#include "tests/harness/t.h"

static enum pl_code u64(const char *text, uint64_t *out)
{
	struct pl_err err = {0};
	enum pl_code code = pl_num_u64(pl_span_str(text), out, &err);

	T_EQ(err.code, code);
	return code;
}

static enum pl_code i64(const char *text, int64_t *out)
{
	struct pl_err err = {0};
	enum pl_code code = pl_num_i64(pl_span_str(text), out, &err);

	T_EQ(err.code, code);
	return code;
}

T_CASE(limits_of_the_types_are_read)
{
	uint64_t u = 5;
	int64_t i = 5;

	T_EQ(u64("0", &u), PL_OK);
	T_EQ(u, 0);
	T_EQ(u64("18446744073709551615", &u), PL_OK);
	T_TRUE(u == UINT64_MAX);
	T_EQ(i64("9223372036854775807", &i), PL_OK);
	T_EQ(i, INT64_MAX);
	T_EQ(i64("-9223372036854775808", &i), PL_OK);
	T_EQ(i, INT64_MIN);
	T_EQ(i64("-1", &i), PL_OK);
	T_EQ(i, -1);
	T_EQ(i64("0", &i), PL_OK);
	T_EQ(i, 0);
}

T_CASE(numbers_past_the_limits_are_refused)
{
	uint64_t u = 5;
	int64_t i = 5;

	T_EQ(u64("18446744073709551616", &u), PL_LIMIT);
	T_EQ(u64("99999999999999999999999999999", &u), PL_LIMIT);
	T_EQ(i64("9223372036854775808", &i), PL_LIMIT);
	T_EQ(i64("-9223372036854775809", &i), PL_LIMIT);
	T_EQ(i64("-99999999999999999999999", &i), PL_LIMIT);
	T_EQ(u, 5);
	T_EQ(i, 5);
}

T_CASE(text_with_more_than_a_number_is_refused)
{
	static const char *const bad[] = {"",
	                                  "-",
	                                  "+1",
	                                  " 1",
	                                  "1 ",
	                                  "01",
	                                  "00",
	                                  "-0",
	                                  "--1",
	                                  "0x1",
	                                  "1.0",
	                                  "1e3",
	                                  "a",
	                                  "1a",
	                                  "1\n",
	                                  "-01",
	                                  "999999999999999999999999x"};

	for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
		uint64_t u = 5;
		int64_t i = 5;

		T_EQ(u64(bad[n], &u), PL_INVALID);
		T_EQ(i64(bad[n], &i), PL_INVALID);
		T_TRUE(u == 5 && i == 5);
	}
	T_EQ(pl_num_u64(PL_SPAN_LIT("1\0"), &(uint64_t){0}, NULL), PL_INVALID);
	T_EQ(u64("-1", &(uint64_t){0}), PL_INVALID);
}

T_CASE(ranges_and_ports_are_bounded)
{
	struct pl_err err = {0};
	uint16_t port = 1;
	uint64_t u = 0;
	int64_t i = 0;

	T_OK(pl_num_port(PL_SPAN_LIT("65535"), &port, &err), &err);
	T_EQ(port, 65535);
	T_EQ(pl_num_port(PL_SPAN_LIT("0"), &port, &err), PL_LIMIT);
	T_EQ(pl_num_port(PL_SPAN_LIT("65536"), &port, &err), PL_LIMIT);
	T_STR(err.msg, "want 1 to 65535, got '65536'");
	T_EQ(pl_num_port(PL_SPAN_LIT("http"), &port, &err), PL_INVALID);
	T_STR(err.msg, "want a whole number, got 'http'");
	T_OK(pl_num_i64_in(PL_SPAN_LIT("-5"), -5, 5, &i, &err), &err);
	T_EQ(pl_num_i64_in(PL_SPAN_LIT("-6"), -5, 5, &i, &err), PL_LIMIT);
	T_STR(err.msg, "want -5 to 5, got '-6'");
	T_EQ(pl_num_i64_in(PL_SPAN_LIT("99999999999999999999"), -5, 5, &i, &err),
	     PL_LIMIT);
	T_EQ(pl_num_u64_in(PL_SPAN_LIT("99999999999999999999"), 0, 5, &u, &err),
	     PL_LIMIT);
	T_EQ(pl_num_u64_in(PL_SPAN_LIT("5"), 5, 5, &u, NULL), PL_OK);
	T_EQ(i, -5);
	T_EQ(u, 5);
}

T_CASE(printing_reads_back_and_agrees_with_printf)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int n = 0; n < 20000; n++) {
		uint64_t u = pl_rng_next(&rng) >> pl_rng_below(&rng, 64), u_back = 0;
		int64_t i = (int64_t)u, i_back = 0;
		char text[PL_NUM_TEXT_SIZE], want[PL_NUM_TEXT_SIZE];

		T_EQ(pl_num_print_u64(text, u),
		     snprintf(want, sizeof want, "%" PRIu64, u));
		T_STR(text, want);
		T_EQ(u64(text, &u_back), PL_OK);
		T_TRUE(u == u_back);
		T_EQ(pl_num_print_i64(text, i),
		     snprintf(want, sizeof want, "%" PRId64, i));
		T_STR(text, want);
		T_EQ(i64(text, &i_back), PL_OK);
		T_EQ(i, i_back);
	}
	T_EQ(pl_num_print_i64((char[PL_NUM_TEXT_SIZE]){0}, INT64_MIN), 20);
}

static const char *quoted(struct pl_span text)
{
	static char out[PL_QUOTE_SIZE];

	memset(out, 'Z', sizeof out);
	return pl_quote(text, out);
}

T_CASE(quotes_are_safe_to_print)
{
	T_STR(quoted(PL_SPAN_LIT("")), "''");
	T_STR(quoted(PL_SPAN_LIT("plain é😀")), "'plain é😀'");
	T_STR(quoted(PL_SPAN_LIT("a\0\n'\\\x7f\xff\xc2\x9b z")),
	      "'a\\x00\\x0a\\x27\\x5c\\x7f\\xff\\xc2\\x9b z'");
}

T_CASE(quotes_are_cut_between_characters)
{
	struct pl_span smile = PL_SPAN_LIT("😀");
	char text[300];

	memset(text, 'a', sizeof text);
	for (size_t len = 0; len < sizeof text; len++) {
		const char *out = quoted(pl_span(text, len));
		size_t want = len <= 69 ? len + 2 : 71;

		T_EQ(strlen(out), want);
		T_TRUE(out[want - 1] == '\'' && (len <= 69 || out[want - 2] == '.'));
	}
	for (size_t i = 0; i + 4 <= sizeof text; i += 4)
		memcpy(text + i, smile.at, smile.len);
	for (size_t from = 0; from < 8; from++) {
		const char *out = quoted(pl_span(text, 64 + from * 4));
		size_t len = strlen(out);

		T_TRUE(len < PL_QUOTE_SIZE);
		for (size_t at = 0; at < len;) {
			size_t step = pl_utf8_char((const uint8_t *)out + at, len - at);

			T_TRUE(step > 0);
			at += step;
		}
	}
}

T_CASE(utf8_follows_the_rfc)
{
	static const struct {
		const char *text;
		size_t len;
		size_t want;
	} rows[] = {
		{"", 0, 0},
		{"\0", 1, 1},
		{"\x7f", 1, 1},
		{"\x80", 1, 0},
		{"\xc1\xbf", 2, 0},
		{"\xc2\x80", 2, 2},
		{"\xdf\xbf", 2, 2},
		{"\xc2", 1, 0},
		{"\xc2\x41", 2, 0},
		{"\xe0\x9f\xbf", 3, 0},
		{"\xe0\xa0\x80", 3, 3},
		{"\xed\x9f\xbf", 3, 3},
		{"\xed\xa0\x80", 3, 0},
		{"\xef\xbf\xbf", 3, 3},
		{"\xe2\x82", 2, 0},
		{"\xe2\x82\x41", 3, 0},
		{"\xf0\x8f\xbf\xbf", 4, 0},
		{"\xf0\x90\x80\x80", 4, 4},
		{"\xf4\x8f\xbf\xbf", 4, 4},
		{"\xf4\x90\x80\x80", 4, 0},
		{"\xf5\x80\x80\x80", 4, 0},
		{"\xff", 1, 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		T_EQ(pl_utf8_char((const uint8_t *)rows[i].text, rows[i].len),
		     rows[i].want);
}
