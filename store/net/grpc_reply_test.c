#include "store/base/fault.h"
#include "store/net/grpc_reply.h"
#include "tests/harness/t.h"

static void decoded(const char *in, const char *want)
{
	char out[64];

	T_EQ(grpc_text_decode(pl_span_str(in), out, sizeof out), strlen(want));
	T_STR(out, want);
}

T_CASE(valid_percent_encoding_is_decoded)
{
	decoded("", "");
	decoded("plain words", "plain words");
	decoded("a%20b%2Fc%2fd", "a b/c/d");
	decoded("100%", "100%");
	decoded("%4", "%4");
	decoded("%zz%4", "%zz%4");
	decoded("%c3%a4", "\xc3\xa4");
	decoded("line%0aline%00end\x7f", "line line end ");
}

T_CASE(long_text_is_cut)
{
	char out[4];

	T_EQ(grpc_text_decode(PL_SPAN_LIT("abcdef"), out, sizeof out), 3);
	T_STR(out, "abc");
	T_EQ(grpc_text_decode(PL_SPAN_LIT("abcdef"), out, 1), 0);
	T_STR(out, "");
}

struct pair {
	const char *name, *value;
};

static struct grpc_reply reply_of(const struct pair *pairs)
{
	struct grpc_reply reply = {0};

	for (; pairs->name != NULL; pairs++)
		grpc_reply_header(&reply, pl_span_str(pairs->name),
		                  pl_span_str(pairs->value));
	return reply;
}

static enum pl_code end_of(const struct pair *pairs)
{
	struct grpc_reply reply = reply_of(pairs);
	enum pl_code code = grpc_reply_end(&reply, NULL);

	grpc_reply_done(&reply);
	return code;
}

#define HEAD                                       \
	{":status", "200"},                        \
	{                                          \
		"content-type", "application/grpc" \
	}
#define PAIRS(...) ((const struct pair[]){__VA_ARGS__, {NULL, NULL}})

T_CASE(a_valid_end)
{
	struct grpc_reply reply = reply_of(PAIRS(
		HEAD, {"date", "x"}, {"grpc-status", "16"}, {"grpc-message", "no%21"}));

	T_OK(grpc_reply_end(&reply, NULL), NULL);
	T_EQ(reply.grpc_status, 16);
	T_STR(reply.text, "no!");
	grpc_reply_done(&reply);
}

T_CASE(invalid_ends)
{
	T_CODE(end_of(PAIRS(HEAD)), PL_PROTO, NULL);
	T_CODE(end_of(PAIRS(HEAD, {"grpc-status", ""})), PL_PROTO, NULL);
	T_CODE(end_of(PAIRS(HEAD, {"grpc-status", "-1"})), PL_PROTO, NULL);
	T_CODE(end_of(PAIRS(HEAD, {"grpc-status", "1x"})), PL_PROTO, NULL);
	T_CODE(end_of(PAIRS(HEAD, {"grpc-status", "99999999999"})), PL_PROTO, NULL);
	T_CODE(end_of(PAIRS(HEAD, {"grpc-status", "0"}, {"grpc-status", "7"})), PL_PROTO,
	       NULL);
	T_CODE(end_of(PAIRS({"grpc-status", "0"})), PL_PROTO, NULL);
	T_CODE(end_of(PAIRS({":status", "2x0"}, {"grpc-status", "0"})), PL_PROTO, NULL);
}

T_CASE(content_types)
{
	static const char *const good[] = {"application/grpc", "application/grpc+proto",
	                                   "application/grpc;charset=x"};
	static const char *const bad[] = {"application/grpc-web", "application/json",
	                                  "text/html", ""};

	for (unsigned i = 0; i < 3; i++)
		T_CODE(end_of(PAIRS({":status", "200"}, {"content-type", good[i]},
		                    {"grpc-status", "0"})),
		       PL_OK, NULL);
	for (unsigned i = 0; i < 4; i++)
		T_CODE(end_of(PAIRS({":status", "200"}, {"content-type", bad[i]},
		                    {"grpc-status", "0"})),
		       PL_PROTO, NULL);
}

T_CASE(proxies_are_told_apart_from_other_servers)
{
	struct grpc_reply reply = {.http_status = 503};

	T_CODE(grpc_reply_check(&reply, NULL), PL_UNAVAIL, NULL);
	reply.http_status = 403;
	T_CODE(grpc_reply_check(&reply, NULL), PL_PROTO, NULL);
	reply.http_status = 100;
	T_CODE(grpc_reply_check(&reply, NULL), PL_OK, NULL);
}

T_CASE(the_text_is_left_out_without_memory)
{
	struct grpc_reply reply = {0};

	pl_fault_arm(PL_FAULT_ALLOC, 1);
	grpc_reply_header(&reply, PL_SPAN_LIT("grpc-message"), PL_SPAN_LIT("abc"));
	T_TRUE(reply.text == NULL);
}
