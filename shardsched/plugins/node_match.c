#include "shardsched/plugins/node_match.h"

#include <stdlib.h>

#include "shardsched/plugins/slot_words.h"
#include "shardsched/snapshot/label_column.h"
#include "store/base/alloc.h"

/* -- a row ------------------------------------------------------------------------------- */

/* Whether a node with that value matches; text 0: the node has no such label. */
static bool row_accepts(const struct match_row *row, const struct strings *strings,
                        uint32_t text)
{
	int64_t number = 0;
	bool in = false;

	for (uint32_t i = 0; i < row->count && !in; i++)
		in = row->value[i] == text;
	switch ((enum selector_op)row->op) {
	case SELECTOR_IN:
		return text != 0 && in;
	case SELECTOR_NOT_IN:
		return text == 0 || !in;
	case SELECTOR_EXISTS:
		return text != 0;
	case SELECTOR_NOT_EXISTS:
		return text == 0;
	case SELECTOR_GT:
		return text != 0 && strings_int(strings, text, &number) &&
		       number > row->number;
	case SELECTOR_LT:
		return text != 0 && strings_int(strings, text, &number) &&
		       number < row->number;
	case SELECTOR_BAD:
		return false;
	}
	PL_UNREACHABLE("selector operator");
}

static bool wants_table(const struct match_row *row)
{
	switch ((enum selector_op)row->op) {
	case SELECTOR_IN:
	case SELECTOR_NOT_IN:
		return row->count > MATCH_FEW;
	case SELECTOR_GT:
	case SELECTOR_LT:
		return true;
	case SELECTOR_EXISTS:
	case SELECTOR_NOT_EXISTS:
	case SELECTOR_BAD:
		return false;
	}
	PL_UNREACHABLE("selector operator");
}

/* Makes room for all numbers, and as many again. */
static bool table_grow(struct match_row *row)
{
	uint32_t words = row->column->domains_end / 64 * 2 + 2;
	uint64_t *table = pl_malloc(words * sizeof *table);

	if (table == NULL)
		return false;
	free(row->table);
	row->table = table;
	row->words = words;
	return true;
}

static void table_add(struct match_row *row, uint32_t number)
{
	row->table[number / 64] |= UINT64_C(1) << number % 64;
}

static void table_fill(struct match_row *row, const struct strings *strings)
{
	const struct label_column *column = row->column;
	uint32_t number;

	memset(row->table, 0, row->words * sizeof *row->table);
	if (row->op == SELECTOR_IN || row->op == SELECTOR_NOT_IN) {
		for (uint32_t i = 0; i < row->count; i++) {
			number = label_column_find(column, row->value[i]);
			if (number != 0)
				table_add(row, number);
		}
		return;
	}
	for (number = 1; number < column->domains_end; number++)
		if (row_accepts(row, strings, column->domain[number].text))
			table_add(row, number);
}

static void table_make(struct match_row *row, const struct strings *strings)
{
	if (row->words * UINT64_C(64) < row->column->domains_end && !table_grow(row)) {
		free(row->table);
		row->table = NULL;
		row->words = 0;
	}
	if (row->table != NULL)
		table_fill(row, strings);
}

/* Exists matches any number but 0, which stands for nodes without the label. */
static void few_make(struct match_row *row)
{
	row->few_count = 0;
	if (row->op == SELECTOR_EXISTS || row->op == SELECTOR_NOT_EXISTS) {
		row->few[row->few_count++] = 0;
		return;
	}
	for (uint32_t i = 0; row->op != SELECTOR_BAD && i < row->count; i++) {
		uint32_t number = label_column_find(row->column, row->value[i]);

		if (number != 0)
			row->few[row->few_count++] = number;
	}
}

static void row_make(struct match_row *row, const struct strings *strings)
{
	row->negate = row->op == SELECTOR_NOT_IN || row->op == SELECTOR_EXISTS;
	if (wants_table(row))
		table_make(row, strings);
	else
		few_make(row);
	row->epoch = row->column->epoch;
}

