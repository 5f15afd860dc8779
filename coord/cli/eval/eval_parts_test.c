/* The parts of placet eval that need no engine: lines of files, and the comparison. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "coord/cli/eval/eval_compare.h"
#include "coord/cli/eval/eval_lines.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static char path[64];

static void write_file(const void *bytes, size_t len)
{
	int fd;

	(void)snprintf(path, sizeof path, "/tmp/placet_eval_XXXXXX");
	fd = mkstemp(path);
	T_TRUE(fd >= 0);
	T_EQ(write(fd, bytes, len), (ssize_t)len);
	T_EQ(close(fd), 0);
}

static void write_gz(const char *text)
{
	gzFile file;

	write_file("", 0);
	file = gzopen(path, "wb");
	T_TRUE(file != NULL);
	T_EQ(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
	T_EQ(gzclose(file), Z_OK);
}

/* "1:a|2:b|" */
static void read_all(const char *want, size_t line_max)
{
	struct eval_lines *lines = NULL;
	struct pl_err err = {0};
	char got[256] = "";
	bool more = true;

	T_OK(eval_lines_open(path, line_max, &lines, &err), &err);
	while (more) {
		struct pl_span line = {0};
		size_t len = strlen(got);
		enum pl_code code = eval_lines_next(lines, &line, &more, &err);

		if (code != PL_OK)
			(void)snprintf(got + len, sizeof got - len, "%zu!%s|",
			               eval_lines_number(lines), pl_code_name(code));
		else if (more)
			(void)snprintf(got + len, sizeof got - len,
			               "%zu:" PL_SPAN_FMT "|", eval_lines_number(lines),
			               PL_SPAN_ARG(line));
		more = more && (code == PL_OK || code == PL_LIMIT);
	}
	T_STR(got, want);
	eval_lines_close(lines);
}

T_CASE(lines_are_read_plain_and_packed_alike)
{
	static const char text[] = "a\nbb\n\nccc";

	write_file(text, strlen(text));
	read_all("1:a|2:bb|3:|4:ccc|", 3);
	T_EQ(unlink(path), 0);
	write_gz(text);
	read_all("1:a|2:bb|3:|4:ccc|", 3);
	T_EQ(unlink(path), 0);
	write_file("", 0);
	read_all("", 3);
	T_EQ(unlink(path), 0);
	write_file("a\n", 2);
	read_all("1:a|", 3);
	T_EQ(unlink(path), 0);
}

T_CASE(a_line_that_is_too_long_is_passed_over)
{
	static char text[300000];

	write_file("a\nlong\nb\n", 9);
	read_all("1:a|2!over a limit|3:b|", 3);
	T_EQ(unlink(path), 0);
	memset(text, 'x', sizeof text);
	text[sizeof text - 3] = text[sizeof text - 1] = '\n';
	text[sizeof text - 2] = 'b';
	write_file(text, sizeof text);
	read_all("1!over a limit|2:b|", 100000);
	T_EQ(unlink(path), 0);
	write_file(text, sizeof text - 3);
	read_all("1!over a limit|", 100000);
	T_EQ(unlink(path), 0);
}

T_CASE(a_damaged_file_is_distinguished_from_its_end)
{
	static char text[40000];
	struct eval_lines *lines = NULL;
	struct pl_err err = {0};
	uint32_t dice = 1;

	for (size_t i = 0; i < sizeof text - 1; i++) {
		dice = dice * 1103515245U + 12345U;
		text[i] = (char)('a' + (dice >> 16) % 26);
	}
	write_gz(text);
	T_EQ(truncate(path, 20000), 0);
	read_all("1!input/output error|", 100000);
	T_EQ(unlink(path), 0);
	T_CODE(eval_lines_open(path, 10, &lines, &err), PL_IO, NULL);
	T_TRUE(strstr(err.msg, "No such file") != NULL);
}

/* -- comparison -------------------------------------------------------------------- */

static char told[1024];

static void tell(void *ctx, const struct eval_difference *it)
{
	size_t len = strlen(told);

	(void)ctx;
	(void)snprintf(told + len, sizeof told - len, "%s%s%s%s%s%s%s%s%s;", it->part,
	               it->member[0] != 0 ? "." : "", it->member,
	               it->plugin[0] != 0 ? " by " : "", it->plugin,
	               it->node[0] != 0 ? " of " : "", it->node,
	               it->ours.node == NULL ? " -" : "",
	               it->expected.node == NULL ? " +" : "");
}

static enum pl_code compare(const char *ours, const char *expected)
{
	struct eval_case it = {.id = "", .category = ""};
	struct pl_arena arena;
	struct pl_err err = {0};
	size_t count = 0;
	enum pl_code code;

