/* Scalars as keys of list elements: compared, and looked up in a list of them. Pure. */
#ifndef COORD_API_PATCH_SCALAR_H
#define COORD_API_PATCH_SCALAR_H

#include "store/base/json_edit.h"

/* A total order of values that are no objects or arrays: by type, then by value. */
int scalar_compare(const struct cJSON *a, const struct cJSON *b);

struct scalar_place {
	const struct cJSON *key;
	size_t at;
};

/* The keys of a list, sorted. */
struct scalar_table {
	struct scalar_place *places;
	size_t count;
};

/* Keys that are NULL are left out. False: no memory. */
PL_NODISCARD bool scalar_table_init(struct scalar_table *table, struct pl_arena *arena,
                                    const struct cJSON *const *keys, size_t count);
/* The first place of an equal key, or SIZE_MAX. */
size_t scalar_table_find(const struct scalar_table *table, const struct cJSON *key);

#endif
