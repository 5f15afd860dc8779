#include "coord/api/reply/partial.h"
#include "coord/api/reply/table_int.h"
#include "store/base/json_put.h"

enum { CELL_BYTES_MAX = 64 * 1024 };

/* -- kinds -------------------------------------------------------------------------------- */

static const struct table_column default_columns[] = {
	TABLE_NAME,
	{"Created At", "date", "", 0, "Moment when the object was created."},
	TABLE_END,
};

static void default_cells(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field(row, object, "metadata.creationTimestamp", "");
}

#define TABLE_KIND_ROW(group, plural, word) \
	{group, plural, table_columns_##word, table_cells_##word},
static const struct table_kind kinds[] = {TABLE_KIND_MAP(TABLE_KIND_ROW)};
static const struct table_kind any_kind = {"", "", default_columns, default_cells};

const struct table_kind *table_kind_find(const char *group, const char *plural)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].plural, plural) == 0 &&
		    strcmp(kinds[i].group, group) == 0)
			return &kinds[i];
	return &any_kind;
}

bool table_include_parse(struct pl_span text, enum table_include *out)
{
	if (text.len == 0 || pl_span_eq(text, PL_SPAN_LIT("Metadata")))
		*out = TABLE_METADATA;
	else if (pl_span_eq(text, PL_SPAN_LIT("None")))
		*out = TABLE_NONE;
	else if (pl_span_eq(text, PL_SPAN_LIT("Object")))
		*out = TABLE_OBJECT;
	else
		return false;
	return true;
}

/* -- writing ------------------------------------------------------------------------------ */

void table_writer_init(struct table_writer *writer)
{
	pl_buf_init(&writer->scratch, CELL_BYTES_MAX);
}

void table_writer_done(struct table_writer *writer)
{
	pl_buf_done(&writer->scratch);
}

static void write_columns(struct pl_json_out *out, const struct table_column *column)
{
	pl_json_out_array(out);
	for (; column->name != NULL; column++) {
		pl_json_out_object(out);
		pl_json_put_str(out, "name", column->name);
		pl_json_put_str(out, "type", column->type);
		pl_json_put_str(out, "format", column->format);
		pl_json_put_str(out, "description", column->doc);
		pl_json_out_name(out, "priority");
		pl_json_out_int(out, column->priority);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static const char *meta_version(const struct table_writer *writer)
{
	return writer->beta ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
}

static void begin(struct table_writer *writer)
{
	pl_json_out_object(writer->out);
	pl_json_put_str(writer->out, "kind", "Table");
	pl_json_put_str(writer->out, "apiVersion", meta_version(writer));
	pl_json_out_name(writer->out, "metadata");
}

static void begin_rows(struct table_writer *writer, bool headers)
{
	pl_json_out_name(writer->out, "columnDefinitions");
	if (headers)
		write_columns(writer->out, writer->kind->columns);
	else
		pl_json_out_null(writer->out);
	pl_json_out_name(writer->out, "rows");
	pl_json_out_array(writer->out);
}

void table_begin(struct table_writer *writer, const struct list_meta *list, bool headers)
{
	begin(writer);
	list_meta_write(writer->out, list);
	begin_rows(writer, headers);
}

/* A pod that has ended is shown as such by clients that know rows only. */
static void write_conditions(struct pl_json_out *out, const char *phase)
{
	bool failed;

	if (phase == NULL)
		return;
	failed = strcmp(phase, "Failed") == 0;
	pl_json_out_name(out, "conditions");
	pl_json_out_array(out);
	pl_json_out_object(out);
	pl_json_put_str(out, "type", "Completed");
	pl_json_put_str(out, "status", "True");
	pl_json_put_str(out, "reason", phase);
	pl_json_put_str(out, "message",
	                failed ? "The pod failed."
	                       : "The pod has completed successfully.");
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void write_object(struct table_writer *writer, struct pl_json object)
{
	pl_json_out_name(writer->out, "object");
	switch (writer->include) {
	case TABLE_METADATA:
		partial_write(writer->out, object, writer->beta);
		return;
	case TABLE_NONE:
		pl_json_out_null(writer->out);
		return;
	case TABLE_OBJECT:
		pl_json_out_value(writer->out, object);
		return;
	}
	PL_UNREACHABLE("what a row includes");
}

void table_add(struct table_writer *writer, struct pl_json object)
{
	struct table_row row = {.writer = writer};

	pl_json_out_object(writer->out);
	pl_json_out_name(writer->out, "cells");
	pl_json_out_array(writer->out);
	writer->kind->cells(&row, object);
	pl_json_out_end(writer->out);
	write_conditions(writer->out, row.phase);
	write_object(writer, object);
	pl_json_out_end(writer->out);
}

void table_end(struct table_writer *writer)
{
	pl_json_out_end(writer->out);
	pl_json_out_end(writer->out);
}

void table_of_one(struct table_writer *writer, struct pl_json object, bool headers)
{
	const char *revision = field_text(object, "metadata.resourceVersion");

	begin(writer);
	pl_json_out_object(writer->out);
	if (revision != NULL)
		pl_json_put_str(writer->out, "resourceVersion", revision);
	pl_json_out_end(writer->out);
	begin_rows(writer, headers);
	table_add(writer, object);
	table_end(writer);
}
