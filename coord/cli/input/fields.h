/*
 * The fields that Kubernetes' objects have, to find those that are written wrongly: what
 * nobody knows is kept and changes nothing, so that whoever wrote nodeSelectr has a pod
 * that goes anywhere. And our own annotations, placet.io/..., where pods have them. Only
 * objects that pods are made of; not what only containers' runtimes look into (volumes'
 * sources, probes, environments).
 */
#ifndef COORD_CLI_FIELDS_H
#define COORD_CLI_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "shardsched/expand/expand.h"

enum { FIELDS_PATH_SIZE = 200 };

/* A field of an object of some kind, or of what stands in a list there. */
struct fields_field {
	const char *name;
	const struct fields_shape *of; /* what is in it; NULL: whatever it is */
};

struct fields_shape {
	const struct fields_field *field; /* by name */
	uint32_t count;
	/* Of annotations, which are everybody's: only names that begin so are looked at;
	 * empty: all. */
	const char *prefix;
	const char *instead; /* where they belong, of a shape that has none; NULL */
};

/* fields_table.c. NULL: nothing is known of it. */
const struct fields_shape *fields_of(enum expand_source source);
/* NULL: it has none of that name. */
const struct fields_field *fields_find(const struct fields_shape *shape,
                                       struct pl_span name);

/* path: as far as there is room. like: the field that may be meant; NULL: none. */
typedef void fields_fn(void *ctx, const char *path, const char *like);

/* json was scanned, and is an object. Tells each field that is not known. */
void fields_look(enum expand_source source, struct pl_span json, fields_fn *fn,
                 void *ctx);

/* Of one that was told: "spec.nodeSelectr: unknown field; is nodeSelector meant?" */
enum { FIELDS_SAY_SIZE = FIELDS_PATH_SIZE + 100 };
void fields_say(char out[FIELDS_SAY_SIZE], const char *path, const char *like);

#endif
