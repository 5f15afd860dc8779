/*
 * Protobuf bodies, as newer clients send them for the types that they know:
 *
 *	"k8s" NUL, then runtime.Unknown: what it is, and the object's message
 *
 * The message is decoded by the table's numbers into a tree as JSON would have given it.
 * Clients write every field that Go cannot leave out, so a zero means nothing unless the
 * table says that it counts. schema_decode is still to follow: it makes quantities and
 * times canonical.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_PROTOBUF_H
#define COORD_API_SCHEMA_SCHEMA_PROTOBUF_H

#include "coord/api/schema/schema.h"
#include "store/base/json_edit.h"

struct schema_protobuf {
	struct pl_span api_version, kind; /* in the arena; either may be empty */
	const struct schema_type *type;
	struct json_tree tree; /* begins with apiVersion and kind, if the body has them */
	uint32_t unknown;      /* fields whose numbers the types do not have; left out */
};

/* Whether a body is one, by its first bytes. */
bool schema_is_protobuf(struct pl_span body);

/* type NULL: that of the kind that the body names. limits NULL: the default; they hold for
 * the values that are made. PL_NOTFOUND: the kind is not known (out->api_version and
 * out->kind are set). PL_INVALID: no such message, with the field's path where there is
 * one. PL_LIMIT. PL_NOMEM. */
PL_NODISCARD enum pl_code schema_protobuf_decode(struct pl_arena *arena,
                                                 struct pl_span body,
                                                 const struct schema_type *type,
                                                 const struct pl_json_limits *limits,
                                                 struct schema_protobuf *out,
                                                 struct pl_err *err);

#endif
