/* Common parts of the tests of patches: texts in, texts out. */
#ifndef COORD_API_PATCH_PATCH_KIT_H
#define COORD_API_PATCH_PATCH_KIT_H

#include "store/base/buf.h"
#include "store/base/json_edit.h"
#include "store/base/json_out.h"
#include "tests/harness/t.h"

static inline struct json_tree kit_tree(struct pl_arena *arena, const char *text)
{
	struct json_tree tree = {0};
	struct pl_err err = {0};

	T_OK(json_tree_parse(arena, pl_span_str(text), NULL, &tree, &err), &err);
	return tree;
}

static inline struct pl_json kit_json(struct pl_arena *arena, const char *text)
{
	struct json_tree tree = kit_tree(arena, text);

	return json_tree_root(&tree);
}

/* The text of a value, in the arena. */
static inline const char *kit_text(struct pl_arena *arena, struct pl_json value)
{
	struct pl_json_out out;
	struct pl_buf buf;
	struct pl_span text;

	if (value.node == NULL)
		return "absent";
	pl_buf_init(&buf, 1 << 22);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, value);
	T_OK(pl_json_out_done(&out), NULL);
	text = pl_arena_dup(arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	T_TRUE(text.at != NULL);
	return (const char *)text.at;
}

#endif
