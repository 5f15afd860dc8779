#include "shardsched/model/object.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct pl_buf buf;
static struct pl_err err;

static const char *print(const char *json, const struct object_change *changes,
                         size_t count)
{
	pl_buf_done(&buf);
	pl_buf_init(&buf, 1 << 16);
	T_OK(object_print(pl_span_str(json), changes, count, &buf, &err), &err);
	T_OK(pl_buf_add(&buf, pl_span("", 1)), NULL);
	return (const char *)buf.at;
}

T_CASE(unchanged_members_stay_as_they_were_written)
{
	T_STR(print(" { \"a\" : 1.50e3 , \"b\":[1, 2,{\"c\":\"}\"}],\"d\":\"\\\"\\u00e9\" } ",
	            NULL, 0),
	      "{\"a\":1.50e3,\"b\":[1, 2,{\"c\":\"}\"}],\"d\":\"\\\"\\u00e9\"}");
	T_STR(print("{}", NULL, 0), "{}");
	pl_buf_done(&buf);
}

T_CASE(members_are_replaced_added_and_removed)
{
	static const struct object_change bind[] = {
		{{"spec", "nodeName"}, "\"n1\""},
		{{"status", "nominatedNodeName"}, NULL},
		{{"metadata", "annotations", "a.b/c"}, "\"x\""},
		{{"metadata", "annotations", "d"}, "\"y\""},
		{{"gone", "deeper"}, NULL},
	};

	T_STR(print("{\"spec\":{\"x\":1,\"nodeName\":\"n0\",\"y\":2},"
	            "\"status\":{\"nominatedNodeName\":\"n2\",\"phase\":\"Pending\"}}",
	            bind, 5),
	      "{\"spec\":{\"x\":1,\"nodeName\":\"n1\",\"y\":2},"
	      "\"status\":{\"phase\":\"Pending\"},"
	      "\"metadata\":{\"annotations\":{\"a.b/c\":\"x\",\"d\":\"y\"}}}");
	T_STR(print("{\"spec\":null}", bind, 1), "{\"spec\":{\"nodeName\":\"n1\"}}");
	T_STR(print("{\"sp\\u0065c\":{}}", bind, 1),
	      "{\"sp\\u0065c\":{\"nodeName\":\"n1\"}}");
	pl_buf_done(&buf);
}

T_CASE(change_inside_a_value_that_is_no_object_is_refused)
{
	static const struct object_change change[] = {{{"spec", "a"}, "1"}};

	pl_buf_init(&buf, 1 << 16);
	T_CODE(object_print(PL_SPAN_LIT("{\"spec\":[1]}"), change, 1, &buf, &err),
	       PL_INVALID, &err);
	T_TRUE(strstr(err.msg, "spec") != NULL);
	pl_buf_done(&buf);
	pl_buf_init(&buf, 4);
	T_CODE(object_print(PL_SPAN_LIT("{\"spec\":{}}"), change, 1, &buf, &err),
	       PL_LIMIT, &err);
	pl_buf_done(&buf);
}

T_CASE(a_member_is_found)
{
	struct pl_span json = PL_SPAN_LIT("{\"a\":{\"b\":1},\"b\":[2],\"c\":null}");

	T_SPAN(object_member(json, "b"), PL_SPAN_LIT("[2]"));
	T_SPAN(object_member(json, "c"), PL_SPAN_LIT("null"));
	T_TRUE(object_member(json, "d").at == NULL);
}

T_CASE(elements_are_found_one_by_one)
{
	struct pl_span rest = PL_SPAN_LIT("[ {\"a\":[1,2]} , \"],\" ,3]");

	T_SPAN(object_item(&rest), PL_SPAN_LIT("{\"a\":[1,2]}"));
	T_SPAN(object_item(&rest), PL_SPAN_LIT("\"],\""));
	T_SPAN(object_item(&rest), PL_SPAN_LIT("3"));
	T_EQ(object_item(&rest).len, 0);
	rest = PL_SPAN_LIT(" []");
	T_EQ(object_item(&rest).len, 0);
}

T_CASE(values_in_a_row_are_found_one_by_one)
{
	struct pl_span rest = PL_SPAN_LIT(" {\"a\":1}\n[2]} x ");

	T_SPAN(object_next(&rest), PL_SPAN_LIT("{\"a\":1}"));
	T_SPAN(object_next(&rest), PL_SPAN_LIT("[2]"));
	T_SPAN(object_next(&rest), PL_SPAN_LIT("}"));
	T_SPAN(object_next(&rest), PL_SPAN_LIT("x"));
	T_EQ(object_next(&rest).len, 0);
}

static enum pl_code once(void)
{
	static const struct object_change change[] = {{{"spec", "a"}, "1"}};
	enum pl_code code;

	pl_buf_init(&buf, 1 << 16);
	code = object_print(PL_SPAN_LIT("{\"spec\":{}}"), change, 1, &buf, &err);
	pl_buf_done(&buf);
	return code;
}

T_CASE(without_memory_it_says_so)
{
	t_torture(once, false);
}

T_CASE(compact_removes_white_space)
{
	static const char *const cases[][2] = {
		{"{}", "{}"},
		{" { \"a b\" :\t[ 1 , 2.50 ,\r\n\"c  \\\" d\" ] } ",
	         "{\"a b\":[1,2.50,\"c  \\\" d\"]}"},
		{"\"  \"", "\"  \""},
	};

	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		pl_buf_init(&buf, 100);
		T_EQ(object_compact(pl_span_str(cases[i][0]), &buf), PL_OK);
		T_SPAN(pl_buf_span(&buf), pl_span_str(cases[i][1]));
		pl_buf_done(&buf);
	}
	pl_buf_init(&buf, 4);
	T_EQ(object_compact(PL_SPAN_LIT("[1,2,3]"), &buf), PL_LIMIT);
	pl_buf_done(&buf);
}
