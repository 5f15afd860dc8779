/* The wall clock is set while room is reserved for a large gang. */
#include "shardsched/shard/gangs/gang_large.h"
#include "tests/support/shardsched/shard/large_gang_rig.h"

enum { HOUR_MS = 3600 * 1000 };

/* The txn that puts n-0's alloc is not answered, so not all reservations stand; all else
 * is answered. */
static void go_on_for(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 100) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used &&
			    !rig_out_puts(&rig.out[i], "/alloc/0000/east/n-0"))
				(void)rig_answer(&rig, i);
		rig_deliver_all(&rig);
	}
}

/* All reservations stand but one. */
static void begin_reserving(void)
{
	begin();
	members("");
	until("reserving");
	go_on_for(1000);
	T_STR(phase(), "reserving");
	T_TRUE(held() > 0 && held() < MEMBERS);
}

/* The txn is answered, and the gang is tried again. */
static void end_well(void)
{
	run_for_ms(60000);
	close_well();
}

/* The deadline in the record is an hour off by then. */
T_CASE(a_clock_that_is_set_back_does_not_keep_nodes_closed)
{
	begin_reserving();
	rig.wall_off_ms = -HOUR_MS;
	go_on_for(8000);
	T_STR(phase(), "reserving");
	T_TRUE(held() > 0);
	go_on_for(2000);
	T_TRUE(strcmp(phase(), "reserving") != 0);
	T_EQ(held(), 0);
	end_well();
}

/* Before there is a record. */
T_CASE(a_clock_that_is_set_back_does_not_keep_a_plan)
{
	begin();
	members("");
	rig_views(&rig);
	rig_run(&rig);
	T_STR(phase(), "none");
	T_TRUE(!pl_list_empty(&rig.sched->gangs.works));
	rig.wall_off_ms = -HOUR_MS;
	rig.now_ms += 11000;
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used)
			rig_fail(&rig, i, PL_FENCED);
	rig_run(&rig); /* the record is to be put again in a moment */
	rig.now_ms += 100;
	rig_run(&rig);
	T_TRUE(pl_list_empty(&rig.sched->gangs.works));
	end_well();
}

/* The set clock ends this attempt, and no other. */
T_CASE(a_clock_that_is_set_forward_ends_one_attempt)
{
	begin_reserving();
	rig.wall_off_ms = HOUR_MS;
	go_on_for(1000);
	T_TRUE(strcmp(phase(), "reserving") != 0);
	T_EQ(held(), 0);
	end_well();
}

/* The next owner does not wait for a deadline: a reserving attempt is given up at
 * once. */
T_CASE(the_next_owner_does_not_wait_for_the_deadline)
{
	uint64_t began_ms;

	begin_reserving();
	began_ms = rig.now_ms;
	rig.wall_off_ms = -HOUR_MS;
	another_shard();
	own_all();
	until("aborting");
	T_TRUE(rig.now_ms < began_ms + 1000);
	end_well();
}
