#include "shardsched/model/strings.h"

#include <stdlib.h>

#include "shardsched/model/text.h"
#include "store/base/alloc.h"

enum { CHUNK_SLOTS = 1024, BUCKETS_FEW = 16 };

struct strings_slot {
	uint8_t *text; /* NULL: free, and next is the next free one */
	uint32_t len;
	uint32_t refs;
	uint32_t hash;
	uint32_t next;
};

void strings_init(struct strings *strings)
{
	*strings = (struct strings){.key = pl_hash_process_key()};
}

static struct strings_slot *slot_at(const struct strings *strings, uint32_t id)
{
	return &strings->chunk[id / CHUNK_SLOTS][id % CHUNK_SLOTS];
}

static struct strings_slot *held(const struct strings *strings, uint32_t id)
{
	struct strings_slot *slot;

	PL_ASSERT(id < strings->slots);
	slot = slot_at(strings, id);
	PL_ASSERT(slot->refs > 0);
	return slot;
}

void strings_done(struct strings *strings)
{
	for (uint32_t id = 1; id < strings->slots; id++)
		free(slot_at(strings, id)->text);
	for (uint32_t i = 0; i < strings->chunks; i++)
		free(strings->chunk[i]);
	free(strings->chunk);
	free(strings->bucket);
	*strings = (struct strings){0};
}

static uint32_t bucket_of(const struct strings *strings, uint32_t hash)
{
	uint32_t at = hash & (strings->base * 2 - 1);

	return at < strings->buckets ? at : hash & (strings->base - 1);
}

static uint32_t hash_of(const struct strings *strings, struct pl_span text)
{
	return (uint32_t)pl_hash_keyed(text, strings->key);
}

static uint32_t find(const struct strings *strings, struct pl_span text, uint32_t hash)
{
	uint32_t id = 0;

	if (strings->buckets > 0)
		id = strings->bucket[bucket_of(strings, hash)];
	while (id != 0) {
		const struct strings_slot *slot = slot_at(strings, id);

		if (slot->hash == hash &&
		    pl_span_eq(pl_span(slot->text, slot->len), text))
			break;
		id = slot->next;
	}
	return id;
}

uint32_t strings_find(const struct strings *strings, struct pl_span text)
{
	return find(strings, text, hash_of(strings, text));
}

static bool add_chunk(struct strings *strings)
{
	uint32_t cap = strings->chunks == 0 ? 1 : strings->chunks;
	bool full = (strings->chunks & (strings->chunks - 1)) == 0; /* 0, 1, 2, 4, ... */
	struct strings_slot **grown = strings->chunk, *chunk;

	if (full) {
		grown = pl_realloc(strings->chunk, (size_t)cap * 2 * sizeof *grown);
		if (grown == NULL)
			return false;
		strings->chunk = grown;
	}
	chunk = pl_calloc(CHUNK_SLOTS, sizeof *chunk);
	if (chunk == NULL)
		return false;
	strings->chunk[strings->chunks++] = chunk;
	return true;
}

static bool first_buckets(struct strings *strings)
{
	strings->bucket = pl_calloc(BUCKETS_FEW, sizeof *strings->bucket);
	if (strings->bucket == NULL)
		return false;
	strings->base = strings->buckets = strings->cap = BUCKETS_FEW;
	return true;
}

/* A free number, 0 when there is no memory for one more. */
static uint32_t take_slot(struct strings *strings)
{
	uint32_t id = strings->unused;

	if (strings->buckets == 0 && !first_buckets(strings))
		return 0;
	if (id != 0) {
		strings->unused = slot_at(strings, id)->next;
		return id;
	}
	if (strings->slots == UINT32_MAX - CHUNK_SLOTS)
		return 0;
	if (strings->slots == strings->chunks * CHUNK_SLOTS && !add_chunk(strings))
		return 0;
	if (strings->slots == 0)
		strings->slots = 1; /* 0 is no string */
	return strings->slots++;
}

static void give_slot(struct strings *strings, uint32_t id)
{
	*slot_at(strings, id) = (struct strings_slot){.next = strings->unused};
	strings->unused = id;
}

