/*
 * A comparison of our "expect" with the one of a case, piece by piece. A piece is what
 * one plugin says about one node, or as much as that; a piece that only one side has is
 * a difference. Lists are sets, except victims, whose order shows which pod was given
 * up first. Of a refused pod only the reason code and the field are compared: messages
 * differ in wording.
 */
#ifndef COORD_CLI_EVAL_EVAL_COMPARE_H
#define COORD_CLI_EVAL_EVAL_COMPARE_H

#include "coord/cli/eval/eval_case.h"

/* Lives in the arena. */
struct eval_difference {
	const char *part;    /* "filter" */
	const char *plugin;  /* "" */
	const char *node;    /* "" */
	const char *member;  /* "skipped"; "" */
	struct pl_json ours; /* absent: our side has no such piece */
	struct pl_json expected;
};

typedef void eval_difference_fn(void *ctx, const struct eval_difference *difference);

/* ours: the output of eval_case_run. *count: how often fn was called. PL_NOMEM, or
 * PL_INVALID: expect is malformed. */
PL_NODISCARD enum pl_code eval_compare(struct pl_arena *arena, const struct eval_case *it,
                                       struct pl_span ours, eval_difference_fn *fn,
                                       void *ctx, size_t *count, struct pl_err *err);

#endif
