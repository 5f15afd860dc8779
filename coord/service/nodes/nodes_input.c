#include "coord/service/nodes/nodes_input.h"

#include "coord/service/nodes/node_change.h"
#include "shardsched/model/object.h"
#include "store/keys/names.h"

enum { CHUNK = 1 << 20 };

void nodes_input_init(struct nodes_input *input)
{
	pl_arena_init(&input->arena, CHUNK, 0); /* the size of a file is bounded */
	pl_arena_init(&input->scratch, CHUNK, READER_ARENA_MAX);
	pl_map_init(&input->names);
	model_init(&input->model);
}

void nodes_input_done(struct nodes_input *input)
{
	model_done(&input->model);
	pl_map_done(&input->names);
	pl_arena_done(&input->scratch);
	pl_arena_done(&input->arena);
}

static enum pl_code check_kind(struct pl_span kind, struct pl_span json,
                               struct pl_err *err)
{
	struct pl_span version = object_member(json, "apiVersion");

	if (kind.len == 0)
		return pl_err_set(err, PL_INVALID, "kind: want Node");
	if (!pl_span_eq(kind, PL_SPAN_LIT("Node")))
		return pl_err_set(err, PL_INVALID,
		                  "kind: want Node, this is a " PL_SPAN_FMT,
		                  PL_SPAN_ARG(kind));
	if (version.len > 0 && !pl_span_eq(version, PL_SPAN_LIT("\"v1\"")))
		return pl_err_set(err, PL_INVALID, "apiVersion: want v1");
	return PL_OK;
}

static enum pl_code check_node(struct nodes_input *input, struct pl_span json,
                               struct pl_span *name, struct pl_err *err)
{
	struct parse parse = {.model = &input->model,
	                      .arena = &input->scratch,
	                      .errors = &input->errors};
	struct node node = {0};
	enum pl_code code = node_parse(&parse, json, &node, err);

	if (code != PL_OK)
		return code;
	*name = pl_arena_dup(&input->arena, model_text(&input->model, node.name));
	node_drop(&input->model, &node);
	if (name->at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a node");
	code = names_check(NAMES_NODE, *name, err);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "metadata.name");
}

static enum pl_code keep_node(struct nodes_input *input, struct pl_span name,
                              struct pl_span json, struct pl_err *err)
{
	struct nodes_input_node *node = pl_arena_zalloc(&input->arena, 1, sizeof *node);

	if (node != NULL)
		node->json = pl_arena_dup(&input->arena, json);
	if (node == NULL || node->json.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a node");
	if (input->names.count >= NODES_INPUT_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d nodes", NODES_INPUT_MAX);
	if (pl_map_add(&input->names, &node->link, name) != NULL)
		return pl_err_set(err, PL_INVALID,
		                  "metadata.name: another one is called so too");
	return PL_OK;
}

enum pl_code nodes_input_add(struct nodes_input *input, struct pl_span kind,
                             struct pl_span json, struct pl_err *err)
{
	struct pl_span name = {0};
	struct pl_buf text;
	enum pl_code code = check_kind(kind, json, err);

	pl_arena_reset(&input->scratch);
	if (code == PL_OK)
		code = check_node(input, json, &name, err);
	if (code != PL_OK)
		return code;
	pl_buf_init(&text, NODES_JSON_MAX);
	code = object_compact(json, &text);
	if (code == PL_OK)
		code = keep_node(input, name, pl_buf_span(&text), err);
	else
		(void)pl_err_set(err, code, "%s",
		                 code == PL_LIMIT ? "larger than 1 MiB" : "keep a node");
	pl_buf_done(&text);
	return code == PL_OK ? PL_OK
	                     : pl_err_wrap(err, "node " PL_SPAN_FMT, PL_SPAN_ARG(name));
}
