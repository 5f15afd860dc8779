/* What a plain scalar of YAML means: shared by reading and writing, so that whatever
 * is written as a string is read as one. */
#ifndef STORE_BASE_YAML_SCALAR_H
#define STORE_BASE_YAML_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

enum pl_yaml_kind {
	PL_YAML_STRING,
	PL_YAML_NULL,
	PL_YAML_BOOL,
	PL_YAML_INT,             /* negative or not, and 64 bits of it */
	PL_YAML_FLOAT,           /* finite */
	PL_YAML_MERGE,           /* "<<" */
	PL_YAML_UNREPRESENTABLE, /* a number that JSON has no room for: infinite, not one, too large
	                */
};

struct pl_yaml_scalar {
	enum pl_yaml_kind kind;
	bool truth;
	bool negative;
	uint64_t whole;
	double number;
};

struct pl_yaml_scalar pl_yaml_resolve(struct pl_span plain);

/* Whether some reader might take it for something else than a string: all that
 * resolves, dates, and numbers to base sixty. */
bool pl_yaml_needs_quotes(struct pl_span text);

#endif
