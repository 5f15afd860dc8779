/*
 * Strategic merge patch: a merge patch that knows the schema, as `kubectl apply` sends it.
 *
 *	lists            merged by key or as sets where the schema says so, else replaced
 *	null             removes a member
 *	$patch           in an object: replace, delete (makes it empty), merge
 *	                 in a list's element: delete, replace (the whole list), merge
 *	$retainKeys      all other members of the object are removed
 *	$deleteFromPrimitiveList/f   removes scalars from the list f
 *	$setElementOrder/f           the order of the list f
 *
 * The order of a merged list is Kubernetes': what the patch names goes by the order in
 * $setElementOrder, or else in the patch; what only the server has keeps its order; both
 * are merged by their places in the list as it was.
 *
 * Pure. Errors have the path in the patch.
 *	PL_INVALID   the patch is malformed, or has an unknown directive   400 BadRequest
 *	PL_CONFLICT  lists of lists, lists of different types              422 Invalid
 *	PL_NOMEM
 */
#ifndef COORD_API_PATCH_STRATEGIC_MERGE_H
#define COORD_API_PATCH_STRATEGIC_MERGE_H

#include "coord/api/schema/schema.h"
#include "store/base/json_edit.h"

/* After a failure the tree holds a part of the changes, and is of no use. */
PL_NODISCARD enum pl_code strategic_merge_apply(struct json_tree *tree,
                                                const struct schema_type *type,
                                                struct pl_json patch, struct pl_err *err);

#endif
