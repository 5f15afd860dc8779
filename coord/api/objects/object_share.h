/*
 * Texts that many objects have in common, kept once: the specs of pods that come from one
 * template. Of one thread.
 */
#ifndef COORD_API_OBJECTS_OBJECT_SHARE_H
#define COORD_API_OBJECTS_OBJECT_SHARE_H

#include "store/base/map.h"

/* Lives until it was closed and its last text has gone. */
struct object_shares;

struct object_share {
	struct pl_map_node node;
	struct object_shares *shares;
	uint32_t refs;
	uint32_t len;
	uint8_t at[];
};

struct object_shares *object_shares_new(void);          /* NULL: no memory */
void object_shares_close(struct object_shares *shares); /* takes NULL */

/* A reference to the text, which is copied if it is new; then *bytes, which it takes, are
 * added. NULL: no memory. */
struct object_share *object_share_get(struct object_shares *shares, struct pl_span text,
                                      size_t *bytes);
void object_share_unref(struct object_share *share); /* takes NULL */

#endif
