#include <stdio.h>

#include "store/base/yaml.h"
#include "tests/harness/torture.h"

static struct pl_err err;
static char text[65536];
static size_t text_len;

static enum pl_code on_document(void *ctx, struct pl_span json, struct pl_err *why)
{
	(void)ctx;
	(void)why;
	text_len += (size_t)snprintf(text + text_len, sizeof text - text_len,
	                             "%s" PL_SPAN_FMT, text_len == 0 ? "" : "\n",
	                             PL_SPAN_ARG(json));
	return PL_OK;
}

static enum pl_code read_with(const char *yaml, const struct pl_json_limits *limits)
{
	text_len = 0;
	text[0] = 0;
	return pl_yaml_to_json(pl_span_str(yaml), limits, on_document, NULL, &err);
}

static void reads(const char *yaml, const char *json)
{
	T_OK(read_with(yaml, NULL), &err);
	T_STR(text, json);
}

static void refuses(const char *yaml, const char *why)
{
	T_CODE(read_with(yaml, NULL), PL_INVALID, &err);
	T_STR(err.msg, why);
}

static const char *written(const char *json)
{
	struct pl_arena arena;
	struct pl_json root = {0};
	struct pl_buf buf;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&buf, sizeof text - 1);
	T_OK(pl_json_parse(&arena, pl_span_str(json), NULL, &root, &err), &err);
	T_OK(pl_yaml_from_json(root, &buf, &err), &err);
	memcpy(text, buf.at, buf.len);
	text[buf.len] = 0;
	pl_buf_done(&buf);
	pl_arena_done(&arena);
	return text;
}

/* The written text reads back as the same value. */
static void writes(const char *json, const char *yaml)
{
	T_STR(written(json), yaml);
	reads(yaml, json);
}

T_CASE(plain_scalars_have_the_types_of_kubernetes)
{
	static const char *const table[][2] = {
		{"", "null"},
		{"~", "null"},
		{"Null", "null"},
		{"nULL", "\"nULL\""},
		{"true", "true"},
		{"TRUE", "true"},
		{"yes", "true"},
		{"On", "true"},
		{"n", "false"},
		{"off", "false"},
		{"tRUE", "\"tRUE\""},
		{"0", "0"},
		{"-0", "0"},
		{"+12", "12"},
		{"-12", "-12"},
		{"1_000", "1000"},
		{"_1", "\"_1\""},
		{"0x1F", "31"},
		{"-0x10", "-16"},
		{"0o17", "15"},
		{"017", "15"},
		{"08", "8"},
		{"0b101", "5"},
		{"0b2", "\"0b2\""},
		{"0x", "\"0x\""},
		{"18446744073709551615", "18446744073709551615"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"100000000000000000000", "1e+20"},
		{"1.5", "1.5"},
		{".5", "0.5"},
		{"5.", "5"},
		{"1e3", "1000"},
		{"-1.5E-2", "-0.015"},
		{"1e", "\"1e\""},
		{".", "\".\""},
		{"1e999", "\"1e999\""},
		{"250m", "\"250m\""},
		{"1.2.3", "\"1.2.3\""},
		{"2026-11-21", "\"2026-11-21\""},
		{"1:30", "\"1:30\""},
		{"a b", "\"a b\""},
		{"\"12\"", "\"12\""},
		{"'true'", "\"true\""},
		{"! 12", "\"12\""},
		{"!!str 12", "\"12\""},
		{"\"a\\tb\\u00e9\"", "\"a\\tb\xc3\xa9\""},
	};
	char yaml[128], json[128];

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		(void)snprintf(yaml, sizeof yaml, "a: %s\n", table[i][0]);
		(void)snprintf(json, sizeof json, "{\"a\":%s}", table[i][1]);
		reads(yaml, json);
	}
}

