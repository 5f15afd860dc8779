/* Names that a resource shows whether or not a key has them: all partitions of the store, all
 * configurations that are known. */
#ifndef COORD_API_OBJECTS_SHOWN_NAMES_H
#define COORD_API_OBJECTS_SHOWN_NAMES_H

#include "coord/api/objects/sources.h"

enum { SHOWN_NAME_SIZE = 64 };

/* Whether the resource has such names. */
bool shown_names_any(const struct schema_resource *resource);
/* The name at an index, in the order of lists. False: there are no more. */
bool shown_name_at(const struct sources *sources, const struct schema_resource *resource,
                   uint32_t index, char out[SHOWN_NAME_SIZE]);
/* The index behind that of a name; UINT32_MAX: the name is none of them. */
uint32_t shown_name_behind(const struct sources *sources,
                           const struct schema_resource *resource, struct pl_span name);

/* The object of such a name without a key; borrows name and order ("<name>/"). */
struct object shown_name_object(const struct schema_resource *resource,
                                struct pl_span name, struct pl_span order);

#endif
