#include "tests/harness/t.h"

#include "shardsched/model/text.h"
#include "shardsched/model/timestamp.h"

#define BIT(fault) (UINT32_C(1) << TEXT_##fault)

static char long_text[400];

static struct pl_span times(char byte, size_t count)
{
	memset(long_text, byte, count);
	return pl_span(long_text, count);
}

T_CASE(labels_and_subdomains)
{
	T_EQ(text_label(PL_SPAN_LIT("a-1")), 0);
	T_EQ(text_label(times('a', 63)), 0);
	T_EQ(text_label(times('a', 64)), BIT(LABEL_LONG));
	T_EQ(text_label(PL_SPAN_LIT("a.b")), BIT(LABEL_DOTS));
	T_EQ(text_label(PL_SPAN_LIT("A")), BIT(LABEL_CHARS));
	T_EQ(text_label(PL_SPAN_LIT("")), BIT(LABEL_CHARS));
	T_EQ(text_label(PL_SPAN_LIT("-a")), BIT(LABEL_CHARS));
	T_EQ(text_subdomain(PL_SPAN_LIT("a.b-c.d")), 0);
	T_EQ(text_subdomain(PL_SPAN_LIT("a..b")), BIT(SUBDOMAIN_CHARS));
	T_EQ(text_subdomain(times('a', 254)), BIT(SUBDOMAIN_LONG));
}

T_CASE(keys_and_values)
{
	T_EQ(text_key(PL_SPAN_LIT("example.com/My_name.1")), 0);
	T_EQ(text_key(PL_SPAN_LIT("")), BIT(KEY_EMPTY) | BIT(KEY_CHARS));
	T_EQ(text_key(PL_SPAN_LIT("/a")), BIT(KEY_PREFIX_EMPTY));
	T_EQ(text_key(PL_SPAN_LIT("a/b/c")), BIT(KEY_PARTS));
	T_EQ(text_key(PL_SPAN_LIT("Example/b")), BIT(KEY_PREFIX_CHARS));
	T_EQ(text_key(times('k', 64)), BIT(KEY_LONG));
	T_EQ(text_value(PL_SPAN_LIT("")), 0);
	T_EQ(text_value(PL_SPAN_LIT("a_B.c-9")), 0);
	T_EQ(text_value(PL_SPAN_LIT("-a")), BIT(VALUE_CHARS));
	T_EQ(text_value(times('v', 64)), BIT(VALUE_LONG));
	T_EQ(text_port(PL_SPAN_LIT("http-1")), 0);
	T_EQ(text_port(PL_SPAN_LIT("12")), BIT(PORT_LETTER));
	T_EQ(text_port(PL_SPAN_LIT("a--b")), BIT(PORT_HYPHENS));
	T_EQ(text_port(PL_SPAN_LIT("-a")), BIT(PORT_ENDS));
	T_EQ(text_port(PL_SPAN_LIT("aaaaaaaaaaaaaaaa")), BIT(PORT_LONG));
}

T_CASE(moments)
{
	int64_t ms = -1;

	T_TRUE(timestamp_parse(PL_SPAN_LIT("1970-01-01T00:00:00Z"), &ms));
	T_EQ(ms, 0);
	T_TRUE(timestamp_parse(PL_SPAN_LIT("2026-11-21T05:00:00Z"), &ms));
	T_EQ(ms, 1795237200000);
	T_TRUE(timestamp_parse(PL_SPAN_LIT("2026-11-21T07:30:00.5+02:30"), &ms));
	T_EQ(ms, 1795237200500);
	T_TRUE(timestamp_parse(PL_SPAN_LIT("2024-02-29T00:00:00.123456789Z"), &ms));
	T_EQ(ms, 1709164800123);
	T_TRUE(!timestamp_parse(PL_SPAN_LIT("2023-02-29T00:00:00Z"), &ms));
	T_TRUE(!timestamp_parse(PL_SPAN_LIT("2023-02-28T24:00:00Z"), &ms));
	T_TRUE(!timestamp_parse(PL_SPAN_LIT("2023-02-28T00:00:00"), &ms));
	T_TRUE(!timestamp_parse(PL_SPAN_LIT("2023-02-28T00:00:00.Z"), &ms));
	T_TRUE(!timestamp_parse(PL_SPAN_LIT(""), &ms));
}
