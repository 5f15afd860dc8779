/*
 * The key by which equal matchers are found: numbers of selectors and names, to which the
 * matcher holds references.
 */
#include <stdlib.h>

#include "shardsched/snapshot/views_inner.h"

static int by_rule(const void *a, const void *b)
{
	const struct pod_term *one = *(const struct pod_term *const *)a;
	const struct pod_term *two = *(const struct pod_term *const *)b;
	uint32_t n = one->selector->item.id, m = two->selector->item.id;

	if (n == m) {
		n = one->namespace_selector->item.id;
		m = two->namespace_selector->item.id;
	}
	if (n == m) {
		n = one->count;
		m = two->count;
	}
	for (uint32_t i = 0; i < one->count && n == m; i++) {
		n = one->namespace[i];
		m = two->namespace[i];
	}
	return n < m ? -1 : n > m;
}

uint32_t matcher_sort_terms(const struct pod_term **term, uint32_t count)
{
	uint32_t kept = 0;

	qsort(term, count, sizeof(void *), by_rule);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || by_rule(&term[kept - 1], &term[i]) != 0)
			term[kept++] = term[i];
	return kept;
}

uint32_t matcher_key_words(const struct rule *rule)
{
	uint32_t words = 3;

	for (uint32_t i = 0; i < rule->count; i++)
		words += 3 + rule->term[i]->count;
	return words;
}

void matcher_key_write(const struct rule *rule, uint32_t *key)
{
	*key++ = rule->count;
	*key++ = rule->namespace;
	*key++ = rule->selector == NULL ? 0 : rule->selector->item.id;
	for (uint32_t i = 0; i < rule->count; i++) {
		const struct pod_term *term = rule->term[i];

		*key++ = term->selector->item.id;
		*key++ = term->namespace_selector->item.id;
		*key++ = term->count;
		for (uint32_t j = 0; j < term->count; j++)
			*key++ = term->namespace[j];
	}
}
