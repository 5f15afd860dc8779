#include <stdio.h>

#include "coord/claims/owner.h"
#include "tests/harness/torture.h"

static struct owner owner;
static struct pl_err err;

static enum pl_code parse(const char *json)
{
	memset(&owner, 0, sizeof owner);
	owner.epoch = 7; /* comes from the key, so it is not touched */
	return owner_parse(pl_span_str(json), &owner, &err);
}

T_CASE(what_is_printed_parses)
{
	struct pl_buf buf;

	pl_buf_init(&buf, 1024);
	T_OK(owner_print(pl_span_str("east-0"), &buf, &err), &err);
	T_SPAN(pl_buf_span(&buf), pl_span_str("{\"v\":1,\"shard\":\"east-0\"}"));
	T_OK(owner_parse(pl_buf_span(&buf), &owner, &err), &err);
	T_STR(owner.shard, "east-0");
	pl_buf_done(&buf);
}

T_CASE(malformed_lines_are_refused)
{
	T_OK(parse("{\"v\":1,\"shard\":\"a\",\"later\":[1]}"), &err);
	T_EQ(owner.epoch, 7);
	T_EQ(parse(""), PL_INVALID);
	T_EQ(parse("[1]"), PL_INVALID);
	T_EQ(parse("{\"shard\":\"a\"}"), PL_INVALID);
	T_EQ(parse("{\"v\":2,\"shard\":\"a\"}"), PL_INVALID);
	T_TRUE(strstr(err.msg, "v") != NULL);
	T_EQ(parse("{\"v\":1}"), PL_INVALID);
	T_EQ(parse("{\"v\":1,\"shard\":7}"), PL_INVALID);
	T_EQ(parse("{\"v\":1,\"shard\":\"\"}"), PL_INVALID);
	T_EQ(parse("{\"v\":1,\"shard\":\"a/b\"}"), PL_INVALID);
	T_TRUE(strstr(err.msg, "shard") != NULL);
	T_EQ(parse("{\"v\":1,\"shard\":\"a\",\"shard\":\"b\"}"), PL_INVALID);
	T_STR(owner.shard, "");
}

T_CASE(sizes)
{
	char json[8192];
	char name[300];

	memset(name, 'a', sizeof name);
	for (size_t i = 63; i < sizeof name; i += 64)
		name[i] = '.';
	name[253] = 0;
	(void)snprintf(json, sizeof json, "{\"v\":1,\"shard\":\"%s\"}", name);
	T_OK(parse(json), &err);
	T_EQ(strlen(owner.shard), 253);
	name[253] = 'a';
	name[254] = 0;
	(void)snprintf(json, sizeof json, "{\"v\":1,\"shard\":\"%s\"}", name);
	T_EQ(parse(json), PL_INVALID);
	memset(json, ' ', sizeof json - 1);
	json[sizeof json - 1] = 0;
	T_EQ(parse(json), PL_LIMIT);
}

static enum pl_code parse_once(void)
{
	return parse("{\"v\":1,\"shard\":\"a\"}");
}

T_CASE(no_memory)
{
	t_torture(parse_once, false);
}
