#include "shardsched/model/selector.h"

#include <stdlib.h>

#include "shardsched/model/text.h"

intern_release_fn selector_release;

static const struct {
	const char *word;
	enum selector_op op;
} ops[] = {{"In", SELECTOR_IN},         {"NotIn", SELECTOR_NOT_IN},
           {"Exists", SELECTOR_EXISTS}, {"DoesNotExist", SELECTOR_NOT_EXISTS},
           {"Gt", SELECTOR_GT},         {"Lt", SELECTOR_LT}};

enum selector_op selector_op_of(struct pl_span word)
{
	for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
		if (pl_span_eq(word, pl_span_str(ops[i].word)))
			return ops[i].op;
	return SELECTOR_BAD;
}

enum selector_mode { OF_PODS, OF_NODES, OF_FIELDS };

static enum selector_op check_field(const struct draft_requirement *row, int64_t *number)
{
	enum selector_op op = selector_op_of(row->op);

	*number = pl_span_eq(row->key, PL_SPAN_LIT("metadata.name"));
	return op == SELECTOR_IN || op == SELECTOR_NOT_IN ? op : SELECTOR_BAD;
}

/* The operator, or SELECTOR_BAD when the row could not be parsed with it. */
static enum selector_op check_row(const struct draft_requirement *row,
                                  enum selector_mode mode, int64_t *number)
{
	enum selector_op op = selector_op_of(row->op);
	bool good = text_key(row->key) == 0;

	for (uint32_t i = 0; i < row->values.count; i++)
		good = good && text_value(row->values.at[i]) == 0;
	switch (op) {
	case SELECTOR_IN:
	case SELECTOR_NOT_IN:
		good = good && row->values.count > 0;
		break;
	case SELECTOR_EXISTS:
	case SELECTOR_NOT_EXISTS:
		good = good && row->values.count == 0;
		break;
	case SELECTOR_GT:
	case SELECTOR_LT:
		good = good && mode == OF_NODES && row->values.count == 1 &&
		       text_int(row->values.at[0], number);
		break;
	case SELECTOR_BAD:
		break;
	}
	return good ? op : SELECTOR_BAD;
}

static int cmp_number(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;

	return one < two ? -1 : one > two;
}

/* Sorts the values and gives duplicates back. */
static uint32_t sort_values(struct strings *strings, uint32_t *value, uint32_t count)
{
	uint32_t kept = 0;

	if (count > 1)
		qsort(value, count, sizeof *value, cmp_number);
	for (uint32_t i = 0; i < count; i++)
		if (kept > 0 && value[kept - 1] == value[i] && value[i] != 0)
			strings_unref(strings, value[i]);
		else
			value[kept++] = value[i];
	return kept;
}

/* A row with its values, before the selector is made. */
struct selector_part {
	struct selector_row row;
	uint32_t *value;
};

static struct selector_part part_of(struct maker *maker,
                                    const struct draft_requirement *from,
                                    enum selector_mode mode)
{
	struct selector_part part = {.row.key = maker_text(maker, from->key)};

	part.row.op =
		(uint32_t)(mode == OF_FIELDS ? check_field(from, &part.row.number)
	                                     : check_row(from, mode, &part.row.number));
	if (from->values.count > 0)
		part.value = maker_alloc(maker, from->values.count * sizeof *part.value);
	if (part.value == NULL)
		return part;
	for (uint32_t i = 0; i < from->values.count; i++)
		part.value[i] = maker_text(maker, from->values.at[i]);
	part.row.count =
		sort_values(&maker->model->strings, part.value, from->values.count);
	return part;
}

static int cmp_content(const void *a, const void *b)
{
	const struct selector_part *one = a, *two = b;
	int order = 0;

	if (one->row.key != two->row.key)
		return one->row.key < two->row.key ? -1 : 1;
	if (one->row.op != two->row.op)
		return one->row.op < two->row.op ? -1 : 1;
	if (one->row.count != two->row.count)
		return one->row.count < two->row.count ? -1 : 1;
	if (one->row.count > 0)
		order = memcmp(one->value, two->value,
		               one->row.count * sizeof *one->value);
	return order;
}

static void release_draft(struct strings *strings, const struct selector_part *part)
{
	strings_unref(strings, part->row.key);
	for (uint32_t i = 0; i < part->row.count; i++)
		strings_unref(strings, part->value[i]);
}

static uint32_t drop_duplicates(struct strings *strings, struct selector_part *part,
                                uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (kept > 0 && part[i].row.key != 0 &&
		    cmp_content(&part[kept - 1], &part[i]) == 0)
			release_draft(strings, &part[i]);
		else
			part[kept++] = part[i];
	return kept;
}

