/*
 * An arena: memory for one unit of work (a cycle, a request, a decode) that is given back
 * all at once.
 *
 * The arena grows in chunks up to a maximum. A reset keeps the first chunk, so a steady
 * state allocates nothing from the heap. An arena is not thread safe.
 */
#ifndef STORE_BASE_ARENA_H
#define STORE_BASE_ARENA_H

#include <stddef.h>

#include "store/base/compiler.h"
#include "store/base/span.h"

struct pl_arena_chunk;

struct pl_arena {
	struct pl_arena_chunk *chunks; /* newest first; a reset keeps the last one */
	size_t chunk_size;
	size_t used; /* bytes of all chunks together, checked against max */
	size_t max;  /* 0: no maximum */
};

/* Allocates nothing yet. chunk_size 0 means 4096. */
void pl_arena_init(struct pl_arena *arena, size_t chunk_size, size_t max);
void pl_arena_done(struct pl_arena *arena);

/* Invalidates everything allocated from the arena so far. */
void pl_arena_reset(struct pl_arena *arena);

/* Gives memory aligned for any type. NULL: the heap or the maximum is used up. */
PL_NODISCARD void *pl_arena_alloc(struct pl_arena *arena, size_t size);
PL_NODISCARD void *pl_arena_zalloc(struct pl_arena *arena, size_t count, size_t size);

/* Copies a span and puts a NUL byte behind it that the length does not count. On failure
 * the copy's at is NULL although the source was not empty. */
PL_NODISCARD struct pl_span pl_arena_dup(struct pl_arena *arena, struct pl_span span);
PL_PRINTF(2, 3)
PL_NODISCARD char *pl_arena_printf(struct pl_arena *arena, const char *fmt, ...);

#endif
