/* The metadata of a list: of objects, of a Table and of metadata alone. */
#ifndef COORD_API_REPLY_LIST_META_H
#define COORD_API_REPLY_LIST_META_H

#include <stdint.h>

#include "store/base/json_out.h"

struct list_meta {
	int64_t revision;              /* a watch can begin there; 0: not written */
	struct pl_span continue_token; /* empty: the list is whole */
	int64_t remaining;             /* 0: not known, or none */
};

/* Writes the object that stands at "metadata". */
void list_meta_write(struct pl_json_out *out, const struct list_meta *meta);

#endif
