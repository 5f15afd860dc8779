/* The images that a node has, each name with the size; shared. */
#ifndef SHARDSCHED_MODEL_IMAGES_H
#define SHARDSCHED_MODEL_IMAGES_H

#include "shardsched/model/model.h"

struct image {
	int64_t bytes;
	uint32_t name;
	uint32_t zero;
};

struct images {
	struct intern_item item;
	uint32_t zero;
	uint64_t count;
	struct image row[]; /* by name, without duplicates */
};

struct draft_image {
	struct draft_texts names;
	int64_t bytes;
};

struct draft_images {
	struct draft_image *at;
	uint32_t count;
};

/* Returns the value with a reference. When a name comes twice the last size counts. */
const struct images *images_make(struct maker *maker, struct draft_images draft);

/* The image's size in bytes; -1: the node does not have the image. */
int64_t images_get(const struct images *images, uint32_t name);

#endif
