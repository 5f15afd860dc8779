/* A whole Placet in the foreground, and its end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/coord/cli/placet_rig.h"

static struct placet_running it;
static char endpoint[128];

static void take_endpoint(void)
{
	const char *at = strstr(it.line, "http://");

	T_TRUE(at != NULL);
	(void)snprintf(endpoint, sizeof endpoint, "%.*s", (int)strcspn(at, " \n"), at);
}

static void up_and_down(const char *store)
{
	const char *const args[] = {"up",      "--store", store,        "--shards", "2",
	                            "--nodes", "3",       "--clusters", "2",        NULL};

	placet_start(&it, args);
	placet_await(&it, "store ");
	take_endpoint();
	placet_await(&it, "Ctrl-C ends it");
	T_EQ(PLACET("shards", "--endpoints", endpoint), 0);
	placet_prints("up-0-0");
	placet_prints("up-1-0");
	T_EQ(PLACET("get", "nodes", "--endpoints", endpoint), 0);
	placet_prints("sim-2");
	T_EQ(PLACET("fsck", "--endpoints", endpoint), 0);
	T_EQ(kill(it.pid, SIGINT), 0);
	T_EQ(placet_end(&it), 0);
	T_TRUE(PLACET("shards", "--endpoints", endpoint, "--timeout", "1s") != 0);
}

T_CASE_SECONDS(up_with_a_store_in_memory, 120)
{
	up_and_down("memory");
}

T_CASE_SECONDS(up_with_an_etcd_of_its_own, 120)
{
	up_and_down("etcd");
}

static pid_t pid_of(const char *shard)
{
	const char *at;

	T_EQ(PLACET("shards", "--endpoints", endpoint, "-o", "json"), 0);
	at = strstr(placet_rig.out, shard);
	T_TRUE(at != NULL);
	at = strstr(at, "\"pid\": ");
	T_TRUE(at != NULL);
	return (pid_t)strtol(at + strlen("\"pid\": "), NULL, 10);
}

/* The members of the clusters go on, and place nothing. */
T_CASE_SECONDS(up_reports_when_no_placetd_is_left, 120)
{
	static const char *const args[] = {"up",  "--store", "memory", "--shards",
	                                   "2",   "--nodes", "3",      "--ttl",
	                                   "60s", NULL};

	placet_start(&it, args);
	placet_await(&it, "store ");
	take_endpoint();
	placet_await(&it, "Ctrl-C ends it");
	T_EQ(kill(pid_of("up-0-0"), SIGKILL), 0);
	placet_await(&it, "up-0 ended with status 137");
	placet_await(&it, "1 of 2 processes of placetd goes on");
	T_EQ(kill(pid_of("up-1-0"), SIGKILL), 0);
	placet_await(&it, "up-1 ended with status 137");
	placet_await(&it, "no placetd is left: pods are not placed (start one: placetd "
	                  "--etcd http://");
	T_EQ(kill(it.pid, SIGINT), 0);
	T_EQ(placet_end(&it), 0);
}

T_CASE(malformed_input_is_refused)
{
	T_EQ(PLACET("up", "--store", "paper"), 2);
	placet_says("want etcd or memory");
	T_EQ(PLACET("up", "--shards", "1", "--processes", "2"), 2);
	placet_says("more than shards");
	T_EQ(PLACET("up", "--nodes", "0"), 2);
}
