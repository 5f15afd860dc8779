#include "store/base/fault.h"
#include "store/base/ring.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

T_CASE(first_in_first_out)
{
	struct pl_ring ring;
	int got = 0;

	T_OK(pl_ring_init(&ring, sizeof(int), 3), NULL);
	T_TRUE(!pl_ring_pop(&ring, &got));
	for (int i = 1; i <= 3; i++)
		T_TRUE(pl_ring_push(&ring, &i));
	T_TRUE(!pl_ring_push(&ring, &(int){4}));
	T_EQ(*(int *)pl_ring_at(&ring, 2), 3);
	T_TRUE(pl_ring_pop(&ring, &got));
	T_EQ(got, 1);
	T_TRUE(!pl_ring_push_overwrite(&ring, &(int){4}));
	T_TRUE(pl_ring_push_overwrite(&ring, &(int){5}));
	for (int want = 3; want <= 5; want++) {
		T_TRUE(pl_ring_pop(&ring, &got));
		T_EQ(got, want);
	}
	T_TRUE(!pl_ring_pop(&ring, NULL));
	pl_ring_done(&ring);
}

T_CASE(init_fails_without_memory)
{
	struct pl_ring ring = {0};

	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_CODE(pl_ring_init(&ring, 8, 3), PL_NOMEM, NULL);
	T_CODE(pl_ring_init(&ring, SIZE_MAX / 2, 3), PL_NOMEM, NULL);
	T_TRUE(ring.at == NULL);
	pl_ring_done(&ring);
}

/* Elements are numbered as they come, so the test knows which one must stand where. */
T_CASE(ring_agrees_with_a_counter)
{
	struct pl_ring ring;
	struct pl_rng rng;
	uint64_t in = 0, out = 0;

	pl_rng_init(&rng, t_seed());
	T_OK(pl_ring_init(&ring, sizeof(uint64_t), 7), NULL);
	for (int i = 0; i < 20000; i++) {
		uint64_t got = 0;

		if (pl_rng_chance(&rng, 1, 2)) {
			bool pushed = pl_ring_push(&ring, &in);

			T_TRUE(pushed == (in - out < 7));
			in += pushed;
		} else if (pl_ring_pop(&ring, &got)) {
			T_EQ(got, out++);
		} else {
			T_EQ(in, out);
		}
		T_EQ(ring.count, in - out);
		for (size_t at = 0; at < ring.count; at++)
			T_EQ(*(uint64_t *)pl_ring_at(&ring, at), out + at);
	}
	pl_ring_done(&ring);
}
