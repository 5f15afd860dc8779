/* Digests that say what they said before, or are there no more. */
#include "shardsched/shard/abroad/abroad_rig.h"

/* -- by whom they are read ------------------------------------------------------------
 */

/* A guest was there when it was looked at, and neither before nor after; there is no
 * other room. */
static void begin_with_guest(void)
{
	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	rig_settle(&rig);
	T_TRUE(is_on("p", "mine"));
}

static void guest_leaves(void)
{
	rig_put(&rig, "/alloc/0001/east/other", "{\"v\":1,\"generation\":3}");
	tell_at(1, "4000m", 9);
}

T_CASE(what_is_as_it_was_said_to_be_again_is_looked_at_again)
{
	begin_with_guest();
	tell_at(1, "4000m", 7);
	rig_pod(&rig, 0, "large", "3800m", "");
	rig_settle(&rig);
	T_STR(rig_where(&rig, 0, "large"), "Pending");
	guest_leaves();
	rig.now_ms += 20000;
	rig_settle(&rig);
	T_TRUE(is_on("large", "other"));
	rig_close(&rig);
}

static bool is_long_aside(void)
{
	const struct sched_node *node = node_of("other");

	return node != NULL && node->aside_ms > rig.now_ms + 31000;
}

/* Longer than what was seen is kept. */
T_CASE(a_node_that_was_set_aside_and_forgotten_is_looked_at_again)
{
	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_settle(&rig);
	tell_of(1, "4000m");
	rig_pod(&rig, 0, "large", "3500m", "");
	for (unsigned i = 0; i < 6000 && !is_long_aside(); i++) {
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_visit_all(&rig);
		somebody_comes(i);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			if (rig.out[n].used)
				(void)rig_answer(&rig, n);
		rig_deliver_all(&rig);
		rig.now_ms += 50;
	}
	T_TRUE(is_long_aside());
	for (unsigned i = 0; i < 300; i++) {
		rig_settle(&rig);
		rig.now_ms += 500;
	}
	T_TRUE(is_on("large", "other"));
	rig_close(&rig);
}

/* It was handed over, and who had it told of it once more after the other did. */
T_CASE(who_has_it_is_heard_when_the_other_tells_no_more)
{
	char told[512];

	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_settle(&rig);
	tell_of(1, "4000m");
	rig_settle(&rig);
	(void)snprintf(told, sizeof told, "%s", rig_value(&rig, "/digests/other-1"));
	rig_put(&rig, "/digests/who-had-it", told);
	rig_settle(&rig);
	rig_put(&rig, "/digests/who-had-it", "{\"v\":1,\"partitions\":{}}");
	rig_settle(&rig);
	rig_pod(&rig, 0, "large", "3500m", "");
	for (unsigned i = 0; i < 20; i++) {
		rig_settle(&rig);
		rig.now_ms += 500;
	}
	T_TRUE(is_on("large", "other"));
	rig_close(&rig);
}

/* -- by whom they are written ---------------------------------------------------------
 */

/* Somebody may have looked meanwhile, and waits to hear that it is as it was. */
T_CASE(what_came_and_went_is_told_too)
{
	static const char alloc[] = "/alloc/0000/east/mine";
	char alone[512];
	uint32_t before;

	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_settle(&rig);
	rig.now_ms += 1000;
	rig_settle(&rig);
	before = puts_of_digests();
	(void)snprintf(alone, sizeof alone, "%s", rig_value(&rig, alloc));
	rig_pod(&rig, 0, "tiny", "1m", "");
	rig.now_ms += 2000;
	rig_settle(&rig);
	rig_put(&rig, alloc, alone);
	rig.now_ms += 2000;
	rig_settle(&rig);
	T_EQ(puts_of_digests(), before);
	rig.now_ms += 30000;
	rig_settle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	rig.now_ms += 60000;
	rig_settle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	rig_close(&rig);
}

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
