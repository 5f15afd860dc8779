/* Small cases of several categories, with each allocation failing once: an error, the
 * same verdicts as ever, or a cycle that says that it failed; never other verdicts. */
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/eval/eval_case.h"
#include "tests/harness/torture.h"

enum { CASE_MAX = 16 << 10 };

static char text[CASE_MAX];
static size_t text_len;
static struct pl_buf first;
static unsigned failed_cycles;

static void read_case(const char *name)
{
	const char *root = getenv("T_ROOT");
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/eval/%s",
	               root == NULL ? "." : root, name);
	file = fopen(path, "rb");
	T_TRUE(file != NULL);
	text_len = fread(text, 1, sizeof text, file);
	T_TRUE(text_len > 0 && text_len < sizeof text);
	T_EQ(fclose(file), 0);
}

static bool contains(struct pl_span in, const char *words)
{
	return memmem(in.at, in.len, words, strlen(words)) != NULL;
}

static enum pl_code decide_case(struct pl_buf *out)
{
	struct pl_err err = {0};
	struct pl_arena arena;
	struct eval_case it;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = eval_case_read(&arena, pl_span(text, text_len), &it, &err);
	if (code == PL_OK)
		code = eval_case_run(&arena, &it, out, &err);
	T_TRUE(code == PL_OK || err.code == code);
	pl_arena_done(&arena);
	return code;
}

static enum pl_code run_case(void)
{
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, EVAL_OUT_MAX);
	code = decide_case(&out);
	if (code == PL_OK && (contains(pl_buf_span(&out), "\"error\":true") ||
	                      contains(pl_buf_span(&out), "\"code\":\"Error\"")))
		failed_cycles++;
	else if (code == PL_OK)
		T_SPAN(pl_buf_span(&out), pl_buf_span(&first));
	pl_buf_done(&out);
	return code;
}

static void torture_category(const char *name)
{
	read_case(name);
	pl_buf_init(&first, EVAL_OUT_MAX);
	T_OK(decide_case(&first), NULL);
	T_TRUE(!contains(pl_buf_span(&first), "\"error\":true"));
	failed_cycles = 0;
	t_torture(run_case, true);
	printf("%u cycles failed\n", failed_cycles);
	pl_buf_done(&first);
}

#define CASE(name)                       \
	T_CASE_SECONDS(name, 120)        \
	{                                \
		torture_category(#name); \
	}

CASE(csi)
CASE(ephemeral)
CASE(fit)
CASE(images)
CASE(interpod)
CASE(nodeaffinity)
CASE(nominated)
CASE(preemption)
CASE(spread)
CASE(spreaddefault)
CASE(taints)
CASE(volumes)
