/*
 * The document of OpenAPI 2: everything that is served, in one. Older kubectls need it,
 * as protobuf, before they apply or explain anything.
 */
#ifndef COORD_API_SCHEMA_OPENAPI_V2_H
#define COORD_API_SCHEMA_OPENAPI_V2_H

#include "coord/api/schema/openapi_schema.h"

/* PL_LIMIT and PL_NOMEM of the buffer. version: of the program. */
PL_NODISCARD enum pl_code openapi_v2_json(const char *version, struct pl_buf *out);
/* The same document as the message openapi.v2.Document of gnostic, which
 * application/com.github.proto-openapi.spec.v2@v1.0+protobuf stands for. */
PL_NODISCARD enum pl_code openapi_v2_protobuf(struct pl_span json, struct pl_buf *out,
                                              struct pl_err *err);

#endif
