/*
 * A row list gathers rows that come one by one, and prints them: all at once, or, when they
 * are too many to hold, in parts as get pods does. What a row borrows is copied.
 */
#ifndef COORD_CLI_OUTPUT_ROW_LIST_H
#define COORD_CLI_OUTPUT_ROW_LIST_H

#include "coord/cli/output/output.h"

enum { ROW_LIST_PART = 8192 }; /* rows */

struct row_list {
	struct output output;
	struct output_row *rows;
	size_t count; /* not printed yet */
	bool parted;  /* some are printed */
	struct pl_arena arena;
};

PL_NODISCARD enum pl_code row_list_init(struct row_list *list,
                                        const struct output_schema *schema,
                                        enum output_format format, struct pl_err *err);
void row_list_done(struct row_list *list);

PL_NODISCARD enum pl_code row_list_add(struct row_list *list,
                                       const struct output_row *row, struct pl_err *err);
/* Prints the rest. none: a message that stands for an empty list; NULL: nothing is printed
 * for one. */
PL_NODISCARD enum pl_code row_list_end(struct row_list *list, const char *none,
                                       struct pl_err *err);

#endif
