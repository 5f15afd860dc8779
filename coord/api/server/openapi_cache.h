/*
 * The OpenAPI documents of a server: made when they are first asked for, and kept, since
 * the table never changes while the server runs.
 */
#ifndef COORD_API_SERVER_OPENAPI_CACHE_H
#define COORD_API_SERVER_OPENAPI_CACHE_H

#include "coord/api/schema/openapi_v2.h"
#include "coord/api/schema/openapi_v3.h"
#include "store/net/http_server.h"

struct openapi_cache {
	struct http_blob *v2_json, *v2_protobuf, *index; /* NULL: not made yet */
	struct openapi_group group[OPENAPI_GROUPS_MAX];
	struct http_blob *document[OPENAPI_GROUPS_MAX];
	size_t groups; /* 0: not made yet */
};

void openapi_cache_free(struct openapi_cache *cache);

/* Finds the document of a path ("/openapi/v3/apis/apps/v1"). *type: for Content-Type.
 * PL_NOTFOUND: the path names none; PL_NOMEM. *out is borrowed. */
PL_NODISCARD enum pl_code openapi_cache_get(struct openapi_cache *cache,
                                            const char *version, struct pl_span path,
                                            bool protobuf, struct http_blob **out,
                                            const char **type, struct pl_err *err);

#endif