/* The identity labels have to know of each selector in the model. */
static const struct selector *intern_selector(struct maker *maker, struct selector *draft,
                                              size_t size)
{
	const struct selector *selector =
		maker_intern(maker, MODEL_SELECTORS, draft, size);

	if (selector != NULL && selector->item.refs == 1) /* the selector is new */
		identity_add_selector(maker->model, selector);
	return selector;
}

static const struct selector *build_selector(struct maker *maker,
                                             struct selector_part *part, uint32_t count,
                                             uint32_t flags)
{
	uint32_t words = 0, at = 0;
	struct selector *draft;
	size_t size;

	for (uint32_t i = 0; i < count; i++)
		words += part[i].row.count;
	/* A multiple of eight, so nothing uninitialised is behind the value. */
	size = sizeof *draft + count * sizeof draft->row[0] +
	       (size_t)(words + words % 2) * sizeof(uint32_t);
	draft = maker_alloc(maker, size);
	if (draft == NULL) {
		for (uint32_t i = 0; i < count; i++)
			release_draft(&maker->model->strings, &part[i]);
		return NULL;
	}
	draft->flags = flags;
	draft->count = count;
	draft->words = words;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *word = (uint32_t *)(void *)&draft->row[count];

		draft->row[i] = part[i].row;
		draft->row[i].first = at;
		if (part[i].row.count > 0)
			memcpy(word + at, part[i].value,
			       part[i].row.count * sizeof *word);
		at += part[i].row.count;
		if (part[i].row.op == SELECTOR_BAD)
			draft->flags |= SELECTOR_INVALID;
	}
	return intern_selector(maker, draft, size);
}

static const struct selector *from_parts(struct maker *maker, struct selector_part *part,
                                         uint32_t count, uint32_t flags)
{
	if (count > 1)
		qsort(part, count, sizeof *part, cmp_content);
	return build_selector(
		maker, part, drop_duplicates(&maker->model->strings, part, count), flags);
}

static const struct selector *from_rows(struct maker *maker,
                                        struct draft_requirements rows,
                                        enum selector_mode mode)
{
	struct selector_part *part = maker_alloc(maker, (rows.count + 1) * sizeof *part);
	uint32_t flags = 0;

	if (part == NULL)
		return NULL;
	for (uint32_t i = 0; i < rows.count; i++) {
		part[i] = part_of(maker, &rows.at[i], mode);
		if (mode == OF_FIELDS && rows.at[i].values.count != 1)
			flags = SELECTOR_INVALID;
	}
	return from_parts(maker, part, rows.count, flags);
}

const struct selector *selector_of_rows(struct maker *maker,
                                        struct draft_requirements rows)
{
	return from_rows(maker, rows, OF_NODES);
}

const struct selector *selector_of_fields(struct maker *maker,
                                          struct draft_requirements rows)
{
	return from_rows(maker, rows, OF_FIELDS);
}

const struct selector *selector_make(struct maker *maker, struct draft_selector draft)
{
	uint32_t count = draft.labels.count + draft.expressions.count, at = 0;
	struct selector_part *part;

	if (!draft.set)
		return build_selector(maker, NULL, 0, SELECTOR_NOTHING);
	part = maker_alloc(maker, (count + 1) * sizeof *part);
	if (part == NULL)
		return NULL;
	for (uint32_t i = 0; i < draft.labels.count; i++) {
		struct draft_pair *pair = &draft.labels.at[i];
		struct draft_requirement row = {
			pair->key, PL_SPAN_LIT("In"), {&pair->value, 1}};

		part[at++] = part_of(maker, &row, OF_PODS);
	}
	for (uint32_t i = 0; i < draft.expressions.count; i++)
		part[at++] = part_of(maker, &draft.expressions.at[i], OF_PODS);
	return from_parts(maker, part, count, 0);
}

void selector_release(struct model *model, const struct intern_item *value)
{
	const struct selector *selector =
		PL_CONTAINER_OF_CONST(value, struct selector, item);

	if (value->id != 0) /* the value is interned, not a draft */
		identity_remove_selector(model, selector);
	for (uint32_t i = 0; i < selector->count; i++) {
		const struct selector_row *row = &selector->row[i];
		const uint32_t *values = selector_values(selector, row);

		strings_unref(&model->strings, row->key);
		for (uint32_t j = 0; j < row->count; j++)
			strings_unref(&model->strings, values[j]);
	}
}

static bool has_value(const struct selector *selector, const struct selector_row *row,
                      uint32_t value)
{
	const uint32_t *values = selector_values(selector, row);

	for (uint32_t i = 0; i < row->count; i++)
		if (values[i] == value)
			return true;
	return false;
}

