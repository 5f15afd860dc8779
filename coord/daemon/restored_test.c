/*
 * An etcd that is restored from an old snapshot as its manual says (etcdctl snapshot
 * save and restore), so that it is another cluster afterwards. Pods that were placed
 * since are missing, and pods that were deleted since are back. Shards that were
 * killed since are alive in it, and shards that came since are not. What it has is
 * kept, what it lacks is submitted again, and everything works.
 */
#include <signal.h>
#include <stdlib.h>

#include "tests/support/coord/cli/placet_rig.h"
#include "tests/support/coord/daemon/daemon_fixture.h"

enum { PARTITIONS = 16, BEFORE = 10, SINCE = 10, AFTER = 8, POD_SIZE = 256 };

static const char profile[] =
	"prefix: m\nregion: r\nzones: [{name: a}]\n"
	"shapes: [{name: s, weight: 1, cpu: 4, memory: 8Gi, storage: 10Gi}]\n";

/* $1: the directory of the stopped etcd, which has snap.db. The peer address does not
 * matter: it is the only member. */
static const char restore_script[] =
	"set -e; cd \"$1\"; d=$(echo m0.*/); rm -rf \"$d\"\n"
	"ETCDCTL_API=3 etcdctl snapshot restore snap.db --name m0 --data-dir \"$d\" "
	"--initial-cluster m0=http://127.0.0.1:2380 "
	"--initial-advertise-peer-urls http://127.0.0.1:2380 "
	"--initial-cluster-token restored >restore.log 2>&1 || { cat restore.log; exit 1; }";
static const char save_script[] =
	"cd \"$1\"; ETCDCTL_API=3 exec etcdctl --endpoints \"$2\" "
	"snapshot save snap.db >save.log 2>&1";

static struct daemon_fixture_process process[3];

#define RUN(input, ...) placet_run(input, (const char *const[]){__VA_ARGS__, NULL})

static struct etcd_launch *etcd(void)
{
	return placet_rig.rig.launch;
}

static void start(unsigned number, const char *name)
{
	const char *const args[] = {"--etcd",      etcd_launch_endpoints(etcd()),
	                            "--name",      name,
	                            "--shards",    "1",
	                            "--ttl",       "3s",
	                            "--log-level", "info",
	                            NULL};
	char log[DAEMON_FIXTURE_PATH_SIZE];

	(void)snprintf(log, sizeof log, "%s/placetd-%s.log", etcd_launch_dir(etcd()),
	               name);
	T_OK(daemon_fixture_start(&process[number], log, args, &placet_rig.rig.err),
	     &placet_rig.rig.err);
}

static void end(unsigned number, int signum)
{
	daemon_fixture_signal(&process[number], signum);
	T_EQ(daemon_fixture_wait(&process[number]),
	     signum == SIGKILL ? 128 + SIGKILL : 0);
}

/* Each pod requests one cpu. */
static const char *pods(unsigned first, unsigned count)
{
	static char text[(BEFORE + SINCE + AFTER) * POD_SIZE];
	size_t len = 0;

	for (unsigned i = first; i < first + count; i++)
		len += (size_t)snprintf(
			text + len, sizeof text - len,
			"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%u\"},\"spec\":{"
			"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
			"\"requests\":{\"cpu\":\"1\"}}}]}}\n",
			i);
	return text;
}

static void place(unsigned first, unsigned count)
{
	T_EQ(RUN(pods(first, count), "submit", "-f", "-"), 0);
	T_EQ(RUN(pods(first, count), "wait", "--for=bound", "-f", "-", "--timeout=60s"),
	     0);
}

static uint64_t cluster(void)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("/placet/meta")));
	struct kv_result result;

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	T_EQ(result.get.count, 1);
	return result.header.cluster_id;
}

static void save(void)
{
	etcd_rig_spawn((const char *const[]){"/bin/sh", "-c", save_script, "sh",
	                                     etcd_launch_dir(etcd()),
	                                     etcd_launch_endpoints(etcd()), NULL});
}

/* At the same addresses, so that clients need not be told. */
static void restore(void)
{
	T_OK(etcd_launch_signal(etcd(), 0, SIGKILL, &placet_rig.rig.err),
	     &placet_rig.rig.err);
	while (etcd_launch_pid(etcd(), 0) != 0)
		etcd_rig_run_ms(&placet_rig.rig, 5);
	etcd_rig_spawn((const char *const[]){"/bin/sh", "-c", restore_script, "sh",
	                                     etcd_launch_dir(etcd()), NULL});
	T_OK(etcd_launch_restart(etcd(), 0, &placet_rig.rig.err), &placet_rig.rig.err);
	while (PLACET("store", "restored", "--yes") != 0)
		etcd_rig_run_ms(&placet_rig.rig, 100);
}

static void up(void)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(profile, "sim-cluster", "--cluster", "east", "--nodes", "8", "--profile",
	         "-"),
	     0);
	start(0, "stays");
	start(1, "dies");
}

static void down(void)
{
	end(0, SIGTERM);
	end(2, SIGTERM);
	T_EQ(PLACET("fsck"), 0);
	placet_says("0 violations");
	placet_down();
}

static unsigned bound(void)
{
	unsigned count = 0;

	T_EQ(PLACET("get", "pods", "-o", "json"), 0);
	for (const char *at = placet_rig.out;
	     (at = strstr(at, "\"phase\": \"Bound\"")) != NULL; at++)
		count++;
	return count;
}

T_CASE_SECONDS(restored_pods_are_kept_and_lost_ones_are_placed_again, 180)
{
	uint64_t was;

	up();
	place(0, BEFORE);
	save();
	end(1, SIGKILL);
	start(2, "comes");
	place(BEFORE, SINCE);
	T_EQ(RUN(NULL, "delete", "pod", "p-0", "--yes", "--force", "--timeout=30s"), 0);
	T_EQ(bound(), BEFORE + SINCE - 1);
	was = cluster();
	restore();
	T_TRUE(cluster() != was);
	T_EQ(bound(), BEFORE);
	/* The user sees that they are gone, and submits all of them. */
	place(0, BEFORE + SINCE);
	place(BEFORE + SINCE, AFTER);
	T_EQ(bound(), BEFORE + SINCE + AFTER);
	for (unsigned i = 0; i < 3; i += 2) {
		T_TRUE(daemon_fixture_log_has(&process[i], "answers instead of"));
		T_TRUE(daemon_fixture_log_has(&process[i], "store.rewound"));
	}
	T_EQ(PLACET("fsck"), 0);
	down();
}
