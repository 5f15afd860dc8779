/* Selectors of both kinds. */
#include "shardsched/model/selector.h"
#include "shardsched/model/validate.h"

/* Gt and Lt are valid for nodes only. */
static void check_operator(struct validate *v, const struct draft_requirement *row,
                           bool node)
{
	enum selector_op op = selector_op_of(row->op);

	if (!node && (op == SELECTOR_GT || op == SELECTOR_LT))
		op = SELECTOR_BAD;
	switch (op) {
	case SELECTOR_IN:
	case SELECTOR_NOT_IN:
		if (row->values.count == 0)
			validate_add(v, "values", FIELD_REQUIRED,
			             "want a value for In or NotIn");
		return;
	case SELECTOR_EXISTS:
	case SELECTOR_NOT_EXISTS:
		if (row->values.count > 0)
			validate_add(v, "values", FIELD_FORBIDDEN,
			             "want none for Exists or DoesNotExist");
		return;
	case SELECTOR_GT:
	case SELECTOR_LT:
		if (row->values.count != 1)
			validate_add(v, "values", FIELD_REQUIRED,
			             "want one value for Gt or Lt");
		return;
	case SELECTOR_BAD:
		validate_add(v, "operator", FIELD_INVALID,
		             node ? "want In, NotIn, Exists, DoesNotExist, Gt or Lt"
		                  : "want In, NotIn, Exists or DoesNotExist");
		return;
	}
	PL_UNREACHABLE("selector operator");
}

static void check_row(struct validate *v, const struct draft_requirement *row, bool node)
{
	check_operator(v, row, node);
	validate_text(v, "key", text_key(row->key));
	if (node)
		return; /* values of node affinity are not looked at */
	for (uint32_t i = 0; i < row->values.count; i++) {
		size_t mark = validate_index(v, "values", i);

		validate_text(v, NULL, text_value(row->values.at[i]));
		validate_back(v, mark);
	}
}

void validate_selector(struct validate *v, const char *name,
                       const struct draft_selector *selector)
{
	size_t mark = validate_into(v, name);

	validate_labels(v, "matchLabels", selector->labels);
	for (uint32_t i = 0; i < selector->expressions.count; i++) {
		size_t before = validate_index(v, "matchExpressions", i);

		check_row(v, &selector->expressions.at[i], false);
		validate_back(v, before);
	}
	validate_back(v, mark);
}

static void check_field(struct validate *v, const struct draft_requirement *row)
{
	enum selector_op op = selector_op_of(row->op);

	if (op != SELECTOR_IN && op != SELECTOR_NOT_IN)
		validate_add(v, "operator", FIELD_INVALID, "want In or NotIn");
	else if (row->values.count != 1)
		validate_add(v, "values", FIELD_REQUIRED, "want exactly one value");
	if (!pl_span_eq(row->key, PL_SPAN_LIT("metadata.name"))) {
		validate_add(v, "key", FIELD_INVALID, "want metadata.name");
		return;
	}
	for (uint32_t i = 0; i < row->values.count; i++) {
		size_t mark = validate_index(v, "values", i);

		validate_text(v, NULL, text_subdomain(row->values.at[i]));
		validate_back(v, mark);
	}
}

void validate_node_term(struct validate *v, const struct draft_node_term *term)
{
	for (uint32_t i = 0; i < term->expressions.count; i++) {
		size_t mark = validate_index(v, "matchExpressions", i);

		check_row(v, &term->expressions.at[i], true);
		validate_back(v, mark);
	}
	for (uint32_t i = 0; i < term->fields.count; i++) {
		size_t mark = validate_index(v, "matchFields", i);

		check_field(v, &term->fields.at[i]);
		validate_back(v, mark);
	}
}

void validate_node_selector(struct validate *v, const char *name,
                            const struct draft_node_terms *terms)
{
	size_t mark = validate_into(v, name);

	if (terms->count == 0)
		validate_add(v, "nodeSelectorTerms", FIELD_REQUIRED,
		             "want at least one term");
	for (uint32_t i = 0; i < terms->count; i++) {
		size_t before = validate_index(v, "nodeSelectorTerms", i);

		validate_node_term(v, &terms->at[i]);
		validate_back(v, before);
	}
	validate_back(v, mark);
}
