#include "shardsched/model/labels.h"

enum { FEW = 12 }; /* up to this number a linear search is as fast as a binary one */

intern_release_fn labels_release;

static size_t lower_bound(const struct labels *labels, uint32_t key)
{
	size_t low = 0, high = labels->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (labels->row[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes over the references of label. */
static void insert_label(struct labels *labels, struct label label,
                         struct strings *strings)
{
	size_t at = lower_bound(labels, label.key);

	if (at < labels->count && labels->row[at].key == label.key) {
		strings_unref(strings, label.key);
		strings_unref(strings, labels->row[at].value);
		labels->row[at].value = label.value;
		return;
	}
	memmove(&labels->row[at + 1], &labels->row[at],
	        (labels->count - at) * sizeof label);
	labels->row[at] = label;
	labels->count++;
}

const struct labels *labels_make(struct maker *maker, struct draft_pairs pairs)
{
	size_t size = sizeof(struct labels) + pairs.count * sizeof(struct label);
	struct labels *draft = maker_alloc(maker, size);

	for (uint32_t i = 0; draft != NULL && i < pairs.count; i++) {
		struct label label = {maker_text(maker, pairs.at[i].key),
		                      maker_text(maker, pairs.at[i].value)};

		insert_label(draft, label, &maker->model->strings);
	}
	if (draft != NULL)
		size = sizeof *draft + draft->count * sizeof(struct label);
	return maker_intern(maker, MODEL_LABELS, draft, size);
}

void labels_release(struct model *model, const struct intern_item *value)
{
	const struct labels *labels = PL_CONTAINER_OF_CONST(value, struct labels, item);

	for (uint32_t i = 0; i < labels->count; i++) {
		strings_unref(&model->strings, labels->row[i].key);
		strings_unref(&model->strings, labels->row[i].value);
	}
}

uint32_t labels_get(const struct labels *labels, uint32_t key)
{
	size_t at = 0;

	if (labels->count > FEW)
		at = lower_bound(labels, key);
	for (; at < labels->count && labels->row[at].key <= key; at++)
		if (labels->row[at].key == key)
			return labels->row[at].value;
	return 0;
}

bool labels_include(const struct labels *labels, const struct labels *these)
{
	for (uint32_t i = 0; i < these->count; i++)
		if (labels_get(labels, these->row[i].key) != these->row[i].value)
			return false;
	return true;
}
