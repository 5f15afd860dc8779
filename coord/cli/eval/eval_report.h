/* An eval report counts what became of many cases: by category, by kind of
 * difference, and the first differences in full. */
#ifndef COORD_CLI_EVAL_EVAL_REPORT_H
#define COORD_CLI_EVAL_EVAL_REPORT_H

#include "coord/cli/eval/eval_compare.h"

enum {
	EVAL_CATEGORIES_MAX = 256,
	EVAL_KINDS_MAX = 256,     /* of differences */
	EVAL_OF_ONE_CASE_MAX = 3, /* differences of one case that are printed in full */
	EVAL_DIFFERENCES_DEFAULT = 10,
	EVAL_DIFFERENCES_MAX = 100000,
};

struct eval_report;

/* differences: how many are printed in full. */
PL_NODISCARD enum pl_code eval_report_new(uint64_t differences, struct eval_report **out,
                                          struct pl_err *err);
void eval_report_free(struct eval_report *report);

/* Compares, or only counts a case that is not to be compared. where: "fit.jsonl:3".
 * PL_INVALID: the case has no "expect"; it is not counted. */
PL_NODISCARD enum pl_code eval_report_add(struct eval_report *report,
                                          struct pl_arena *arena,
                                          const struct eval_case *it, struct pl_span ours,
                                          const char *where, struct pl_err *err);
/* Counts a case that could not be read. */
void eval_report_unread(struct eval_report *report);

bool eval_report_agrees(const struct eval_report *report);
uint64_t eval_report_cases(const struct eval_report *report);

/* Prints the whole report, for people, or as one JSON object and a newline. */
PL_NODISCARD enum pl_code eval_report_print(const struct eval_report *report, bool json,
                                            struct pl_buf *out, struct pl_err *err);

#endif
