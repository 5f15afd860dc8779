/* Any profile is refused with an error text, or every node that it makes is a valid
 * Node. */
#include "coord/up/sim_profile.h"
#include "shardsched/model/parse.h"
#include "tests/fuzz/fuzz.h"

static void check_sim_profile(const struct sim_profile *profile, struct pl_arena *arena)
{
	static struct field_errors errors;
	struct model model;
	struct parse parse = {.model = &model, .arena = arena, .errors = &errors};
	struct pl_err err = {0};
	struct pl_buf text;

	model_init(&model);
	pl_buf_init(&text, 1 << 20);
	for (uint64_t i = 0; i < 4; i++) {
		struct node node;

		pl_buf_clear(&text, 1 << 20);
		PL_ASSERT(sim_node_print(profile, i, i * 1000, &text) == PL_OK);
		PL_ASSERT(node_parse(&parse, pl_buf_span(&text), &node, &err) == PL_OK);
		node_drop(&model, &node);
	}
	pl_buf_done(&text);
	model_done(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_profile profile;
	struct pl_arena arena;
	struct pl_err err = {0};
	struct pl_json json;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, pl_span(data, size), NULL, &json, &err);
	if (code == PL_OK)
		code = sim_profile_parse(json, &arena, &profile, &err);
	PL_ASSERT(code == PL_OK || (err.code == code && err.msg[0] != 0));
	if (code == PL_OK)
		check_sim_profile(&profile, &arena);
	pl_arena_done(&arena);
	return 0;
}
