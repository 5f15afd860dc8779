#include "shardsched/preempt/number_map.h"
#include "shardsched/preempt/scratch.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

T_CASE(numbers_are_found_until_the_next_turn)
{
	struct number_map map = {0};
	uint32_t value = 7;

	T_TRUE(!number_map_get(&map, 1, &value));
	for (uint32_t turn = 1; turn <= 3; turn++) {
		number_map_clear(&map);
		for (uint32_t i = 0; i < 1000; i++) {
			T_TRUE(!number_map_get(&map, i * 64, &value));
			T_TRUE(number_map_add(&map, i * 64, i + turn));
		}
		for (uint32_t i = 0; i < 1000; i++) {
			T_TRUE(number_map_get(&map, i * 64, &value));
			T_EQ(value, i + turn);
			T_TRUE(!number_map_get(&map, i * 64 + 1, &value));
		}
	}
	number_map_done(&map);
}

static enum pl_code fill(void)
{
	struct number_map map = {0};
	struct scratch scratch = {0};
	bool good = true;

	for (uint32_t i = 0; i < 200 && good; i++)
		good = number_map_add(&map, i, i);
	good = good && scratch_grow(&scratch, 10, 8) &&
	       scratch_grow_zeroed(&scratch, 1000, 8);
	for (size_t i = 64; i < 1000 && good; i++)
		T_EQ(((uint64_t *)scratch.at)[i], 0);
	number_map_done(&map);
	scratch_done(&scratch);
	return good ? PL_OK : PL_NOMEM;
}

T_CASE(without_memory_nothing_is_lost)
{
	struct scratch scratch = {0};

	t_torture(fill, false);
	T_TRUE(!scratch_grow(&scratch, SIZE_MAX / 4, 8));
	scratch_done(&scratch);
}
