/*
 * JSON patch (RFC 6902): add, remove, replace, move, copy and test, one after another.
 *
 * Pure. Answers are as Kubernetes gives them, which deviates from the RFC in two ways that
 * clients rely on: replace adds a member that an object lacks, and test finds null in a
 * member that is missing. Indexes are strict: no sign, no leading zero.
 *
 *	PL_INVALID   the patch is malformed                  400 BadRequest
 *	PL_LIMIT     too many operations                     413 RequestEntityTooLarge
 *	PL_CONFLICT  an operation does not apply             422 Invalid
 *	PL_NOMEM
 *
 * What a patch can make grow is bounded: values that are copied, the depth of the result,
 * and the number of nodes that are searched.
 */
#ifndef COORD_API_PATCH_JSON_PATCH_H
#define COORD_API_PATCH_JSON_PATCH_H

#include "store/base/json_edit.h"

enum {
	JSON_PATCH_OPS_MAX = 10000,
	JSON_PATCH_COPIED_MAX = 3 << 20, /* bytes of all copies together */
	JSON_PATCH_STEPS_MAX = 50 << 20, /* nodes that are looked at */
	JSON_PATCH_DEPTH_MAX = 60,       /* of the result */
};

/* After a failure the tree holds a part of the changes, and is of no use. */
PL_NODISCARD enum pl_code json_patch_apply(struct json_tree *tree, struct pl_json patch,
                                           struct pl_err *err);

#endif
