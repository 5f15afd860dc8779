/* The meaning of plain scalars in YAML. Reading and writing share it, so that every
 * string that is written is read as a string. */
#ifndef STORE_BASE_YAML_SCALAR_H
#define STORE_BASE_YAML_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

enum pl_yaml_kind {
	PL_YAML_STRING,
	PL_YAML_NULL,
	PL_YAML_BOOL,
	PL_YAML_INT,   /* any sign, up to 64 bits */
	PL_YAML_FLOAT, /* finite */
	PL_YAML_MERGE, /* "<<" */
	/* a number that JSON cannot hold: infinite, NaN, too large */
	PL_YAML_UNREPRESENTABLE,
};

struct pl_yaml_scalar {
	enum pl_yaml_kind kind;
	bool truth;
	bool negative;
	uint64_t whole;
	double number;
};

struct pl_yaml_scalar pl_yaml_resolve(struct pl_span plain);

/* Whether some reader might take the string for another type: everything that resolves,
 * dates, and numbers to base sixty. */
bool pl_yaml_needs_quotes(struct pl_span text);

#endif
