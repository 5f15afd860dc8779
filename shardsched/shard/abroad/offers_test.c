/* Digests that are not there any more. */
#include "shardsched/shard/abroad/abroad_rig.h"

static void it_is_gone(void)
{
	rig_del(&rig, "/digests/east-0");
	rig_settle(&rig);
}

static void it_is_not_listed(void)
{
	rig_del(&rig, "/digests/east-0");
	rig_view_list(&rig, SCHED_DIGESTS);
}

static void the_store_goes_back(void)
{
	rig_del(&rig, "/digests/east-0");
	rig_view_list(&rig, SCHED_DIGESTS);
	sched_rewound(rig.sched);
	for (unsigned part = 0; part < SCHED_PARTS; part++)
		rig_list(&rig, 0, (enum sched_part)part);
	rig_view_list(&rig, SCHED_DIGESTS);
}

/* Whatever became of it. */
T_CASE(one_that_is_not_there_any_more_is_written_again)
{
	static void (*const ends[])(void) = {it_is_gone, it_is_not_listed,
	                                     the_store_goes_back};

	for (unsigned i = 0; i < 3; i++) {
		begin();
		T_TRUE(own_digest()[0] != 0);
		ends[i]();
		rig.now_ms += 60000;
		rig_settle(&rig);
		T_TRUE(own_digest()[0] != 0);
		rig_close(&rig);
	}
}
