/* Parts of sources that their files share. Internal to coord/api/objects. */
#ifndef COORD_API_OBJECTS_SOURCES_INT_H
#define COORD_API_OBJECTS_SOURCES_INT_H

#include "coord/api/objects/sources.h"

/* The object whose orders begin with prefix, at a revision; 0: now. False: that is not known
 * any more. An object that is not there has no main part. */
bool source_object_at(struct sources *sources, const struct schema_resource *resource,
                      struct pl_span prefix, int64_t revision, struct object *out);

/* An object that is shown with a key and without is never created or deleted: it changes.
 * order: that of its key. */
void source_complete_change(const struct sources *sources, struct pl_span order,
                            struct source_change *change);

#endif
