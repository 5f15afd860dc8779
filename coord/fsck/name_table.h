/* Names that are numbered as they come: a million of them in little room. */
#ifndef COORD_FSCK_NAME_TABLE_H
#define COORD_FSCK_NAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

#define NAME_TABLE_NONE UINT32_MAX

struct name_entry {
	uint64_t at; /* in text */
	uint32_t len, hash;
};

struct name_table {
	uint8_t *text;
	uint64_t text_len, text_cap;
	struct name_entry *entry;
	uint32_t count, cap;
	uint32_t *slot; /* open addressing; a number plus one, 0: free */
	uint32_t slots; /* a power of two */
};

/* All zero is an empty one. */
void name_table_done(struct name_table *table);

/* NAME_TABLE_NONE: it is not there. */
uint32_t name_table_find(const struct name_table *table, struct pl_span name);
/* Its number, which may be a new one: then the count has grown. NAME_TABLE_NONE: no
 * memory. */
uint32_t name_table_add(struct name_table *table, struct pl_span name);
/* Until the next is added. */
struct pl_span name_table_get(const struct name_table *table, uint32_t number);

/* Room for one more element, zeroed; for tables beside. */
bool name_table_room(void **at, uint32_t *cap, uint32_t count, size_t size);

#endif
