/*
 * metadata.managedFields: which manager owns which fields of an object.
 *
 * An entry belongs to a manager, an operation (Apply or Update), a subresource, and for
 * updates an API version. Every create, update and patch moves what it changes to the
 * entry of its manager; apply.h sets the entry of an applier.
 *
 * Pure: the time is a parameter.
 */
#ifndef COORD_API_PATCH_MANAGED_FIELDS_H
#define COORD_API_PATCH_MANAGED_FIELDS_H

#include "coord/api/schema/schema.h"
#include "store/base/json_edit.h"

enum { MANAGED_UPDATERS_MAX = 10 }; /* older ones become "ancient-changes" */

/* The manager of a write. Borrows its texts. */
struct field_writer {
	const struct schema_type *type; /* of the object */
	const char *manager;            /* "": "unknown" */
	const char *api_version;
	const char *subresource; /* "": none */
	const char *time;        /* RFC 3339, UTC, whole seconds */
	/* Paths that this way of writing does not change, "metadata.ownerReferences": the
	 * status for a write that is not to the subresource status. Ends with NULL; NULL:
	 * none. */
	const char *const *ignored;
};

/*
 * Sets after's managedFields for a change from before (absent: after is created) to after.
 *
 * The entries are those that after has, if a client sent any, else before's, and always
 * before's for a subresource. A client that sends an empty list, or one empty entry,
 * removes them all: from then on updates are not tracked, until a manager applies. Entries
 * that are malformed are dropped, as Kubernetes does. Values that after and before share
 * are compared once; entries whose fields do not change are not read.
 *
 * PL_NOMEM.
 */
PL_NODISCARD enum pl_code managed_fields_update(struct json_tree *after,
                                                struct pl_json before,
                                                const struct field_writer *by,
                                                struct pl_err *err);

/* PL_INVALID: entries that a client has written are malformed (Kubernetes drops them in an
 * update, and refuses to apply over them). list absent or null: none. */
PL_NODISCARD enum pl_code managed_fields_check(struct pl_arena *arena,
                                               struct pl_json list, struct pl_err *err);

#endif
