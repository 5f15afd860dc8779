/*
 * The OpenAPI documents, made once from the table and kept: constant from then on, so
 * any number of threads may read them.
 *
 *	/openapi/v2                  JSON, or protobuf
 *	/openapi/v3                  index
 *	/openapi/v3/api/v1           JSON, one for each version of a group
 *	/openapi/v3/apis/apps/v1
 */
#ifndef COORD_API_SCHEMA_OPENAPI_H
#define COORD_API_SCHEMA_OPENAPI_H

#include "store/base/err.h"
#include "store/base/span.h"

/* The media type that clients accept, and the one that an answer must say: Go refuses to
 * parse the first one in a Content-Type. */
#define OPENAPI_V2_PROTOBUF "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define OPENAPI_V2_PROTOBUF_SAID \
	"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

struct openapi;

/* version: of the program, in the documents. PL_NOMEM. */
PL_NODISCARD enum pl_code openapi_new(const char *version, struct openapi **out,
                                      struct pl_err *err);
void openapi_free(struct openapi *openapi);

/* All borrowed. */
struct pl_span openapi_v2(const struct openapi *openapi);
struct pl_span openapi_v2_as_protobuf(const struct openapi *openapi);
struct pl_span openapi_v3(const struct openapi *openapi);
/* path: "api/v1", "apis/apps/v1". *hash: what ?hash= must say for the answer to be kept
 * for ever. False: there is none. */
bool openapi_v3_find(const struct openapi *openapi, struct pl_span path,
                     struct pl_span *document, struct pl_span *hash);

#endif
