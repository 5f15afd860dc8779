#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/fault.h"
#include "store/etcd/launch.h"
#include "tests/harness/t.h"

static struct etcd_launch_opts quick(unsigned members)
{
	return (struct etcd_launch_opts){.members = members,
	                                 .no_fsync = true,
	                                 .heartbeat_ms = 20,
	                                 .election_ms = 200};
}

static struct etcd_launch *start(uv_loop_t *loop, const struct etcd_launch_opts *opts)
{
	struct etcd_launch *launch = NULL;
	struct pl_err err = {0};

	if (etcd_launch_start_wait(loop, opts, &launch, &err) != PL_OK)
		t_fail(__FILE__, __LINE__, "%s", err.msg);
	return launch;
}

/* Runs the loop dry, so that a handle nobody closed fails the test. */
static void loop_end(uv_loop_t *loop)
{
	T_EQ(uv_run(loop, UV_RUN_DEFAULT), 0);
	T_EQ(uv_loop_close(loop), 0);
}

static bool gone(const char *path)
{
	return access(path, F_OK) != 0 && errno == ENOENT;
}

T_CASE(one_member_up_and_down)
{
	struct etcd_launch_opts opts = quick(1);
	struct etcd_launch *launch;
	char dir[512];
	uv_loop_t loop;
	pid_t pid;

	T_EQ(uv_loop_init(&loop), 0);
	launch = start(&loop, &opts);
	pid = etcd_launch_pid(launch, 0);
	T_EQ(kill(pid, 0), 0);
	T_STR(etcd_launch_endpoints(launch), etcd_launch_endpoint(launch, 0));
	T_TRUE(strncmp(etcd_launch_endpoints(launch), "http://127.0.0.1:", 17) == 0);
	(void)snprintf(dir, sizeof dir, "%s", etcd_launch_dir(launch));
	T_TRUE(!gone(dir));
	etcd_launch_stop_wait(launch);
	T_EQ(kill(pid, 0), -1);
	T_TRUE(gone(dir));
	loop_end(&loop);
}

T_CASE(three_members_with_tls)
{
	struct etcd_launch_opts opts = quick(3);
	struct etcd_launch *launch;
	uv_loop_t loop;

	T_EQ(uv_loop_init(&loop), 0);
	opts.tls = true;
	launch = start(&loop, &opts);
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(etcd_launch_pid(launch, i) > 0);
	T_TRUE(!gone(etcd_launch_ca_file(launch)));
	etcd_launch_stop_wait(launch);
	loop_end(&loop);
}
