#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/fault.h"
#include "store/base/json.h"
#include "tests/harness/t.h"

static struct pl_arena arena;
static struct pl_err err;

static enum pl_code parse(struct pl_span text, struct pl_json *out)
{
	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	err = (struct pl_err){0};
	return pl_json_parse(&arena, text, NULL, out, &err);
}

static struct pl_json parsed(const char *text)
{
	struct pl_json out = {0};
	enum pl_code code = parse(pl_span_str(text), &out);

	if (code != PL_OK)
		t_fail(__FILE__, __LINE__, "%s: %s", text, err.msg);
	return out;
}

static void accepts(const char *text)
{
	(void)parsed(text);
	pl_arena_done(&arena);
}

static void refuses(struct pl_span text, enum pl_code want, const char *msg)
{
	struct pl_json out = {0};

	T_EQ(parse(text, &out), want);
	T_EQ(err.code, want);
	T_STR(err.msg, msg);
	T_TRUE(out.node == NULL);
	pl_arena_done(&arena);
}

static void refuses_str(const char *text, const char *msg)
{
	refuses(pl_span_str(text), PL_INVALID, msg);
}

T_CASE(all_json_of_the_rfc_is_accepted)
{
	accepts("null");
	accepts(" \t\r\n[ ] \n");
	accepts("{}");
	accepts("[1,-0,0.5,-1.5e+3,2E-7,10]");
	accepts("\"\\u00e9\\ud83d\\ude00\\n\\/ é 😀\"");
	accepts("{\"a\":{\"a\":{\"a\":[{},[],\"\",true,false,null]}}}");
}

T_CASE(leniencies_of_cjson_are_refused)
{
	refuses_str("", "JSON, line 1, column 1: ends too early");
	refuses_str("[01]", "JSON, line 1, column 3: want ',' or ']'");
	refuses_str("[+1]", "JSON, line 1, column 2: want a value");
	refuses_str("[1.]", "JSON, line 1, column 4: want a digit");
	refuses_str("[-]", "JSON, line 1, column 3: want a digit");
	refuses_str("[\"a\tb\"]",
	            "JSON, line 1, column 4: a control character in a string");
	refuses_str("{} {}", "JSON, line 1, column 4: something follows the value");
	refuses_str("\xef\xbb\xbf{}", "JSON, line 1, column 1: want a value");
	refuses_str("[\"\\u0000\"]",
	            "JSON, line 1, column 9: an escaped NUL is not supported");
	refuses_str("\"\xc0\xaf\"", "JSON, line 1, column 2: invalid UTF-8");
	refuses_str("\"\xed\xa0\x80\"", "JSON, line 1, column 2: invalid UTF-8");
	refuses_str("[1\v]", "JSON, line 1, column 3: want ',' or ']'");
	refuses_str("[1e999]", "[0]: too large for a number");
	refuses(PL_SPAN_LIT("[\"a\0b\"]"), PL_INVALID,
	        "JSON, line 1, column 4: a control character in a string");
	refuses(PL_SPAN_LIT("{}\0"), PL_INVALID,
	        "JSON, line 1, column 3: something follows the value");
}

T_CASE(truncated_and_malformed_text_is_refused)
{
	static const char *const broken[] = {
		"[",
		"[1",
		"[1,",
		"[1,]",
		"{",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":1",
		"{\"a\":1,",
		"{\"a\":1,}",
		"{1:2}",
		"tru",
		"truex",
		"nul",
		"\"",
		"\"\\",
		"\"\\u12",
		"\"\\x\"",
		"]",
		"}",
		"[}",
		"{]",
		",",
		"\"\\udc00\"",
		"1e",
		"1e+",
		"-a",
		"\"\\ud800\"",
		"\"\\ud800\\n\"",
	};

	for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
		struct pl_json out;

		if (parse(pl_span_str(broken[i]), &out) != PL_INVALID)
			t_fail(__FILE__, __LINE__, "took %s", broken[i]);
	}
	refuses_str("{\n  \"a\": x\n}", "JSON, line 2, column 8: want a value");
	pl_arena_done(&arena);
}

static enum pl_code within(const char *text, struct pl_json_limits limits)
{
	struct pl_json out;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, pl_span_str(text), &limits, &out, &err);
	pl_arena_done(&arena);
	return code;
}

