#include "coord/cli/nodes/node_row.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/session/api_object.h"
#include "store/base/quantity.h"

enum { AMOUNT_SIZE = 32 };

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

static enum pl_code put_amounts(struct output_row *row, const struct node_info *info,
                                struct pl_arena *arena)
{
	const struct node_amounts *used = &info->used, *most = &info->most;
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

static enum pl_code put_note(struct output_row *row, const struct node_info *info,
                             struct pl_arena *arena)
{
	bool node = info->node_note.len > 0;
	struct pl_span why = node ? info->node_note : info->alloc_note;
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

enum pl_code node_row(const struct node_info *info, struct pl_arena *arena,
                      struct output_row *out)
{
	struct output_row row = {0};
	enum pl_code code = put_note(&row, info, arena);

	output_text(&row, CLUSTER, info->cluster);
	output_text(&row, NAME, info->name);
	output_text(&row, STATE, pl_span_str(node_info_state(info)));
	if (info->has_node && info->has_alloc && !node_info_is_malformed(info) &&
	    code == PL_OK)
		code = put_amounts(&row, info, arena);
	output_int(&row, TAINTS, info->taints);
	output_int(&row, HOLDS, info->holds);
	output_int_string(&row, GENERATION, (int64_t)info->generation);
	output_int(&row, PARTITION, info->partition);
	*out = row;
	return code;
}

/* -- of the API ---------------------------------------------------------------------------- */

/* 0: absent, or malformed. */
static int64_t amount_of(struct pl_json node, const char *path, bool milli)
{
	struct pl_quantity quantity;
	struct pl_span text = api_text(node, path);
	int64_t amount = 0;

	if (text.len == 0 || pl_quantity_parse(text, &quantity, NULL) != PL_OK)
		return 0;
	if (!milli)
		return pl_quantity_units(quantity);
	return pl_quantity_milli(quantity, &amount, NULL) == PL_OK ? amount : 0;
}

/* "-/16": how much is in use is not known. */
static enum pl_code put_most(struct output_row *row, unsigned column,
                             struct pl_arena *arena, const char *most)
{
	char *text = pl_arena_printf(arena, "-/%s", most);

	if (text == NULL)
		return PL_NOMEM;
	output_raw(row, column, pl_span_str(text), (struct pl_span){0});
	return PL_OK;
}

static enum pl_code put_allocatable(struct pl_json node, struct pl_arena *arena,
                                    struct output_row *row)
{
	int64_t pods = amount_of(node, "status.allocatable.pods", false);
	int64_t cpu = amount_of(node, "status.allocatable.cpu", true);
	int64_t memory = amount_of(node, "status.allocatable.memory", false);
	char text[AMOUNT_SIZE];
	enum pl_code code;

	(void)snprintf(text, sizeof text, "%" PRId64, pods);
	code = put_most(row, PODS, arena, text);
	(void)snprintf(text, sizeof text, "%.6g", (double)cpu / 1e3);
	if (code == PL_OK)
		code = put_most(row, CPU, arena, text);
	print_bytes(memory, text);
	if (code == PL_OK)
		code = put_most(row, MEMORY, arena, text);
	output_int(row, PODS_MAX, pods);
	output_int(row, CPU_MAX, cpu);
	output_int_string(row, MEMORY_MAX, memory);
	return code;
}

enum pl_code node_object_row(struct pl_json node, struct pl_arena *arena,
                             struct output_row *out)
{
	struct node_info info = {.has_node = true,
	                         .has_alloc = true,
	                         .cordoned =
	                                 field_bool(node, "spec.unschedulable", false)};
	struct output_row row = {0};
	enum pl_code code;

	api_node_name(api_text(node, "metadata.name"), &info.cluster, &info.name);
	output_text(&row, CLUSTER, info.cluster);
	output_text(&row, NAME, info.name);
	output_text(&row, STATE, pl_span_str(node_info_state(&info)));
	output_int(&row, TAINTS, (int64_t)pl_json_count(field_at(node, "spec.taints")));
	code = put_allocatable(node, arena, &row);
	if (code == PL_OK)
		*out = row;
	return code;
}
