#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/fault.h"
#include "store/etcd/admin.h"
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

/* Runs the loop until it is empty, so that a handle left open fails the test. */
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

/* Runs the loop until the flag is set; the case's time limit ends it otherwise. */
static void run_until(uv_loop_t *loop, const bool *what)
{
	while (!*what)
		(void)uv_run(loop, UV_RUN_ONCE);
}

struct look {
	uv_loop_t *loop;
	bool over, healthy;
};

static void on_health(void *ctx, const struct etcd_health *health,
                      const struct pl_err *err)
{
	struct look *look = ctx;

	(void)err;
	uv_stop(look->loop);
	look->over = true;
	look->healthy = health != NULL && health->healthy;
}

static void on_closed(void *ctx)
{
	struct look *look = ctx;

	uv_stop(look->loop);
	look->over = true;
}

/* Asks until the expected answer comes. */
static void wait_health(uv_loop_t *loop, const char *url, bool want)
{
	struct look look = {.loop = loop, .healthy = !want};
	struct http_opts opts = {0};
	struct http *http;

	T_EQ(http_open(loop, &opts, &http, NULL), PL_OK);
	while (look.healthy != want) {
		look.over = false;
		T_EQ(etcd_health_start(http, url, 200, on_health, &look, NULL), PL_OK);
		run_until(loop, &look.over);
	}
	look.over = false;
	http_close(http, on_closed, &look);
	run_until(loop, &look.over);
}

struct exits {
	uv_loop_t *loop;
	bool any;
	unsigned member;
	int signum;
};

static void on_exit_note(void *ctx, unsigned member, int status, int signum)
{
	struct exits *exits = ctx;

	T_EQ(status, 0);
	T_TRUE(!exits->any);
	uv_stop(exits->loop);
	exits->any = true;
	exits->member = member;
	exits->signum = signum;
}

/* A member that finds its data logs it; a fresh one never does. */
static bool found_its_data(const struct etcd_launch *launch)
{
	static char log[64 * 1024];

	return strstr(etcd_launch_log_tail(launch, 0, log, sizeof log),
	              "restarting member ") != NULL;
}

T_CASE(killed_and_restarted_stopped_and_continued)
{
	struct etcd_launch_opts opts = quick(1);
	struct etcd_launch *launch;
	char url[128];
	uv_loop_t loop;
	struct exits exits = {.loop = &loop};
	pid_t pid;

	T_EQ(uv_loop_init(&loop), 0);
	opts.on_exit = on_exit_note;
	opts.ctx = &exits;
	launch = start(&loop, &opts);
	pid = etcd_launch_pid(launch, 0);
	(void)snprintf(url, sizeof url, "%s", etcd_launch_endpoint(launch, 0));
	T_EQ(etcd_launch_signal(launch, 0, SIGSTOP, NULL), PL_OK);
	wait_health(&loop, url, false);
	T_EQ(etcd_launch_restart(launch, 0, NULL), PL_EXISTS);
	T_EQ(etcd_launch_signal(launch, 0, SIGCONT, NULL), PL_OK);
	wait_health(&loop, url, true);

	T_TRUE(!found_its_data(launch));
	T_EQ(etcd_launch_signal(launch, 0, SIGKILL, NULL), PL_OK);
	T_EQ(etcd_launch_pid(launch, 0), 0);
	T_EQ(etcd_launch_signal(launch, 0, SIGSTOP, NULL), PL_NOTFOUND);
	T_EQ(etcd_launch_restart(launch, 0, NULL), PL_OK);
	wait_health(&loop, url, true);
	T_TRUE(etcd_launch_pid(launch, 0) != pid);
	T_TRUE(found_its_data(launch));
	T_STR(url, etcd_launch_endpoint(launch, 0));
	T_TRUE(!exits.any); /* a requested end is not reported */

	pid = etcd_launch_pid(launch, 0);
	T_EQ(kill(pid, SIGKILL), 0);
	run_until(&loop, &exits.any);
	T_EQ(exits.signum, SIGKILL);
	T_EQ(etcd_launch_pid(launch, 0), 0);
	T_EQ(etcd_launch_restart(launch, 0, NULL), PL_OK);
	wait_health(&loop, url, true);
	T_EQ(etcd_launch_signal(launch, 0, SIGSTOP, NULL), PL_OK);
	etcd_launch_stop_wait(launch); /* a stopped member is ended too */
	loop_end(&loop);
}

