/*
 * The verb of a request, by its method, path and query; and what is asked with it in the
 * words of authorization. Pure.
 *
 * Invariant: authorization sees what is done. Both come from the same parse of the same
 * bytes: request_attributes() and the request itself use request_path_parse() and
 * request_verb_find(). A path that these refuse is read loosely, as Kubernetes reads it, to be
 * refused in its words; nothing is done for it.
 */
#ifndef COORD_API_VERBS_REQUEST_VERB_H
#define COORD_API_VERBS_REQUEST_VERB_H

#include "coord/access/base/attributes.h"
#include "coord/api/verbs/request_path.h"
#include "store/net/http_server.h"

enum request_verb {
	REQUEST_GET,
	REQUEST_LIST,
	REQUEST_WATCH,
	REQUEST_CREATE,
	REQUEST_UPDATE,
	REQUEST_PATCH,
	REQUEST_DELETE,
	REQUEST_DELETE_COLLECTION,
};

/* "get", "deletecollection". */
const char *request_verb_word(enum request_verb verb);

/* needed: the schema_verb that the resource must have. False: there is no such verb. */
bool request_verb_find(struct pl_span method, const struct request_path *path,
                       const struct request_query *query, enum request_verb *out,
                       uint16_t *needed);

/* PL_NOMEM. The spans borrow from the arena and from the request. */
PL_NODISCARD enum pl_code request_attributes(struct pl_arena *arena,
                                             const struct http_request *http,
                                             struct access_attributes *out);

#endif
