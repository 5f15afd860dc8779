#include "coord/service/input/priority_classes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"

enum { ARENA_CHUNK = 1 << 12 };

#define ALWAYS PL_SPAN_LIT("PreemptLowerPriority")
#define NEVER PL_SPAN_LIT("Never")

struct class_table {
	struct model model;
	struct pl_arena arena; /* of one class while it is read */
	struct class_row {
		struct priority_class class;
		uint8_t *json; /* owned */
		size_t len;
	} * row;
	uint32_t rows;
};

/* -- the table ----------------------------------------------------------------------- */

struct class_table *class_table_new(void)
{
	struct class_table *table = pl_calloc(1, sizeof *table);

	if (table == NULL)
		return NULL;
	model_init(&table->model);
	pl_arena_init(&table->arena, ARENA_CHUNK, READER_ARENA_MAX);
	return table;
}

static void row_done(struct class_table *table, struct class_row *row)
{
	priority_class_drop(&table->model, &row->class);
	free(row->json);
}

void class_table_free(struct class_table *table)
{
	if (table == NULL)
		return;
	for (uint32_t i = 0; i < table->rows; i++)
		row_done(table, &table->row[i]);
	free(table->row);
	pl_arena_done(&table->arena);
	model_done(&table->model);
	free(table);
}

static struct class_row *row_find(const struct class_table *table, struct pl_span name)
{
	for (uint32_t i = 0; i < table->rows; i++)
		if (pl_span_eq(model_text(&table->model, table->row[i].class.name), name))
			return &table->row[i];
	return NULL;
}

/* The row of that name, or a new one, whose class is zeroed. */
static enum pl_code row_get(struct class_table *table, struct pl_span name,
                            struct class_row **out, struct pl_err *err)
{
	struct class_row *row = row_find(table, name);

	if (row == NULL) {
		if (table->rows == PRIORITY_CLASSES_MAX)
			return pl_err_set(err, PL_LIMIT,
			                  "want at most %d PriorityClasses",
			                  PRIORITY_CLASSES_MAX);
		row = pl_realloc(table->row, (table->rows + 1) * sizeof *row);
		if (row == NULL)
			return pl_err_set(err, PL_NOMEM, "keep a PriorityClass");
		table->row = row;
		row = &table->row[table->rows];
		*row = (struct class_row){0};
	}
	*out = row;
	return PL_OK;
}

static enum pl_code keep_class(struct class_table *table,
                               const struct priority_class *class, struct pl_span json,
                               struct pl_err *err)
{
	struct pl_span name = model_text(&table->model, class->name);
	uint8_t *kept = pl_malloc(json.len + 1);
	struct class_row *row = NULL;
	enum pl_code code = PL_OK;

	if (kept == NULL)
		code = pl_err_set(err, PL_NOMEM, "keep a PriorityClass");
	else if (name.len == 0)
		code = pl_err_set(err, PL_INVALID, "metadata.name: missing");
	if (code == PL_OK)
		code = row_get(table, name, &row, err);
	if (code != PL_OK) {
		free(kept);
		return code;
	}
	PL_ASSERT(row != NULL && kept != NULL);
	table->rows += row == &table->row[table->rows];
	row_done(table, row);
	memcpy(kept, json.at, json.len);
	*row = (struct class_row){.class = *class, .json = kept, .len = json.len};
	return PL_OK;
}

enum pl_code class_table_put(struct class_table *table, struct pl_span json,
                             struct pl_err *err)
{
	struct parse parse = {.model = &table->model, .arena = &table->arena};
	struct priority_class class;
	enum pl_code code;

	pl_arena_reset(&table->arena);
	code = priority_class_parse(&parse, json, &class, err);
	if (code != PL_OK)
		return code;
	code = keep_class(table, &class, json, err);
	if (code != PL_OK)
		priority_class_drop(&table->model, &class);
	return code;
}

void class_table_drop(struct class_table *table, struct pl_span name)
{
	struct class_row *row = row_find(table, name);

	if (row == NULL)
		return;
	row_done(table, row);
	*row = table->row[--table->rows];
}

enum pl_code class_table_expand(const struct class_table *table, struct expand *expand,
                                struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; code == PL_OK && i < table->rows; i++)
		code = expand_class(expand,
		                    pl_span(table->row[i].json, table->row[i].len), err);
	return code;
}

/* -- admission ----------------------------------------------------------------------- */

/* The default class; of several the one with the lowest value. */
static const struct priority_class *default_class(const struct class_table *table)
{
	const struct priority_class *found = NULL;

	for (uint32_t i = 0; i < table->rows; i++) {
		const struct priority_class *class = &table->row[i].class;

		if (class->is_default && (found == NULL || class->value < found->value))
			found = class;
	}
	return found;
}

static bool built_in(struct pl_span name, int32_t *value)
{
	if (pl_span_eq(name, PL_SPAN_LIT("system-cluster-critical")))
		*value = 2000000000;
	else if (pl_span_eq(name, PL_SPAN_LIT("system-node-critical")))
		*value = 2000001000;
	else
		return false;
	return true;
}

static enum pl_code find_answer(const struct class_table *table,
                                const struct class_ask *ask, struct class_answer *out,
                                struct pl_err *err)
{
	const struct class_row *row =
		ask->named.len == 0 ? NULL : row_find(table, ask->named);
	const struct priority_class *class = row == NULL ? NULL : &row->class;

	*out = (struct class_answer){.named = ask->named, .policy = ALWAYS};
	if (ask->named.len == 0)
		class = default_class(table);
	else if (class == NULL && !built_in(ask->named, &out->priority))
		return pl_err_set(err, PL_DENIED,
		                  "pods \"" PL_SPAN_FMT
		                  "\" is forbidden: no PriorityClass "
		                  "with name " PL_SPAN_FMT " was found",
		                  PL_SPAN_ARG(ask->pod), PL_SPAN_ARG(ask->named));
	if (class == NULL)
		return PL_OK;
	out->named = model_text(&table->model, class->name);
	out->priority = class->value;
	if (class->never)
		out->policy = NEVER;
	return PL_OK;
}

enum pl_code class_table_admit(const struct class_table *table,
                               const struct class_ask *ask, struct class_answer *out,
                               struct pl_err *err)
{
	struct class_answer found;
	enum pl_code code = find_answer(table, ask, &found, err);

	if (code != PL_OK)
		return code;
	if (ask->has_priority && ask->priority != found.priority)
		return pl_err_set(
			err, PL_DENIED,
			"pods \"" PL_SPAN_FMT "\" is forbidden: the integer value of "
			"priority (%" PRId64 ") must not be provided in pod spec; "
			"priority admission controller computed %d from the given "
			"PriorityClass name",
			PL_SPAN_ARG(ask->pod), ask->priority, found.priority);
	if (ask->policy.len > 0 && !pl_span_eq(ask->policy, found.policy))
		return pl_err_set(
			err, PL_DENIED,
			"pods \"" PL_SPAN_FMT "\" is forbidden: the string value of "
			"PreemptionPolicy (" PL_SPAN_FMT ") must not be provided in pod "
			"spec; priority admission controller computed " PL_SPAN_FMT
			" from the given PriorityClass name",
			PL_SPAN_ARG(ask->pod), PL_SPAN_ARG(ask->policy),
			PL_SPAN_ARG(found.policy));
	*out = found;
	return PL_OK;
}
