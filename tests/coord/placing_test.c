/* Processes of placetd place pods over a real etcd; one is killed under load. */
#include "tests/coord/daemons_fixture.h"
#include "tests/support/coord/work/workload.h"

enum { PARTITIONS = 32, NODES = 50, PODS = 500, PIECE = 50 };

static const struct workload_spec workload = {
	.partitions = PARTITIONS, .nodes = NODES, .pods = PODS};
static const char *const ids[] = {"a-0", "b-0", "c-0"};
static struct workload_found found;

static void on_written(void *ctx, const struct pl_err *err)
{
	T_TRUE(err == NULL);
	*(bool *)ctx = true;
}

static void write_part(enum workload_part part, uint32_t first, uint32_t count)
{
	struct workload_range range = {.part = part, .first = first, .count = count};
	bool done = false;

	T_OK(workload_write(daemons.rig.kv, &workload, &range, on_written, &done,
	                    &daemons.rig.err),
	     &daemons.rig.err);
	etcd_rig_until(&daemons.rig, &done);
}

static void on_found(void *ctx, const struct workload_found *got,
                     const struct pl_err *err)
{
	T_TRUE(err == NULL);
	found = *got;
	*(bool *)ctx = true;
}

/* Reads all keys at one revision: nothing may be wrong at any moment. */
static void check_store(void)
{
	bool done = false;

	T_OK(workload_check(daemons.rig.kv, &workload, on_found, &done, &daemons.rig.err),
	     &daemons.rig.err);
	etcd_rig_until(&daemons.rig, &done);
	T_STR(found.wrong, "");
}

static void until_bound(uint32_t count)
{
	do {
		etcd_rig_run_ms(&daemons.rig, 50);
		T_STR(daemons.view.wrong, "");
		check_store();
	} while (found.bound < count);
	T_EQ(found.bound, count);
}

static void three_processes(void)
{
	daemon_fixture_up(1, PARTITIONS);
	write_part(WORKLOAD_PART_NODES, 0, NODES);
	write_part(WORKLOAD_PART_PODS, 0, PODS / 5);
	daemon_fixture_run(0, "a", "1");
	daemon_fixture_run(1, "b", "1");
	daemon_fixture_run(2, "c", "1");
	until_bound(PODS / 5);
	for (unsigned i = 0; i < 3; i++)
		DAEMON_FIXTURE_UNTIL(daemon_fixture_all_owned() &&
		                     daemon_fixture_owns(&daemons.view, ids[i]) > 2);
}

T_CASE_SECONDS(pods_are_bound_after_a_process_is_killed_under_load, 90)
{
	three_processes();
	for (uint32_t first = PODS / 5; first < PODS; first += PIECE) {
		if (first == PODS / 2)
			daemon_fixture_signal(&daemons.process[1], SIGKILL);
		write_part(WORKLOAD_PART_PODS, first, PIECE);
		check_store();
	}
	T_EQ(daemon_fixture_wait(&daemons.process[1]), 128 + SIGKILL);
	until_bound(PODS);
	T_EQ(daemon_fixture_owns_with(&daemons.view, "b-"), 0);
	T_EQ(found.specs, PODS);
	daemon_fixture_down();
}

T_CASE_SECONDS(graceful_stops_leave_nothing_half_done, 90)
{
	three_processes();
	write_part(WORKLOAD_PART_PODS, PODS / 5, PODS - PODS / 5);
	for (unsigned i = 0; i < 3; i++)
		daemon_fixture_signal(&daemons.process[i], SIGTERM);
	for (unsigned i = 0; i < 3; i++) {
		T_EQ(daemon_fixture_wait(&daemons.process[i]), 0);
		T_TRUE(daemon_fixture_log_has(&daemons.process[i], "work.figures"));
		T_TRUE(daemon_fixture_log_has(&daemons.process[i], "partition.open"));
	}
	check_store();
	daemon_fixture_run(0, "a", "2");
	until_bound(PODS);
	daemon_fixture_down();
}

