/* placet eval, run as a command. */
#include <stdlib.h>

#include "tests/support/coord/cli/placet_rig.h"

#define NODE(name, cpu)                                                    \
	"{\"metadata\":{\"name\":\"" name "\"},\"status\":{\"capacity\":{" \
	"\"cpu\":\"" cpu "\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}"
#define POD                                                                           \
	"\"pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"p\"},\"spec\":{" \
	"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"       \
	"\"2\"}}}]}}"
#define CASE(id, nodes, more) \
	"{\"id\":\"" id "\",\"category\":\"fit\",\"nodes\":[" nodes "]," POD more "}\n"

T_CASE(verdicts_are_printed_a_line_a_case)
{
	T_EQ(placet_run(CASE("one", NODE("a", "1") "," NODE("b", "4"), "")
	                        CASE("two", NODE("a", "1"), ""),
	                (const char *const[]){"eval", "-", NULL}),
	     0);
	placet_prints("{\"id\":\"one\",\"expect\":{\"allFilter\":{\"NodeResourcesFit\":{"
	              "\"a\":{\"code\":\"Unschedulable\",\"reasons\":[\"Insufficient "
	              "cpu\"]}}},\"best\":[\"b\"],\"filter\":{\"a\":{\"code\":"
	              "\"Unschedulable\",\"plugin\":\"NodeResourcesFit\",\"reasons\":["
	              "\"Insufficient cpu\"]},\"b\":{\"code\":\"Success\"}},");
	placet_prints("\n{\"id\":\"two\",\"expect\":{");
	placet_prints("\"best\":[]");
	placet_prints("\"postFilter\":{\"code\":\"Unschedulable\"}");
	T_STR(placet_rig.said, "");
}

/* A case that expects our own verdicts, with old replaced. */
static const char *own_case(const char *nodes, const char *old, const char *new)
{
	static char line[1 << 16];
	char *expect, *at;
	size_t len;

	(void)snprintf(line, sizeof line, "{\"id\":\"one\",\"nodes\":[%s],%s}\n", nodes,
	               POD);
	T_EQ(placet_run(line, (const char *const[]){"eval", "-", NULL}), 0);
	expect = strstr(placet_rig.out, "\"expect\":");
	T_TRUE(expect != NULL);
	len = strlen(expect) - 2; /* brace and newline */
	(void)snprintf(line, sizeof line,
	               "{\"id\":\"one\",\"category\":\"fit\",\"nodes\":[%s],%s,%.*s}\n",
	               nodes, POD, (int)len, expect);
	at = strstr(line, old);
	T_TRUE(at != NULL && strlen(old) == strlen(new));
	memcpy(at, new, strlen(new));
	return line;
}

T_CASE(a_case_that_expects_our_answer_passes)
{
	T_EQ(placet_run(own_case(NODE("a", "4"), "", ""),
	                (const char *const[]){"eval", "--check", "-", NULL}),
	     0);
	placet_prints("fit        1       1       0");
	placet_prints("all        1       1       0");
	T_EQ(placet_run(own_case(NODE("a", "1"), "", ""),
	                (const char *const[]){"eval", "--check", "-", NULL}),
	     0);
}

T_CASE(differences_show_both_answers)
{
	const char *input =
		own_case(NODE("a", "4"), "\"best\":[\"a\"]", "\"best\":[\"b\"]");

	T_EQ(placet_run(input, (const char *const[]){"eval", "--check", "-", NULL}), 1);
	placet_prints("one (stdin:1): best\n  ours      [\"a\"]\n  expected  [\"b\"]\n");
	placet_prints("fit        1       0       1");
	T_EQ(placet_run(input, (const char *const[]){"eval", "--check", "--differences",
	                                             "0", "-", NULL}),
	     1);
	placet_prints_not("one (stdin:1)");
	placet_prints("best: 1 cases");
	T_EQ(placet_run(input, (const char *const[]){"eval", "--check", "-o", "json", "-",
	                                             NULL}),
	     1);
	placet_prints("{\"kind\":\"EvalReport\",\"cases\":1,\"agree\":0,\"differ\":1,");
	placet_prints("\"ours\":[\"a\"],\"expected\":[\"b\"]}");
}

T_CASE(cases_that_end_in_an_error_are_only_run)
{
	T_EQ(placet_run(CASE("one", NODE("a", "4"),
	                     ",\"expect\":{\"best\":[],\"error\":true}"),
	                (const char *const[]){"eval", "--check", "-", NULL}),
	     0);
	placet_prints("1 cases end in an internal error");
}

T_CASE(unreadable_cases_are_named_and_others_run)
{
	T_EQ(placet_run("{\n" CASE("dup", NODE("a", "1") "," NODE("a", "1"), "") CASE(
				"bad", NODE("a", "1") "," NODE("b", "x1"),
				"") "{\"id\":\"nopod\"}\n\n" CASE("good", NODE("a", "4"),
	                                                          ""),
	                (const char *const[]){"eval", "-", NULL}),
	     2);
	placet_says("stdin:1: ");
	placet_says("stdin:2: nodes[1]: metadata.name: 'a' already exists");
	placet_says("stdin:3: nodes[1]: status.capacity");
	placet_says("stdin:4: pod: missing");
	placet_prints("{\"id\":\"good\"");
	T_EQ(placet_run(CASE("one", NODE("a", "4"), ""),
	                (const char *const[]){"eval", "--check", "-", NULL}),
	     2);
	placet_says("expect: missing");
}

T_CASE(a_wrong_command_line_is_refused)
{
	T_EQ(PLACET("eval"), 2);
	placet_says("want [--check] [options] FILE...");
	T_EQ(PLACET("eval", "-o", "yaml", "-"), 2);
	T_EQ(PLACET("eval", "--differences", "x", "-"), 2);
	T_EQ(PLACET("eval", "--endpoints", "x", "-"), 2);
	T_EQ(PLACET("eval", "/nonexistent"), 2);
	placet_says("/nonexistent: open");
	T_EQ(PLACET("eval", "--help"), 0);
	placet_prints("usage: placet eval");
	placet_prints_not("etcd");
}

T_CASE(packed_files_are_read_as_they_are)
{
	char path[512];

	(void)snprintf(path, sizeof path, "%s/tests/conformance/invalid.jsonl.gz",
	               getenv("T_ROOT"));
	T_EQ(PLACET("eval", "--check", path), 0);
	placet_prints("invalid    360     360     0");
}
