/* How many nodes have an image: a table of its own, since names come and go. */
#include <stdlib.h>

#include "shardsched/model/images.h"
#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum { CAP_MIN = 64 };

static uint32_t home_slot(const struct image_counts *counts, uint32_t name)
{
	return number_hash(name) & (counts->cap - 1);
}

/* Where it is, or where it would be. */
static struct image_count *place_of(const struct image_counts *counts, uint32_t name)
{
	uint32_t at = home_slot(counts, name);

	while (counts->at[at].name != 0 && counts->at[at].name != name)
		at = (at + 1) & (counts->cap - 1);
	return &counts->at[at];
}

uint32_t snapshot_image_nodes(const struct snapshot *snapshot, uint32_t image)
{
	const struct image_counts *counts = &snapshot->inner->images;

	return counts->cap == 0 || image == 0 ? 0 : place_of(counts, image)->nodes;
}

/* At most half full. */
enum pl_code images_ready(struct image_counts *counts, uint64_t more, struct pl_err *err)
{
	struct image_counts grown = {.cap = counts->cap == 0 ? CAP_MIN : counts->cap,
	                             .count = counts->count};

	if (counts->count + more <= counts->cap / 2)
		return PL_OK;
	while (counts->count + more > grown.cap / 2) {
		if (grown.cap > UINT32_MAX / 4)
			return pl_err_set(err, PL_LIMIT, "too many images");
		grown.cap *= 2;
	}
	grown.at = pl_calloc(grown.cap, sizeof *grown.at);
	if (grown.at == NULL)
		return pl_err_set(err, PL_NOMEM, "count images");
	for (uint32_t i = 0; i < counts->cap; i++)
		if (counts->at[i].name != 0)
			*place_of(&grown, counts->at[i].name) = counts->at[i];
	free(counts->at);
	*counts = grown;
	return PL_OK;
}

void images_add(struct image_counts *counts, const struct images *images)
{
	for (uint64_t i = 0; i < images->count; i++) {
		struct image_count *place = place_of(counts, images->row[i].name);

		if (place->name == 0) {
			place->name = images->row[i].name;
			counts->count++;
		}
		place->nodes++;
	}
}

/* Closes the gap: whatever stands behind it and would be found no more comes forward. */
static void delete_at(struct image_counts *counts, uint32_t gap)
{
	uint32_t mask = counts->cap - 1;

	for (uint32_t at = (gap + 1) & mask; counts->at[at].name != 0;
	     at = (at + 1) & mask) {
		uint32_t local = home_slot(counts, counts->at[at].name);

		if (((at - local) & mask) < ((at - gap) & mask))
			continue;
		counts->at[gap] = counts->at[at];
		gap = at;
	}
	counts->at[gap] = (struct image_count){0};
	counts->count--;
}

void images_remove(struct image_counts *counts, const struct images *images)
{
	for (uint64_t i = 0; i < images->count; i++) {
		struct image_count *place = place_of(counts, images->row[i].name);

		PL_ASSERT(place->nodes > 0);
		if (--place->nodes == 0)
			delete_at(counts, (uint32_t)(place - counts->at));
	}
}
