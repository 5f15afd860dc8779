/* Maps of labels and LabelSelectors as text, sorted by key. */
#include <stdlib.h>

#include "coord/api/reply/table_int.h"

/* A requirement of a selector, or a label. */
struct shown_term {
	const char *key;
	const char *value; /* NULL: see op */
	const char *op;    /* of an expression */
	struct pl_json values;
};

struct shown_terms {
	struct shown_term *at;
	size_t count;
};

static int compare_terms(const void *a, const void *b)
{
	const struct shown_term *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* NULL: the table cannot be written further. */
static void *scratch_array(struct table_row *row, size_t count, size_t size)
{
	void *array = pl_arena_zalloc(row->writer->arena, count, size);

	if (array == NULL && row->writer->out->code == PL_OK)
		row->writer->out->code = PL_NOMEM;
	return array;
}

static void add_labels(struct shown_terms *terms, struct pl_json map)
{
	if (pl_json_type(map) != PL_JSON_OBJECT)
		return;
	PL_JSON_EACH (label, map) {
		const char *value = "";

		if (pl_json_as_string(label, &value, NULL) == PL_OK)
			terms->at[terms->count++] = (struct shown_term){
				.key = pl_json_key(label), .value = value};
	}
}

static void add_expressions(struct shown_terms *terms, struct pl_json expressions)
{
	PL_JSON_EACH (want, expressions)
		terms->at[terms->count++] =
			(struct shown_term){.key = field_text_or(want, "key", ""),
		                            .op = field_text_or(want, "operator", ""),
		                            .values = field_at(want, "values")};
}

/* "(a,b)", sorted */
static void show_values(struct table_row *row, struct pl_json values)
{
	size_t room = pl_json_count(values), count = 0;
	const char **texts;

	if (room == 0)
		return;
	texts = scratch_array(row, room, sizeof *texts);
	if (texts == NULL)
		return;
	PL_JSON_EACH (value, values) {
		const char *text = "";

		if (pl_json_as_string(value, &text, NULL) == PL_OK)
			texts[count++] = text;
	}
	qsort(texts, count, sizeof *texts, compare_texts);
	for (size_t i = 0; i < count; i++) {
		cell_add(row, i == 0 ? "(" : ",");
		cell_add(row, texts[i]);
	}
	if (count > 0)
		cell_add(row, ")");
}

static void show_term(struct table_row *row, const struct shown_term *term)
{
	if (term->value != NULL) {
		cell_add(row, term->key);
		cell_add(row, "=");
		cell_add(row, term->value);
		return;
	}
	if (strcmp(term->op, "DoesNotExist") == 0)
		cell_add(row, "!");
	cell_add(row, term->key);
	if (strcmp(term->op, "In") == 0)
		cell_add(row, " in ");
	else if (strcmp(term->op, "NotIn") == 0)
		cell_add(row, " notin ");
	else
		return;
	show_values(row, term->values);
}

static void show_terms(struct table_row *row, struct shown_terms *terms)
{
	qsort(terms->at, terms->count, sizeof *terms->at, compare_terms);
	for (size_t i = 0; i < terms->count; i++) {
		cell_next(row);
		show_term(row, &terms->at[i]);
	}
}

void cell_labels(struct table_row *row, struct pl_json map)
{
	size_t room = pl_json_count(map);
	struct shown_terms terms = {0};

	if (room > 0)
		terms.at = scratch_array(row, room, sizeof *terms.at);
	if (terms.at != NULL) {
		add_labels(&terms, map);
		show_terms(row, &terms);
	}
	cell_end(row, "<none>");
}

void cell_selector(struct table_row *row, struct pl_json selector, const char *normal)
{
	struct pl_json labels = field_at(selector, "matchLabels");
	struct pl_json expressions = field_at(selector, "matchExpressions");
	size_t room = pl_json_count(labels) + pl_json_count(expressions);
	struct shown_terms terms = {0};

	if (room > 0)
		terms.at = scratch_array(row, room, sizeof *terms.at);
	if (terms.at != NULL) {
		add_labels(&terms, labels);
		add_expressions(&terms, expressions);
		show_terms(row, &terms);
	}
	cell_end(row, normal);
}
