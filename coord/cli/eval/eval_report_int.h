/* Inside eval_report.h. */
#ifndef COORD_CLI_EVAL_EVAL_REPORT_INT_H
#define COORD_CLI_EVAL_EVAL_REPORT_INT_H

#include "coord/cli/eval/eval_report.h"
#include "store/base/json_out.h"

enum { EVAL_NAME_SIZE = 64 };

struct eval_category {
	char name[EVAL_NAME_SIZE];
	uint64_t cases, agree, differ;
	uint64_t errors; /* only run */
};

/* "filter by NodeResourcesFit": in how many cases. */
struct eval_diff_kind {
	char part[EVAL_NAME_SIZE];
	char plugin[EVAL_NAME_SIZE];
	uint64_t cases;
	uint64_t last; /* the case that was counted last */
};

struct eval_report {
	struct eval_category category[EVAL_CATEGORIES_MAX];
	unsigned categories;
	struct eval_diff_kind diff_kind[EVAL_KINDS_MAX];
	unsigned diff_kinds;
	uint64_t cases, differ, unread;
	uint64_t reported, report_max;
	struct pl_buf text; /* differences for people */
	struct pl_buf json; /* the same for machines, with commas between */
};

/* Adds a word behind our own text, when there is one. */
PL_NODISCARD enum pl_code report_word(struct pl_buf *text, const char *before,
                                      const char *word);
/* A member with a text, when there is one. */
void report_name(struct pl_json_out *out, const char *name, const char *value);

#endif
