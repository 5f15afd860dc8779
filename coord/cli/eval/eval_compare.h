/*
 * Our "expect" beside the one of a case. What is compared is whatever either of them
 * says, piece by piece: a piece is what one plugin says about one node, or as much as
 * that. Lists are sets, but for victims, whose order tells which was given up first. Of
 * what is wrong with a pod only the sort and the field are compared: sentences are each
 * one's own.
 */
#ifndef COORD_CLI_EVAL_EVAL_COMPARE_H
#define COORD_CLI_EVAL_EVAL_COMPARE_H

#include "coord/cli/eval/eval_case.h"

/* In the arena. */
struct eval_difference {
	const char *part;    /* "filter" */
	const char *plugin;  /* "" */
	const char *node;    /* "" */
	const char *member;  /* "skipped"; "" */
	struct pl_json ours; /* absent: it does not say anything */
	struct pl_json expected;
};

typedef void eval_difference_fn(void *ctx, const struct eval_difference *difference);

/* ours: what eval_case_run wrote. How often fn was called is in *count. PL_NOMEM, or
 * PL_INVALID: expect is not what it should be. */
PL_NODISCARD enum pl_code eval_compare(struct pl_arena *arena, const struct eval_case *it,
                                       struct pl_span ours, eval_difference_fn *fn,
                                       void *ctx, size_t *count, struct pl_err *err);

#endif
