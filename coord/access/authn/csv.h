/*
 * Lines of fields with commas between them (RFC 4180). A field that begins with a quote
 * ends with one; inside, two quotes are one, and a comma is a comma. Quotes elsewhere and
 * quoted line ends are refused. Empty lines are passed over.
 */
#ifndef COORD_ACCESS_AUTHN_CSV_H
#define COORD_ACCESS_AUTHN_CSV_H

#include "store/base/arena.h"
#include "store/base/err.h"

enum { CSV_FIELDS_MAX = 16 };

struct csv {
	struct pl_span rest;
	size_t line; /* of the fields, from 1 on */
	size_t count;
	struct pl_span field[CSV_FIELDS_MAX]; /* borrows from the text or the arena */
};

void csv_begin(struct csv *csv, struct pl_span text);
/* PL_OK: the next line's fields. PL_NOTFOUND: the end. PL_INVALID: the message names the
 * line and the column. PL_NOMEM. */
PL_NODISCARD enum pl_code csv_next(struct csv *csv, struct pl_arena *arena,
                                   struct pl_err *err);

#endif
