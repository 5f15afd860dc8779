/*
 * Defaults: what Kubernetes fills in when an object is created or changed, in place.
 *
 * Most are in the table (schema_field.normal). Those that depend on other fields are
 * code: an image's pull policy, requests from limits, the parts of a strategy.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_DEFAULTS_H
#define COORD_API_SCHEMA_SCHEMA_DEFAULTS_H

#include "coord/api/schema/schema.h"
#include "store/base/json_edit.h"

/* The tree is decoded (schema_check.h). PL_NOMEM: it is half done. */
PL_NODISCARD enum pl_code schema_defaults(struct json_tree *tree,
                                          const struct schema_type *type);

#endif
