/* A table that numbers names in the order of their arrival, for a million of them in
 * little memory. Numbers never change. */
#ifndef COORD_SERVICE_FSCK_NAME_TABLE_H
#define COORD_SERVICE_FSCK_NAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

#define NAME_TABLE_NONE UINT32_MAX

struct name_entry {
	uint64_t at; /* offset in text */
	uint32_t len, hash;
};

struct name_table {
	uint8_t *text;
	uint64_t text_len, text_cap;
	struct name_entry *entry;
	uint32_t count, cap;
	uint32_t *slot; /* open addressing: number plus one; 0: free */
	uint32_t slots; /* a power of two */
};

/* A table of zeros is empty. */
void name_table_done(struct name_table *table);

/* NAME_TABLE_NONE: the table does not have the name. */
uint32_t name_table_find(const struct name_table *table, struct pl_span name);
/* The number of the name, which is added if the table does not have it; count grows
 * then. NAME_TABLE_NONE: no memory. */
uint32_t name_table_add(struct name_table *table, struct pl_span name);
/* Borrowed until the next name is added. */
struct pl_span name_table_get(const struct name_table *table, uint32_t number);

/* Makes room for one more element, zeroed; for arrays that go along with a table. */
bool name_table_room(void **at, uint32_t *cap, uint32_t count, size_t size);

#endif
