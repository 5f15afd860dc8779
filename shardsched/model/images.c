#include "shardsched/model/images.h"

#include <stdlib.h>

intern_release_fn images_release;

struct image_entry {
	struct image image;
	uint32_t order; /* position in the object */
};

static int cmp_name(const void *a, const void *b)
{
	const struct image_entry *one = a, *two = b;

	if (one->image.name != two->image.name)
		return one->image.name < two->image.name ? -1 : 1;
	return one->order < two->order ? -1 : one->order > two->order;
}

static uint32_t collect_images(struct maker *maker, struct draft_images draft,
                               struct image_entry *entry)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < draft.count; i++)
		for (uint32_t j = 0; j < draft.at[i].names.count; j++, count++) {
			uint32_t name = maker_text(maker, draft.at[i].names.at[j]);

			entry[count] =
				(struct image_entry){{draft.at[i].bytes, name, 0}, count};
		}
	return count;
}

const struct images *images_make(struct maker *maker, struct draft_images draft)
{
	size_t names = 0, size;
	struct images *made;
	struct image_entry *entry;

	for (uint32_t i = 0; i < draft.count; i++)
		names += draft.at[i].names.count;
	entry = maker_alloc(maker, (names + 1) * sizeof *entry);
	made = maker_alloc(maker, sizeof *made + names * sizeof made->row[0]);
	if (made == NULL || entry == NULL)
		return NULL;
	names = collect_images(maker, draft, entry);
	if (names > 1)
		qsort(entry, names, sizeof *entry, cmp_name);
	for (size_t i = 0; i < names; i++) {
		if (made->count > 0 && entry[i].image.name != 0 &&
		    made->row[made->count - 1].name == entry[i].image.name)
			strings_unref(&maker->model->strings,
			              made->row[--made->count].name);
		made->row[made->count++] = entry[i].image;
	}
	size = sizeof *made + made->count * sizeof made->row[0];
	return maker_intern(maker, MODEL_IMAGES, made, size);
}

void images_release(struct model *model, const struct intern_item *value)
{
	const struct images *images = PL_CONTAINER_OF_CONST(value, struct images, item);

	for (uint64_t i = 0; i < images->count; i++)
		strings_unref(&model->strings, images->row[i].name);
}

int64_t images_get(const struct images *images, uint32_t name)
{
	uint64_t low = 0, high = images->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (images->row[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low < images->count && images->row[low].name == name
	               ? images->row[low].bytes
	               : -1;
}
