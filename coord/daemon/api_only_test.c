/* A process of placetd without a shard: the API is served, and nothing is owned. */
#include <signal.h>
#include <stdlib.h>

#include "tests/support/coord/cli/placet_rig.h"

static struct placet_running it, other;
static char url[64], address[64];

/* The rig's command is placetd for this one. */
static void start(struct placet_running *running, const char *const args[])
{
	const char *placetd = getenv("PLACETD"), *command = getenv("PLACET");
	char placet[512];

	T_TRUE(placetd != NULL && command != NULL);
	(void)snprintf(placet, sizeof placet, "%s", command);
	T_EQ(setenv("PLACET", placetd, 1), 0);
	placet_start(running, args);
	T_EQ(setenv("PLACET", placet, 1), 0);
}

static void start_api(struct placet_running *running, const char *listen)
{
	const char *const args[] = {"--etcd",
	                            etcd_launch_endpoints(placet_rig.rig.launch),
	                            "--shards",
	                            "0",
	                            "--name",
	                            "api",
	                            "--api-listen",
	                            listen,
	                            NULL};

	start(running, args);
}

static void find_port(void)
{
	const char *at;

	placet_await(&it, "api.listening");
	at = strstr(it.line, "port=");
	T_TRUE(at != NULL);
	(void)snprintf(address, sizeof address, "127.0.0.1:%.*s",
	               (int)strspn(at + 5, "0123456789"), at + 5);
	(void)snprintf(url, sizeof url, "http://%s", address);
	placet_await(&it, "api.ready");
}

T_CASE_SECONDS(a_process_without_shards_serves_and_owns_nothing, 60)
{
	placet_up(4);
	start_api(&it, "127.0.0.1:0");
	find_port();
	T_EQ(PLACET("shards", "--server", url), 0);
	placet_says("no shards");
	T_EQ(PLACET("partitions", "--summary", "--server", url), 0);
	placet_prints("free    4");
	/* Records of shards are served. */
	placet_shard("east-0", "0");
	placet_owner(0, "east-0");
	do
		T_EQ(PLACET("partitions", "--server", url), 0);
	while (strstr(placet_rig.out, "east-0") == NULL);
	T_EQ(kill(it.pid, SIGTERM), 0);
	T_EQ(placet_end(&it), 0);
	placet_down();
}

T_CASE_SECONDS(a_taken_port_ends_a_process_without_shards, 60)
{
	placet_up(4);
	start_api(&it, "127.0.0.1:0");
	find_port();
	start_api(&other, address);
	placet_await(&other, "process.failed");
	T_EQ(placet_end(&other), 1);
	T_EQ(kill(it.pid, SIGTERM), 0);
	T_EQ(placet_end(&it), 0);
	placet_down();
}

/* The first process with a shard initialises the store; until then the API waits. */
T_CASE_SECONDS(a_process_without_shards_does_not_initialise_the_store, 60)
{
	placet_up(0);
	start_api(&it, "127.0.0.1:0");
	placet_await(&it, "api.listening");
	T_EQ(kill(it.pid, SIGTERM), 0);
	T_EQ(placet_end(&it), 0);
	T_EQ(PLACET("partitions", "--endpoints",
	            etcd_launch_endpoints(placet_rig.rig.launch)),
	     1);
	placet_says("holds nothing of Placet's");
	placet_down();
}
