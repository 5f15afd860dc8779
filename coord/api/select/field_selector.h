/*
 * A field selector, as the query parameter fieldSelector spells it: fields that must have,
 * or must not have, a value.
 *
 *	spec.nodeName=n1,status.phase!=Succeeded,metadata.name==a\,b
 *
 * Only the fields that Kubernetes supports for a resource can be asked for. A field that
 * an object does not have is empty. Grammar and refusals are those of Kubernetes.
 */
#ifndef COORD_API_SELECT_FIELD_SELECTOR_H
#define COORD_API_SELECT_FIELD_SELECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/json.h"
#include "store/base/span.h"

enum { FIELD_SELECTOR_BYTES_MAX = 64 * 1024, FIELD_SELECTOR_TERMS_MAX = 256 };

struct field_term {
	const char *field; /* a constant: "spec.nodeName" */
	bool equal;        /* false: != */
	struct pl_span value;
};

/* A selector without terms matches everything. */
struct field_selector {
	uint32_t count;
	const struct field_term *terms;
};

/* The value of a field of the object that ctx stands for; empty: it has none. The text is
 * used before the next call only. */
typedef struct pl_span field_value_fn(const void *ctx, const char *field);

/* group empty: core. A resource that has no fields of its own has metadata.name and
 * metadata.namespace. PL_INVALID, PL_LIMIT: *why, in the arena, is the message of the 400
 * that answers. PL_NOMEM. */
PL_NODISCARD enum pl_code field_selector_parse(struct pl_arena *arena, const char *group,
                                               const char *plural, struct pl_span text,
                                               struct field_selector *out,
                                               struct pl_span *why);

bool field_selector_matches(const struct field_selector *selector, field_value_fn *value,
                            const void *ctx);
/* The same for an object in JSON, with its defaults filled in. */
bool field_selector_matches_json(const struct field_selector *selector,
                                 struct pl_json object);
/* The value of one field of an object; needs no memory. */
struct pl_span field_value_json(struct pl_json object, const char *field,
                                char scratch[24]);

/* Whether the selector can only match objects with one value of the field: a list may
 * then look there only. */
bool field_selector_wants(const struct field_selector *selector, const char *field,
                          struct pl_span *value);

/* -- the table ----------------------------------------------------------------------- */

struct field_set {
	const char *group, *plural;
	const char *const *fields; /* ends with NULL */
	/* How a field that is not in the table is refused; the label stands in its place. */
	const char *before, *after;
	bool quoted;
};

/* Never NULL. */
const struct field_set *field_set_of(const char *group, const char *plural);
/* The constant of the table; NULL: not supported. An old name gives the new one. */
const char *field_set_find(const struct field_set *set, struct pl_span label);

#endif
