/*
 * Schemas of OpenAPI, version 2 and 3, written from the table.
 *
 * The two versions differ in where schemas stand, in how a reference gets a description,
 * and in what may be said: defaults and choices are in version 3 only, as in Kubernetes.
 */
#ifndef COORD_API_SCHEMA_OPENAPI_SCHEMA_H
#define COORD_API_SCHEMA_OPENAPI_SCHEMA_H

#include "coord/api/schema/schema.h"
#include "store/base/json_out.h"

enum openapi_version { OPENAPI_V2, OPENAPI_V3 };

enum { OPENAPI_TYPES_MAX = 512, OPENAPI_NAME_MAX = 160 };

/* The types that a document needs, by their place in schema_types(). */
struct openapi_types {
	bool used[OPENAPI_TYPES_MAX];
};

#define OPENAPI_META "io.k8s.apimachinery.pkg.apis.meta.v1."

/* Adds the type and all types of its fields. */
void openapi_types_add(struct openapi_types *types, const struct schema_type *type);

/* {"$ref":"#/definitions/NAME"} */
void openapi_ref(struct pl_json_out *out, enum openapi_version version, const char *name);
/* "io.k8s.api.core.v1.PodList" */
const char *openapi_list_name(const struct schema_resource *resource,
                              char out[OPENAPI_NAME_MAX]);
/* Members of the object of schemas: the types, and the lists of the resources whose group
 * and version are these (group NULL: of all). */
void openapi_schemas(struct pl_json_out *out, enum openapi_version version,
                     const struct openapi_types *types, const char *group,
                     const char *group_version);
/* {"group":"apps","kind":"Deployment","version":"v1"} */
void openapi_kind(struct pl_json_out *out, const char *group, const char *version,
                  const char *kind);

#endif