/* value: that of the row's key; 0: the label is not there. */
static bool row_accepts(const struct strings *strings, const struct selector *selector,
                        const struct selector_row *row, uint32_t value)
{
	int64_t number = 0;

	switch ((enum selector_op)row->op) {
	case SELECTOR_IN:
		return value != 0 && has_value(selector, row, value);
	case SELECTOR_NOT_IN:
		return value == 0 || !has_value(selector, row, value);
	case SELECTOR_EXISTS:
		return value != 0;
	case SELECTOR_NOT_EXISTS:
		return value == 0;
	case SELECTOR_GT:
		return value != 0 && strings_int(strings, value, &number) &&
		       number > row->number;
	case SELECTOR_LT:
		return value != 0 && strings_int(strings, value, &number) &&
		       number < row->number;
	case SELECTOR_BAD:
		return false;
	}
	PL_UNREACHABLE("selector operator");
}

bool selector_row_matches(const struct strings *strings, const struct selector *selector,
                          const struct selector_row *row, const struct labels *labels)
{
	return row_accepts(strings, selector, row, labels_get(labels, row->key));
}

bool selector_row_matches_name(const struct selector *selector,
                               const struct selector_row *row, uint32_t name)
{
	/* A field that nodes do not have counts as empty. */
	bool in = row->number == 1 && has_value(selector, row, name);

	return row->op == SELECTOR_IN ? in : row->op == SELECTOR_NOT_IN && !in;
}

bool selector_matches(const struct strings *strings, const struct selector *selector,
                      const struct labels *labels)
{
	if (selector->flags != 0)
		return false;
	for (uint32_t i = 0; i < selector->count; i++)
		if (!selector_row_matches(strings, selector, &selector->row[i], labels))
			return false;
	return true;
}

/* -- what can match nothing ------------------------------------------------ */

/* Whether all rows about the key of row accept the value. */
static bool key_accepts(const struct strings *strings, const struct selector *selector,
                        const struct selector_row *row, uint32_t value)
{
	for (uint32_t i = 0; i < selector->count; i++)
		if (selector->row[i].key == row->key &&
		    !row_accepts(strings, selector, &selector->row[i], value))
			return false;
	return true;
}

/* Whether no number is allowed by all Gt and Lt rows about the key of row. */
static bool range_is_empty(const struct selector *selector,
                           const struct selector_row *row)
{
	int64_t above = INT64_MIN, below = INT64_MAX;
	bool bounded = false;

	for (uint32_t i = 0; i < selector->count; i++) {
		const struct selector_row *other = &selector->row[i];

		if (other->key != row->key)
			continue;
		if (other->op == SELECTOR_GT && other->number > above)
			above = other->number;
		if (other->op == SELECTOR_LT && other->number < below)
			below = other->number;
		bounded = bounded || other->op == SELECTOR_GT || other->op == SELECTOR_LT;
	}
	return bounded && (above == INT64_MAX || above + 1 >= below);
}

/* Whether all values that row allows are refused by other rows about its key. NotIn rules
 * out none of infinitely many values. */
static bool row_is_contradicted(const struct strings *strings,
                                const struct selector *selector,
                                const struct selector_row *row)
{
	const uint32_t *values = selector_values(selector, row);

	switch ((enum selector_op)row->op) {
	case SELECTOR_IN:
		for (uint32_t i = 0; i < row->count; i++)
			if (key_accepts(strings, selector, row, values[i]))
				return false;
		return true;
	case SELECTOR_NOT_EXISTS:
		return !key_accepts(strings, selector, row, 0);
	case SELECTOR_GT:
	case SELECTOR_LT:
		return range_is_empty(selector, row);
	case SELECTOR_EXISTS: /* contradicted by DoesNotExist, whose row is checked
			       * itself */
	case SELECTOR_NOT_IN:
		return false;
	case SELECTOR_BAD:
		return true;
	}
	PL_UNREACHABLE("selector operator");
}

bool selector_is_impossible(const struct strings *strings,
                            const struct selector *selector)
{
	if (selector->flags != 0)
		return true;
	for (uint32_t i = 0; i < selector->count; i++)
		if (row_is_contradicted(strings, selector, &selector->row[i]))
			return true;
	return false;
}

bool selector_fields_are_impossible(const struct selector *selector)
{
	if (selector->flags != 0)
		return true;
	for (uint32_t i = 0; i < selector->count; i++) {
		const struct selector_row *row = &selector->row[i];
		bool possible = row->op != SELECTOR_IN;

		for (uint32_t v = 0; v < row->count && !possible; v++) {
			possible = true;
			for (uint32_t n = 0; n < selector->count && possible; n++)
				possible = selector_row_matches_name(
					selector, &selector->row[n],
					selector_values(selector, row)[v]);
		}
		if (!possible)
			return true;
	}
	return false;
}
