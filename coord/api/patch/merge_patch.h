/*
 * JSON merge patch (RFC 7386): members replace members, null removes one, and arrays are
 * replaced whole.
 *
 * Pure. PL_INVALID (400 BadRequest): the patch is no object. PL_NOMEM.
 */
#ifndef COORD_API_PATCH_MERGE_PATCH_H
#define COORD_API_PATCH_MERGE_PATCH_H

#include "store/base/json_edit.h"

PL_NODISCARD enum pl_code merge_patch_apply(struct json_tree *tree, struct pl_json patch,
                                            struct pl_err *err);

#endif