static bool row_matches_labels(const struct match_row *row,
                               const struct snapshot *snapshot, uint32_t slot)
{
	return row_accepts(row, &snapshot->model->strings,
	                   labels_get(snapshot->row[slot].node.labels, row->key));
}

static uint64_t table_word(const struct match_row *row, const uint32_t *value,
                           uint64_t bits)
{
	uint64_t out = 0;

	if (slot_words_sparse(bits)) {
		SLOT_WORDS_EACH(bit, bits)
		out |= (row->table[value[bit] / 64] >> value[bit] % 64 & 1) << bit;
		return out;
	}
	for (unsigned i = 0; i < 64; i++)
		out |= (row->table[value[i] / 64] >> value[i] % 64 & 1) << i;
	return out;
}

static uint64_t few_word(const struct match_row *row, const uint32_t *value,
                         uint64_t bits)
{
	uint64_t out = 0;

	for (uint32_t i = 0; i < row->few_count; i++) {
		if (!slot_words_sparse(bits)) {
			out |= slot_words_equal(value, row->few[i]);
			continue;
		}
		SLOT_WORDS_EACH(bit, bits)
		out |= (uint64_t)(value[bit] == row->few[i]) << bit;
	}
	return out;
}

static uint64_t row_word(const struct match_row *row, const struct snapshot *snapshot,
                         uint32_t word, uint64_t bits)
{
	uint64_t out = 0;
	const uint32_t *value;

	if (row->column == NULL || (wants_table(row) && row->table == NULL)) {
		SLOT_WORDS_EACH(bit, bits)
		out |= (uint64_t)row_matches_labels(row, snapshot,
		                                    word * 64 + (uint32_t)bit)
		       << bit;
		return out;
	}
	value = row->column->value + (size_t)word * 64;
	out = row->table != NULL ? table_word(row, value, bits)
	                         : few_word(row, value, bits);
	return (row->negate ? ~out : out) & bits;
}

/* -- terms ------------------------------------------------------------------------------- */

static uint64_t fields_word(const struct selector *fields,
                            const struct snapshot *snapshot, uint32_t word, uint64_t bits)
{
	uint64_t out = bits;

	for (uint32_t i = 0; i < fields->count; i++)
		SLOT_WORDS_EACH(bit, out)
		{
			uint32_t name =
				snapshot->row[word * 64 + (uint32_t)bit].node.name;

			if (!selector_row_matches_name(fields, &fields->row[i], name))
				out &= ~(UINT64_C(1) << bit);
		}
	return out;
}

static uint64_t term_word(const struct node_match *match, const struct snapshot *snapshot,
                          const struct match_term *term, struct node_span one)
{
	uint64_t bits = term->never ? 0 : *one.bits;

	for (uint32_t i = 0; i < term->count && bits != 0; i++)
		bits = row_word(&match->row[term->first + i], snapshot, one.word, bits);
	return fields_word(term->term->fields, snapshot, one.word, bits);
}

uint64_t node_match_term_word(const struct node_match *match,
                              const struct snapshot *snapshot, uint32_t term,
                              struct node_span one)
{
	PL_ASSERT(term < match->terms);
	return term_word(match, snapshot, &match->term[term], one);
}

uint64_t node_match_word(const struct node_match *match, const struct snapshot *snapshot,
                         uint32_t word, uint64_t bits)
{
	uint64_t out = 0;

	for (uint32_t i = 0; i < match->labels && bits != 0; i++)
		bits = row_word(&match->row[i], snapshot, word, bits);
	if (match->any_term)
		return bits;
	for (uint32_t i = 0; i < match->terms && bits != 0; i++) {
		struct node_span one = {word, 1, &bits};
		uint64_t found = term_word(match, snapshot, &match->term[i], one);

		out |= found;
		bits &= ~found;
	}
	return out;
}

