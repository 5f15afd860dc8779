#include "store/base/arena.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;

T_CASE(memory_is_aligned_and_does_not_overlap)
{
	uint8_t *at[500];
	size_t size[500];
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	pl_arena_init(&arena, 512, 0);
	for (size_t i = 0; i < 500; i++) {
		size[i] = (size_t)pl_rng_below(&rng,
		                               pl_rng_chance(&rng, 1, 20) ? 3000 : 60);
		at[i] = pl_arena_alloc(&arena, size[i]);
		T_TRUE(at[i] != NULL && (uintptr_t)at[i] % _Alignof(max_align_t) == 0);
		memset(at[i], (int)(i % 251), size[i]);
	}
	for (size_t i = 0; i < 500; i++)
		for (size_t n = 0; n < size[i]; n++)
			T_EQ(at[i][n], i % 251);
	pl_arena_done(&arena);
}

T_CASE(maximum_is_never_passed)
{
	pl_arena_init(&arena, 64, 1024);
	T_TRUE(pl_arena_alloc(&arena, 1025) == NULL);
	T_TRUE(pl_arena_alloc(&arena, 1000) != NULL);
	T_TRUE(pl_arena_alloc(&arena, 17) == NULL);
	T_TRUE(pl_arena_alloc(&arena, 16) != NULL);
	T_TRUE(pl_arena_alloc(&arena, 1) == NULL);
	pl_arena_reset(&arena);
	T_TRUE(pl_arena_alloc(&arena, 1000) != NULL);
	pl_arena_done(&arena);
}

T_CASE(sizes_that_overflow_are_refused)
{
	pl_arena_init(&arena, 0, 0);
	T_TRUE(pl_arena_alloc(&arena, SIZE_MAX) == NULL);
	T_TRUE(pl_arena_alloc(&arena, SIZE_MAX / 2 + 1) == NULL);
	T_TRUE(pl_arena_zalloc(&arena, SIZE_MAX / 2, 3) == NULL);
	T_TRUE(pl_arena_zalloc(&arena, 0, 3) != NULL);
	T_TRUE(pl_arena_zalloc(&arena, 3, 0) != NULL);
	pl_arena_done(&arena);
}

T_CASE(zeroed_memory_is_zero_also_the_second_time)
{
	pl_arena_init(&arena, 256, 0);
	for (int round = 0; round < 3; round++) {
		uint8_t *at = pl_arena_zalloc(&arena, 10, 10);

		T_TRUE(at != NULL);
		for (size_t i = 0; i < 100; i++)
			T_EQ(at[i], 0);
		memset(at, 0xff, 100);
		pl_arena_reset(&arena);
	}
	pl_arena_done(&arena);
}

/* A cycle that fits in a chunk allocates nothing from the heap from the second on, also
 * when a large object came between. */
T_CASE(a_steady_state_allocates_nothing)
{
	uint64_t hits = 0;

	pl_arena_init(&arena, 4096, 0);
	for (int round = 0; round < 4; round++) {
		if (round == 1)
			hits = pl_fault_hits(PL_FAULT_ALLOC);
		if (round == 3)
			T_EQ(pl_fault_hits(PL_FAULT_ALLOC), hits + 1);
		for (int i = 0; i < 50; i++)
			T_TRUE(pl_arena_alloc(&arena, 64) != NULL);
		if (round == 2)
			T_TRUE(pl_arena_alloc(&arena, 100000) != NULL);
		pl_arena_reset(&arena);
	}
	T_EQ(pl_fault_hits(PL_FAULT_ALLOC), hits + 1);
	pl_arena_done(&arena);
}

/* The rest of the current chunk is still used after a large object. */
T_CASE(a_large_object_wastes_no_chunk)
{
	uint64_t hits;

	pl_arena_init(&arena, 4096, 0);
	T_TRUE(pl_arena_alloc(&arena, 16) != NULL);
	hits = pl_fault_hits(PL_FAULT_ALLOC);
	for (int i = 0; i < 20; i++) {
		T_TRUE(pl_arena_alloc(&arena, 10000) != NULL);
		T_TRUE(pl_arena_alloc(&arena, 64) != NULL);
	}
	T_EQ(pl_fault_hits(PL_FAULT_ALLOC), hits + 20);
	pl_arena_done(&arena);
}

T_CASE(copies_end_with_a_nul)
{
	struct pl_span copy;
	char text[] = {'a', 0, 'b'};

	pl_arena_init(&arena, 0, 0);
	copy = pl_arena_dup(&arena, pl_span(text, sizeof text));
	memset(text, 'x', sizeof text);
	T_SPAN(copy, PL_SPAN_LIT("a\0b"));
	T_EQ(copy.at[3], 0);
	copy = pl_arena_dup(&arena, pl_span(NULL, 0));
	T_TRUE(copy.at != NULL && copy.len == 0 && copy.at[0] == 0);
	T_STR(pl_arena_printf(&arena, "%s-%d", "node", 7), "node-7");
	pl_arena_done(&arena);
}

static enum pl_code use(void)
{
	enum pl_code code = PL_OK;

	pl_arena_init(&arena, 128, 0);
	for (int i = 0; i < 20 && code == PL_OK; i++)
		if (pl_arena_printf(&arena, "%040d", i) == NULL ||
		    pl_arena_dup(&arena, PL_SPAN_LIT("some text")).at == NULL ||
		    pl_arena_zalloc(&arena, 3, 100) == NULL)
			code = PL_NOMEM;
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(use, false);
}
