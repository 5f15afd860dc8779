/* Defaults that depend on other fields. */
#ifndef COORD_API_SCHEMA_SCHEMA_DEFAULTS_INT_H
#define COORD_API_SCHEMA_SCHEMA_DEFAULTS_INT_H

#include "coord/api/schema/schema_defaults.h"

struct filler {
	struct json_tree *tree;
	bool failed; /* no memory */
};

/* Before the table's defaults of the object itself and of its members. */
void schema_defaults_before(struct filler *filler, struct cJSON *object,
                            const struct schema_type *type);
/* After them. */
void schema_defaults_after(struct filler *filler, struct cJSON *object,
                           const struct schema_type *type);

#endif
