#include "coord/service/nodes/node_info.h"

#include "shardsched/model/parse.h"
#include "shardsched/records/alloc.h"

enum { ARENA_CHUNK = 1 << 20, SCRATCH_MAX = 64 << 20 };

bool node_info_is_malformed(const struct node_info *info)
{
	return info->node_note.len > 0 || info->alloc_note.len > 0;
}

const char *node_info_state(const struct node_info *info)
{
	if (node_info_is_malformed(info))
		return "malformed";
	if (!info->has_node)
		return "no-node";
	if (!info->has_alloc)
		return "no-alloc";
	return info->cordoned ? "cordoned" : "ready";
}

void node_reader_init(struct node_reader *reader, const struct label_query *query)
{
	reader->query = query;
	model_init(&reader->model);
	pl_arena_init(&reader->scratch, ARENA_CHUNK, SCRATCH_MAX);
}

void node_reader_done(struct node_reader *reader)
{
	pl_arena_done(&reader->scratch);
	model_done(&reader->model);
}

void node_info_clear_node(struct node_info *info)
{
	info->has_node = info->cordoned = info->selected = false;
	info->taints = 0;
	info->most = (struct node_amounts){0};
}

void node_info_clear_alloc(struct node_info *info)
{
	info->has_alloc = false;
	info->generation = 0;
	info->holds = 0;
	info->used = (struct node_amounts){0};
}

enum pl_code node_reader_node(struct node_reader *reader, struct pl_span value,
                              struct node_info *out, struct pl_err *why)
{
	struct field_errors errors;
	struct parse parse = {.model = &reader->model,
	                      .arena = &reader->scratch,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct node node;
	enum pl_code code;

	node_info_clear_node(out);
	out->has_node = true;
	out->selected =
		reader->query == NULL || label_query_matches(reader->query, value);
	pl_arena_reset(&reader->scratch);
	code = node_parse(&parse, value, &node, why);
	if (code != PL_OK)
		return code;
	out->cordoned = node.unschedulable;
	out->taints = node.taints->count;
	out->most =
		(struct node_amounts){node.allocatable->pods, node.allocatable->cpu_milli,
	                              node.allocatable->memory};
	node_drop(&reader->model, &node);
	return PL_OK;
}

enum pl_code node_reader_alloc(struct node_reader *reader, struct pl_span value,
                               struct node_info *out, struct pl_err *why)
{
	struct alloc alloc;
	enum pl_code code;

	node_info_clear_alloc(out);
	out->has_alloc = true;
	pl_arena_reset(&reader->scratch);
	code = alloc_parse(value, &reader->scratch, &alloc, why);
	if (code != PL_OK)
		return code;
	out->generation = alloc.generation;
	out->holds = alloc.holds;
	out->used = (struct node_amounts){alloc.used.pods, alloc.used.cpu_milli,
	                                  alloc.used.memory};
	return PL_OK;
}