	told[0] = 0;
	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, pl_span_str(expected), NULL, &it.expect, &err);
	if (code == PL_OK)
		code = eval_compare(&arena, &it, pl_span_str(ours), tell, NULL, &count,
		                    &err);
	if (code == PL_OK)
		T_EQ(count == 0, told[0] == 0);
	pl_arena_done(&arena);
	return code;
}

static void differs(const char *ours, const char *expected, const char *want)
{
	T_OK(compare(ours, expected), NULL);
	T_STR(told, want);
}

T_CASE(equal_answers_are_not_reported)
{
	differs("{}", "{}", "");
	differs("{\"best\":[\"a\",\"b\"],\"total\":{\"a\":5,\"b\":5}}",
	        "{\"total\":{\"b\":5,\"a\":5.0},\"best\":[\"b\",\"a\"]}", "");
	differs("{\"filter\":{\"a\":{\"code\":\"X\",\"reasons\":[\"r\",\"s\"]}}}",
	        "{\"filter\":{\"a\":{\"code\":\"X\",\"reasons\":[\"s\",\"r\"]}}}", "");
	differs("{\"valid\":false,\"errors\":[{\"type\":\"T\",\"field\":\"f\",\"detail\":"
	        "\"x\"}]}",
	        "{\"valid\":false,\"errors\":[{\"type\":\"T\",\"field\":\"f\",\"detail\":"
	        "\"y\"}]}",
	        "");
	differs("{\"decodeError\":\"a\"}", "{\"decodeError\":\"b\"}", "");
}

T_CASE(differences_are_reported_piece_by_piece)
{
	differs("{\"filter\":{\"a\":{\"code\":\"X\",\"plugin\":\"P\",\"reasons\":[]},"
	        "\"b\":{\"code\":\"Success\"}}}",
	        "{\"filter\":{\"a\":{\"code\":\"Success\"},\"b\":{\"code\":\"Success\"}}}",
	        "filter by P of a;");
	differs("{\"scores\":{\"P\":{\"a\":1,\"b\":2}}}",
	        "{\"scores\":{\"P\":{\"a\":1,\"b\":3}}}", "scores by P of b;");
	differs("{\"scores\":{\"P\":{\"a\":1}}}", "{\"scores\":{\"Q\":{\"a\":1}}}",
	        "scores by Q -;scores by P +;");
	differs("{\"preFilter\":{\"code\":\"Success\",\"skipped\":[\"A\"]}}",
	        "{\"preFilter\":{\"code\":\"Success\",\"skipped\":[\"A\",\"B\"]}}",
	        "preFilter.skipped;");
	differs("{\"best\":[]}", "{\"postFilter\":{\"code\":\"X\"}}",
	        "best +;postFilter -;");
	differs("{}", "{\"later\":1}", "later -;");
	differs("{\"errors\":[{\"type\":\"T\",\"field\":\"f\"}]}",
	        "{\"errors\":[{\"type\":\"T\",\"field\":\"g\"}]}", "errors;");
	differs("{\"valid\":true}", "{\"valid\":false,\"decodeError\":\"x\"}",
	        "valid;decodeError -;");
	differs("{\"filter\":{\"a\":{\"code\":\"X\",\"examined\":false}}}",
	        "{\"filter\":{\"a\":{\"code\":\"X\"}}}", "filter of a;");
}

T_CASE(the_order_of_victims_counts)
{
	differs("{\"postFilter\":{\"candidates\":{\"n\":{\"victims\":[\"a\",\"b\"]}}}}",
	        "{\"postFilter\":{\"candidates\":{\"n\":{\"victims\":[\"b\",\"a\"]}}}}",
	        "postFilter.candidates of n;");
	differs("{\"postFilter\":{\"nominatedOneOf\":[\"a\",\"b\"]}}",
	        "{\"postFilter\":{\"nominatedOneOf\":[\"b\",\"a\"]}}", "");
}

T_CASE(lists_of_something_else_are_never_the_same)
{
	differs("{\"best\":[1]}", "{\"best\":[1]}", "best;");
	differs("{\"best\":[[]]}", "{\"best\":[[]]}", "best;");
	differs("{\"best\":{\"a\":{\"b\":[1]}}}", "{\"best\":{\"a\":{\"b\":[1]}}}", "");
	differs("{\"best\":{\"a\":{\"b\":[1]}}}", "{\"best\":{\"a\":{\"b\":[2]}}}",
	        "best;");
	T_CODE(compare("{", "{}"), PL_INVALID, NULL);
	T_CODE(compare("{}", "[]"), PL_INVALID, NULL);
}

static enum pl_code torture_once(void)
{
	return compare(
		"{\"best\":[\"a\"],\"errors\":[{\"type\":\"T\",\"field\":\"f\"}]}",
		"{\"best\":[\"b\"],\"errors\":[{\"type\":\"T\",\"field\":\"f\"}]}");
}

T_CASE(every_allocation_may_fail)
{
	t_torture(torture_once, false);
}
