#include "store/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"

enum { CHUNK_SIZE_DEFAULT = 4096 };

struct pl_arena_chunk {
	struct pl_arena_chunk *next;
	size_t used;
	size_t size;
	_Alignas(max_align_t) uint8_t bytes[];
};

void pl_arena_init(struct pl_arena *arena, size_t chunk_size, size_t max)
{
	*arena = (struct pl_arena){
		.chunk_size = chunk_size == 0 ? CHUNK_SIZE_DEFAULT : chunk_size,
		.max = max,
	};
}

static void chunks_free(struct pl_arena_chunk *chunk)
{
	while (chunk != NULL) {
		struct pl_arena_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
}

void pl_arena_done(struct pl_arena *arena)
{
	chunks_free(arena->chunks);
	arena->chunks = NULL;
	arena->used = 0;
}

void pl_arena_reset(struct pl_arena *arena)
{
	struct pl_arena_chunk *keep = NULL;

	while (arena->chunks != NULL) {
		struct pl_arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		/* A chunk that was made for a single large object is not kept. */
		if (keep == NULL && chunk->size == arena->chunk_size) {
			keep = chunk;
			keep->next = NULL;
		} else {
			free(chunk);
		}
	}
	if (keep != NULL)
		keep->used = 0;
	arena->chunks = keep;
	arena->used = 0;
}

/* Gives a chunk with that much room. A larger chunk than usual serves a single object and
 * goes behind the current chunk, which may still have room for others. */
static struct pl_arena_chunk *chunk_add(struct pl_arena *arena, size_t size)
{
	bool large = size > arena->chunk_size;
	size_t room = large ? size : arena->chunk_size;
	struct pl_arena_chunk *chunk = pl_malloc(sizeof *chunk + room);
	struct pl_arena_chunk **link = &arena->chunks;

	if (chunk == NULL)
		return NULL;
	if (large && arena->chunks != NULL)
		link = &arena->chunks->next;
	chunk->used = 0;
	chunk->size = room;
	chunk->next = *link;
	*link = chunk;
	return chunk;
}

void *pl_arena_alloc(struct pl_arena *arena, size_t size)
{
	struct pl_arena_chunk *chunk = arena->chunks;
	size_t align = _Alignof(max_align_t);
	void *at;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + align - 1) / align * align;
	if (arena->max != 0 && (size > arena->max || arena->used > arena->max - size))
		return NULL;
	if (chunk == NULL || chunk->size - chunk->used < size) {
		chunk = chunk_add(arena, size);
		if (chunk == NULL)
			return NULL;
	}
	at = chunk->bytes + chunk->used;
	chunk->used += size;
	arena->used += size;
	return at;
}

void *pl_arena_zalloc(struct pl_arena *arena, size_t count, size_t size)
{
	void *at;

	if (size != 0 && count > SIZE_MAX / size)
		return NULL;
	at = pl_arena_alloc(arena, count * size);
	return at == NULL ? NULL : memset(at, 0, count * size);
}

struct pl_span pl_arena_dup(struct pl_arena *arena, struct pl_span span)
{
	uint8_t *at;

	if (span.len == SIZE_MAX)
		return pl_span(NULL, 0);
	at = pl_arena_alloc(arena, span.len + 1);
	if (at == NULL)
		return pl_span(NULL, 0);
	if (span.len != 0)
		memcpy(at, span.at, span.len);
	at[span.len] = 0;
	return pl_span(at, span.len);
}

char *pl_arena_printf(struct pl_arena *arena, const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return NULL;
	text = pl_arena_alloc(arena, (size_t)len + 1);
	if (text == NULL)
		return NULL;
	va_start(args, fmt);
	(void)vsnprintf(text, (size_t)len + 1, fmt, args);
	va_end(args);
	return text;
}
