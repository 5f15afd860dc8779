/*
 * Rows of the API: the objects of a resource, each of which is a row, with --watch: printed
 * whole first, then a line for each that is new, looks different, or is gone.
 */
#ifndef COORD_CLI_SESSION_API_ROWS_H
#define COORD_CLI_SESSION_API_ROWS_H

#include "coord/cli/output/row_watch.h"
#include "coord/cli/session/api_watch.h"

struct api_rows_opts {
	const char *words; /* of the command, for messages */
	const char *path;
	struct pl_span query;
	const struct output_schema *schema;
	unsigned state_column; /* "gone" for a row that goes */
	const char *none;      /* a message when there is none at first; NULL: none */
	/* Makes the row, which borrows from the object and the arena, with all of its name
	 * columns. *shown false: another object than those that are wanted. */
	enum pl_code (*row)(const void *ctx, struct pl_json object,
	                    struct pl_arena *arena, struct output_row *out, bool *shown);
	/* The first picture is printed; NULL: does not matter. */
	void (*first)(const void *ctx, struct row_watch *rows);
	const void *ctx;
};

/* Goes on until something fails. */
PL_NODISCARD enum pl_code api_rows_watch(struct api_session *api,
                                         const struct api_rows_opts *opts,
                                         struct pl_err *err);

#endif
