/* placetd started by hand: its --help, --version and its errors for bad options. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/t.h"
#include "tests/support/coord/daemon/daemon_fixture.h"

static struct daemon_fixture_process process;
static char log_path[64];

static int run_placetd(const char *const args[])
{
	struct pl_err err;
	int status;

	(void)snprintf(log_path, sizeof log_path, "/tmp/placetd-command-%d",
	               (int)getpid());
	(void)unlink(log_path);
	T_OK(daemon_fixture_start(&process, log_path, args, &err), &err);
	status = daemon_fixture_wait(&process);
	return status;
}

#define RUN(...) run_placetd((const char *const[]){__VA_ARGS__, NULL})

static void log_has(const char *words)
{
	if (!daemon_fixture_log_has(&process, words))
		t_fail(__FILE__, __LINE__, "'%s' is not in %s", words, log_path);
}

T_CASE(help_version_and_configuration_are_printed)
{
	T_EQ(RUN("--help"), 0);
	log_has("usage: placetd");
	T_EQ(RUN("--version"), 0);
	log_has("placetd 0.");
	T_EQ(RUN("--print-config", "--shards", "7"), 0);
	log_has("shards                 7");
	(void)unlink(log_path);
}

T_CASE(bad_options_exit_with_2_and_are_named)
{
	T_EQ(RUN("--shards", "none"), 2);
	log_has("--shards none");
	T_EQ(RUN("--no-such-thing"), 2);
	log_has("--no-such-thing");
	T_EQ(RUN("--etcd", "http://"), 2);
	log_has("--etcd http://");
	T_EQ(setenv("PLACET_SHRADS", "2", 1), 0);
	T_EQ(RUN("--shards", "2"), 2);
	log_has("PLACET_SHRADS");
	(void)unlink(log_path);
}
