#include "coord/cli/nodes/node_row.h"

#include <inttypes.h>
#include <stdio.h>

#include "shardsched/model/parse.h"
#include "shardsched/records/alloc.h"

enum { ARENA_CHUNK = 1 << 20, SCRATCH_MAX = 64 << 20, AMOUNT_SIZE = 32 };

enum node_column {
	CLUSTER,
	NAME,
	STATE = NODE_ROW_STATE,
	PODS,
	PODS_MAX,
	CPU,
	CPU_MAX,
	MEMORY,
	MEMORY_MAX,
	TAINTS,
	HOLDS,
	GENERATION,
	PARTITION,
	NOTE,
	COLUMN_COUNT,
};

/* A table has what is used and what there is in one column, "4.2/16". */
static const struct output_column columns[] = {
	[CLUSTER] = {"CLUSTER", "cluster", OUTPUT_ALWAYS},
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[STATE] = {"STATE", "state", OUTPUT_ALWAYS},
	[PODS] = {"PODS", "pods", OUTPUT_ALWAYS},
	[PODS_MAX] = {NULL, "pods_allocatable", OUTPUT_ALWAYS},
	[CPU] = {"CPU", "cpu_milli", OUTPUT_ALWAYS},
	[CPU_MAX] = {NULL, "cpu_milli_allocatable", OUTPUT_ALWAYS},
	[MEMORY] = {"MEMORY", "memory", OUTPUT_ALWAYS},
	[MEMORY_MAX] = {NULL, "memory_allocatable", OUTPUT_ALWAYS},
	[TAINTS] = {"TAINTS", "taints", OUTPUT_ON_WIDE},
	[HOLDS] = {"HOLDS", "holds", OUTPUT_ON_WIDE},
	[GENERATION] = {"GENERATION", "generation", OUTPUT_ON_WIDE},
	[PARTITION] = {"PARTITION", "partition", OUTPUT_ON_WIDE},
	[NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

const struct output_schema node_schema = {"Node", columns, COLUMN_COUNT, 2};

/* -- read ----------------------------------------------------------------- */

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

void node_found_clear_node(struct node_found *found)
{
	found->has_node = found->cordoned = found->selected = false;
	found->taints = 0;
	found->most = (struct node_amounts){0};
}

void node_found_clear_alloc(struct node_found *found)
{
	found->has_alloc = false;
	found->generation = 0;
	found->holds = 0;
	found->used = (struct node_amounts){0};
}

enum pl_code node_reader_node(struct node_reader *reader, struct pl_span value,
                              struct node_found *out, struct pl_err *why)
{
	struct parse parse = {.model = &reader->model, .arena = &reader->scratch};
	struct node node;
	enum pl_code code;

	node_found_clear_node(out);
	out->has_node = true;
	out->selected = label_query_matches(reader->query, value);
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
                               struct node_found *out, struct pl_err *why)
{
	struct alloc alloc;
	enum pl_code code;

	node_found_clear_alloc(out);
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

/* -- shown ---------------------------------------------------------------- */

static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};

static void print_bytes(int64_t bytes, char out[AMOUNT_SIZE])
{
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1024 && unit < sizeof units / sizeof units[0] - 1) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(out, AMOUNT_SIZE, value < 10 && unit > 0 ? "%.1f%s" : "%.0f%s",
	               value, units[unit]);
}

/* "4.2/16" for people; json is what is used. */
static enum pl_code put_pair(struct output_row *row, unsigned column,
                             struct pl_arena *arena, const char *used, const char *most,
                             const char *json)
{
	char *text = pl_arena_printf(arena, "%s/%s", used, most);
	struct pl_span kept = pl_arena_dup(arena, pl_span_str(json));

	if (text == NULL || kept.at == NULL)
		return PL_NOMEM;
	output_raw(row, column, pl_span_str(text), kept);
	return PL_OK;
}

static enum pl_code put_amounts(struct output_row *row, const struct node_found *found,
                                struct pl_arena *arena)
{
	const struct node_amounts *used = &found->used, *most = &found->most;
	char a[AMOUNT_SIZE], b[AMOUNT_SIZE], json[AMOUNT_SIZE];
	enum pl_code code;

	(void)snprintf(a, sizeof a, "%" PRId64, used->pods);
	(void)snprintf(b, sizeof b, "%" PRId64, most->pods);
	code = put_pair(row, PODS, arena, a, b, a);
	(void)snprintf(a, sizeof a, "%.3g", (double)used->cpu_milli / 1e3);
	(void)snprintf(b, sizeof b, "%.6g", (double)most->cpu_milli / 1e3);
	(void)snprintf(json, sizeof json, "%" PRId64, used->cpu_milli);
	if (code == PL_OK)
		code = put_pair(row, CPU, arena, a, b, json);
	print_bytes(used->memory, a);
	print_bytes(most->memory, b);
	(void)snprintf(json, sizeof json, "\"%" PRId64 "\"", used->memory);
	if (code == PL_OK)
		code = put_pair(row, MEMORY, arena, a, b, json);
	output_int(row, PODS_MAX, most->pods);
	output_int(row, CPU_MAX, most->cpu_milli);
	output_int_string(row, MEMORY_MAX, most->memory);
	return code;
}

static bool is_malformed(const struct node_found *found)
{
	return found->node_note.len > 0 || found->alloc_note.len > 0;
}

static const char *state_of(const struct node_found *found)
{
	if (is_malformed(found))
		return "malformed";
	if (!found->has_node)
		return "no-node";
	if (!found->has_alloc)
		return "no-alloc";
	return found->cordoned ? "cordoned" : "ready";
}

static enum pl_code put_note(struct output_row *row, const struct node_found *found,
                             struct pl_arena *arena)
{
	bool node = found->node_note.len > 0;
	struct pl_span why = node ? found->node_note : found->alloc_note;
	char *text;

	if (why.len == 0)
		return PL_OK;
	text = pl_arena_printf(arena, "%s: " PL_SPAN_FMT, node ? "node" : "alloc",
	                       PL_SPAN_ARG(why));
	if (text == NULL)
		return PL_NOMEM;
	output_text(row, NOTE, pl_span_str(text));
	return PL_OK;
}

enum pl_code node_row(const struct node_found *found, struct pl_arena *arena,
                      struct output_row *out)
{
	struct output_row row = {0};
	enum pl_code code = put_note(&row, found, arena);

	output_text(&row, CLUSTER, found->cluster);
	output_text(&row, NAME, found->name);
	output_text(&row, STATE, pl_span_str(state_of(found)));
	if (found->has_node && found->has_alloc && !is_malformed(found) && code == PL_OK)
		code = put_amounts(&row, found, arena);
	output_int(&row, TAINTS, found->taints);
	output_int(&row, HOLDS, found->holds);
	output_int_string(&row, GENERATION, (int64_t)found->generation);
	output_int(&row, PARTITION, found->partition);
	*out = row;
	return code;
}
