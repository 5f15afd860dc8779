#include "shardsched/model/number_map.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

T_CASE(numbers_are_found_until_the_map_is_cleared)
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

/* The reference is a plain array; keys are so few that they come again and again. */
T_CASE(random_history_agrees_with_an_array)
{
	enum { KEYS = 300, STEPS = 200000 };
	struct number_map map = {0};
	uint32_t plain[KEYS] = {0}; /* 0: not there */
	struct pl_rng rng;
	uint32_t count = 0, walked = 0;

	pl_rng_init(&rng, 7);
	for (unsigned i = 0; i < STEPS; i++) {
		uint32_t key = (uint32_t)pl_rng_below(&rng, KEYS);
		uint32_t *found = number_map_find(&map, key);

		T_EQ(found == NULL ? 0 : *found, plain[key]);
		if (found == NULL) {
			plain[key] = i + 1;
			count++;
			T_TRUE(number_map_add(&map, key, i + 1));
		} else if (i % 2 == 0) {
			plain[key] = *found = i + 1;
		} else {
			plain[key] = 0;
			count--;
			number_map_del(&map, key);
		}
		T_EQ(map.count, count);
		if (i % 50000 == 49999) {
			number_map_clear(&map);
			memset(plain, 0, sizeof plain);
			count = 0;
		}
	}
	for (uint32_t i = 0; i < map.cap; i++)
		walked += number_map_has(&map, i);
	T_EQ(walked, count);
	number_map_done(&map);
}

static enum pl_code fill(void)
{
	struct number_map map = {0};
	bool good = true;

	for (uint32_t i = 0; i < 200 && good; i++)
		good = number_map_add(&map, i, i);
	for (uint32_t i = 0; i < map.count; i++)
		T_EQ(*number_map_find(&map, i), i);
	number_map_done(&map);
	return good ? PL_OK : PL_NOMEM;
}

T_CASE(without_memory_nothing_is_lost)
{
	t_torture(fill, false);
}

T_CASE(reserved_keys_can_be_added_without_memory)
{
	struct number_map map = {0};
	uint32_t cap;

	T_TRUE(number_map_reserve(&map, 1000));
	cap = map.cap;
	for (uint32_t i = 0; i < 1000; i++)
		T_TRUE(number_map_add(&map, i, i));
	T_EQ(map.cap, cap);
	T_TRUE(!number_map_reserve(&map, UINT64_C(1) << 33));
	T_EQ(map.cap, cap);
	number_map_done(&map);
}