T_CASE_SECONDS(with_scheduling_off_nothing_is_placed, 60)
{
	const char *dir = NULL;
	char log[DAEMON_FIXTURE_PATH_SIZE];
	struct daemon_fixture_process *process = &daemons.process[0];

	daemon_fixture_up(1, PARTITIONS);
	write_part(WORKLOAD_PART_NODES, 0, NODES);
	write_part(WORKLOAD_PART_PODS, 0, PODS / 5);
	dir = etcd_launch_dir(daemons.rig.launch);
	(void)snprintf(log, sizeof log, "%s/placetd-off.log", dir);
	T_OK(daemon_fixture_start(
		     process, log,
		     (const char *const[]){"--etcd",
	                                   etcd_launch_endpoints(daemons.rig.launch),
	                                   "--name", "a", "--partitions", "32",
	                                   "--scheduling", "off", NULL},
		     &daemons.rig.err),
	     &daemons.rig.err);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_all_owned());
	etcd_rig_run_ms(&daemons.rig, 500);
	check_store();
	T_EQ(found.bound + found.pending, 0);
	daemon_fixture_signal(process, SIGTERM);
	T_EQ(daemon_fixture_wait(process), 0);
	daemon_fixture_down();
}

/* -- other settings ---------------------------------------------------------------- */

static const char most[] =
	"{\"profiles\":[{\"pluginConfig\":[{\"name\":\"NodeResourcesFit\",\"args\":"
	"{\"scoringStrategy\":{\"type\":\"MostAllocated\"}}}],\"plugins\":{\"score\":"
	"{\"disabled\":[{\"name\":\"NodeResourcesBalancedAllocation\"}]}}}],"
	"\"shard\":{\"batch\":16}}";

struct nodes_used {
	unsigned used;
	bool done;
};

static void on_allocs(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct nodes_used *nodes = ctx;

	T_TRUE(err == NULL);
	for (size_t i = 0; i < result->get.count; i++) {
		struct pl_span value = result->get.records[i].value;

		nodes->used += memmem(value.at, value.len, "\"pods\":{", 8) != NULL;
	}
	nodes->done = true;
}

static unsigned nodes_used(void)
{
	const struct kv_req req = {.op = KV_GET,
	                           .get = {.keys = kv_prefix(PL_SPAN_LIT("/alloc/"))}};
	struct nodes_used nodes = {.used = 0};
	struct kv_call *call;

	T_OK(kv_start(daemons.rig.kv, &req, 5000, on_allocs, &nodes, &call,
	              &daemons.rig.err),
	     &daemons.rig.err);
	etcd_rig_until(&daemons.rig, &nodes.done);
	return nodes.used;
}

static bool all_records_have(const char *words)
{
	return daemon_fixture_says(ids[0], words) && daemon_fixture_says(ids[1], words);
}

/* A profile that packs nodes is applied live, then a version that no shard can run, then
 * the first again. */
T_CASE_SECONDS(the_scheduler_is_configured_while_it_runs, 120)
{
	daemon_fixture_up(1, PARTITIONS);
	write_part(WORKLOAD_PART_NODES, 0, NODES);
	daemon_fixture_run(0, "a", "1");
	daemon_fixture_run(1, "b", "1");
	write_part(WORKLOAD_PART_PODS, 0, 1);
	until_bound(1);
	DAEMON_FIXTURE_UNTIL(daemon_fixture_all_owned() &&
	                     daemon_fixture_owns(&daemons.view, ids[0]) > 2 &&
	                     daemon_fixture_owns(&daemons.view, ids[1]) > 2);
	T_EQ(daemon_fixture_configure(CONFIG_SCHEDULER, most), 1);
	DAEMON_FIXTURE_UNTIL(all_records_have("\"scheduler\":1"));
	write_part(WORKLOAD_PART_PODS, 1, PODS / 10 - 1);
	until_bound(PODS / 10);
	T_TRUE(nodes_used() <= NODES / 3);
	etcd_rig_put(
		&daemons.rig, "/config/scheduler/0000000002",
		"{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"test\",\"why\":"
		"\"\",\"nonce\":\"0123456789abcdef\",\"config\":{\"profiles\":3}}");
	etcd_rig_put(&daemons.rig, "/config/scheduler/current",
	             "{\"v\":1,\"version\":2}");
	DAEMON_FIXTURE_UNTIL(
		all_records_have("\"refused\":{\"scheduler\":\"version 2: "));
	T_TRUE(all_records_have("\"scheduler\":1"));
	write_part(WORKLOAD_PART_PODS, PODS / 10, PODS / 10);
	until_bound(PODS / 5);
	T_TRUE(nodes_used() <= NODES / 2);
	T_EQ(daemon_fixture_configure(CONFIG_SCHEDULER, "{}"), 3);
	DAEMON_FIXTURE_UNTIL(all_records_have("\"scheduler\":3"));
	write_part(WORKLOAD_PART_PODS, PODS / 5, PODS / 5);
	until_bound(PODS / 5 * 2);
	T_TRUE(nodes_used() >= NODES / 5 * 4);
	DAEMON_FIXTURE_UNTIL(all_records_have("\"placed_per_s\""));
	daemon_fixture_down();
}

