/*
 * Rows by key that are printed once, or go on with --watch: a line for each row that
 * is new, different or gone.
 *
 *	live_begin; live_put each; live_end		a whole picture
 *	live_put, live_gone				a change between two of them
 *
 * See output_look for what is different.
 */
#ifndef COORD_CLI_LIVE_H
#define COORD_CLI_LIVE_H

#include "coord/cli/out/output.h"
#include "store/base/map.h"

struct printed;

struct live {
	struct output output;
	unsigned state_column; /* says "gone" of a row that is; column 0 is the name */
	struct pl_buf out;
	struct pl_arena arena; /* of what rows borrow; reset when they are printed */
	struct pl_map printed;
	struct output_row *first; /* the first picture, while it is gathered */
	struct printed **first_of;
	size_t first_count, first_cap;
	uint64_t round;
	bool whole;        /* the first picture has been printed */
	bool gathering;    /* between begin and end */
	struct pl_err err; /* sticks; nothing is done after it */
};

void live_init(struct live *live, const struct output_schema *schema,
               enum output_format format, bool watch);
void live_done(struct live *live);

void live_begin(struct live *live);
/* The row borrows from live->arena, or from what lasts longer. */
void live_put(struct live *live, struct pl_span key, const struct output_row *row);
/* How many rows there are is what the first picture had. */
void live_end(struct live *live);
void live_gone(struct live *live, struct pl_span key);

/* An error of the caller's that ends it too. */
void live_fail(struct live *live, enum pl_code code, const char *what);

#endif
