/* Processes of placetd over a real etcd: which shard owns which partition while processes
 * start, stop and die. */
#include "tests/coord/daemons_fixture.h"

enum { PARTITIONS = 32 };

/* No shard has less than half of a fair share, or more than twice as much. */
static bool is_fair(unsigned shards, const char *const ids[])
{
	uint32_t fair = PARTITIONS / shards;

	for (unsigned i = 0; i < shards; i++) {
		uint32_t owns = daemon_fixture_owns(&daemons.view, ids[i]);

		if (owns < fair / 2 || owns > fair * 2)
			return false;
	}
	return true;
}

static const char *const four[] = {"a-0", "a-1", "b-0", "b-1"};

static void two_processes(void)
{
	daemon_fixture_up(1, PARTITIONS);
	daemon_fixture_run(0, "a", "2");
	daemon_fixture_run(1, "b", "2");
	for (unsigned i = 0; i < 4; i++)
		DAEMON_FIXTURE_UNTIL(daemon_fixture_active(four[i]));
	DAEMON_FIXTURE_UNTIL(daemon_fixture_all_owned() && is_fair(4, four));
}

T_CASE_SECONDS(two_processes_share_all_partitions, 60)
{
	two_processes();
	daemon_fixture_down();
}

T_CASE_SECONDS(partitions_of_a_killed_process_are_taken_over, 60)
{
	two_processes();
	daemon_fixture_signal(&daemons.process[0], SIGKILL);
	T_EQ(daemon_fixture_wait(&daemons.process[0]), 128 + SIGKILL);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_owns_with(&daemons.view, "b-") == PARTITIONS);
	T_TRUE(daemon_fixture_record(&daemons.view, "a-0") == NULL);
	daemon_fixture_down();
}

T_CASE_SECONDS(killed_process_comes_back_under_its_name_at_once, 60)
{
	two_processes();
	daemon_fixture_signal(&daemons.process[0], SIGKILL);
	T_EQ(daemon_fixture_wait(&daemons.process[0]), 128 + SIGKILL);
	daemon_fixture_run(0, "a", "2");
	DAEMON_FIXTURE_UNTIL(daemon_fixture_log_has(&daemons.process[0], "shard.active"));
	DAEMON_FIXTURE_UNTIL(daemon_fixture_active("a-0") &&
	                     daemon_fixture_active("a-1") && daemon_fixture_all_owned() &&
	                     is_fair(4, four));
	daemon_fixture_down();
}

T_CASE_SECONDS(process_stopped_beyond_its_lease_comes_back, 90)
{
	two_processes();
	daemon_fixture_signal(&daemons.process[0], SIGSTOP);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_owns_with(&daemons.view, "b-") == PARTITIONS);
	daemon_fixture_signal(&daemons.process[0], SIGCONT);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_active("a-0") &&
	                     daemon_fixture_active("a-1") && daemon_fixture_all_owned() &&
	                     is_fair(4, four));
	T_TRUE(daemon_fixture_log_has(&daemons.process[0], "shard.down"));
	daemon_fixture_down();
}

T_CASE_SECONDS(a_second_process_of_the_same_name_is_refused, 60)
{
	two_processes();
	daemon_fixture_run(2, "a", "1");
	T_EQ(daemon_fixture_wait(&daemons.process[2]), 1);
	T_TRUE(daemon_fixture_log_has(&daemons.process[2], "shard.refused"));
	T_TRUE(daemon_fixture_log_has(&daemons.process[2], "a-0"));
	T_TRUE(daemon_fixture_active("a-0"));
	DAEMON_FIXTURE_UNTIL(daemon_fixture_all_owned());
	daemon_fixture_down();
}

T_CASE_SECONDS(a_store_with_other_partitions_is_refused, 60)
{
	two_processes();
	daemons.partitions = PARTITIONS + 1;
	daemon_fixture_run(2, "c", "1");
	daemons.partitions = PARTITIONS;
	T_EQ(daemon_fixture_wait(&daemons.process[2]), 1);
	T_TRUE(daemon_fixture_log_has(&daemons.process[2], "shard.refused"));
	daemon_fixture_down();
}

static void stop_gracefully(int signum)
{
	two_processes();
	daemon_fixture_view_reset(&daemons.view);
	daemon_fixture_signal(&daemons.process[0], signum);
	T_EQ(daemon_fixture_wait(&daemons.process[0]), 0);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_owns_with(&daemons.view, "b-") == PARTITIONS);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_record(&daemons.view, "a-0") == NULL &&
	                     daemon_fixture_record(&daemons.view, "a-1") == NULL);
	T_TRUE(daemon_fixture_log_has(&daemons.process[0], "process.stopping"));
	T_TRUE(daemon_fixture_log_has(&daemons.process[0], "shard.drained"));
	T_TRUE(daemon_fixture_log_has(&daemons.process[0], "shard.owns"));
	T_TRUE(!daemon_fixture_log_has(&daemons.process[0], "shard.unrevoked"));
	T_TRUE(daemon_fixture_log_has(&daemons.process[0], "process.stopped"));
}

