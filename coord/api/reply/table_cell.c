#include <inttypes.h>
#include <stdio.h>

#include "coord/api/reply/table_int.h"
#include "shardsched/model/timestamp.h"
#include "store/base/human_duration.h"
#include "store/base/num.h"

/* -- whole cells ------------------------------------------------------------------------ */

void cell_text(struct table_row *row, const char *text)
{
	pl_json_out_str(row->writer->out, text == NULL ? "" : text);
}

void cell_int(struct table_row *row, int64_t value)
{
	pl_json_out_int(row->writer->out, value);
}

void cell_bool(struct table_row *row, bool value)
{
	pl_json_out_bool(row->writer->out, value);
}

void cell_field(struct table_row *row, struct pl_json object, const char *path,
                const char *normal)
{
	const char *text = field_text(object, path);

	cell_text(row, text == NULL || text[0] == 0 ? normal : text);
}

void cell_field_int(struct table_row *row, struct pl_json object, const char *path)
{
	cell_int(row, field_int(object, path, 0));
}

void cell_field_bool(struct table_row *row, struct pl_json object, const char *path,
                     bool normal)
{
	cell_bool(row, field_bool(object, path, normal));
}

void cell_scalar(struct table_row *row, struct pl_json object, const char *path,
                 const char *normal)
{
	struct pl_json field = field_at(object, path);
	char text[PL_NUM_TEXT_SIZE];

	switch (pl_json_type(field)) {
	case PL_JSON_STRING:
		cell_text(row, field_text(object, path));
		return;
	case PL_JSON_NUMBER:
		(void)pl_num_print_i64(text, field_int(object, path, 0));
		cell_text(row, text);
		return;
	case PL_JSON_BOOL:
		cell_text(row, field_bool(object, path, false) ? "true" : "false");
		return;
	case PL_JSON_ABSENT:
	case PL_JSON_NULL:
	case PL_JSON_ARRAY:
	case PL_JSON_OBJECT:
		break;
	}
	cell_text(row, normal);
}

void cell_count(struct table_row *row, struct pl_json object, const char *path)
{
	cell_int(row, (int64_t)pl_json_count(field_at(object, path)));
}

void cell_name(struct table_row *row, struct pl_json object)
{
	cell_text(row, field_text(object, "metadata.name"));
}

void cell_ratio(struct table_row *row, int64_t part, int64_t whole)
{
	cell_printf(row, "%" PRId64 "/%" PRId64, part, whole);
	cell_end(row, "");
}

/* -- times -------------------------------------------------------------------------------- */

bool field_time(struct pl_json object, const char *path, int64_t *ms)
{
	const char *text = field_text(object, path);

	return text != NULL && timestamp_parse(pl_span_str(text), ms);
}

const char *since_text(const struct table_row *row, struct pl_json object,
                       const char *path, char out[PL_HUMAN_DURATION_SIZE])
{
	int64_t ms;

	if (!field_time(object, path, &ms))
		return "<unknown>";
	return pl_human_duration(row->writer->now_ms - ms, out);
}

void cell_since(struct table_row *row, struct pl_json object, const char *path,
                const char *normal)
{
	char out[PL_HUMAN_DURATION_SIZE];

	if (normal != NULL && !field_is_set(object, path))
		cell_text(row, normal);
	else
		cell_text(row, since_text(row, object, path, out));
}

void cell_age(struct table_row *row, struct pl_json object)
{
	cell_since(row, object, "metadata.creationTimestamp", NULL);
}

/* -- a cell in parts ---------------------------------------------------------------------- */

/* A cell that is longer than its buffer may be is cut. */
static void note_code(struct table_row *row, enum pl_code code)
{
	struct pl_json_out *out = row->writer->out;

	if (code != PL_OK && code != PL_LIMIT && out->code == PL_OK)
		out->code = code;
}

void cell_add(struct table_row *row, const char *text)
{
	note_code(row, pl_buf_add_str(&row->writer->scratch, text));
}

void cell_printf(struct table_row *row, const char *fmt, ...)
{
	char text[128];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	cell_add(row, text);
}

void cell_next(struct table_row *row)
{
	if (row->writer->scratch.len > 0)
		cell_add(row, ",");
}

void cell_end(struct table_row *row, const char *normal)
{
	struct pl_buf *scratch = &row->writer->scratch;

	if (scratch->len == 0)
		cell_text(row, normal);
	else
		pl_json_out_string(row->writer->out, pl_buf_span(scratch));
	scratch->len = 0;
}

static void add_members(struct table_row *row, struct pl_json containers,
                        const char *member)
{
	bool first = true;

	PL_JSON_EACH (container, containers) {
		if (!first)
			cell_add(row, ",");
		cell_add(row, field_text_or(container, member, ""));
		first = false;
	}
	cell_end(row, "");
}

void cell_containers(struct table_row *row, struct pl_json pod_spec)
{
	struct pl_json containers = field_at(pod_spec, "containers");

	add_members(row, containers, "name");
	add_members(row, containers, "image");
}

/* -- values ------------------------------------------------------------------------------- */

struct pl_json condition_find(struct pl_json object, const char *type)
{
	PL_JSON_EACH (condition, field_at(object, "status.conditions"))
		if (strcmp(field_text_or(condition, "type", ""), type) == 0)
			return condition;
	return (struct pl_json){0};
}

bool condition_is_true(struct pl_json object, const char *type)
{
	return strcmp(field_text_or(condition_find(object, type), "status", ""),
	              "True") == 0;
}

void cell_cluster(struct table_row *row, const char *node)
{
	const char *colon = strchr(node, ':');

	if (node[0] == 0)
		cell_text(row, "");
	else if (colon == NULL)
		cell_text(row, "default");
	else
		pl_json_out_string(row->writer->out,
		                   pl_span(node, (size_t)(colon - node)));
}
