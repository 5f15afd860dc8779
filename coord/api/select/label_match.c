#include <stdlib.h>

#include "coord/api/select/label_selector.h"
#include "shardsched/model/text.h"

/* The values are in order; most terms have one. */
static bool is_among(const struct label_term *term, struct pl_span value)
{
	uint32_t low = 0, high = term->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = pl_span_cmp(term->values[middle], value);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* value NULL: the object does not have the label. */
static bool term_holds(const struct label_term *term, const struct pl_span *value)
{
	int64_t number;

	switch (term->test) {
	case LABEL_TEST_IN:
		return value != NULL && is_among(term, *value);
	case LABEL_TEST_NOT_IN:
		return value == NULL || !is_among(term, *value);
	case LABEL_TEST_EXISTS:
		return value != NULL;
	case LABEL_TEST_NOT_EXISTS:
		return value == NULL;
	case LABEL_TEST_GT:
		return value != NULL && text_int(*value, &number) &&
		       number > term->number;
	case LABEL_TEST_LT:
		return value != NULL && text_int(*value, &number) &&
		       number < term->number;
	}
	PL_UNREACHABLE("a test of a label");
}

bool label_selector_matches(const struct label_selector *selector,
                            const struct label_pairs *labels)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < selector->count; i++) {
		const struct label_term *term = &selector->terms[i];
		int order = 1;

		while (at < labels->count &&
		       (order = pl_span_cmp(labels->at[at].key, term->key)) < 0)
			at++;
		if (!term_holds(term, at < labels->count && order == 0
		                              ? &labels->at[at].value
		                              : NULL))
			return false;
	}
	return true;
}

bool label_selector_matches_json(const struct label_selector *selector,
                                 struct pl_json labels)
{
	for (uint32_t i = 0; i < selector->count; i++) {
		const struct label_term *term = &selector->terms[i];
		struct pl_json label = pl_json_member(labels, (const char *)term->key.at);
		const char *text = NULL;
		struct pl_span value = {0};

		if (pl_json_type(label) == PL_JSON_STRING &&
		    pl_json_as_string(label, &text, NULL) == PL_OK)
			value = pl_span_str(text);
		if (!term_holds(term, text == NULL ? NULL : &value))
			return false;
	}
	return true;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct label_pair *x = a, *y = b;

	return pl_span_cmp(x->key, y->key);
}

enum pl_code label_pairs_of(struct pl_arena *arena, struct pl_json labels,
                            struct label_pairs *out)
{
	size_t room = pl_json_type(labels) == PL_JSON_OBJECT ? pl_json_count(labels) : 0;
	struct label_pair *pairs;
	uint32_t count = 0;

	if (room == 0) {
		*out = (struct label_pairs){0};
		return PL_OK;
	}
	pairs = pl_arena_zalloc(arena, room, sizeof *pairs);
	if (pairs == NULL)
		return PL_NOMEM;
	PL_JSON_EACH (label, labels) {
		const char *text = NULL;

		if (pl_json_as_string(label, &text, NULL) == PL_OK)
			pairs[count++] = (struct label_pair){
				pl_span_str(pl_json_key(label)), pl_span_str(text)};
	}
	qsort(pairs, count, sizeof *pairs, compare_pairs);
	*out = (struct label_pairs){.count = count, .at = pairs};
	return PL_OK;
}