T_CASE_SECONDS(a_graceful_stop_hands_over_and_leaves_nothing, 60)
{
	stop_gracefully(SIGTERM);
	/* The last process has no shard to hand over to. */
	daemon_fixture_signal(&daemons.process[1], SIGINT);
	T_EQ(daemon_fixture_wait(&daemons.process[1]), 0);
	DAEMON_FIXTURE_UNTIL(daemons.view.owned == 0);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_record(&daemons.view, "b-0") == NULL &&
	                     daemon_fixture_record(&daemons.view, "b-1") == NULL);
	daemon_fixture_down();
}

/* Without a leader a graceful stop can not end; a second signal does not wait for it. */
T_CASE_SECONDS(a_second_signal_stops_at_once, 60)
{
	two_processes();
	T_OK(etcd_launch_signal(daemons.rig.launch, 0, SIGSTOP, &daemons.rig.err),
	     &daemons.rig.err);
	daemon_fixture_signal(&daemons.process[0], SIGTERM);
	while (!daemon_fixture_log_has(&daemons.process[0], "process.stopping"))
		etcd_rig_run_ms(&daemons.rig, 10);
	daemon_fixture_signal(&daemons.process[0], SIGTERM);
	T_EQ(daemon_fixture_wait(&daemons.process[0]), 3);
	T_OK(etcd_launch_signal(daemons.rig.launch, 0, SIGCONT, &daemons.rig.err),
	     &daemons.rig.err);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_owns_with(&daemons.view, "b-") == PARTITIONS);
	daemon_fixture_down();
}

/* All leases are lost by then, so there is nothing to hand over. */
T_CASE_SECONDS(a_graceful_stop_ends_without_a_store, 90)
{
	two_processes();
	T_OK(etcd_launch_signal(daemons.rig.launch, 0, SIGSTOP, &daemons.rig.err),
	     &daemons.rig.err);
	while (!daemon_fixture_log_has(&daemons.process[0], "shard.down"))
		etcd_rig_run_ms(&daemons.rig, 10);
	daemon_fixture_signal(&daemons.process[0], SIGTERM);
	T_EQ(daemon_fixture_wait(&daemons.process[0]), 0);
	T_TRUE(daemon_fixture_log_has(&daemons.process[0], "shard.unrevoked"));
	T_TRUE(daemon_fixture_log_has(&daemons.process[0], "process.stopped"));
	T_OK(etcd_launch_signal(daemons.rig.launch, 0, SIGCONT, &daemons.rig.err),
	     &daemons.rig.err);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_owns_with(&daemons.view, "b-") == PARTITIONS);
	daemon_fixture_down();
}

T_CASE_SECONDS(a_hangup_changes_nothing, 60)
{
	two_processes();
	daemon_fixture_signal(&daemons.process[0], SIGHUP);
	while (!daemon_fixture_log_has(&daemons.process[0], "SIGHUP"))
		etcd_rig_run_ms(&daemons.rig, 10);
	T_TRUE(daemon_fixture_active("a-0") && daemon_fixture_all_owned());
	daemon_fixture_down();
}

T_CASE_SECONDS(a_shard_is_drained_by_configuration_and_taken_back, 60)
{
	two_processes();
	T_EQ(daemon_fixture_configure(CONFIG_SHARDS, "{\"drain\":[\"a-0\"]}"), 1);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_says("a-0", "\"state\":\"draining\"") &&
	                     daemon_fixture_owns(&daemons.view, "a-0") == 0 &&
	                     daemon_fixture_all_owned());
	while (!daemon_fixture_log_has(&daemons.process[0], "shard.drained"))
		etcd_rig_run_ms(&daemons.rig, 10);
	T_EQ(daemon_fixture_configure(CONFIG_SHARDS, "{\"drain\":[]}"), 2);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_active("a-0") && daemon_fixture_all_owned() &&
	                     is_fair(4, four));
	daemon_fixture_down();
}

