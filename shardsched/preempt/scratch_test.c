#include "shardsched/preempt/scratch.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static enum pl_code grow(void)
{
	struct scratch scratch = {0};
	bool good =
		scratch_grow(&scratch, 10, 8) && scratch_grow_zeroed(&scratch, 1000, 8);

	for (size_t i = 64; i < 1000 && good; i++)
		T_EQ(((uint64_t *)scratch.at)[i], 0);
	scratch_done(&scratch);
	return good ? PL_OK : PL_NOMEM;
}

T_CASE(without_memory_a_scratch_does_not_grow)
{
	struct scratch scratch = {0};

	t_torture(grow, false);
	T_TRUE(!scratch_grow(&scratch, SIZE_MAX / 4, 8));
	scratch_done(&scratch);
}