T_CASE(bounds_hold_exactly)
{
	struct pl_json_limits limits = {.bytes = 9, .depth = 3, .values = 4};
	char number[80];

	T_EQ(within("[[[1]]]", limits), PL_OK);
	T_EQ(within("[[[[]]]]", limits), PL_LIMIT);
	T_STR(err.msg, "JSON, line 1, column 4: nested too deep");
	T_EQ(within("[1,2,3]", limits), PL_OK);
	T_EQ(within("[1,2,3,4]", limits), PL_LIMIT);
	T_STR(err.msg, "JSON, line 1, column 8: too many values");
	T_EQ(within("[1234567]", limits), PL_OK);
	T_EQ(within("[12345678]", limits), PL_LIMIT);
	T_STR(err.msg, "JSON of 10 bytes, at most 9 are taken");
	limits.bytes = sizeof number;
	memset(number, '1', sizeof number);
	number[60] = 0;
	T_EQ(within(number, limits), PL_OK);
	number[60] = '1';
	number[61] = 0;
	T_EQ(within(number, limits), PL_LIMIT);
}

T_CASE(deepest_document_needs_a_small_stack_only)
{
	struct pl_json_limits limits = {.bytes = 4096, .depth = 128, .values = 1000};
	char text[257] = {0};

	memset(text, '[', 128);
	memset(text + 128, ']', 128);
	T_EQ(within(text, limits), PL_OK);
}

static char *object_of(unsigned count, unsigned twin)
{
	size_t size = (size_t)count * 16 + 32, at = 0;
	char *text = malloc(size);

	T_TRUE(text != NULL);
	at += (size_t)snprintf(text, size, "{\"o\":{");
	for (unsigned i = 0; i < count; i++)
		at += (size_t)snprintf(text + at, size - at, "\"k%u\":%u,", i, i);
	(void)snprintf(text + at, size - at, "\"k%u\":0}}", twin);
	return text;
}

T_CASE(duplicate_names_are_refused_in_small_and_large_objects)
{
	static const unsigned counts[] = {1, 11, 12, 13, 5000};

	refuses_str("{\"a\":1,\"\\u0061\":2}", "a: comes twice");
	accepts("{\"a\":1,\"A\":2}");
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		char *text = object_of(counts[i], counts[i] / 2), msg[64];

		(void)snprintf(msg, sizeof msg, "o.k%u: comes twice", counts[i] / 2);
		refuses(pl_span_str(text), PL_INVALID, msg);
		free(text);
		text = object_of(counts[i], counts[i]);
		accepts(text);
		free(text);
	}
}

static void wants_int(const char *text, int64_t want)
{
	struct pl_json root = parsed(text);
	int64_t got = 77;

	T_EQ(pl_json_int(root, "n", PL_JSON_REQUIRED, &got, &err), PL_OK);
	T_EQ(got, want);
	pl_arena_done(&arena);
}

static void wants_no_int(const char *text, const char *msg)
{
	struct pl_json root = parsed(text);
	int64_t got = 77;

	T_EQ(pl_json_int(root, "n", PL_JSON_REQUIRED, &got, &err), PL_INVALID);
	T_STR(err.msg, msg);
	T_EQ(got, 77);
	pl_arena_done(&arena);
}

T_CASE(integers_must_be_whole_and_exact)
{
	wants_int("{\"n\":0}", 0);
	wants_int("{\"n\":-0}", 0);
	wants_int("{\"n\":1e3}", 1000);
	wants_int("{\"n\":12.0}", 12);
	wants_int("{\"n\":9007199254740991}", INT64_C(9007199254740991));
	wants_int("{\"n\":-9007199254740991}", INT64_C(-9007199254740991));
	wants_int("{\"n\":\"9007199254740993\"}", INT64_C(9007199254740993));
	wants_int("{\"n\":\"-9223372036854775808\"}", INT64_MIN);
	wants_no_int("{\"n\":9007199254740992}",
	             "n: a whole number beyond 2^53 must be a string");
	wants_no_int("{\"n\":-1e300}", "n: a whole number beyond 2^53 must be a string");
	wants_no_int("{\"n\":0.5}", "n: want a whole number, got a fraction");
	wants_no_int("{\"n\":\" 5\"}", "n: want a whole number, got ' 5'");
	wants_no_int("{\"n\":\"9223372036854775808\"}",
	             "n: '9223372036854775808' is out of range");
	wants_no_int("{\"n\":null}", "n: want a whole number, got null");
	wants_no_int("{\"n\":[1]}", "n: want a whole number, got an array");
	wants_no_int("{}", "n: missing");
}

