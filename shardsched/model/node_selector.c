#include "shardsched/model/node_selector.h"

intern_release_fn node_selector_release;

const struct node_selector *node_selector_make(struct maker *maker,
                                               struct draft_node_terms draft)
{
	struct node_selector *made;
	size_t size = sizeof *made + draft.count * sizeof made->term[0];

	if (!draft.set)
		return NULL;
	made = maker_alloc(maker, size);
	for (uint32_t i = 0; made != NULL && i < draft.count; i++) {
		const struct draft_node_term *term = &draft.at[i];

		made->term[i] = (struct node_term){
			.labels = selector_of_rows(maker, term->expressions),
			.fields = selector_of_fields(maker, term->fields),
			.weight = term->weight};
		made->count++;
	}
	return maker_intern(maker, MODEL_NODE_SELECTORS, made, size);
}

void node_selector_release(struct model *model, const struct intern_item *value)
{
	const struct node_selector *selector =
		PL_CONTAINER_OF_CONST(value, struct node_selector, item);

	for (uint64_t i = 0; i < selector->count; i++) {
		model_unref(model, MODEL_SELECTORS, selector->term[i].labels);
		model_unref(model, MODEL_SELECTORS, selector->term[i].fields);
	}
}

bool node_term_matches(const struct strings *strings, const struct node_term *term,
                       const struct labels *labels, uint32_t name)
{
	if (node_term_is_empty(term) || node_term_is_invalid(term) ||
	    !selector_matches(strings, term->labels, labels))
		return false;
	if (name == 0)
		return true;
	for (uint32_t i = 0; i < term->fields->count; i++)
		if (!selector_row_matches_name(term->fields, &term->fields->row[i], name))
			return false;
	return true;
}

bool node_selector_matches(const struct strings *strings,
                           const struct node_selector *selector,
                           const struct labels *labels, uint32_t name)
{
	for (uint64_t i = 0; i < selector->count; i++)
		if (node_term_matches(strings, &selector->term[i], labels, name))
			return true;
	return false;
}
