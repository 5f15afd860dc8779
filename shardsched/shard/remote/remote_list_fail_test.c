/* Partitions of other shards that can not be listed: no pod waits for them for ever. */
#include "tests/support/shardsched/shard/remote_rig.h"

static void pass_seconds(unsigned seconds)
{
	for (unsigned i = 0; i < 2 * seconds; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 500;
	}
	rig_run_idle(&rig);
}

static int phase_of(const char *pod)
{
	int phase;

	(void)rig_state(&rig, 0, pod, &phase);
	return phase;
}

static unsigned leaving_local(void)
{
	struct alloc alloc = rig_alloc(&rig, 0, "mine");
	unsigned count = 0;

	for (uint32_t i = 0; i < alloc.pods; i++)
		count += alloc.pod[i].leaving;
	return count;
}

T_CASE(pods_waiting_for_a_failing_list_get_a_status)
{
	unsigned failed;

	begin();
	put_digest(1, "4000m");
	rig.unlisted[1] = true;
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_pod(&rig, 0, "alike", "3500m", "");
	pass_seconds(2);
	T_EQ(rig.troubles, 0);
	T_EQ(phase_of("large"), -1);
	for (unsigned i = 0; i < 80 && rig.troubles == 0; i++) {
		rig.now_ms += 100;
		rig_run_idle(&rig);
	}
	rig.now_ms += 200; /* until the status is written */
	rig_run_idle(&rig);
	T_EQ(phase_of("large"), STATE_PENDING);
	T_EQ(phase_of("alike"), STATE_PENDING);
	T_EQ(rig.troubles, 1);
	T_TRUE(strstr(rig.said, "0001") != NULL);
	T_TRUE(strstr(rig.said, rig_unlisted.msg) != NULL);
	/* The list is tried again, ever more rarely. */
	failed = rig.unlistings;
	T_TRUE(failed >= 3);
	pass_seconds(120);
	T_TRUE(rig.unlistings > failed);
	T_TRUE(rig.unlistings <= 12);
	T_EQ(rig.troubles, 1);
	/* A pod that comes now gets its status at once, whatever the digest promises. */
	rig_pod(&rig, 0, "late", "3600m", "");
	put_digest(1, "3900m");
	pass_seconds(2);
	T_EQ(phase_of("late"), STATE_PENDING);
	rig.unlisted[1] = false;
	pass_seconds(60);
	T_TRUE(is_on("large", "other") || is_on("alike", "other") ||
	       is_on("late", "other"));
	T_EQ(rig_alloc(&rig, 1, "other").pods, 1);
	rig_close(&rig);
}

T_CASE(pods_waiting_for_a_failing_list_go_elsewhere)
{
	begin();
	put_digest(1, "4000m");
	put_digest(2, "4000m");
	rig.unlisted[1] = true;
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "a", "3500m", "");
	rig_pod(&rig, 0, "b", "3500m", "");
	pass_seconds(10);
	T_EQ(rig_alloc(&rig, 2, "third").pods, 1);
	T_TRUE(phase_of("a") == STATE_PENDING || phase_of("b") == STATE_PENDING);
	rig_close(&rig);
}

T_CASE(pods_waiting_for_a_failing_list_preempt_locally)
{
	begin();
	put_digest(1, "4000m");
	rig.unlisted[1] = true;
	rig_pod(&rig, 0, "low", "3", "");
	rig_run_idle(&rig);
	rig_priority = 10;
	rig_pod(&rig, 0, "high", "3500m", "");
	rig_priority = 0;
	pass_seconds(10);
	T_EQ(leaving_local(), 1);
	T_EQ(rig_alloc(&rig, 0, "mine").holds, 1);
	rig_close(&rig);
}

/* The contents of an old list become too old to place a pod by. */
T_CASE(an_old_list_that_can_not_be_renewed_is_forgotten)
{
	begin();
	put_digest(1, "4000m");
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig.unlisted[1] = true;
	rig.now_ms += 2000;
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "large", "3500m", "");
	pass_seconds(10);
	T_TRUE(node_of("other") == NULL);
	T_EQ(phase_of("large"), STATE_PENDING);
	rig.unlisted[1] = false;
	pass_seconds(60);
	T_TRUE(is_on("large", "other"));
	rig_close(&rig);
}

/* The partition changed hands, so its lists may succeed again. */
T_CASE(a_new_owner_resets_the_failures)
{
	begin();
	put_digest(1, "4000m");
	rig.unlisted[1] = true;
	remote_list_request(rig.sched, 1);
	pass_seconds(60);
	T_EQ(rig.troubles, 1);
	T_TRUE(!fleet_view_is_wanted(rig.sched));
	remote_list_require(rig.sched, 1);
	T_TRUE(remote_list_keeps_failing(rig.sched, 1));
	T_EQ(rig.sched->fleet_view.users, 1);
	rig_own(&rig, 1);
	T_EQ(rig.sched->fleet_view.users, 0);
	rig_lost(&rig, 1);
	T_TRUE(!remote_list_keeps_failing(rig.sched, 1));
	rig.unlisted[1] = false;
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_close(&rig);
}
