#include "coord/membership/holder.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

T_CASE(printed_and_read)
{
	struct holder leader;
	struct pl_buf buf;
	struct pl_err err;

	pl_buf_init(&buf, 512);
	T_OK(holder_print(PL_SPAN_LIT("east-0"), &buf, &err), &err);
	T_SPAN(pl_buf_span(&buf), PL_SPAN_LIT("{\"v\":1,\"shard\":\"east-0\"}"));
	T_OK(holder_parse(pl_buf_span(&buf), &leader, &err), &err);
	T_STR(leader.shard, "east-0");
	pl_buf_done(&buf);
}

static void refuses(const char *json, const char *why)
{
	struct holder leader = {.shard = "as it was"};
	struct pl_err err = {0};

	T_CODE(holder_parse(pl_span_str(json), &leader, &err), PL_INVALID, &err);
	T_STR(err.msg, why);
	T_STR(leader.shard, "as it was");
}

T_CASE(refused)
{
	struct holder leader;

	refuses("{\"v\":2,\"shard\":\"a\"}", "v: want 1 to 1, got 2");
	refuses("{\"v\":1}", "shard: missing");
	refuses("{\"v\":1,\"shard\":\"A\"}", "shard 'A': want only a-z, 0-9, - and .");
	T_OK(holder_parse(PL_SPAN_LIT("{\"v\":1,\"shard\":\"a\",\"new\":[1]}"), &leader,
	                  NULL),
	     NULL);
}

static enum pl_code print_and_parse(void)
{
	struct holder leader;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, 512);
	code = holder_print(PL_SPAN_LIT("east-0"), &buf, NULL);
	if (code == PL_OK)
		code = holder_parse(pl_buf_span(&buf), &leader, NULL);
	pl_buf_done(&buf);
	return code;
}

T_CASE(torture)
{
	t_torture(print_and_parse, false);
}
