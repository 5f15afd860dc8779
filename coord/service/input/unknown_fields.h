/*
 * Unknown fields: finds misspelt fields of Kubernetes' objects. A field that is not
 * known is kept and changes nothing, so a pod with nodeSelectr goes anywhere. Our own
 * annotations, placet.io/..., are checked where pods have them. Only objects that
 * contain pods are looked at, and not the parts that only container runtimes read
 * (volumes' sources, probes, environments).
 */
#ifndef COORD_SERVICE_INPUT_UNKNOWN_FIELDS_H
#define COORD_SERVICE_INPUT_UNKNOWN_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "shardsched/expand/expand.h"

enum { UNKNOWN_FIELD_PATH_SIZE = 200 };

/* A field of an object of some kind, or of what stands in a list there. */
struct known_fields_field {
	const char *name;
	const struct known_fields_shape *of; /* fields of the value; NULL: any fields */
};

struct known_fields_shape {
	const struct known_fields_field *field; /* by name */
	uint32_t count;
	/* For annotations, which anybody may add: only names with this prefix are
	 * looked at; empty: all. */
	const char *prefix;
	const char *instead; /* where they belong, of a shape that has none; NULL */
};

/* known_fields_table.c. NULL: nothing is known of it. */
const struct known_fields_shape *known_fields_of(enum expand_source source);
/* NULL: it has none of that name. */
const struct known_fields_field *known_fields_find(const struct known_fields_shape *shape,
                                                   struct pl_span name);

/* path: truncated if it is too long. like: the field that may be meant; NULL: none. */
typedef void unknown_field_fn(void *ctx, const char *path, const char *like);

/* json was scanned, and is an object. Tells each field that is not known. */
void unknown_fields_find(enum expand_source source, struct pl_span json,
                         unknown_field_fn *fn, void *ctx);

/* Writes "spec.nodeSelectr: unknown field; is nodeSelector meant?" */
enum { UNKNOWN_FIELD_TEXT_SIZE = UNKNOWN_FIELD_PATH_SIZE + 100 };
void unknown_field_text(char out[UNKNOWN_FIELD_TEXT_SIZE], const char *path,
                        const char *like);

#endif
