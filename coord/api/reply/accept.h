/*
 * Content negotiation: the form of an answer that a client prefers and the server can
 * give, and the form of a body that a client has sent.
 *
 *	Accept: application/json;as=Table;v=v1;g=meta.k8s.io, application/json
 *
 * Clauses are tried by their quality, then exact ones before wildcards, then in their
 * order. A clause that the endpoint cannot serve (a Table of what has none, a kind of
 * another version, protobuf) is passed over; when none is left, the answer is 406.
 * Protobuf is read, and never written.
 */
#ifndef COORD_API_REPLY_ACCEPT_H
#define COORD_API_REPLY_ACCEPT_H

#include <stdbool.h>

#include "store/base/span.h"

enum accept_format { ACCEPT_JSON, ACCEPT_YAML };

enum accept_as {
	ACCEPT_AS_IS,
	ACCEPT_AS_TABLE,
	ACCEPT_AS_METADATA,      /* PartialObjectMetadata */
	ACCEPT_AS_METADATA_LIST, /* PartialObjectMetadataList */
	ACCEPT_AS_DISCOVERY,     /* APIGroupDiscoveryList */
};

struct accept {
	enum accept_format format;
	enum accept_as as;
	bool beta;   /* v1beta1, or v2beta1 of discovery, was asked for */
	bool pretty; /* pretty=1 in the clause */
};

/* The kinds that the endpoint can answer with besides its own. */
struct accept_offers {
	bool table;
	bool metadata;      /* one object, or the objects of a watch */
	bool metadata_list; /* a list */
	bool discovery;
	bool stream; /* a watch: JSON only */
};

/* False: nothing that the client accepts can be given (status_not_acceptable with
 * accept_types). A header that is absent or empty accepts everything. */
bool accept_negotiate(struct pl_span header, struct accept_offers offers,
                      struct accept *out);

/* Whether the answer is printed for people: the client asked for that in the query
 * (pretty=1, pretty=true; at NULL: the query has no pretty), or in the clause, or is known
 * to show answers as they are. */
bool accept_is_pretty(const struct accept *accept, struct pl_span pretty,
                      struct pl_span user_agent);

/* For Content-Type. */
const char *accept_content_type(const struct accept *accept);

/* "meta.k8s.io/v1" and the like: the apiVersion of a Table, metadata or discovery. */
const char *accept_api_version(const struct accept *accept);

enum body_format {
	BODY_JSON,
	BODY_YAML,
	BODY_PROTOBUF,
	BODY_JSON_PATCH,
	BODY_MERGE_PATCH,
	BODY_STRATEGIC_PATCH,
	BODY_APPLY, /* YAML, so also JSON */
};

/* False: status_unsupported_media_type with accept_body_types or accept_patch_types. An
 * object without a Content-Type is JSON; a patch must have one. */
bool accept_body(struct pl_span content_type, bool patch, enum body_format *out);

extern const char accept_types[];
extern const char accept_stream_types[];
extern const char accept_body_types[];
extern const char accept_patch_types[];

#endif
