/*
 * Rows by key that are printed once, or go on with --watch: a line for each row that
 * is new, different or gone.
 *
 *	row_watch_begin; row_watch_put each; row_watch_end		a whole picture
 *	row_watch_put, row_watch_gone				a change between two of them
 *
 * See output_look for what is different.
 */
#ifndef COORD_CLI_OUTPUT_ROW_WATCH_H
#define COORD_CLI_OUTPUT_ROW_WATCH_H

#include "coord/cli/output/output.h"
#include "store/base/map.h"

struct printed_row;

struct row_watch {
	struct output output;
	unsigned
		state_column; /* column of the state, "gone" for a row that goes; column 0 is the name */
	struct pl_buf out;
	struct pl_arena arena; /* of what rows borrow; reset when they are printed */
	struct pl_map printed;
	struct output_row *first; /* the first picture, while it is gathered */
	struct printed_row **first_of;
	size_t first_count, first_cap;
	uint64_t round;
	bool whole;        /* the first picture has been printed */
	bool gathering;    /* between begin and end */
	struct pl_err err; /* the first error; nothing is printed after it */
};

void row_watch_init(struct row_watch *row_watch, const struct output_schema *schema,
                    enum output_format format, bool watch);
void row_watch_done(struct row_watch *row_watch);

void row_watch_begin(struct row_watch *row_watch);
/* The row borrows from row_watch->arena, or from memory that lasts longer. */
void row_watch_put(struct row_watch *row_watch, struct pl_span key,
                   const struct output_row *row);
/* Ends a whole picture; the first one decides the columns' widths. */
void row_watch_end(struct row_watch *row_watch);
void row_watch_gone(struct row_watch *row_watch, struct pl_span key);

/* Whether the row "shop/web-0" is there. */
bool row_watch_has(const struct row_watch *row_watch, struct pl_span first,
                   struct pl_span second);

/* Ends the watch with an error of the caller's. */
void row_watch_fail(struct row_watch *row_watch, enum pl_code code, const char *what);

#endif
