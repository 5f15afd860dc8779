/* Every case of every category: our verdicts are those of Kubernetes' scheduler. */
#include <stdio.h>

#include "coord/cli/eval/eval_compare.h"
#include "tests/conformance_k8s/cases.h"
#include "tests/harness/t.h"

enum { SHOWN_MAX = 10 };

static struct pl_arena arena;
static struct pl_buf ours;
static struct pl_err err;

static void print_difference(void *ctx, const struct eval_difference *it)
{
	unsigned *shown = ctx;

	if ((*shown)++ < SHOWN_MAX)
		printf("  %s%s%s by '%s' of '%s'\n", it->part,
		       it->member[0] != 0 ? "." : "", it->member, it->plugin, it->node);
}

static bool case_agrees(struct pl_span line)
{
	struct eval_case it;
	size_t count = 0;
	unsigned shown = 0;

	pl_arena_reset(&arena);
	pl_buf_clear(&ours, SIZE_MAX);
	T_OK(eval_case_read(&arena, line, &it, &err), &err);
	T_OK(eval_case_run(&arena, &it, &ours, &err), &err);
	if (eval_case_is_an_error(&it))
		return true; /* the engine did not crash: enough here */
	T_OK(eval_compare(&arena, &it, pl_buf_span(&ours), print_difference, &shown,
	                  &count, &err),
	     &err);
	if (count > 0)
		printf("%s: %zu differences\n", it.id, count);
	return count == 0;
}

static void check_category(const char *category, size_t at_least)
{
	struct cases *cases = cases_open(category);
	struct pl_span line;
	size_t count = 0, differ = 0;

	pl_arena_init(&arena, 1 << 20, EVAL_ARENA_MAX);
	pl_buf_init(&ours, EVAL_OUT_MAX);
	while (cases_next(cases, &line)) {
		differ += !case_agrees(line);
		count++;
	}
	cases_close(cases);
	pl_buf_done(&ours);
	pl_arena_done(&arena);
	T_TRUE(count >= at_least);
	T_EQ(differ, 0);
}

#define CATEGORY(category, at_least)                 \
	T_CASE_SECONDS(category, 120)                \
	{                                            \
		check_category(#category, at_least); \
	}

CATEGORY(fit, 375)
CATEGORY(images, 270)
CATEGORY(interpod, 375)
CATEGORY(invalid, 360)
CATEGORY(mixed, 400)
CATEGORY(nodeaffinity, 375)
CATEGORY(ports, 300)
CATEGORY(preemption, 375)
CATEGORY(spread, 375)
CATEGORY(spreaddefault, 150)
CATEGORY(taints, 300)
CATEGORY(volumes, 400)
