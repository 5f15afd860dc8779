#include <stdio.h>

#include "coord/meta/meta.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static const char whole[] = "{\"v\":1,\"partitions\":64,"
			    "\"created\":\"2026-11-21T05:00:00.000Z\","
			    "\"version\":\"0.1.0\","
			    "\"incarnation\":\"0123456789abcdef0123456789abcdef\"}";

T_CASE(what_is_printed_parses_again)
{
	struct meta meta = {.partitions = 64,
	                    .created_ms = INT64_C(1795237200000),
	                    .version = "0.1.0",
	                    .incarnation = "0123456789abcdef0123456789abcdef"};
	struct meta again = {0};
	struct pl_buf buf;
	struct pl_err err;

	pl_buf_init(&buf, 4096);
	T_OK(meta_print(&meta, &buf, &err), &err);
	T_SPAN(pl_buf_span(&buf), pl_span_str(whole));
	T_OK(meta_parse(pl_buf_span(&buf), &again, &err), &err);
	T_EQ(again.partitions, 64);
	T_EQ(again.created_ms, meta.created_ms);
	T_STR(again.version, "0.1.0");
	T_STR(again.incarnation, meta.incarnation);
	pl_buf_done(&buf);
	pl_buf_init(&buf, 10);
	T_CODE(meta_print(&meta, &buf, &err), PL_LIMIT, &err);
	pl_buf_done(&buf);
}

static void refused(const char *from, const char *to, const char *why)
{
	const char *at = strstr(whole, from);
	struct meta meta = {.partitions = 7};
	struct pl_err err = {0};
	char text[512];

	T_TRUE(at != NULL);
	(void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to,
	               at + strlen(from));
	T_CODE(meta_parse(pl_span_str(text), &meta, &err), PL_INVALID, &err);
	T_EQ(meta.partitions, 7);
	if (strstr(err.msg, why) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in '%s'", why, err.msg);
}

T_CASE(malformed_values_are_refused_with_their_path)
{
	refused("\"v\":1", "\"v\":2", "v: want 1 to 1");
	refused("\"v\":1,", "", "v: ");
	refused(":64", ":0", "partitions: want 1 to 4096");
	refused(":64", ":4097", "partitions: want 1 to 4096");
	refused(":64", ":\"many\"", "partitions: ");
	refused("2026-11-21T", "yesterday", "created: ");
	refused("\"0.1.0\"", "\"0123456789012345678901234567890123\"",
	        "version: want at most 31 bytes");
	refused("abcdef\"}", "abcdeF\"}", "incarnation: want 32 hex digits");
	refused("abcdef\"}", "abcde\"}", "incarnation: want 32 hex digits");
	refused("}", "", "JSON");
}

T_CASE(other_shapes_are_refused)
{
	struct meta meta;
	struct pl_err err = {0};

	T_CODE(meta_parse(PL_SPAN_LIT("[]"), &meta, &err), PL_INVALID, &err);
	T_STR(err.msg, "document: want an object, got an array");
	T_CODE(meta_parse(PL_SPAN_LIT(""), &meta, &err), PL_INVALID, &err);
}

T_CASE(a_later_writer_may_add_fields)
{
	char text[512];
	struct meta meta;
	struct pl_err err;

	(void)snprintf(text, sizeof text, "{\"later\":[1],%s", whole + 1);
	T_OK(meta_parse(pl_span_str(text), &meta, &err), &err);
	T_EQ(meta.partitions, 64);
}

static enum pl_code torture(void)
{
	struct pl_err err = {0};
	struct meta meta;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, 4096);
	code = meta_parse(pl_span_str(whole), &meta, &err);
	if (code == PL_OK)
		code = meta_print(&meta, &buf, &err);
	pl_buf_done(&buf);
	return code;
}

T_CASE(a_want_of_memory_is_reported)
{
	t_torture(torture, false);
}
