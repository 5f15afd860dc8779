/* Digests that say what they said before, or are deleted. */
#include "tests/support/shardsched/shard/remote_rig.h"

/* -- reading ----------------------------------------------------------------------- */

/* A guest was on the node when it was listed, and neither before nor after; there is no
 * other room. */
static void begin_with_guest(void)
{
	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	rig_run_idle(&rig);
	T_TRUE(is_on("p", "mine"));
}

static void guest_leaves(void)
{
	rig_put(&rig, "/alloc/0001/east/other", "{\"v\":1,\"generation\":3}");
	put_digest_at(1, "4000m", 9);
}

T_CASE(a_digest_that_returns_to_an_old_value_is_looked_at_again)
{
	begin_with_guest();
	put_digest_at(1, "4000m", 7);
	rig_pod(&rig, 0, "large", "3800m", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "large"), "Pending");
	guest_leaves();
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_TRUE(is_on("large", "other"));
	rig_close(&rig);
}

static bool is_excluded_for_long(void)
{
	const struct sched_node *node = node_of("other");

	return node != NULL && node->excluded_ms > rig.now_ms + 31000;
}

/* Longer than the list is kept. */
T_CASE(an_excluded_and_forgotten_node_is_looked_at_again)
{
	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_run_idle(&rig);
	put_digest(1, "4000m");
	rig_pod(&rig, 0, "large", "3500m", "");
	for (unsigned i = 0; i < 6000 && !is_excluded_for_long(); i++) {
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_remote_list_all(&rig);
		a_pod_comes(i);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			if (rig.out[n].used)
				(void)rig_answer(&rig, n);
		rig_deliver_all(&rig);
		rig.now_ms += 50;
	}
	T_TRUE(is_excluded_for_long());
	for (unsigned i = 0; i < 300; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 500;
	}
	T_TRUE(is_on("large", "other"));
	rig_close(&rig);
}

/* The partition was handed over, and its old owner's digest said something of it once
 * more after the new owner's. */
T_CASE(the_remaining_digest_of_a_partition_counts)
{
	char published[512];

	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_run_idle(&rig);
	put_digest(1, "4000m");
	rig_run_idle(&rig);
	(void)snprintf(published, sizeof published, "%s",
	               rig_value(&rig, "/digests/other-1"));
	rig_put(&rig, "/digests/who-had-it", published);
	rig_run_idle(&rig);
	rig_put(&rig, "/digests/who-had-it", "{\"v\":1,\"partitions\":{}}");
	rig_run_idle(&rig);
	rig_pod(&rig, 0, "large", "3500m", "");
	for (unsigned i = 0; i < 20; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 500;
	}
	T_TRUE(is_on("large", "other"));
	rig_close(&rig);
}

/* -- writing ----------------------------------------------------------------------- */

/* Another shard may have listed the node meanwhile, and waits to hear that it is as
 * before. */
T_CASE(a_node_that_came_and_went_is_published)
{
	static const char alloc[] = "/alloc/0000/east/mine";
	char alone[512];
	uint32_t before;

	begin();
	rig_pod(&rig, 0, "p", "1", "");
	rig_run_idle(&rig);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	before = puts_of_digests();
	(void)snprintf(alone, sizeof alone, "%s", rig_value(&rig, alloc));
	rig_pod(&rig, 0, "tiny", "1m", "");
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	rig_put(&rig, alloc, alone);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	T_EQ(puts_of_digests(), before);
	rig.now_ms += 30000;
	rig_run_idle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	rig.now_ms += 60000;
	rig_run_idle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	rig_close(&rig);
}

static void it_is_gone(void)
{
	rig_del(&rig, "/digests/east-0");
	rig_run_idle(&rig);
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

/* The digest may be deleted in any way. */
T_CASE(a_deleted_own_digest_is_written_again)
{
	static void (*const ends[])(void) = {it_is_gone, it_is_not_listed,
	                                     the_store_goes_back};

	for (unsigned i = 0; i < 3; i++) {
		begin();
		T_TRUE(own_digest()[0] != 0);
		ends[i]();
		rig.now_ms += 60000;
		rig_run_idle(&rig);
		T_TRUE(own_digest()[0] != 0);
		rig_close(&rig);
	}
}