T_CASE(integers_outside_the_range_are_refused)
{
	struct pl_json root = parsed("{\"port\":65536}");
	int64_t port = 0;

	T_EQ(pl_json_int_in(root, "port", PL_JSON_REQUIRED,
	                    (struct pl_json_range){1, 65536}, &port, &err),
	     PL_OK);
	T_EQ(pl_json_int_in(root, "port", PL_JSON_REQUIRED,
	                    (struct pl_json_range){1, 65535}, &port, &err),
	     PL_INVALID);
	T_STR(err.msg, "port: want 1 to 65535, got 65536");
	pl_arena_done(&arena);
}

T_CASE(optional_members_leave_the_default)
{
	struct pl_json root = parsed("{\"none\":null,\"s\":\"x\"}"), sub = {0};
	const char *text = "default";
	double number = 2.5;
	int64_t whole = 7;
	bool truth = true;

	T_EQ(pl_json_string(root, "gone", PL_JSON_OPTIONAL, &text, &err), PL_OK);
	T_EQ(pl_json_string(root, "none", PL_JSON_OPTIONAL, &text, &err), PL_OK);
	T_EQ(pl_json_int(root, "gone", PL_JSON_OPTIONAL, &whole, &err), PL_OK);
	T_EQ(pl_json_bool(root, "none", PL_JSON_OPTIONAL, &truth, &err), PL_OK);
	T_EQ(pl_json_double(root, "none", PL_JSON_OPTIONAL, &number, &err), PL_OK);
	T_EQ(pl_json_object(root, "none", PL_JSON_OPTIONAL, &sub, &err), PL_OK);
	T_EQ(pl_json_array(root, "gone", PL_JSON_OPTIONAL, &sub, &err), PL_OK);
	T_STR(text, "default");
	T_EQ(whole, 7);
	T_TRUE(truth && sub.node == NULL && number == 2.5);
	T_EQ(pl_json_string(root, "s", PL_JSON_OPTIONAL, &text, &err), PL_OK);
	T_STR(text, "x");
	T_EQ(pl_json_int(root, "s", PL_JSON_OPTIONAL, &whole, &err), PL_INVALID);
	T_EQ(pl_json_string(root, "none", PL_JSON_REQUIRED, &text, &err), PL_INVALID);
	T_STR(err.msg, "none: want a string, got null");
	pl_arena_done(&arena);
}

T_CASE(errors_name_the_path)
{
	struct pl_json root =
		parsed("{\"spec\":{\"containers\":[{\"name\":\"a\"},{},{\"name\":5}],"
	               "\"labels\":{\"app.x/y\":true,\"it's\\u001b\":1,\"\":2}}}");
	struct pl_json spec, list, labels, item;
	const char *text = NULL;

	T_EQ(pl_json_object(root, "spec", PL_JSON_REQUIRED, &spec, &err), PL_OK);
	T_EQ(pl_json_array(spec, "containers", PL_JSON_REQUIRED, &list, &err), PL_OK);
	T_EQ(pl_json_count(list), 3);
	item = pl_json_next(pl_json_first(list));
	T_EQ(pl_json_string(item, "name", PL_JSON_REQUIRED, &text, &err), PL_INVALID);
	T_STR(err.msg, "spec.containers[1].name: missing");
	item = pl_json_next(item);
	T_EQ(pl_json_string(item, "name", PL_JSON_REQUIRED, &text, &err), PL_INVALID);
	T_STR(err.msg, "spec.containers[2].name: want a string, got a number");
	T_EQ(pl_json_object(list, "x", PL_JSON_REQUIRED, &item, &err), PL_INVALID);
	T_STR(err.msg, "spec.containers: want an object, got an array");
	T_EQ(pl_json_object(spec, "labels", PL_JSON_REQUIRED, &labels, &err), PL_OK);
	item = pl_json_first(labels);
	T_EQ(pl_json_as_string(item, &text, &err), PL_INVALID);
	T_STR(err.msg, "spec.labels['app.x/y']: want a string, got a boolean");
	item = pl_json_next(item);
	T_EQ(pl_json_as_string(item, &text, &err), PL_INVALID);
	T_STR(err.msg, "spec.labels['it\\x27s\\x1b']: want a string, got a number");
	T_EQ(pl_json_as_string(pl_json_next(item), &text, NULL), PL_INVALID);
	T_EQ(pl_json_array(root, "spec", PL_JSON_REQUIRED, &list, &err), PL_INVALID);
	T_STR(err.msg, "spec: want an array, got an object");
	T_EQ(pl_json_as_string(root, &text, &err), PL_INVALID);
	T_STR(err.msg, "document: want a string, got an object");
	pl_arena_done(&arena);
}

