/*
 * A label query is what --selector says: requirements of labels, all of which must
 * hold.
 *
 *	app=web,tier!=db,zone in (a,b),gpu notin (none),spot,!canary
 *
 * As of kubectl: != and notin also hold of an object without the label.
 */
#ifndef COORD_SERVICE_INPUT_LABEL_QUERY_H
#define COORD_SERVICE_INPUT_LABEL_QUERY_H

#include <stdbool.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { LABEL_QUERY_REQUIREMENTS_MAX = 32, LABEL_QUERY_VALUES_MAX = 256 };

enum label_op { LABEL_IN, LABEL_NOT_IN, LABEL_EXISTS, LABEL_NOT_EXISTS };

struct label_requirement {
	enum label_op op;
	struct pl_span key;
	unsigned first, count; /* values */
};

/* A query without requirements matches everything. */
struct label_query {
	struct label_requirement want[LABEL_QUERY_REQUIREMENTS_MAX];
	struct pl_span value[LABEL_QUERY_VALUES_MAX];
	unsigned requirements, values;
};

/* Borrows the text. PL_INVALID, PL_LIMIT: why, and where. Adds to what is there. */
PL_NODISCARD enum pl_code label_query_parse(struct pl_span text, struct label_query *out,
                                            struct pl_err *err);

/* Adds the query as a server of Kubernetes' API reads it: "app in (web),spot,!canary". */
PL_NODISCARD enum pl_code label_query_print(const struct label_query *query,
                                            struct pl_buf *out);

/* Matches a Kubernetes object in JSON; an object that can not be read has no labels. */
bool label_query_matches(const struct label_query *query, struct pl_span object);

#endif
