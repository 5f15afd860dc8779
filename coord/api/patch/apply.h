/*
 * Server-side apply: a configuration is merged into an object, and its manager owns from
 * then on what the configuration has. What the manager's last configuration had and this
 * one has not is removed, unless another manager owns it.
 *
 *	merge the configuration --> remove what was given up --> compare with the object
 *	--> fields that others own and that change: conflicts, or with force taken over
 *
 * Pure. The configuration has been decoded by the schema before.
 *
 *	PL_INVALID   the configuration is wrong        400 BadRequest
 *	PL_CONFLICT  fields of other managers change   409 Conflict, result->conflicts
 *	PL_NOMEM
 */
#ifndef COORD_API_PATCH_APPLY_H
#define COORD_API_PATCH_APPLY_H

#include "coord/api/patch/managed_fields.h"

/* One cause of the Status, of type FieldManagerConflict. */
struct apply_conflict {
	struct apply_conflict *next;
	const char *message; /* conflict with "kubectl-client-side-apply" using v1 */
	const char *field;   /* .spec.containers[name="a"].image */
};

struct apply_result {
	struct json_tree object; /* without defaults of fields that are new */
	struct apply_conflict *conflicts;
	const char *message; /* of the Status */
};

struct apply_options {
	struct field_writer by;
	bool force;
};

/* live absent: the object is created. The result is in the arena, and borrows from
 * nothing else. */
PL_NODISCARD enum pl_code apply_config(struct pl_arena *arena, struct pl_json live,
                                       struct pl_json config,
                                       const struct apply_options *options,
                                       struct apply_result *out, struct pl_err *err);

#endif
