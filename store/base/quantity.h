/*
 * Amounts of resources as Kubernetes writes them: "250m", "1.5Gi", "2e3", "100".
 *
 *	quantity = [+-] digits [. digits] suffix
 *	suffix   = n u m (nothing) k M G T P E | Ki Mi Gi Ti Pi Ei | e or E [+-] digits
 *
 * A quantity is held exactly, as a whole number of 10^-9; what is finer is rounded
 * away from zero, and so is every rounding here: nobody gets less than he asked
 * for. Beyond +-(2^63 - 1) whole units it is refused (Kubernetes would quietly
 * take 2^63 - 1). The arithmetic is in integers of 128 bits; a binary suffix
 * behind more than 19 significant digits is refused because it would not fit.
 */
#ifndef STORE_BASE_QUANTITY_H
#define STORE_BASE_QUANTITY_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_QUANTITY_TEXT_SIZE = 48 };

__extension__ typedef __int128 pl_int128;

/* How it was written, and so how it is printed. */
enum pl_quantity_form {
	PL_QUANTITY_DECIMAL,  /* 250m, 5k */
	PL_QUANTITY_BINARY,   /* 64Mi */
	PL_QUANTITY_EXPONENT, /* 2e3 */
};

struct pl_quantity {
	pl_int128 nano;
	enum pl_quantity_form form;
};

/* PL_INVALID: not a quantity; PL_LIMIT: too large or too long. */
PL_NODISCARD enum pl_code pl_quantity_parse(struct pl_span text, struct pl_quantity *out,
                                            struct pl_err *err);

/* Whole units, as the scheduler counts everything but CPU. */
int64_t pl_quantity_units(struct pl_quantity quantity);

/* Thousandths, as the scheduler counts CPU. PL_LIMIT beyond 64 bits. */
PL_NODISCARD enum pl_code pl_quantity_milli(struct pl_quantity quantity, int64_t *out,
                                            struct pl_err *err);

/* Kubernetes' canonical form: no fraction, the largest suffix that needs none;
 * binary ones below 1024 are printed as decimal. Gives out, which has room for
 * PL_QUANTITY_TEXT_SIZE bytes. */
const char *pl_quantity_print(struct pl_quantity quantity, char *out);

#endif
