#include "shardsched/model/pod_term.h"

#include <stdlib.h>

intern_release_fn pod_term_release;

static int cmp_number(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;

	return one < two ? -1 : one > two;
}

static void copy_namespaces(struct maker *maker, struct pod_term *made,
                            struct draft_texts names)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < names.count; i++)
		made->namespace[i] = maker_text(maker, names.at[i]);
	qsort(made->namespace, names.count, sizeof made->namespace[0], cmp_number);
	for (uint32_t i = 0; i < names.count; i++) {
		uint32_t id = made->namespace[i];

		made->namespace[i] = 0;
		if (kept > 0 && made->namespace[kept - 1] == id)
			strings_unref(&maker->model->strings, id);
		else
			made->namespace[kept++] = id;
	}
	made->count = kept;
}

const struct pod_term *pod_term_make(struct maker *maker,
                                     const struct draft_pod_term *draft,
                                     struct pl_span own)
{
	struct draft_texts names = draft->namespaces;
	struct pod_term *made;
	size_t size;

	if (names.count == 0 && !draft->namespace_selector.set)
		names = (struct draft_texts){&own, 1};
	made = maker_alloc(maker, sizeof *made + (names.count + 1) * sizeof(uint32_t));
	if (made == NULL)
		return NULL;
	made->selector = selector_make(maker, draft->selector);
	made->namespace_selector = selector_make(maker, draft->namespace_selector);
	made->topology_key = maker_text(maker, draft->topology_key);
	if (names.count > 0)
		copy_namespaces(maker, made, names);
	size = sizeof *made + (made->count + made->count % 2) * sizeof(uint32_t);
	return maker_intern(maker, MODEL_POD_TERMS, made, size);
}

void pod_term_release(struct model *model, const struct intern_item *value)
{
	const struct pod_term *term = PL_CONTAINER_OF_CONST(value, struct pod_term, item);

	model_unref(model, MODEL_SELECTORS, term->selector);
	model_unref(model, MODEL_SELECTORS, term->namespace_selector);
	strings_unref(&model->strings, term->topology_key);
	for (uint32_t i = 0; i < term->count; i++)
		strings_unref(&model->strings, term->namespace[i]);
}

static const struct labels no_labels;

bool pod_term_sees(const struct strings *strings, const struct pod_term *term,
                   uint32_t namespace, const struct labels *namespace_labels)
{
	for (uint32_t i = 0; i < term->count; i++)
		if (term->namespace[i] == namespace)
			return true;
	return selector_matches(strings, term->namespace_selector,
	                        namespace_labels == NULL ? &no_labels : namespace_labels);
}

bool pod_term_matches(const struct strings *strings, const struct pod_term *term,
                      uint32_t namespace, const struct labels *namespace_labels,
                      const struct labels *labels)
{
	return pod_term_sees(strings, term, namespace, namespace_labels) &&
	       selector_matches(strings, term->selector, labels);
}
