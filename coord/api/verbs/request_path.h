/*
 * The path and the query of a request of the API, decoded. Pure.
 *
 *	/api/v1/namespaces/shop/pods/web-0/status
 *	/apis/apps/v1/deployments?labelSelector=app%3Dweb&limit=500
 *
 *	collection   /<resource>, /namespaces/<namespace>/<resource>
 *	object       .../<name>
 *	subresource  .../<name>/<subresource>
 *
 * Spans borrow from the arena. A segment may not be empty, "." or "..", or hold a slash
 * or a NUL, however they are spelled, or be longer than any name.
 */
#ifndef COORD_API_VERBS_REQUEST_PATH_H
#define COORD_API_VERBS_REQUEST_PATH_H

#include "coord/api/reply/status.h"
#include "coord/api/schema/schema.h"

enum {
	REQUEST_PATH_MAX = 4096,
	REQUEST_QUERY_MAX = 96 * 1024,
	REQUEST_SEGMENTS_MAX = 10,
	REQUEST_SEGMENT_MAX = 330 /* a node's name behind its cluster's */
};

struct request_path {
	const struct schema_resource *resource;
	struct pl_span namespace;   /* empty: all, or the resource has none */
	struct pl_span name;        /* empty: the collection */
	struct pl_span subresource; /* empty: the object itself */
};

/* False: *out is the Status to answer with. */
PL_NODISCARD bool request_path_parse(struct pl_arena *arena, struct pl_span path,
                                     struct request_path *out, struct api_status *status);

/* X(name) options of the query that are kept as text; empty: absent. */
#define REQUEST_OPTION_MAP(X)   \
	X(labelSelector)        \
	X(fieldSelector)        \
	X(limit)                \
	X(continue_)            \
	X(resourceVersion)      \
	X(resourceVersionMatch) \
	X(watch)                \
	X(allowWatchBookmarks)  \
	X(sendInitialEvents)    \
	X(timeoutSeconds)       \
	X(fieldManager)         \
	X(fieldValidation)      \
	X(dryRun)               \
	X(force)                \
	X(pretty)               \
	X(gracePeriodSeconds)   \
	X(propagationPolicy)    \
	X(orphanDependents)     \
	X(includeObject)        \
	X(timeout)

struct request_query {
#define REQUEST_OPTION_FIELD(name) struct pl_span name;
	REQUEST_OPTION_MAP(REQUEST_OPTION_FIELD)
#undef REQUEST_OPTION_FIELD
	bool has_resource_version; /* also when it is empty */
	bool has_pretty;
};

/* Options that are not known are passed over. Of an option that comes twice the first
 * counts. */
PL_NODISCARD bool request_query_parse(struct pl_arena *arena, struct pl_span query,
                                      struct request_query *out,
                                      struct api_status *status);

/* As Kubernetes reads a flag: it is true unless it is absent, "0" or "false" in upper or
 * lower case. Python's clients send "True"; "?watch" has no value. */
bool request_is_true(struct pl_span text);
/* A number without sign up to 2^63 - 1. False: it is none. */
bool request_number(struct pl_span text, int64_t *out);

/* Decodes %xx (and, in a query, +). at NULL: malformed, or out of memory. */
struct pl_span request_decode(struct pl_arena *arena, struct pl_span text, bool plus);

#endif
