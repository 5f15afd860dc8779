#include "store/base/timers.h"
#include "tests/harness/t.h"

static unsigned fired[4], fired_count;

static void on_timer(void *ctx)
{
	fired[fired_count++] = *(unsigned *)ctx;
}

T_CASE(timers_run_in_order_of_time_then_of_setting)
{
	struct pl_timers timers;
	struct pl_timer timer[3] = {0};
	unsigned name[3] = {0, 1, 2};

	pl_timers_init(&timers, NULL, NULL);
	for (unsigned i = 0; i < 3; i++)
		T_EQ(pl_timer_init(&timer[i], &timers, on_timer, &name[i]), PL_OK);
	pl_timer_set(&timer[2], 20);
	pl_timer_set(&timer[1], 10);
	pl_timer_set(&timer[0], 20);
	T_EQ(pl_timers_next_ms(&timers), 10);
	pl_timers_run(&timers, 20);
	T_EQ(fired_count, 3);
	T_EQ(fired[0], 1);
	T_EQ(fired[1], 2);
	T_EQ(fired[2], 0);
	for (unsigned i = 0; i < 3; i++)
		pl_timer_done(&timer[i]);
	pl_timers_done(&timers);
}