T_CASE_SECONDS(a_bad_configuration_is_reported_and_rolled_back, 60)
{
	two_processes();
	T_EQ(daemon_fixture_configure(CONFIG_SHARDS, "{\"drain\":[\"a-0\"]}"), 1);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_says("a-0", "\"config\":{\"shards\":1}"));
	(void)etcd_rig_put(&daemons.rig, "/config/shards/0000000002",
	                   "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"x\","
	                   "\"why\":\"\",\"config\":{\"drain\":7}}");
	(void)etcd_rig_put(&daemons.rig, "/config/shards/current",
	                   "{\"v\":1,\"version\":2}");
	for (unsigned i = 0; i < 4; i++)
		DAEMON_FIXTURE_UNTIL(daemon_fixture_says(
			four[i], "\"refused\":{\"shards\":\"version 2: "));
	while (!daemon_fixture_log_has(&daemons.process[1], "config.refused"))
		etcd_rig_run_ms(&daemons.rig, 10);
	T_TRUE(daemon_fixture_says(
		"a-0",
		"\"state\":\"draining\"")); /* as version 1 of the configuration says */
	T_EQ(daemon_fixture_roll_back(CONFIG_SHARDS, 1), 3);
	for (unsigned i = 0; i < 4; i++)
		DAEMON_FIXTURE_UNTIL(
			!daemon_fixture_says(four[i], "refused") &&
			daemon_fixture_says(four[i], "\"config\":{\"shards\":3}"));
	T_TRUE(daemon_fixture_says("a-0", "\"state\":\"draining\""));
	daemon_fixture_down();
}

T_CASE_SECONDS(two_shards_of_a_process_come_and_go_on_their_threads, 60)
{
	daemon_fixture_up(1, PARTITIONS);
	daemon_fixture_run(0, "a", "4");
	DAEMON_FIXTURE_UNTIL(daemon_fixture_all_owned() && daemon_fixture_active("a-3") &&
	                     daemon_fixture_owns(&daemons.view, "a-3") > 0);
	(void)daemon_fixture_configure(CONFIG_SHARDS, "{\"drain\":[\"a-0\"]}");
	DAEMON_FIXTURE_UNTIL(daemon_fixture_owns(&daemons.view, "a-0") == 0 &&
	                     daemon_fixture_all_owned());
	daemon_fixture_signal(&daemons.process[0], SIGTERM);
	T_EQ(daemon_fixture_wait(&daemons.process[0]), 0);
	DAEMON_FIXTURE_UNTIL(daemons.view.owned == 0);
	daemon_fixture_down();
}

/* -- three members ----------------------------------------------------------------- */

static unsigned leader_member(void)
{
	struct kv_req req = {.op = KV_STATUS};
	struct kv_result result;

	for (unsigned i = 0;; i = (i + 1) % 3) {
		struct etcd_opts opts = {
			.endpoints = etcd_launch_endpoint(daemons.rig.launch, i)};
		struct kv *all = daemons.rig.kv;
		enum pl_code code;

		daemons.rig.kv = etcd_rig_open(&daemons.rig, &opts);
		code = etcd_rig_call(&daemons.rig, &req, ETCD_RIG_TIMEOUT_MS, &result);
		etcd_rig_close(&daemons.rig, daemons.rig.kv);
		daemons.rig.kv = all;
		if (code == PL_OK && result.status.leader == result.header.member_id)
			return i;
		etcd_rig_run_ms(&daemons.rig, 20);
	}
}

/* Partitions are handed over while the store has no leader for a while. */
static void without_leader(int signum)
{
	unsigned leader;

	daemon_fixture_up(3, PARTITIONS);
	daemon_fixture_run(0, "a", "2");
	daemon_fixture_run(1, "b", "2");
	for (unsigned i = 0; i < 4; i++)
		DAEMON_FIXTURE_UNTIL(daemon_fixture_active(four[i]));
	DAEMON_FIXTURE_UNTIL(daemon_fixture_all_owned() && is_fair(4, four));
	leader = leader_member();
	T_OK(etcd_launch_signal(daemons.rig.launch, leader, signum, &daemons.rig.err),
	     &daemons.rig.err);
	(void)daemon_fixture_configure(CONFIG_SHARDS, "{\"drain\":[\"a-0\"]}");
	DAEMON_FIXTURE_UNTIL(daemon_fixture_owns(&daemons.view, "a-0") == 0 &&
	                     daemon_fixture_all_owned());
	if (signum == SIGKILL)
		T_OK(etcd_launch_restart(daemons.rig.launch, leader, &daemons.rig.err),
		     &daemons.rig.err);
	else
		T_OK(etcd_launch_signal(daemons.rig.launch, leader, SIGCONT,
		                        &daemons.rig.err),
		     &daemons.rig.err);
	(void)daemon_fixture_configure(CONFIG_SHARDS, "{\"drain\":[]}");
	DAEMON_FIXTURE_UNTIL(daemon_fixture_active("a-0") && daemon_fixture_all_owned() &&
	                     is_fair(4, four));
	daemon_fixture_down();
}

T_CASE_SECONDS(the_leader_of_the_store_is_killed, 120)
{
	without_leader(SIGKILL);
}

T_CASE_SECONDS(the_leader_of_the_store_is_stopped, 120)
{
	without_leader(SIGSTOP);
}