T_CASE(three_members_survive_one)
{
	struct etcd_launch_opts opts = quick(3);
	struct etcd_launch *launch;
	uv_loop_t loop;

	T_EQ(uv_loop_init(&loop), 0);
	launch = start(&loop, &opts);
	T_EQ(etcd_launch_signal(launch, 1, SIGKILL, NULL), PL_OK);
	wait_health(&loop, etcd_launch_endpoint(launch, 1), false);
	wait_health(&loop, etcd_launch_endpoint(launch, 0), true);
	T_EQ(etcd_launch_restart(launch, 1, NULL), PL_OK);
	wait_health(&loop, etcd_launch_endpoint(launch, 1), true);
	etcd_launch_stop_wait(launch);
	loop_end(&loop);
}

/* A directory of the test's own, which must be empty in the end. */
static char parent[] = "/tmp/placet-launch-test-XXXXXX";

static void parent_make(void)
{
	T_TRUE(mkdtemp(parent) != NULL);
}

static void parent_empty_and_gone(void)
{
	if (rmdir(parent) != 0)
		t_fail(__FILE__, __LINE__, "%s: %s", parent, strerror(errno));
}

static enum pl_code start_code(const struct etcd_launch_opts *opts, struct pl_err *err)
{
	struct etcd_launch *launch = NULL;
	enum pl_code code;
	uv_loop_t loop;

	T_EQ(uv_loop_init(&loop), 0);
	*err = (struct pl_err){0};
	code = etcd_launch_start_wait(&loop, opts, &launch, err);
	if (code == PL_OK)
		etcd_launch_stop_wait(launch);
	loop_end(&loop);
	return code;
}

T_CASE(a_flag_that_etcd_refuses_is_in_the_error)
{
	static const char *const args[] = {"--no-such-flag=1", NULL};
	struct etcd_launch_opts opts = quick(3);
	struct pl_err err;

	parent_make();
	opts.dir = parent;
	opts.extra_args = args;
	T_EQ(start_code(&opts, &err), PL_UNAVAIL);
	if (strstr(err.msg, "not defined: -no-such-flag") == NULL)
		t_fail(__FILE__, __LINE__, "%s", err.msg);
	parent_empty_and_gone();
}

T_CASE(a_missing_etcd_is_an_error)
{
	struct etcd_launch_opts opts = quick(1);
	struct pl_err err;

	parent_make();
	opts.dir = parent;
	T_EQ(setenv("PATH", "/nonexistent:/proc", 1), 0);
	T_EQ(start_code(&opts, &err), PL_NOTFOUND);
	T_TRUE(strstr(err.msg, "apt-get install etcd-server") != NULL);
	parent_empty_and_gone();
}

/* An election timeout that no member reaches in time. */
T_CASE(not_ready_in_time)
{
	static const char *const slow[] = {"--election-timeout=40000",
	                                   "--heartbeat-interval=4000", NULL};
	struct etcd_launch_opts opts = quick(3);
	struct pl_err err;

	parent_make();
	opts.dir = parent;
	opts.extra_args = slow;
	opts.ready_timeout_ms = 400;
	T_EQ(start_code(&opts, &err), PL_TIMEOUT);
	T_TRUE(strstr(err.msg, "does not serve after 400 ms") != NULL);
	parent_empty_and_gone();
}

T_CASE(a_taken_port_is_replaced)
{
	struct etcd_launch_opts opts = quick(2);
	struct pl_err err;

	parent_make();
	opts.dir = parent;
	pl_fault_arm(PL_FAULT_PORT, 2);
	T_EQ(start_code(&opts, &err), PL_OK);
	T_TRUE(pl_fault_fired(PL_FAULT_PORT));
	T_TRUE(pl_fault_hits(PL_FAULT_PORT) >= 8); /* twice for two members */
	parent_empty_and_gone();
}

T_CASE(etcd_settings_of_the_environment_are_ignored)
{
	struct etcd_launch_opts opts = quick(1);
	struct pl_err err;

	T_EQ(setenv("ETCD_MAX_TXN_OPS", "none", 1), 0);
	T_EQ(start_code(&opts, &err), PL_OK);
}

/* Reads the member's command line, line by line. */
static bool is_in_environment(struct etcd_launch *launch, const char *wanted)
{
	static char all[64 << 10];
	char path[64];
	size_t len = 0;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%ld/environ",
	               (long)etcd_launch_pid(launch, 0));
	file = fopen(path, "rb");
	T_TRUE(file != NULL);
	if (file != NULL) {
		len = fread(all, 1, sizeof all - 1, file);
		(void)fclose(file);
	}
	for (const char *at = all; at < all + len; at += strlen(at) + 1)
		if (strncmp(at, wanted, strlen(wanted)) == 0)
			return true;
	return false;
}

