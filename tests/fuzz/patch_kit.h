/*
 * The common parts of the targets for patches. An input is two documents with a NUL byte between
 * them: an object, and a patch of it.
 */
#ifndef TESTS_FUZZ_PATCH_KIT_H
#define TESTS_FUZZ_PATCH_KIT_H

#include <string.h>

#include "store/base/json_edit.h"
#include "store/base/json_out.h"
#include "tests/fuzz/fuzz.h"

static const struct pl_json_limits patch_limits = {
	.bytes = 1 << 16, .depth = 20, .values = 5000};

struct patch_input {
	struct json_tree object;
	struct pl_json patch;
};

/* False: the input is none. */
static inline bool patch_input_read(struct pl_arena *arena, const uint8_t *data,
                                    size_t size, struct patch_input *out)
{
	const uint8_t *nul = size == 0 ? NULL : memchr(data, 0, size);
	size_t at;

	if (nul == NULL)
		return false;
	at = (size_t)(nul - data);
	return json_tree_parse(arena, pl_span(data, at), &patch_limits, &out->object,
	                       NULL) == PL_OK &&
	       pl_json_parse(arena, pl_span(nul + 1, size - at - 1), &patch_limits,
	                     &out->patch, NULL) == PL_OK;
}

/* A patched tree is written and read again as the same. */
static inline void patch_check_tree(struct pl_arena *arena, const struct json_tree *tree)
{
	struct pl_json_limits limits = {8 << 20, 64, 1 << 20};
	struct pl_json again = {0};
	struct pl_json_out out;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, 8 << 20);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, json_tree_root(tree));
	code = pl_json_out_done(&out);
	PL_ASSERT(code == PL_OK);
	code = pl_json_parse(arena, pl_buf_span(&buf), &limits, &again, NULL);
	PL_ASSERT(code == PL_OK);
	PL_ASSERT(json_equal(again, json_tree_root(tree)));
	pl_buf_done(&buf);
}

/* The patch itself is not changed, and an error has a sentence. */
static inline void patch_check_code(enum pl_code code, const struct pl_err *err)
{
	PL_ASSERT(code == PL_OK || (err->code == code && err->msg[0] != 0));
	PL_ASSERT(code == PL_OK || code == PL_INVALID || code == PL_CONFLICT ||
	          code == PL_LIMIT);
}

#endif
