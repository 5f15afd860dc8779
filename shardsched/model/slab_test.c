#include <string.h>

#include "shardsched/model/slab.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct slab slab;

T_CASE(numbers_are_reused_and_pages_freed)
{
	uint32_t a = slab_alloc(&slab, 20), b = slab_alloc(&slab, 17), large;
	size_t memory = slab_memory(&slab);

	T_TRUE(a != 0 && b != 0 && a != b);
	T_EQ(a >> SLAB_PLACE_BITS, b >> SLAB_PLACE_BITS); /* 17 takes 20 as well */
	large = slab_alloc(&slab, 100000);
	T_TRUE(slab_memory(&slab) >= memory + 100000);
	slab_free(&slab, large);
	T_EQ(slab_memory(&slab), memory);
	slab_free(&slab, a);
	T_EQ(slab_alloc(&slab, 19), a);
	slab_free(&slab, a);
	slab_free(&slab, b);
	T_EQ(slab.bytes, 0);
	slab_done(&slab);
}

/* A piece as it should be: its number, its size, and the byte that it is full of. */
struct piece {
	uint32_t number;
	uint32_t size;
	uint8_t byte;
};

static bool is_intact(const struct piece *piece)
{
	const uint8_t *at = slab_at(&slab, piece->number);

	for (uint32_t i = 0; i < piece->size; i++)
		if (at[i] != piece->byte)
			return false;
	return true;
}

static uint32_t size_of(struct pl_rng *rng)
{
	if (pl_rng_below(rng, 50) == 0)
		return 1 + (uint32_t)pl_rng_below(rng, UINT64_C(4) * SLAB_LARGE);
	return 1 + (uint32_t)pl_rng_below(rng, SLAB_LARGE);
}

/* First more come than go, then the other way round, and so on. */
T_CASE(objects_do_not_overlap)
{
	enum { PIECES = 4000, STEPS = 200000 };
	static struct piece piece[PIECES];
	struct pl_rng rng;
	size_t live = 0;

	pl_rng_init(&rng, t_seed());
	for (uint32_t i = 0; i < STEPS; i++) {
		struct piece *at = &piece[pl_rng_below(&rng, PIECES)];
		bool more = pl_rng_below(&rng, 10) < (i / 20000 % 2 == 0 ? 8 : 2);

		if (more && at->number == 0) {
			*at = (struct piece){.size = size_of(&rng), .byte = (uint8_t)i};
			at->number = slab_alloc(&slab, at->size);
			T_TRUE(at->number != 0);
			memset(slab_at(&slab, at->number), at->byte, at->size);
			live += at->size;
		} else if (!more && at->number != 0) {
			T_TRUE(is_intact(at));
			slab_free(&slab, at->number);
			live -= at->size;
			at->number = 0;
		}
		T_TRUE(slab.bytes >= live);
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		if (piece[i].number == 0)
			continue;
		T_TRUE(is_intact(&piece[i]));
		slab_free(&slab, piece[i].number);
	}
	T_EQ(slab.bytes, 0);
	slab_done(&slab);
}

T_CASE(million_objects_waste_little_memory)
{
	enum { PIECES = 1000000, SIZE = 28 };

	for (uint32_t i = 0; i < PIECES; i++)
		T_TRUE(slab_alloc(&slab, SIZE) != 0);
	T_TRUE(slab_memory(&slab) < (size_t)PIECES * (SIZE + 1));
	slab_done(&slab);
}

static enum pl_code fill(void)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < 20 && code == PL_OK; i++) {
		uint32_t number = slab_alloc(&slab, 40 + i * 8);

		if (number == 0)
			code = PL_NOMEM;
		else
			memset(slab_at(&slab, number), 1, 40 + i * 8);
	}
	slab_done(&slab);
	return code;
}

T_CASE(without_memory_nothing_is_lost)
{
	t_torture(fill, false);
}
