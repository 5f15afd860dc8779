#include "shardsched/model/strings.h"

#include <stdlib.h>

#include "shardsched/model/text.h"
#include "store/base/alloc.h"

enum { CHUNK_SLOTS = 1024 };

struct strings_slot {
	uint8_t *text; /* NULL: free, and the link leads to the next free one */
	uint32_t len;
	uint32_t refs;
	struct bucket_link link;
};

static struct strings_slot *slot_at(const struct strings *strings, uint32_t id)
{
	return &strings->chunk[id / CHUNK_SLOTS][id % CHUNK_SLOTS];
}

static struct bucket_link *link_of(const void *owner, uint32_t id)
{
	return &slot_at(owner, id)->link;
}

void strings_init(struct strings *strings)
{
	*strings = (struct strings){.key = pl_hash_process_key()};
	buckets_init(&strings->buckets, strings, link_of);
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
	buckets_done(&strings->buckets);
	*strings = (struct strings){0};
}

static uint32_t hash_of(const struct strings *strings, struct pl_span text)
{
	return (uint32_t)pl_hash_keyed(text, strings->key);
}

static uint32_t find(const struct strings *strings, struct pl_span text, uint32_t hash)
{
	uint32_t id = buckets_chain(&strings->buckets, hash);

	while (id != 0) {
		const struct strings_slot *slot = slot_at(strings, id);

		if (slot->link.hash == hash &&
		    pl_span_eq(pl_span(slot->text, slot->len), text))
			break;
		id = slot->link.next;
	}
	return id;
}

uint32_t strings_find(const struct strings *strings, struct pl_span text)
{
	return find(strings, text, hash_of(strings, text));
}

static bool add_chunk(struct strings *strings)
{
	size_t cap = strings->chunks == 0 ? 2 : (size_t)strings->chunks * 2;
	bool full = (strings->chunks & (strings->chunks - 1)) == 0; /* 0, 1, 2, 4, ... */
	struct strings_slot *chunk;

	if (full) {
		struct strings_slot **grown =
			pl_realloc(strings->chunk, cap * sizeof(void *));

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

/* A free number, 0 when there is no memory for one more. */
static uint32_t take_slot(struct strings *strings)
{
	uint32_t id = strings->unused;

	if (!buckets_ready(&strings->buckets))
		return 0;
	if (id != 0) {
		strings->unused = slot_at(strings, id)->link.next;
		return id;
	}
	if (strings->slots >= UINT32_MAX - CHUNK_SLOTS)
		return 0;
	if (strings->slots == strings->chunks * CHUNK_SLOTS && !add_chunk(strings))
		return 0;
	if (strings->slots == 0)
		strings->slots = 1; /* 0 is no string */
	return strings->slots++;
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
	uint32_t id = copy == NULL ? 0 : take_slot(strings);

	if (id == 0) {
		free(copy);
		return PL_NOMEM;
	}
	*slot_at(strings, id) =
		(struct strings_slot){copy, (uint32_t)text.len, 1, {hash, 0}};
	buckets_add(&strings->buckets, id);
	strings->count++;
	strings->bytes += text.len + 1;
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

	if (id == 0)
		return;
	slot = held(strings, id);
	if (--slot->refs > 0)
		return;
	buckets_del(&strings->buckets, id);
	strings->count--;
	strings->bytes -= (size_t)slot->len + 1;
	free(slot->text);
	*slot = (struct strings_slot){.link.next = strings->unused};
	strings->unused = id;
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
	size_t slots = (size_t)strings->chunks * CHUNK_SLOTS;

	return strings->bytes + slots * sizeof(struct strings_slot) +
	       strings->buckets.cap * sizeof(uint32_t);
}
