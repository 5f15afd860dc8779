#include <stdlib.h>

#include "store/base/fault.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "tests/harness/t.h"

static struct pl_buf buf;
static struct pl_json_out out;

static void begin(void)
{
	pl_buf_done(&buf);
	pl_buf_init(&buf, 4096);
	pl_json_out_init(&out, &buf);
}

static void wrote(const char *want)
{
	T_EQ(pl_json_out_done(&out), PL_OK);
	T_EQ(pl_buf_add(&buf, pl_span("", 1)), PL_OK);
	T_STR((const char *)buf.at, want);
	pl_buf_done(&buf);
}

static void write_everything(void)
{
	pl_json_out_object(&out);
	pl_json_out_name(&out, "v");
	pl_json_out_int(&out, 1);
	pl_json_out_name(&out, "list");
	pl_json_out_array(&out);
	pl_json_out_str(&out, "a");
	pl_json_out_array(&out);
	pl_json_out_end(&out);
	pl_json_out_object(&out);
	pl_json_out_end(&out);
	pl_json_out_bool(&out, true);
	pl_json_out_bool(&out, false);
	pl_json_out_null(&out);
	pl_json_out_raw(&out, PL_SPAN_LIT("[1,2]"));
	pl_json_out_end(&out);
	pl_json_out_name_span(&out, PL_SPAN_LIT("q\"k"));
	pl_json_out_int_string(&out, -5);
	pl_json_out_end(&out);
}

T_CASE(commas_follow_the_nesting)
{
	begin();
	write_everything();
	wrote("{\"v\":1,\"list\":[\"a\",[],{},true,false,null,[1,2]],\"q\\\"k\":\"-5\"}");
}

T_CASE(special_characters_are_escaped)
{
	begin();
	pl_json_out_string(&out, PL_SPAN_LIT("\0\x01\x1f\x7f \"\\/\b\f\n\r\t é😀"));
	wrote("\"\\u0000\\u0001\\u001f\x7f \\\"\\\\/\\b\\f\\n\\r\\t é😀\"");
}

T_CASE(bytes_that_are_not_utf8_are_replaced)
{
	begin();
	pl_json_out_string(&out, PL_SPAN_LIT("a\xff\xc3\xed\xa0\x80z\xe2\x82"));
	wrote("\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"
	      "\xef\xbf\xbd\xef\xbf\xbd\"");
}

T_CASE(numbers_are_written_exactly)
{
	begin();
	pl_json_out_array(&out);
	pl_json_out_int(&out, 0);
	pl_json_out_int(&out, INT64_C(9007199254740991));
	pl_json_out_int(&out, INT64_C(9007199254740992));
	pl_json_out_int(&out, -INT64_C(9007199254740991));
	pl_json_out_int(&out, INT64_MIN);
	pl_json_out_double(&out, 0.1);
	pl_json_out_double(&out, 1e300);
	pl_json_out_double(&out, 1.0 / 3);
	pl_json_out_end(&out);
	wrote("[0,9007199254740991,\"9007199254740992\",-9007199254740991,"
	      "\"-9223372036854775808\",0.1,1e+300,0.3333333333333333]");
}

T_CASE(a_string_of_every_byte_reads_back)
{
	struct pl_arena arena;
	struct pl_json root;
	const char *text = NULL;
	char all[128];

	for (int i = 1; i < 128; i++)
		all[i - 1] = (char)i;
	all[127] = 0;
	begin();
	pl_json_out_str(&out, all);
	T_EQ(pl_json_out_done(&out), PL_OK);
	pl_arena_init(&arena, 0, 0);
	T_EQ(pl_json_parse(&arena, pl_buf_span(&buf), NULL, &root, NULL), PL_OK);
	T_EQ(pl_json_as_string(root, &text, NULL), PL_OK);
	T_STR(text, all);
	pl_arena_done(&arena);
	pl_buf_done(&buf);
}

static void copied(const char *text, enum pl_code want)
{
	struct pl_arena arena;
	struct pl_json root = {0};

	pl_arena_init(&arena, 0, 0);
	T_EQ(pl_json_parse(&arena, pl_span_str(text), NULL, &root, NULL), PL_OK);
	begin();
	pl_json_out_object(&out);
	pl_json_out_name(&out, "copy");
	pl_json_out_value(&out, root);
	pl_json_out_name(&out, "more");
	pl_json_out_null(&out);
	pl_json_out_end(&out);
	T_EQ(pl_json_out_done(&out), want);
	if (want == PL_OK) {
		T_EQ(buf.len, strlen(text) + sizeof "{\"copy\":,\"more\":null}" - 1);
		T_MEM(buf.at + 8, text, strlen(text));
	}
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

T_CASE(values_that_were_read_are_written_unchanged)
{
	char deep[2 * PL_JSON_OUT_DEPTH_MAX + 1] = {0};

	copied("7", PL_OK);
	copied("\"9007199254740993\"", PL_OK);
	copied("[]", PL_OK);
	copied("{\"a\":{\"b\":[1,[],{},[2.5,-1e+300]],\"c\":null},\"d\":[true,false]}",
	       PL_OK);
	memset(deep, '[', PL_JSON_OUT_DEPTH_MAX - 1);
	memset(deep + PL_JSON_OUT_DEPTH_MAX - 1, ']', PL_JSON_OUT_DEPTH_MAX - 1);
	copied(deep, PL_OK);
	memset(deep, '[', PL_JSON_OUT_DEPTH_MAX);
	memset(deep + PL_JSON_OUT_DEPTH_MAX, ']', PL_JSON_OUT_DEPTH_MAX);
	copied(deep, PL_LIMIT);
}

T_CASE(the_first_failure_sticks)
{
	for (size_t max = 1; max < 60; max++) {
		pl_buf_init(&buf, max);
		pl_json_out_init(&out, &buf);
		write_everything();
		T_EQ(pl_json_out_done(&out), PL_LIMIT);
		pl_buf_done(&buf);
	}
}

T_CASE(every_allocation_may_fail)
{
	uint64_t nth = 1;

	for (;; nth++) {
		begin();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		for (int i = 0; i < 1; i++)
			write_everything();
		if (!pl_fault_fired(PL_FAULT_ALLOC))
			break;
		T_EQ(pl_json_out_done(&out), PL_NOMEM);
	}
	T_EQ(pl_json_out_done(&out), PL_OK);
	T_TRUE(nth > 1);
	pl_buf_done(&buf);
}
