#include "shardsched/model/strings.h"

#include <string.h>

#include "shardsched/model/text.h"

/* With 20 bytes of text an entry of a short name takes 40 bytes. */
struct string_entry {
	struct bucket_link link;
	uint32_t refs;
	uint32_t len;
	uint8_t text[]; /* and a NUL byte */
};

static struct string_entry *string_at(const struct strings *strings, uint32_t id)
{
	return slab_at(&strings->slab, id);
}

static struct bucket_link *link_of(const void *owner, uint32_t id)
{
	return &string_at(owner, id)->link;
}

void strings_init(struct strings *strings)
{
	*strings = (struct strings){.key = pl_hash_process_key()};
	buckets_init(&strings->buckets, strings, link_of);
}

static struct string_entry *held_string(const struct strings *strings, uint32_t id)
{
	struct string_entry *string = string_at(strings, id);

	PL_ASSERT(string->refs > 0);
	return string;
}

void strings_done(struct strings *strings)
{
	slab_done(&strings->slab);
	buckets_done(&strings->buckets);
	*strings = (struct strings){0};
}

static uint32_t hash_of(const struct strings *strings, struct pl_span text)
{
	return (uint32_t)pl_hash_keyed(text, strings->key);
}

static uint32_t find_string(const struct strings *strings, struct pl_span text,
                            uint32_t hash)
{
	uint32_t id = buckets_chain(&strings->buckets, hash);

	while (id != 0) {
		const struct string_entry *string = string_at(strings, id);

		if (string->link.hash == hash &&
		    pl_span_eq(pl_span(string->text, string->len), text))
			break;
		id = string->link.next;
	}
	return id;
}

uint32_t strings_find(const struct strings *strings, struct pl_span text)
{
	return find_string(strings, text, hash_of(strings, text));
}

static enum pl_code add_new(struct strings *strings, struct pl_span text, uint32_t hash,
                            uint32_t *out)
{
	struct string_entry *string;
	uint32_t id = 0;

	if (buckets_ready(&strings->buckets))
		id = slab_alloc(&strings->slab, sizeof *string + text.len + 1);
	if (id == 0)
		return PL_NOMEM;
	string = string_at(strings, id);
	*string = (struct string_entry){
		.link.hash = hash, .refs = 1, .len = (uint32_t)text.len};
	if (text.len > 0)
		memcpy(string->text, text.at, text.len);
	string->text[text.len] = 0;
	buckets_add(&strings->buckets, id);
	strings->count++;
	*out = id;
	return PL_OK;
}

enum pl_code strings_add(struct strings *strings, struct pl_span text, uint32_t *out)
{
	uint32_t hash = hash_of(strings, text), id;

	if (text.len >= UINT32_MAX - 64)
		return PL_LIMIT;
	id = find_string(strings, text, hash);
	if (id == 0)
		return add_new(strings, text, hash, out);
	*out = strings_ref(strings, id);
	return PL_OK;
}

uint32_t strings_ref(struct strings *strings, uint32_t id)
{
	struct string_entry *string;

	if (id == 0)
		return 0;
	string = held_string(strings, id);
	PL_ASSERT(string->refs < UINT32_MAX);
	string->refs++;
	return id;
}

void strings_unref(struct strings *strings, uint32_t id)
{
	struct string_entry *string;

	if (id == 0)
		return;
	string = held_string(strings, id);
	if (--string->refs > 0)
		return;
	buckets_del(&strings->buckets, id);
	strings->count--;
	slab_free(&strings->slab, id);
}

struct pl_span strings_get(const struct strings *strings, uint32_t id)
{
	const struct string_entry *string;

	if (id == 0)
		return pl_span("", 0);
	string = held_string(strings, id);
	return pl_span(string->text, string->len);
}

bool strings_int(const struct strings *strings, uint32_t id, int64_t *out)
{
	return text_int(strings_get(strings, id), out);
}

size_t strings_memory(const struct strings *strings)
{
	return slab_memory(&strings->slab) + strings->buckets.cap * sizeof(uint32_t);
}