T_CASE(gogc_is_set_unless_the_user_sets_it)
{
	static const char *const users[] = {NULL, "70"};

	T_EQ(unsetenv("GOMEMLIMIT"), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct etcd_launch_opts opts = quick(1);
		struct etcd_launch *launch = NULL;
		struct pl_err err;
		uv_loop_t loop;

		T_EQ(users[i] == NULL ? unsetenv("GOGC") : setenv("GOGC", users[i], 1),
		     0);
		T_EQ(uv_loop_init(&loop), 0);
		T_EQ(etcd_launch_start_wait(&loop, &opts, &launch, &err), PL_OK);
		T_TRUE(is_in_environment(launch, i == 0 ? "GOGC=300" : "GOGC=70"));
		T_EQ(is_in_environment(launch, "GOMEMLIMIT="), i == 0);
		etcd_launch_stop_wait(launch);
		loop_end(&loop);
	}
	T_EQ(unsetenv("GOGC"), 0);
}

static void on_ready_note(void *ctx, const struct pl_err *err)
{
	enum pl_code *code = ctx;

	T_EQ(*code, PL_UNKNOWN);
	*code = err == NULL ? PL_OK : err->code;
}

static void on_done_note(void *ctx)
{
	unsigned *count = ctx;

	(*count)++;
}

T_CASE(stopped_while_it_starts)
{
	struct etcd_launch_opts opts = quick(1);
	unsigned done;

	parent_make();
	opts.dir = parent;
	for (int steps = 0; steps < 60; steps += 3) {
		enum pl_code code = PL_UNKNOWN;
		struct etcd_launch *launch;
		uv_loop_t loop;

		done = 0;
		T_EQ(uv_loop_init(&loop), 0);
		T_EQ(etcd_launch_start(&loop, &opts, on_ready_note, &code, &launch, NULL),
		     PL_OK);
		for (int i = 0; i < steps && code == PL_UNKNOWN; i++)
			(void)uv_run(&loop, UV_RUN_NOWAIT);
		etcd_launch_stop(launch, on_done_note, &done);
		T_EQ(done, 0);
		loop_end(&loop);
		T_EQ(done, 1);
		T_TRUE(code == PL_CANCELED || code == PL_OK);
	}
	parent_empty_and_gone();
}

/* Makes each step of the start fail in turn. */
static void torture(enum pl_fault point)
{
	struct etcd_launch_opts opts = quick(1);
	enum pl_code code = PL_OK;
	bool fired = true;

	parent_make();
	opts.dir = parent;
	opts.tls = true;
	for (uint64_t nth = 1; fired; nth++) {
		struct pl_err err;

		pl_fault_arm(point, nth);
		code = start_code(&opts, &err);
		fired = pl_fault_fired(point);
		pl_fault_reset();
		T_TRUE(code == PL_OK || strlen(err.msg) > 0);
	}
	T_EQ(code, PL_OK);
	parent_empty_and_gone();
}

T_CASE(torture_spawn)
{
	torture(PL_FAULT_SPAWN);
}

T_CASE(torture_tls)
{
	torture(PL_FAULT_TLS_INIT);
}

/* Another process starts three members, reports them, and is killed. Its orphans become
 * children of the test, so that it can wait for their ends. */
T_CASE(nothing_is_left_of_a_killed_process)
{
	struct {
		pid_t pids[3];
		char dir[256];
	} told;
	int ends[2], status;
	pid_t owner;

	parent_make();
	T_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	T_EQ(pipe(ends), 0);
	owner = fork();
	if (owner == 0) {
		struct etcd_launch_opts opts = quick(3);
		struct etcd_launch *launch;
		uv_loop_t loop;

		opts.dir = parent;
		T_EQ(uv_loop_init(&loop), 0);
		launch = start(&loop, &opts);
		for (unsigned i = 0; i < 3; i++)
			told.pids[i] = etcd_launch_pid(launch, i);
		(void)snprintf(told.dir, sizeof told.dir, "%s", etcd_launch_dir(launch));
		T_EQ(write(ends[1], &told, sizeof told), sizeof told);
		(void)uv_run(&loop, UV_RUN_DEFAULT);
		_exit(1);
	}
	T_EQ(read(ends[0], &told, sizeof told), sizeof told);
	T_TRUE(!gone(told.dir));
	T_EQ(kill(owner, SIGKILL), 0);
	T_EQ(waitpid(owner, NULL, 0), owner);
	for (unsigned i = 0; i < 3; i++) {
		T_EQ(waitpid(told.pids[i], &status, 0), told.pids[i]);
		T_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	while (wait(NULL) > 0) { /* the guard */
	}
	T_TRUE(gone(told.dir));
	parent_empty_and_gone();
}
