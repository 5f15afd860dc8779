/* The documents of OpenAPI 3: one for each version of a group, and an index. */
#ifndef COORD_API_SCHEMA_OPENAPI_V3_H
#define COORD_API_SCHEMA_OPENAPI_V3_H

#include "coord/api/schema/openapi_schema.h"

enum { OPENAPI_GROUPS_MAX = 32, OPENAPI_HASH_SIZE = 33 };

struct openapi_group {
	const char *group, *version;
	char path[OPENAPI_NAME_MAX];  /* "api/v1", "apis/apps/v1" */
	char hash[OPENAPI_HASH_SIZE]; /* of the document, for the index */
};

/* The groups of all resources, in their order; returns how many. */
size_t openapi_v3_groups(struct openapi_group out[OPENAPI_GROUPS_MAX]);
/* PL_LIMIT and PL_NOMEM of the buffer. version: of the program. */
PL_NODISCARD enum pl_code openapi_v3_json(const struct openapi_group *group,
                                          const char *version, struct pl_buf *out);
void openapi_v3_hash(struct openapi_group *group, struct pl_span document);
/* Every group has its hash. */
PL_NODISCARD enum pl_code openapi_v3_index(const struct openapi_group *groups,
                                           size_t count, struct pl_buf *out);

#endif
