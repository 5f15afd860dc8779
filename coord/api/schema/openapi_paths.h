/* The paths of OpenAPI: what can be asked of each resource, from the table. */
#ifndef COORD_API_SCHEMA_OPENAPI_PATHS_H
#define COORD_API_SCHEMA_OPENAPI_PATHS_H

#include "coord/api/schema/openapi_schema.h"

/* Members of the object of paths. */
void openapi_paths(struct pl_json_out *out, enum openapi_version version,
                   const struct schema_resource *resource);

#endif
