/*
 * with_etcd [--etcd-arg ARG]... -- COMMAND [ARG]...
 *
 * Runs a command beside a fresh etcd of its own, one member, without fsync. The
 * command finds the endpoint in CONFORMANCE_ETCD; its exit status is ours.
 *
 * etcd before 3.4.25 answers requests for progress ahead of its events, so that
 * the client waits for a timed report instead: here these come often.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/etcd/launch.h"

enum { ETCD_ARGS_MAX = 15, USAGE_STATUS = 2, SIGNALED_STATUS = 128 };

struct etcd_run {
	uv_loop_t loop;
	uv_process_t child;
	uv_signal_t signals[2];
	int status;
	bool running;
};

static void on_exit_child(uv_process_t *child, int64_t status, int signum)
{
	struct etcd_run *run = child->data;

	run->running = false;
	run->status = signum != 0 ? SIGNALED_STATUS + signum : (int)status;
}

/* The command ends first, then we do, in order. */
static void on_signal(uv_signal_t *handle, int signum)
{
	struct etcd_run *run = handle->data;

	(void)signum;
	if (run->running)
		(void)uv_process_kill(&run->child, SIGKILL);
}

static int run_command(struct etcd_run *run, char **args)
{
	static const int caught[2] = {SIGTERM, SIGINT};
	uv_stdio_container_t stdio[3];
	uv_process_options_t options = {.exit_cb = on_exit_child,
	                                .file = args[0],
	                                .args = args,
	                                .stdio_count = 3,
	                                .stdio = stdio};
	int failed;

	for (int fd = 0; fd < 3; fd++)
		stdio[fd] = (uv_stdio_container_t){.flags = UV_INHERIT_FD,
		                                   .data = {.fd = fd}};
	for (unsigned i = 0; i < 2; i++) {
		(void)uv_signal_init(&run->loop, &run->signals[i]);
		run->signals[i].data = run;
		(void)uv_signal_start(&run->signals[i], on_signal, caught[i]);
	}
	run->child.data = run;
	run->running = true;
	failed = uv_spawn(&run->loop, &run->child, &options);
	if (failed != 0) {
		(void)fprintf(stderr, "%s: %s\n", args[0], uv_strerror(failed));
		run->running = false;
		run->status = USAGE_STATUS;
	}
	while (run->running)
		(void)uv_run(&run->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&run->child, NULL);
	for (unsigned i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&run->signals[i], NULL);
	return run->status;
}

static int run_beside(const struct etcd_launch_opts *opts, char **args)
{
	struct etcd_launch *launch = NULL;
	struct etcd_run run = {0};
	struct pl_err err;
	int status;

	(void)uv_loop_init(&run.loop);
	if (etcd_launch_start_wait(&run.loop, opts, &launch, &err) != PL_OK) {
		(void)fprintf(stderr, "etcd: %s\n", err.msg);
		return USAGE_STATUS;
	}
	(void)setenv("CONFORMANCE_ETCD", etcd_launch_endpoints(launch), 1);
	status = run_command(&run, args);
	etcd_launch_stop_wait(launch);
	(void)uv_run(&run.loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&run.loop) != 0) {
		(void)fprintf(stderr, "with_etcd: something is left in the loop\n");
		return status == 0 ? 1 : status;
	}
	return status;
}

int main(int argc, char **argv)
{
	const char *extra[ETCD_ARGS_MAX + 1] = {
		"--experimental-watch-progress-notify-interval=10ms"};
	struct etcd_launch_opts opts = {
		.members = 1, .no_fsync = true, .extra_args = extra};
	unsigned count = 1;
	int at = 1;

	for (; at + 1 < argc && strcmp(argv[at], "--etcd-arg") == 0; at += 2)
		if (count < ETCD_ARGS_MAX)
			extra[count++] = argv[at + 1];
	if (at + 1 >= argc || strcmp(argv[at], "--") != 0) {
		(void)fprintf(stderr, "usage: %s [--etcd-arg ARG]... -- COMMAND...\n",
		              argv[0]);
		return USAGE_STATUS;
	}
	return run_beside(&opts, argv + at + 1);
}
