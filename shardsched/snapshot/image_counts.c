/* How many nodes have an image: for ImageLocality, which asks for each image of a pod. */
#include "shardsched/model/images.h"
#include "shardsched/snapshot/snapshot_inner.h"

uint32_t snapshot_image_nodes(const struct snapshot *snapshot, uint32_t image)
{
	const uint32_t *nodes = number_map_find(&snapshot->inner->images, image);

	return nodes == NULL ? 0 : *nodes;
}

enum pl_code images_ready(struct number_map *counts, uint64_t more, struct pl_err *err)
{
	return number_map_reserve(counts, more)
	               ? PL_OK
	               : pl_err_set(err, PL_NOMEM, "count images");
}

void images_add(struct number_map *counts, const struct images *images)
{
	for (uint64_t i = 0; i < images->count; i++) {
		uint32_t *nodes = number_map_find(counts, images->row[i].name);
		bool there =
			nodes != NULL || number_map_add(counts, images->row[i].name, 1);

		PL_ASSERT(there); /* images_ready made room */
		if (nodes != NULL)
			(*nodes)++;
	}
}

void images_remove(struct number_map *counts, const struct images *images)
{
	for (uint64_t i = 0; i < images->count; i++) {
		uint32_t *nodes = number_map_find(counts, images->row[i].name);

		PL_ASSERT(nodes != NULL && *nodes > 0);
		if (--*nodes == 0)
			number_map_del(counts, images->row[i].name);
	}
}