static bool room_for_bucket(struct strings *strings)
{
	uint32_t *grown;

	if (strings->buckets < strings->cap)
		return true;
	if (strings->cap > UINT32_MAX / 4)
		return false;
	grown = pl_realloc(strings->bucket, (size_t)strings->cap * 2 * sizeof *grown);
	if (grown == NULL)
		return false;
	strings->bucket = grown;
	strings->cap *= 2;
	return true;
}

/* Linear hashing, as in store/base/map.c: without memory chains get longer. */
static void split_next(struct strings *strings)
{
	uint32_t fresh = strings->buckets, *from;

	if (!room_for_bucket(strings))
		return;
	if (strings->buckets == strings->base * 2)
		strings->base *= 2;
	strings->bucket[fresh] = 0;
	strings->buckets++;
	from = &strings->bucket[fresh - strings->base];
	while (*from != 0) {
		uint32_t id = *from;
		struct strings_slot *slot = slot_at(strings, id);

		if (bucket_of(strings, slot->hash) != fresh) {
			from = &slot->next;
			continue;
		}
		*from = slot->next;
		slot->next = strings->bucket[fresh];
		strings->bucket[fresh] = id;
	}
}

static uint8_t *copy_of(struct pl_span text)
{
	uint8_t *copy = pl_malloc(text.len + 1);

	if (copy == NULL)
		return NULL;
	if (text.len > 0)
		memcpy(copy, text.at, text.len);
	copy[text.len] = 0;
	return copy;
}

static enum pl_code add_new(struct strings *strings, struct pl_span text, uint32_t hash,
                            uint32_t *out)
{
	uint8_t *copy = copy_of(text);
	uint32_t id = copy == NULL ? 0 : take_slot(strings), *bucket;

	if (id == 0) {
		free(copy);
		return PL_NOMEM;
	}
	bucket = &strings->bucket[bucket_of(strings, hash)];
	*slot_at(strings, id) =
		(struct strings_slot){copy, (uint32_t)text.len, 1, hash, *bucket};
	*bucket = id;
	strings->count++;
	strings->bytes += text.len + 1;
	if (strings->count > strings->buckets)
		split_next(strings);
	*out = id;
	return PL_OK;
}

enum pl_code strings_add(struct strings *strings, struct pl_span text, uint32_t *out)
{
	uint32_t hash = hash_of(strings, text), id;

	if (text.len >= UINT32_MAX)
		return PL_LIMIT;
	id = find(strings, text, hash);
	if (id == 0)
		return add_new(strings, text, hash, out);
	*out = strings_ref(strings, id);
	return PL_OK;
}

uint32_t strings_ref(struct strings *strings, uint32_t id)
{
	struct strings_slot *slot;

	if (id == 0)
		return 0;
	slot = held(strings, id);
	PL_ASSERT(slot->refs < UINT32_MAX);
	slot->refs++;
	return id;
}

void strings_unref(struct strings *strings, uint32_t id)
{
	struct strings_slot *slot;
	uint32_t *from;

	if (id == 0)
		return;
	slot = held(strings, id);
	if (--slot->refs > 0)
		return;
	from = &strings->bucket[bucket_of(strings, slot->hash)];
	while (*from != id) {
		PL_ASSERT(*from != 0);
		from = &slot_at(strings, *from)->next;
	}
	*from = slot->next;
	strings->count--;
	strings->bytes -= (size_t)slot->len + 1;
	free(slot->text);
	give_slot(strings, id);
}

struct pl_span strings_get(const struct strings *strings, uint32_t id)
{
	const struct strings_slot *slot;

	if (id == 0)
		return pl_span("", 0);
	slot = held(strings, id);
	return pl_span(slot->text, slot->len);
}

bool strings_int(const struct strings *strings, uint32_t id, int64_t *out)
{
	return text_int(strings_get(strings, id), out);
}

size_t strings_memory(const struct strings *strings)
{
	return strings->bytes +
	       (size_t)strings->chunks * CHUNK_SLOTS * sizeof(struct strings_slot) +
	       (size_t)strings->cap * sizeof *strings->bucket;
}
