#include "coord/service/fsck/name_table.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/hash.h"

enum { FIRST_CAP = 64, FIRST_TEXT = 4096, COUNT_MAX = 1 << 28 };

void name_table_done(struct name_table *table)
{
	free(table->text);
	free(table->entry);
	free(table->slot);
	*table = (struct name_table){0};
}

bool name_table_room(void **at, uint32_t *cap, uint32_t count, size_t size)
{
	uint32_t more = *cap == 0 ? FIRST_CAP : *cap * 2;
	uint8_t *grown;

	if (count < *cap)
		return true;
	grown = more > COUNT_MAX ? NULL : pl_realloc(*at, more * size);
	if (grown == NULL)
		return false;
	memset(grown + *cap * size, 0, (more - *cap) * size);
	*at = grown;
	*cap = more;
	return true;
}

static uint32_t hash_of(struct pl_span name)
{
	return (uint32_t)pl_hash_keyed(name, pl_hash_process_key());
}

struct pl_span name_table_get(const struct name_table *table, uint32_t number)
{
	const struct name_entry *entry;

	PL_ASSERT(number < table->count);
	entry = &table->entry[number];
	/* While the empty name is the only one there is no text at all. */
	if (entry->len == 0)
		return PL_SPAN_LIT("");
	return pl_span(table->text + entry->at, entry->len);
}

/* The slot of the name, or the free one for it. slots > count. */
static uint32_t slot_of(const struct name_table *table, struct pl_span name,
                        uint32_t hash)
{
	uint32_t at = hash & (table->slots - 1);

	for (;; at = (at + 1) & (table->slots - 1)) {
		uint32_t number = table->slot[at] - 1;

		if (table->slot[at] == 0 ||
		    (table->entry[number].hash == hash &&
		     pl_span_eq(name_table_get(table, number), name)))
			return at;
	}
}

uint32_t name_table_find(const struct name_table *table, struct pl_span name)
{
	if (table->count == 0)
		return NAME_TABLE_NONE;
	return table->slot[slot_of(table, name, hash_of(name))] - 1;
}

static bool slots_grow(struct name_table *table)
{
	uint32_t slots = table->slots == 0 ? FIRST_CAP * 2 : table->slots * 2;
	uint32_t *slot;

	if (table->count + 1 <= table->slots / 2)
		return true;
	slot = pl_calloc(slots, sizeof *slot);
	if (slot == NULL)
		return false;
	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t at = table->entry[i].hash & (slots - 1);

		while (slot[at] != 0)
			at = (at + 1) & (slots - 1);
		slot[at] = i + 1;
	}
	free(table->slot);
	table->slot = slot;
	table->slots = slots;
	return true;
}

static bool text_grow(struct name_table *table, size_t len)
{
	uint64_t cap = table->text_cap == 0 ? FIRST_TEXT : table->text_cap * 2;
	uint8_t *text;

	if (table->text_len + len <= table->text_cap)
		return true;
	while (cap < table->text_len + len)
		cap *= 2;
	text = pl_realloc(table->text, cap);
	if (text == NULL)
		return false;
	table->text = text;
	table->text_cap = cap;
	return true;
}

uint32_t name_table_add(struct name_table *table, struct pl_span name)
{
	uint32_t hash = hash_of(name), at;

	if (!slots_grow(table))
		return NAME_TABLE_NONE;
	at = slot_of(table, name, hash);
	if (table->slot[at] != 0)
		return table->slot[at] - 1;
	if (!text_grow(table, name.len) ||
	    !name_table_room((void **)&table->entry, &table->cap, table->count,
	                     sizeof *table->entry))
		return NAME_TABLE_NONE;
	table->entry[table->count] = (struct name_entry){
		.at = table->text_len, .len = (uint32_t)name.len, .hash = hash};
	if (name.len > 0)
		memcpy(table->text + table->text_len, name.at, name.len);
	table->text_len += name.len;
	table->slot[at] = ++table->count;
	return table->count - 1;
}
