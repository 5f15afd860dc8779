#include <stdio.h>

#include "coord/access/roles/access_document.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;
static struct access_document document;

static enum pl_code parse(const char *text)
{
	struct pl_json json = {0};

	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(text), NULL, &json, &err), &err);
	return access_document_parse(json, &arena, &document, &err);
}

static void accept(const char *text)
{
	T_OK(parse(text), &err);
}

static void refuse(const char *text, const char *why)
{
	T_CODE(parse(text), PL_INVALID, &err);
	T_STR(err.msg, why);
}

static const char *printed(void)
{
	static char text[1 << 16];
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, sizeof text - 1);
	pl_json_out_init(&out, &buf);
	access_document_print(&document, &out);
	T_OK(pl_json_out_done(&out), NULL);
	memcpy(text, buf.at, buf.len);
	text[buf.len] = 0;
	pl_buf_done(&buf);
	return text;
}

#define LIMITS                                                                  \
	"\"limits\":{\"inflight\":256,\"inflight_per_user\":16,\"queue\":1024," \
	"\"queue_per_user\":16,\"queue_ms\":5000,\"watches\":100000,"           \
	"\"watches_per_user\":10000}"

T_CASE(an_empty_document_has_the_defaults)
{
	accept("{}");
	T_STR(printed(), "{\"bindings\":[]," LIMITS "}");
}

T_CASE(faults_have_their_path)
{
	refuse("[]", "document: want an object, got an array");
	refuse("{\"binding\":[]}", "binding: unknown field");
	refuse("{\"bindings\":{}}", "bindings: want an array, got an object");
	refuse("{\"bindings\":[7]}", "bindings[0]: want an object, got a number");
	refuse("{\"bindings\":[{}]}", "bindings[0].role: missing");
	refuse("{\"bindings\":[{\"role\":\"root\",\"users\":[\"a\"]}]}",
	       "bindings[0].role: want viewer, editor, operator, admin or connector");
	refuse("{\"bindings\":[{\"role\":\"viewer\"}]}",
	       "bindings[0]: want users or groups");
	refuse("{\"bindings\":[{\"role\":\"viewer\",\"users\":[]}]}",
	       "bindings[0].users: want one at least");
	refuse("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"\"]}]}",
	       "bindings[0].users[0]: want 1 to 1024 bytes without control characters");
	refuse("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"a\\nb\"]}]}",
	       "bindings[0].users[0]: want 1 to 1024 bytes without control characters");
	refuse("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"a\",\"b\",\"a\"]}]}",
	       "bindings[0].users: 'a' stands twice");
	refuse("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"a\"],\"rules\":[]}]}",
	       "bindings[0].rules: unknown field");
	refuse("{\"bindings\":[{\"role\":\"editor\",\"users\":[\"a\"],"
	       "\"namespaces\":[\"A\"]}]}",
	       "bindings[0].namespaces[0]: namespace 'A': want only a-z, 0-9 and -");
	refuse("{\"bindings\":[{\"role\":\"editor\",\"users\":[\"a\"],"
	       "\"namespaces\":[\"*\"]}]}",
	       "bindings[0].namespaces[0]: namespace '*': want only a-z, 0-9 and -");
	refuse("{\"bindings\":[{\"role\":\"editor\",\"users\":[\"a\"],"
	       "\"namespaces\":[]}]}",
	       "bindings[0].namespaces: want one at least");
	refuse("{\"bindings\":[{\"role\":\"editor\",\"users\":[\"a\"],"
	       "\"clusters\":[\"a\"]}]}",
	       "bindings[0].clusters: only of a connector");
	refuse("{\"bindings\":[{\"role\":\"connector\",\"users\":[\"a\"]}]}",
	       "bindings[0]: want clusters: a connector is one of some clusters");
	refuse("{\"bindings\":[{\"role\":\"connector\",\"users\":[\"a\"],"
	       "\"clusters\":[\"a\"],\"namespaces\":[\"b\"]}]}",
	       "bindings[0].namespaces: not of a connector");
	refuse("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"system:anonymous\"]}]}",
	       "bindings[0].users[0]: clients without a credential can have no role");
	refuse("{\"bindings\":[{\"role\":\"viewer\",\"groups\":"
	       "[\"system:unauthenticated\"]}]}",
	       "bindings[0].groups[0]: clients without a credential can have no role");
	refuse("{\"limits\":{\"inflight\":0}}",
	       "limits.inflight: want 1 to 100000, got 0");
	refuse("{\"limits\":{\"qps\":1}}", "limits.qps: unknown field");
}

T_CASE(there_are_ten_thousand_bindings_at_most)
{
	static char text[64 * 10001 + 64];
	size_t len = (size_t)snprintf(text, sizeof text, "{\"bindings\":[");

	for (unsigned i = 0; i <= ACCESS_BINDINGS_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof text - len,
		                        "%s{\"role\":\"viewer\",\"users\":[\"u%u\"]}",
		                        i == 0 ? "" : ",", i);
	(void)snprintf(text + len, sizeof text - len, "]}");
	T_CODE(parse(text), PL_LIMIT, &err);
	T_STR(err.msg, "bindings: more than 10000");
}

T_CASE(what_is_printed_is_read_again)
{
	static char first[1 << 16];

	accept("{\"bindings\":[{\"role\":\"editor\",\"users\":[\"b\",\"a\"],"
	       "\"groups\":[\"g\"],\"namespaces\":[\"shop\"]},"
	       "{\"role\":\"connector\",\"users\":[\"east\"],\"clusters\":[\"east\"]}],"
	       "\"limits\":{\"queue\":0}}");
	(void)snprintf(first, sizeof first, "%s", printed());
	accept(first);
	T_STR(printed(), first);
	T_EQ(document.limits.queue, 0);
	T_EQ(document.limits.inflight, 256);
}

static enum pl_code tortured(void)
{
	struct pl_arena small;
	struct access_document out;
	struct pl_json json = {0};
	enum pl_code code;

	pl_arena_init(&small, 64, 0);
	code = pl_json_parse(&small,
	                     PL_SPAN_LIT("{\"bindings\":[{\"role\":\"editor\",\"users\":["
	                                 "\"a\",\"b\"],\"namespaces\":[\"x\"]}]}"),
	                     NULL, &json, &err);
	if (code == PL_OK)
		code = access_document_parse(json, &small, &out, &err);
	pl_arena_done(&small);
	return code;
}

T_CASE(memory_may_run_out)
{
	t_torture(tortured, false);
}
