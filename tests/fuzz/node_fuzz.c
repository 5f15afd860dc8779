/* Any node is refused with an error text, or kept and given back whole. */
#include "shardsched/model/parse.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct field_errors errors;
	struct model model;
	struct pl_arena arena;
	struct parse parse = {.model = &model, .arena = &arena, .errors = &errors};
	struct pl_err err = {0};
	struct node node, again;
	enum pl_code code;

	model_init(&model);
	pl_arena_init(&arena, 0, READER_ARENA_MAX);
	code = node_parse(&parse, pl_span(data, size), &node, &err);
	PL_ASSERT(code == PL_OK || (err.code == code && err.msg[0] != 0));
	parse.errors = NULL;
	if (code == PL_OK) {
		code = node_parse(&parse, pl_span(data, size), &again, &err);
		PL_ASSERT(code == PL_OK && again.labels == node.labels &&
		          again.taints == node.taints && again.images == node.images &&
		          again.allocatable == node.allocatable);
		PL_ASSERT(node.allocatable->cpu_milli >= 0);
		node_drop(&model, &again);
		node_drop(&model, &node);
	} else if (node_parse(&parse, pl_span(data, size), &node, &err) == PL_OK) {
		node_drop(&model, &node);
	}
	pl_arena_done(&arena);
	model_done(&model);
	return 0;
}
