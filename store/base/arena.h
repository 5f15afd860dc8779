/*
 * Memory for one unit of work, given back all at once.
 *
 * Grows in chunks up to a maximum; a reset keeps the first chunk, so the
 * steady state allocates nothing. Not thread safe.
 */
#ifndef STORE_BASE_ARENA_H
#define STORE_BASE_ARENA_H

#include <stddef.h>

#include "store/base/compiler.h"
#include "store/base/span.h"

struct pl_arena_chunk;

struct pl_arena {
	struct pl_arena_chunk *chunks; /* newest first; the last one survives a reset */
	size_t chunk_size;
	size_t used; /* bytes in all chunks, for the bound */
	size_t max;  /* 0: no bound */
};

/* Allocates nothing yet. chunk_size 0 means 4096. */
void pl_arena_init(struct pl_arena *arena, size_t chunk_size, size_t max);
void pl_arena_done(struct pl_arena *arena);

/* Everything allocated so far becomes invalid. */
void pl_arena_reset(struct pl_arena *arena);

/* Aligned for any type. NULL when memory or the maximum is used up. */
PL_NODISCARD void *pl_arena_alloc(struct pl_arena *arena, size_t size);
PL_NODISCARD void *pl_arena_zalloc(struct pl_arena *arena, size_t count, size_t size);

/* Copies; on failure at is NULL although the source was not empty. The copy is
 * followed by a NUL byte that is not counted. */
PL_NODISCARD struct pl_span pl_arena_dup(struct pl_arena *arena, struct pl_span span);
PL_PRINTF(2, 3)
PL_NODISCARD char *pl_arena_printf(struct pl_arena *arena, const char *fmt, ...);

#endif