/* -- a store with users ------------------------------------------------------------ */

enum { RESTARTS = 3, BURST = 40, BOUND_MS = 3000 };

static void etcdctl(const char *what)
{
	char line[512];
	const char *argv[] = {"sh", "-ec", line, NULL};

	(void)snprintf(
		line, sizeof line,
		"export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=%s; etcdctl %s 2>/dev/null",
		etcd_launch_endpoint(daemons.rig.launch, 0), what);
	etcd_rig_spawn(argv);
}

/* A store that requires a user, and one process with eight shards. */
static void daemon_fixture_up_with_users(void)
{
	const struct etcd_launch_opts launch = {.members = 1, .no_fsync = true};
	const struct etcd_opts as_root = {.user = "root", .password = "secret"};
	char file[DAEMON_FIXTURE_PATH_SIZE], log[DAEMON_FIXTURE_PATH_SIZE];
	FILE *out;

	etcd_rig_launch(&daemons.rig, &launch);
	etcdctl("user add root:secret");
	etcdctl("user grant-role root root");
	etcdctl("auth enable");
	daemons.rig.kv = etcd_rig_open(&daemons.rig, &as_root);
	daemons.partitions = PARTITIONS;
	T_OK(daemon_fixture_view_open(&daemons.view, daemons.rig.kv, PARTITIONS,
	                              &daemons.rig.err),
	     &daemons.rig.err);
	(void)snprintf(file, sizeof file, "%s/password",
	               etcd_launch_dir(daemons.rig.launch));
	(void)snprintf(log, sizeof log, "%s/placetd.log",
	               etcd_launch_dir(daemons.rig.launch));
	out = fopen(file, "w");
	T_TRUE(out != NULL && fputs("secret\n", out) >= 0 && fclose(out) == 0);
	T_OK(daemon_fixture_start(
		     &daemons.process[0], log,
		     (const char *const[]){
			     "--etcd", etcd_launch_endpoints(daemons.rig.launch),
			     "--user", "root", "--password-file", file, "--name", "a",
			     "--shards", "8", "--ttl", "10s", "--partitions", "32", NULL},
		     &daemons.rig.err),
	     &daemons.rig.err);
}

/* A restarted etcd has forgotten its tokens. The watches of each shard resume under a new
 * token, so that pods that come then are bound as soon as ever. */
T_CASE_SECONDS(pods_are_bound_soon_after_a_store_with_users_restarts, 120)
{
	const char *slow = getenv("T_SLOW");
	uint64_t within_ms = BOUND_MS * (slow == NULL ? 1 : strtoull(slow, NULL, 10));

	daemon_fixture_up_with_users();
	write_part(WORKLOAD_PART_NODES, 0, NODES);
	write_part(WORKLOAD_PART_PODS, 0, BURST);
	until_bound(BURST);
	for (uint32_t i = 1; i <= RESTARTS; i++) {
		uint64_t from_ms;

		T_OK(etcd_launch_signal(daemons.rig.launch, 0, SIGKILL, &daemons.rig.err),
		     &daemons.rig.err);
		T_OK(etcd_launch_restart(daemons.rig.launch, 0, &daemons.rig.err),
		     &daemons.rig.err);
		write_part(WORKLOAD_PART_PODS, i * BURST, BURST);
		from_ms = pl_clock_ms();
		until_bound((i + 1) * BURST);
		T_TRUE(pl_clock_ms() - from_ms < within_ms);
	}
	daemon_fixture_down();
}
