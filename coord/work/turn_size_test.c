#include "tests/harness/t.h"

#include "coord/work/turn_size.h"

enum { MOST = 64 };

#define US UINT64_C(1000)

T_CASE(turns_of_cheap_decisions_have_the_largest_size)
{
	uint32_t pods = MOST;

	for (unsigned i = 0; i < 10; i++)
		pods = turn_size_next(pods, MOST, pods, 10 * US * pods);
	T_EQ(pods, MOST);
}

T_CASE(expensive_decisions_shorten_the_next_turn_at_once)
{
	T_EQ(turn_size_next(MOST, MOST, MOST, 500 * US * MOST), 10);
	T_EQ(turn_size_next(MOST, MOST, 1, 500 * US), 10);
}

T_CASE(one_pod_is_decided_however_expensive)
{
	T_EQ(turn_size_next(MOST, MOST, 1, 10000000 * US), 1);
	T_EQ(turn_size_next(1, MOST, 1, UINT64_MAX), 1);
	T_EQ(turn_size_next(1, 1, 1, 0), 1);
}

T_CASE(turns_grow_slowly_when_decisions_are_cheap_again)
{
	uint32_t pods = 1;
	unsigned turns = 0;

	T_TRUE(turn_size_next(pods, MOST, pods, 10 * US) < MOST);
	for (; pods < MOST && turns < 20; turns++) {
		uint32_t next = turn_size_next(pods, MOST, pods, 10 * US * pods);

		T_TRUE(next > pods);
		pods = next;
	}
	T_EQ(pods, MOST);
}

T_CASE(a_turn_without_a_decision_changes_nothing)
{
	T_EQ(turn_size_next(7, MOST, 0, 100000 * US), 7);
}
