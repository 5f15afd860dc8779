/*
 * Quantities of resources as Kubernetes writes them: "250m", "1.5Gi", "2e3", "100".
 *
 *	quantity = [+-] digits [. digits] suffix
 *	suffix   = n u m (nothing) k M G T P E | Ki Mi Gi Ti Pi Ei | e or E [+-] digits
 *
 * A quantity is exact: an integer multiple of 10^-9. Finer digits are rounded away from
 * zero, and so is every rounding in this file, so that a pod never gets less than it
 * asked for. More than +-(2^63 - 1) whole units are refused (Kubernetes silently takes
 * 2^63 - 1). The arithmetic is in 128-bit integers; a binary suffix behind more than 19
 * significant digits is refused because it would not fit.
 */
#ifndef STORE_BASE_QUANTITY_H
#define STORE_BASE_QUANTITY_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_QUANTITY_TEXT_SIZE = 48 };

__extension__ typedef __int128 pl_int128;

/* The spelling of the quantity, which printing keeps. */
enum pl_quantity_form {
	PL_QUANTITY_DECIMAL,  /* 250m, 5k */
	PL_QUANTITY_BINARY,   /* 64Mi */
	PL_QUANTITY_EXPONENT, /* 2e3 */
};

struct pl_quantity {
	pl_int128 nano;
	enum pl_quantity_form form;
};

/* PL_INVALID: text is no quantity. PL_LIMIT: it is too large or too long. */
PL_NODISCARD enum pl_code pl_quantity_parse(struct pl_span text, struct pl_quantity *out,
                                            struct pl_err *err);

/* Whole units, in which the scheduler counts all resources but CPU. */
int64_t pl_quantity_units(struct pl_quantity quantity);

/* Thousandths, in which the scheduler counts CPU. PL_LIMIT: they do not fit into 64
 * bits. */
PL_NODISCARD enum pl_code pl_quantity_milli(struct pl_quantity quantity, int64_t *out,
                                            struct pl_err *err);

/* Prints Kubernetes' canonical form: no fraction, with the largest suffix that needs
 * none. A binary quantity below 1024 is printed as decimal. Returns out, which must have
 * room for PL_QUANTITY_TEXT_SIZE bytes. */
const char *pl_quantity_print(struct pl_quantity quantity, char *out);

#endif
