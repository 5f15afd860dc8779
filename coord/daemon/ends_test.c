/*
 * Pods' whole lives through a real etcd, a shard and a member that does not
 * exist: they come, run, move, end, and their room is used again.
 */
#include <signal.h>
#include <stdlib.h>

#include "coord/cli/placet_rig.h"

enum { PARTITIONS = 8, PODS = 40 };

/* Two nodes with room for four pods each of eight. */
static const char profile[] =
	"prefix: m\nregion: r\nzones: [{name: a}]\n"
	"shapes: [{name: s, weight: 1, cpu: 4, memory: 8Gi, storage: 10Gi}]\n";

static struct placet_running shards, member;

#define RUN(input, ...) placet_run(input, (const char *const[]){__VA_ARGS__, NULL})

static void start_shards(void)
{
	static const char *const args[] = {"--shards",    "1",      "--partitions",
	                                   "8",           "--name", "east",
	                                   "--log-level", "info",   NULL};
	char *placet = getenv("PLACET"), *placetd = getenv("PLACETD");
	char kept[4096];

	T_TRUE(placet != NULL && placetd != NULL);
	if (placet == NULL || placetd == NULL)
		return;
	(void)snprintf(kept, sizeof kept, "%s", placet);
	T_EQ(setenv("PLACET", placetd, 1), 0);
	placet_start(&shards, args);
	T_EQ(setenv("PLACET", kept, 1), 0);
}

static void start_member(const char *lifetime)
{
	const char *const args[] = {"sim-cluster", "--cluster",    "east", "--run",
	                            lifetime,      "--grace=50ms", NULL};

	placet_start(&member, args);
}

static void up(void)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(profile, "sim-cluster", "--cluster", "east", "--nodes", "2", "--profile",
	         "-"),
	     0);
	start_shards();
}

static void down(void)
{
	placet_kill(&member);
	placet_kill(&shards);
	T_EQ(PLACET("fsck"), 0);
	placet_says("0 violations");
	placet_down();
}

/* A cpu each. */
static const char *pods(unsigned first, unsigned count)
{
	static char text[PODS * 256];
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

static void are_bound(const char *input)
{
	T_EQ(RUN(input, "wait", "--for=bound", "-f", "-", "--timeout=30s"), 0);
}

T_CASE_SECONDS(room_is_given_to_others_when_pods_go, 120)
{
	up();
	start_member("--lifetime=0");
	T_EQ(RUN(pods(0, 8), "submit", "-f", "-"), 0);
	are_bound(pods(0, 8));
	T_EQ(RUN(pods(8, 8), "submit", "-f", "-"), 0); /* no room */
	T_EQ(RUN(pods(0, 8), "delete", "pod", "-f", "-", "--yes", "--timeout=30s"), 0);
	are_bound(pods(8, 8));
	/* Without their member, too. */
	placet_kill(&member);
	T_EQ(RUN(pods(8, 8), "delete", "pod", "-f", "-", "--yes", "--timeout=300ms"), 1);
	T_EQ(RUN(pods(8, 8), "delete", "pod", "-f", "-", "--yes", "--timeout=30s",
	         "--force"),
	     0);
	T_EQ(PLACET("get", "nodes"), 0);
	placet_prints("0/110");
	start_member("--lifetime=0");
	down();
}

T_CASE_SECONDS(pods_that_end_by_themselves_make_room, 120)
{
	up();
	start_member("--lifetime=200ms");
	T_EQ(RUN(pods(0, 32), "submit", "-f", "-"), 0);
	are_bound(pods(0, 32));
	placet_await(&member, "32 succeeded");
	down();
}

T_CASE_SECONDS(a_node_is_drained_and_taken_away, 120)
{
	up();
	start_member("--lifetime=0");
	T_EQ(RUN(pods(0, 4), "submit", "-f", "-"), 0);
	are_bound(pods(0, 4));
	T_EQ(PLACET("nodes", "drain", "east/m-000000", "--timeout=30s"), 0);
	placet_prints("east/m-000000 cordoned\n");
	placet_prints("east/m-000000 drained\n");
	are_bound(pods(0, 4));
	T_EQ(PLACET("nodes", "uncordon", "east/m-000000"), 0);
	/* Now the other one: its machine is gone, and its member says nothing. */
	placet_kill(&member);
	T_EQ(PLACET("nodes", "drain", "east/m-000001", "--timeout=300ms"), 1);
	placet_says("still there");
	T_EQ(PLACET("nodes", "delete", "east/m-000001", "--yes"), 1);
	T_EQ(PLACET("nodes", "delete", "east/m-000001", "--yes", "--force"), 0);
	placet_prints("east/m-000001 deleted\n");
	are_bound(pods(0, 4));
	T_EQ(PLACET("get", "nodes"), 0);
	placet_prints("4/110");
	start_member("--lifetime=0");
	down();
}
