#include "store/base/timers.h"
#include "tests/harness/torture.h"

enum { TIMERS = 4 };

static struct pl_timers timers;
static struct pl_timer timer[TIMERS];
static unsigned name[TIMERS] = {0, 1, 2, 3};
static char fired[64]; /* "120" */
static unsigned changes;

/* The action of a timer when it fires, besides recording that it fired. */
static struct {
	unsigned of;
	struct pl_timer *set, *stop;
	uint64_t at_ms;
} then = {.of = TIMERS};

static void on_timer(void *ctx)
{
	unsigned which = *(unsigned *)ctx;
	size_t len = strlen(fired);

	T_TRUE(len + 1 < sizeof fired);
	fired[len] = (char)('0' + which);
	fired[len + 1] = 0;
	if (which != then.of)
		return;
	if (then.set != NULL)
		pl_timer_set(then.set, then.at_ms);
	if (then.stop != NULL)
		pl_timer_stop(then.stop);
}

static void on_change(void *ctx)
{
	T_TRUE(ctx == &changes);
	changes++;
}

static void begin(void)
{
	pl_timers_init(&timers, on_change, &changes);
	for (unsigned i = 0; i < TIMERS; i++)
		T_OK(pl_timer_init(&timer[i], &timers, on_timer, &name[i]), NULL);
}

static void runs(uint64_t now_ms, const char *want)
{
	fired[0] = 0;
	pl_timers_run(&timers, now_ms);
	T_STR(fired, want);
}

static void end(void)
{
	for (unsigned i = 0; i < TIMERS; i++)
		pl_timer_done(&timer[i]);
	pl_timers_done(&timers);
}

T_CASE(timers_run_by_time_then_in_the_order_of_setting)
{
	begin();
	T_TRUE(pl_timers_next_ms(&timers) == UINT64_MAX);
	pl_timer_set(&timer[2], 20);
	pl_timer_set(&timer[1], 10);
	pl_timer_set(&timer[0], 20);
	T_EQ(pl_timers_next_ms(&timers), 10);
	runs(9, "");
	runs(20, "120");
	T_TRUE(!pl_timer_is_set(&timer[0]));
	end();
}

T_CASE(setting_again_moves_and_stopping_stops)
{
	begin();
	pl_timer_set(&timer[0], 10);
	pl_timer_set(&timer[1], 10);
	pl_timer_set(&timer[0], 10);
	pl_timer_set(&timer[2], 5);
	pl_timer_stop(&timer[2]);
	pl_timer_stop(&timer[2]);
	runs(10, "10");
	end();
}

T_CASE(owner_is_told_of_an_earlier_deadline)
{
	begin();
	pl_timer_set(&timer[0], 10);
	T_EQ(changes, 1);
	pl_timer_set(&timer[1], 10);
	pl_timer_set(&timer[2], 11);
	T_EQ(changes, 1);
	pl_timer_set(&timer[3], 9);
	T_EQ(changes, 2);
	end();
}

T_CASE(a_timer_that_sets_itself_for_now_ends_the_run)
{
	begin();
	then.of = 0;
	then.set = &timer[0];
	then.at_ms = 10;
	pl_timer_set(&timer[0], 10);
	runs(10, "0");
	runs(10, "0");
	end();
}

/* A timer that was due before the run is run, even if another is set meanwhile for an
 * earlier time. */
T_CASE(timer_set_during_a_run_does_not_delay_others)
{
	begin();
	then.of = 0;
	then.set = &timer[3];
	then.at_ms = 5;
	pl_timer_set(&timer[0], 10);
	pl_timer_set(&timer[1], 12);
	pl_timer_set(&timer[2], 20);
	runs(20, "012");
	T_TRUE(pl_timers_next_ms(&timers) <= 20);
	runs(20, "3");
	end();
}

T_CASE(a_timer_may_stop_one_that_is_due)
{
	begin();
	then.of = 0;
	then.stop = &timer[1];
	pl_timer_set(&timer[0], 10);
	pl_timer_set(&timer[1], 10);
	pl_timer_set(&timer[2], 10);
	runs(10, "02");
	end();
}

T_CASE(a_timer_may_be_done_twice_and_never_started)
{
	struct pl_timer never = {0};

	begin();
	pl_timer_done(&never);
	pl_timer_done(&timer[0]);
	pl_timer_done(&timer[0]);
	end();
}

T_CASE(setting_cannot_fail)
{
	begin();
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	for (unsigned i = 0; i < TIMERS; i++)
		pl_timer_set(&timer[i], i);
	T_TRUE(!pl_fault_fired(PL_FAULT_ALLOC));
	end();
}

static enum pl_code make_many(void)
{
	static struct pl_timer many[100];
	enum pl_code code = PL_OK;

	memset(many, 0, sizeof many);
	pl_timers_init(&timers, NULL, NULL);
	for (unsigned i = 0; i < 100 && code == PL_OK; i++) {
		code = pl_timer_init(&many[i], &timers, on_timer, &name[0]);
		if (code == PL_OK)
			pl_timer_set(&many[i], i);
	}
	for (unsigned i = 0; i < 100; i++)
		pl_timer_done(&many[i]);
	pl_timers_done(&timers);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(make_many, false);
}