T_CASE(long_paths_are_cut)
{
	char text[1000], path[PL_JSON_PATH_SIZE];
	struct pl_json at;
	size_t len = 0;

	for (int i = 0; i < 20; i++)
		len += (size_t)snprintf(text + len, sizeof text - len,
		                        "{\"a-rather-long-name\":");
	text[len++] = '1';
	memset(text + len, '}', 20);
	text[len + 20] = 0;
	at = parsed(text);
	while (pl_json_first(at).node != NULL)
		at = pl_json_first(at);
	pl_json_path(at, path);
	T_TRUE(strlen(path) < sizeof path);
	T_STR(path + strlen(path) - 8, "-name...");
	pl_arena_done(&arena);
}

T_CASE(unknown_members_are_found)
{
	static const char *const known[] = {"name", "spec", NULL};
	struct pl_json root = parsed("{\"name\":1,\"nmae\":2,\"spec\":3,\"x\":4}"), item;

	item = pl_json_unknown(root, known, (struct pl_json){0});
	T_STR(pl_json_key(item), "nmae");
	item = pl_json_unknown(root, known, item);
	T_STR(pl_json_key(item), "x");
	item = pl_json_unknown(root, known, item);
	T_TRUE(item.node == NULL);
	T_EQ(pl_json_only(root, known, &err), PL_INVALID);
	T_STR(err.msg, "nmae: unknown field");
	root = parsed("{\"spec\":1}");
	T_EQ(pl_json_only(root, known, &err), PL_OK);
	pl_arena_done(&arena);
}

T_CASE(text_is_not_needed_once_parsed)
{
	char *copy = strdup("{\"name\":\"web\"}");
	const char *name = NULL;
	struct pl_json root = parsed(copy);

	memset(copy, 'x', strlen(copy));
	free(copy);
	T_EQ(pl_json_string(root, "name", PL_JSON_REQUIRED, &name, &err), PL_OK);
	T_STR(name, "web");
	pl_arena_done(&arena);
}

static enum pl_code parse_under_torture(uint64_t nth)
{
	char *text = object_of(40, 40);
	struct pl_json out = {0};
	enum pl_code code;

	pl_arena_init(&arena, 256, 0);
	err = (struct pl_err){0};
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	code = pl_json_parse(&arena, pl_span_str(text), NULL, &out, &err);
	pl_arena_done(&arena);
	free(text);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	uint64_t nth = 1;

	for (;; nth++) {
		enum pl_code code = parse_under_torture(nth);

		if (!pl_fault_fired(PL_FAULT_ALLOC)) {
			T_EQ(code, PL_OK);
			break;
		}
		T_EQ(code, PL_NOMEM);
		T_EQ(err.code, PL_NOMEM);
	}
	T_TRUE(nth > 5);
}

T_CASE(an_arena_that_is_full_is_an_error)
{
	struct pl_json out = {0};

	pl_arena_init(&arena, 0, 600);
	T_EQ(pl_json_parse(&arena, PL_SPAN_LIT("[1,2,3,4,5,6,7,8]"), NULL, &out, &err),
	     PL_NOMEM);
	T_TRUE(out.node == NULL);
	pl_arena_done(&arena);
}

static void *parse_many(void *arg)
{
	struct pl_arena own;
	struct pl_json out;

	pl_arena_init(&own, 0, 0);
	for (int i = 0; i < 300; i++) {
		int64_t got = -1;
		char text[64];

		(void)snprintf(text, sizeof text, "{\"a\":[1,2,{\"b\":%d}],\"n\":%d}", i,
		               i);
		T_EQ(pl_json_parse(&own, pl_span_str(text), NULL, &out, NULL), PL_OK);
		T_EQ(pl_json_int(out, "n", PL_JSON_REQUIRED, &got, NULL), PL_OK);
		T_EQ(got, i);
		pl_arena_reset(&own);
	}
	pl_arena_done(&own);
	return arg;
}

T_CASE(threads_parse_side_by_side)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		T_EQ(pthread_create(&thread[i], NULL, parse_many, NULL), 0);
	for (int i = 0; i < 4; i++)
		T_EQ(pthread_join(thread[i], NULL), 0);
}