T_CASE(each_document_of_a_stream_is_passed_on)
{
	reads("handover_ms: 500\nbalancer:\n  enabled: off # for now\ndrain:\n- a\n- b: 1\n",
	      "{\"handover_ms\":500,\"balancer\":{\"enabled\":false},"
	      "\"drain\":[\"a\",{\"b\":1}]}");
	reads("a: 1\n---\nb: 2\n---\n---\n# nothing\n---\n- c\n",
	      "{\"a\":1}\n{\"b\":2}\n[\"c\"]");
	reads("", "");
	reads("# nothing\n", "");
	reads("{a: [1, {b: c}], d: }", "{\"a\":[1,{\"b\":\"c\"}],\"d\":null}");
	reads("t: |\n  one\n  two\nf: >-\n  one\n  two\n",
	      "{\"t\":\"one\\ntwo\\n\",\"f\":\"one two\"}");
	reads("1: a\ny: b\nnull: c\n", "{\"1\":\"a\",\"y\":\"b\",\"null\":\"c\"}");
	reads("plain", "\"plain\"");
	reads("%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}");
}

/* JSON that YAML alone would refuse: tabs, surrogates, "\/". */
T_CASE(json_is_yaml)
{
	reads("{\n\t\"a\": \"\\ud83d\\ude00\\/\"\n}",
	      "{\n\t\"a\": \"\\ud83d\\ude00\\/\"\n}");
	reads(" [1]", " [1]");
}

T_CASE(unsupported_yaml_is_refused_with_line_and_column)
{
	refuses("a: 1\nb: &x 2\n", "YAML, line 2, column 4: anchors are not accepted");
	refuses("a: &x {b: 1}\n", "YAML, line 1, column 4: anchors are not accepted");
	refuses("a: *x\n", "YAML, line 1, column 4: aliases are not accepted");
	refuses("<<: {a: 1}\n", "YAML, line 1, column 1: merges are not accepted");
	refuses("a: !!int \"1\"\n", "YAML, line 1, column 4: tags are not accepted");
	refuses("a: !x {}\n", "YAML, line 1, column 4: tags are not accepted");
	refuses("a: 1\nb: 2\na: 3\n", "YAML, line 3, column 1: 'a' stands twice");
	refuses("? [a]\n: b\n",
	        "YAML, line 1, column 3: a name can not be a list or a mapping");
	refuses("a: .inf\n", "YAML, line 1, column 4: no number that JSON could hold; "
	                     "quotes make it a string");
	refuses("a: 0xffffffffffffffffff\n",
	        "YAML, line 1, column 4: no number that JSON could hold; quotes make it a "
	        "string");
	refuses("a: \"\\0\"\n", "YAML, line 1, column 4: a NUL in a string");
	refuses("a: [1,\n", "YAML, line 2, column 1: did not find expected node content");
	refuses("a: b: c\n",
	        "YAML, line 1, column 5: mapping values are not allowed in this context");
	T_CODE(read_with("a: \xff\n", NULL), PL_INVALID, &err);
	T_TRUE(strncmp(err.msg, "YAML, byte 3: ", 14) == 0);
	/* Documents before the error have been passed on. */
	T_STR((refuses("a: 1\n---\n*b\n",
	               "YAML, line 3, column 1: aliases are not accepted"),
	       text),
	      "{\"a\":1}");
}

T_CASE(limits_bound_the_stream)
{
	const struct pl_json_limits limits = {.bytes = 64, .depth = 3, .values = 10};
	char deep[512];

	T_OK(read_with("[[[1]]]", &limits), &err);
	T_CODE(read_with("- [[[1]]]", &limits), PL_LIMIT, &err);
	T_STR(err.msg, "YAML, line 1, column 5: too deep");
	T_OK(read_with("- [1, 2, 3, 4, 5, 6, 7, 8]\n", &limits), &err);
	T_CODE(read_with("- [1, 2, 3, 4, 5, 6, 7, 8, 9]\n", &limits), PL_LIMIT, &err);
	T_STR(err.msg, "YAML, line 1, column 28: too many values");
	memset(deep, ' ', 65);
	deep[65] = 0;
	T_CODE(read_with(deep, &limits), PL_LIMIT, &err);
	T_STR(err.msg, "YAML of 65 bytes: want at most 64");
	memset(deep, '[', 300);
	deep[300] = 0;
	T_CODE(read_with(deep, NULL), PL_LIMIT, &err);
}

