/* Accepted YAML becomes JSON, which written as YAML is accepted again and the same. */
#include "store/base/json_out.h"
#include "store/base/yaml.h"
#include "tests/fuzz/fuzz.h"

static const struct pl_json_limits limits = {
	.bytes = 1 << 14, .depth = 30, .values = 2000};

struct round {
	struct pl_buf json;
	unsigned documents;
};

static enum pl_code on_again(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct round *round = ctx;

	(void)err;
	round->documents++;
	pl_buf_clear(&round->json, SIZE_MAX);
	PL_ASSERT(pl_buf_add(&round->json, json) == PL_OK);
	return PL_OK;
}

static void write_json(struct pl_buf *buf, struct pl_json value)
{
	struct pl_json_out out;

	pl_json_out_init(&out, buf);
	pl_json_out_value(&out, value);
	PL_ASSERT(pl_json_out_done(&out) == PL_OK);
}

/* Numbers beyond what a double holds, and names that come twice as JSON, are the
 * reader's business. */
static enum pl_code on_document(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct round *round = ctx;
	struct pl_arena arena;
	struct pl_json root = {0}, again = {0};
	struct pl_buf one, two, yaml;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, 1 << 20);
	pl_buf_init(&two, 1 << 20);
	pl_buf_init(&yaml, 1 << 22);
	if (pl_json_parse(&arena, json, NULL, &root, err) == PL_OK) {
		write_json(&one, root);
		PL_ASSERT(pl_yaml_from_json(root, &yaml, err) == PL_OK);
		round->documents = 0;
		PL_ASSERT(pl_yaml_to_json(pl_buf_span(&yaml), NULL, on_again, round,
		                          err) == PL_OK);
		PL_ASSERT(round->documents == 1);
		PL_ASSERT(pl_json_parse(&arena, pl_buf_span(&round->json), NULL, &again,
		                        err) == PL_OK);
		write_json(&two, again);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	}
	pl_buf_done(&yaml);
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
	return PL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct round round = {.documents = 0};
	struct pl_err err = {0};
	enum pl_code code;

	pl_buf_init(&round.json, 1 << 20);
	code = pl_yaml_to_json(pl_span(data, size), &limits, on_document, &round, &err);
	PL_ASSERT(code == PL_OK || code == PL_INVALID || code == PL_LIMIT);
	PL_ASSERT(code == PL_OK || err.code == code);
	pl_buf_done(&round.json);
	return 0;
}
