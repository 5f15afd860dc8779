/*
 * An index of an object's members, for code that looks up as many names as an object has.
 *
 * A search of all members for each name takes quadratic time, and the sender of an object
 * chooses how large it is. The index sorts the names of a large object once. It is a
 * picture of the object at that time: members that are added later are not found.
 */
#ifndef STORE_BASE_JSON_INDEX_H
#define STORE_BASE_JSON_INDEX_H

#include "store/base/json_edit.h"

struct json_index {
	const struct cJSON *object;
	struct cJSON **sorted; /* NULL: the object is small, and searched itself */
	size_t count;
};

/* False: no memory. object NULL, or no object: the index is empty. */
PL_NODISCARD bool json_index_init(struct json_index *index, struct pl_arena *arena,
                                  const struct cJSON *object);
/* NULL: none. */
struct cJSON *json_index_find(const struct json_index *index, const char *name);

#endif
