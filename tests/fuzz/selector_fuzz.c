/*
 * {"s": a label selector, "n": a node selector, "l": labels}: whatever they say, they
 * are kept, asked, and given back. A selector agrees with its rows one by one.
 */
#include "shardsched/model/node_selector.h"
#include "shardsched/model/reader.h"
#include "tests/fuzz/fuzz.h"

static void ask_selector(struct model *model, const struct selector *selector,
                         const struct node_selector *nodes, const struct labels *labels)
{
	bool all = selector->flags == 0;

	for (uint32_t i = 0; i < selector->count; i++)
		all = selector_row_matches(&model->strings, selector, &selector->row[i],
		                           labels) &&
		      all;
	PL_ASSERT(selector_matches(&model->strings, selector, labels) == all);
	if (nodes != NULL)
		(void)node_selector_matches(&model->strings, nodes, labels, 0);
}

static void make_selectors(struct model *model, struct pl_arena *arena,
                           struct reader *reader, struct pl_json root)
{
	struct draft_selector draft = reader_selector(reader, root, "s");
	struct draft_node_terms terms = reader_node_selector(reader, root, "n");
	struct draft_pairs pairs = reader_pairs(reader, root, "l");
	const struct selector *selector, *twin;
	const struct node_selector *nodes;
	const struct labels *labels;
	struct maker maker;

	if (reader->code != PL_OK)
		return;
	maker_init(&maker, model, arena);
	selector = selector_make(&maker, draft);
	twin = selector_make(&maker, draft);
	nodes = node_selector_make(&maker, terms);
	labels = labels_make(&maker, pairs);
	PL_ASSERT(maker.code == PL_OK && selector == twin);
	ask_selector(model, selector, nodes, labels);
	model_unref(model, MODEL_SELECTORS, selector);
	model_unref(model, MODEL_SELECTORS, twin);
	model_unref(model, MODEL_NODE_SELECTORS, nodes);
	model_unref(model, MODEL_LABELS, labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model model;
	struct pl_arena arena;
	struct pl_err err = {0};
	struct reader reader;
	struct pl_json root;

	model_init(&model);
	pl_arena_init(&arena, 0, READER_ARENA_MAX);
	root = reader_init(&reader, &arena, pl_span(data, size), &err);
	make_selectors(&model, &arena, &reader, root);
	PL_ASSERT(reader.code == PL_OK || err.msg[0] != 0);
	pl_arena_done(&arena);
	model_done(&model);
	return 0;
}