T_CASE(output_looks_like_kubectls)
{
	writes("{\"a\":1,\"b\":{\"c\":[\"x\",{\"y z\":true,\"n\":null}],\"e\":[],\"f\":{}}}",
	       "a: 1\nb:\n  c:\n  - x\n  - y z: true\n    \"n\": null\n  e: []\n  f: {}\n");
	writes("[[1,2],[[\"a\"]]]", "- - 1\n  - 2\n- - - a\n");
	writes("{\"a\":\"true\",\"b\":\"12\",\"c\":\"\",\"d\":\"2026-11-21T05:00:00Z\","
	       "\"e\":\"1:30\",\"f\":\"~\",\"g\":\"250m\"}",
	       "a: \"true\"\nb: \"12\"\nc: \"\"\nd: \"2026-11-21T05:00:00Z\"\ne: \"1:30\"\n"
	       "f: \"~\"\ng: 250m\n");
	writes("{\"a\":\"x: y\",\"b\":\"#c\",\"c\":\" d\",\"d\":\"*e\",\"e\":\"it's\"}",
	       "a: 'x: y'\nb: '#c'\nc: ' d'\nd: '*e'\ne: it's\n");
	writes("{\"a\":\"one\\ntwo\\n\",\"b\":\"one\\ntwo\",\"c\":\"\\tx\"}",
	       "a: |\n  one\n  two\nb: |-\n  one\n  two\nc: \"\\tx\"\n");
	writes("{\"<<\":1,\"=\":2}", "\"<<\": 1\n\"=\": 2\n");
	writes("\"top\"", "top\n");
	writes("-1.5", "-1.5\n");
	writes("9007199254740991", "9007199254740991\n");
}

/* The string is written as a value, as a name and in a list. */
static void comes_back(const char *escaped)
{
	struct pl_json before = {0}, after = {0}, list;
	const char *x = NULL, *y = NULL;
	struct pl_arena arena;
	char json[256];

	(void)snprintf(json, sizeof json, "{\"k\":\"%s\",\"%s\":[\"%s\"]}", escaped,
	               escaped, escaped);
	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(json), NULL, &before, &err), &err);
	T_OK(read_with(pl_arena_printf(&arena, "%s", written(json)), NULL), &err);
	T_OK(pl_json_parse(&arena, pl_span(text, text_len), NULL, &after, &err), &err);
	T_OK(pl_json_string(before, "k", PL_JSON_REQUIRED, &x, &err), &err);
	T_OK(pl_json_string(after, "k", PL_JSON_REQUIRED, &y, &err), &err);
	T_STR(y, x);
	list = pl_json_next(pl_json_first(after));
	T_STR(pl_json_key(list), x);
	T_OK(pl_json_as_string(pl_json_first(list), &y, &err), &err);
	T_STR(y, x);
	pl_arena_done(&arena);
}

T_CASE(strings_that_look_like_other_types_are_quoted)
{
	static const char *const strings[] = {
		"\\n",
		"\\n\\n",
		"a\\n\\n",
		" a\\n",
		"a \\n b",
		"a\\r\\n",
		"\\u0085",
		"\\u2028x",
		"\\ufeffx",
		"x\\ufeff",
		"\\ud83d\\ude00",
		"\\u007f",
		"---",
		"--- a",
		"...",
		"%a",
		"@a",
		"`a",
		"a\\n---\\nb",
		"? a",
		"- a",
		":",
		"a:",
		"a #b",
		"[a",
		"{a",
		"a]",
		"!a",
		"&a",
		"|",
		">",
		"\\\"",
		"\\\\",
		"'",
		"\\n  a",
		"a\\n  b",
		"a\\n\\tb",
		"\\t\\n",
		"a\\n ",
		"a\\n\\n b",
		"1_0",
		"0x1g",
		".inf",
		"1e5",
	};

	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		comes_back(strings[i]);
}

static enum pl_code on_stop(void *ctx, struct pl_span json, struct pl_err *why)
{
	(void)json;
	++*(int *)ctx;
	return pl_err_set(why, PL_CANCELED, "enough");
}

T_CASE(receiver_may_stop_the_reading)
{
	int count = 0;

	T_CODE(pl_yaml_to_json(PL_SPAN_LIT("a: 1\n---\nb: 2\n"), NULL, on_stop, &count,
	                       &err),
	       PL_CANCELED, &err);
	T_EQ(count, 1);
}

static enum pl_code tortured_read(void)
{
	return read_with("a: 1\nb: [c, {d: e}]\nf: {g: {h: 1}}\n", NULL);
}

T_CASE(every_allocation_may_fail)
{
	t_torture(tortured_read, false);
}
