/*
 * A place in an object, for messages: a chain of frames on the caller's stack, from the
 * innermost one out. Nothing is printed unless there is something to say.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_PLACE_H
#define COORD_API_SCHEMA_SCHEMA_PLACE_H

#include "store/base/arena.h"

enum { SCHEMA_PLACE_MAX = 1024 };

struct schema_place {
	const struct schema_place *up; /* NULL: this is the object itself */
	const char *name;              /* NULL: an element of a list */
	size_t index;
	bool in_map; /* name is a key of a map */
};

/* "spec.containers[0].name", "metadata.labels[a/b]"; empty for the object itself. NULL: no
 * memory. Cut at SCHEMA_PLACE_MAX bytes. */
const char *schema_place_path(struct pl_arena *arena, const struct schema_place *place);
/* The same without elements and keys: "spec.containers.name". */
const char *schema_place_names(struct pl_arena *arena, const struct schema_place *place);

#endif