bool node_match_slot(const struct labels *labels, const struct node_selector *terms,
                     const struct snapshot *snapshot, uint32_t slot)
{
	const struct node *node = &snapshot->row[slot].node;

	if (labels != NULL && !labels_include(node->labels, labels))
		return false;
	return terms == NULL || node_selector_matches(&snapshot->model->strings, terms,
	                                              node->labels, node->name);
}

/* -- opening and closing ----------------------------------------------------------------- */

static uint32_t count_rows(const struct labels *labels, const struct node_selector *terms)
{
	uint32_t count = labels == NULL ? 0 : labels->count;

	for (uint64_t i = 0; terms != NULL && i < terms->count; i++)
		count += terms->term[i].labels->count;
	return count;
}

static void put_rows(struct node_match *out, const struct labels *labels,
                     const struct node_selector *terms)
{
	for (uint32_t i = 0; labels != NULL && i < labels->count; i++)
		out->row[out->rows++] = (struct match_row){.key = labels->row[i].key,
		                                           .op = SELECTOR_IN,
		                                           .value = &labels->row[i].value,
		                                           .count = 1};
	out->labels = out->rows;
	for (uint64_t i = 0; terms != NULL && i < terms->count; i++) {
		const struct node_term *term = &terms->term[i];
		const struct selector *from = term->labels;

		out->term[out->terms++] = (struct match_term){
			.term = term,
			.first = out->rows,
			.count = from->count,
			.never = node_term_is_empty(term) || node_term_is_invalid(term)};
		for (uint32_t j = 0; j < from->count; j++)
			out->row[out->rows++] = (struct match_row){
				.key = from->row[j].key,
				.op = from->row[j].op,
				.value = selector_values(from, &from->row[j]),
				.count = from->row[j].count,
				.number = from->row[j].number};
	}
}

/* Without a column a row is only slower. */
static enum pl_code open_columns(struct snapshot *snapshot, struct node_match *match,
                                 struct pl_err *err)
{
	for (uint32_t i = 0; i < match->rows; i++) {
		struct match_row *row = &match->row[i];
		enum pl_code code =
			label_column_open(snapshot, row->key, &row->column, err);

		if (code == PL_LIMIT)
			continue;
		if (code != PL_OK)
			return code;
		if (wants_table(row) && !table_grow(row))
			return pl_err_set(err, PL_NOMEM, "node selector: out of memory");
		row_make(row, &snapshot->model->strings);
	}
	return PL_OK;
}

enum pl_code node_match_open(struct snapshot *snapshot, const struct labels *labels,
                             const struct node_selector *terms, struct node_match *out,
                             struct pl_err *err)
{
	uint32_t rows = count_rows(labels, terms);
	struct node_match made = {.any_term = terms == NULL};
	enum pl_code code;

	made.row = pl_calloc(rows + 1, sizeof *made.row);
	made.term = pl_calloc(terms == NULL ? 1 : (size_t)terms->count + 1,
	                      sizeof *made.term);
	if (made.row == NULL || made.term == NULL) {
		node_match_close(snapshot, &made);
		return pl_err_set(err, PL_NOMEM, "node selector: out of memory");
	}
	put_rows(&made, labels, terms);
	code = open_columns(snapshot, &made, err);
	if (code != PL_OK) {
		node_match_close(snapshot, &made);
		return code;
	}
	*out = made;
	return PL_OK;
}

void node_match_close(struct snapshot *snapshot, struct node_match *match)
{
	for (uint32_t i = 0; i < match->rows; i++) {
		label_column_close(snapshot, match->row[i].column);
		free(match->row[i].table);
	}
	free(match->row);
	free(match->term);
	*match = (struct node_match){0};
}

void node_match_ready(struct node_match *match, const struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < match->rows; i++) {
		struct match_row *row = &match->row[i];

		if (row->column != NULL && row->epoch != row->column->epoch)
			row_make(row, &snapshot->model->strings);
	}
}
