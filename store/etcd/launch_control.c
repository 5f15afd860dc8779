/* Operations on a running launch: queries, signals, restart, and the waiting variants of
 * start and stop. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "store/etcd/launch_int.h"

enum { STOP_LOOKS_MAX = 100000 };

static const struct launch_member *member_at(const struct etcd_launch *launch,
                                             unsigned member)
{
	PL_ASSERT(member < launch->count);
	return &launch->members[member];
}

const char *etcd_launch_endpoints(const struct etcd_launch *launch)
{
	return launch->endpoints;
}

const char *etcd_launch_endpoint(const struct etcd_launch *launch, unsigned member)
{
	return member_at(launch, member)->url;
}

const char *etcd_launch_dir(const struct etcd_launch *launch)
{
	return launch->dir;
}

const char *etcd_launch_ca_file(const struct etcd_launch *launch)
{
	return launch->tls ? launch->ca_file : NULL;
}

const char *etcd_launch_cert_file(const struct etcd_launch *launch)
{
	return launch->tls ? launch->cert_file : NULL;
}

const char *etcd_launch_key_file(const struct etcd_launch *launch)
{
	return launch->tls ? launch->key_file : NULL;
}

pid_t etcd_launch_pid(const struct etcd_launch *launch, unsigned member)
{
	const struct launch_member *m = member_at(launch, member);

	return m->proc == NULL || m->state != MEMBER_RUNS ? 0 : m->proc->handle.pid;
}

/* The state of a thread in /proc: 'T' is stopped; 0: it is gone. */
static char thread_state(pid_t pid, const char *thread)
{
	char path[64], text[512];
	const char *name_end;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)pid, thread);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	text[fread(text, 1, sizeof text - 1, file)] = 0;
	(void)fclose(file);
	name_end = strrchr(text, ')');
	if (name_end == NULL || name_end[1] == 0)
		return 0;
	return name_end[2];
}

static bool all_stopped(pid_t pid)
{
	char path[32];
	struct dirent *entry;
	bool stopped = true;
	DIR *dir;

	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (dir == NULL)
		return true; /* the process is gone */
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.') {
			char state = thread_state(pid, entry->d_name);

			stopped = stopped && (state == 'T' || state == 0);
		}
	(void)closedir(dir);
	return stopped;
}

/* The signal is only a request; a caller that stops a member needs it to have stopped, so
 * this waits. */
static void wait_until_stopped(pid_t pid)
{
	for (unsigned i = 0; i < STOP_LOOKS_MAX && !all_stopped(pid); i++)
		(void)sched_yield();
}

enum pl_code etcd_launch_signal(struct etcd_launch *launch, unsigned member, int signum,
                                struct pl_err *err)
{
	if (signum != SIGSTOP && signum != SIGCONT && signum != SIGKILL)
		return pl_err_set(err, PL_INVALID, "signal %d, want STOP, CONT or KILL",
		                  signum);
	if (etcd_launch_pid(launch, member) == 0)
		return pl_err_set(err, PL_NOTFOUND, "etcd member %u is not running",
		                  member);
	launch_kill(&launch->members[member], signum);
	if (signum == SIGSTOP)
		wait_until_stopped(etcd_launch_pid(launch, member));
	return PL_OK;
}

enum pl_code etcd_launch_restart(struct etcd_launch *launch, unsigned member,
                                 struct pl_err *err)
{
	struct launch_member *m = &launch->members[member];

	PL_ASSERT(member < launch->count);
	if (launch->state != LAUNCH_UP)
		return pl_err_set(err, PL_INVALID, "the launch is not up");
	if (m->proc == NULL)
		return launch_spawn(m, err);
	if (m->state == MEMBER_RUNS)
		return pl_err_set(err, PL_EXISTS, "etcd member %u is running", member);
	m->state = MEMBER_RESTARTS; /* once the kernel has ended the last run */
	return PL_OK;
}

struct launch_wait {
	uv_loop_t *loop;
	bool over;
	struct pl_err err;
};

static void on_ready(void *ctx, const struct pl_err *err)
{
	struct launch_wait *wait = ctx;

	wait->over = true;
	uv_stop(wait->loop); /* else uv_run() would wait for another event */
	if (err != NULL)
		wait->err = *err;
}

static void on_done(void *ctx)
{
	on_ready(ctx, NULL);
}

enum pl_code etcd_launch_start_wait(uv_loop_t *loop, const struct etcd_launch_opts *opts,
                                    struct etcd_launch **out, struct pl_err *err)
{
	struct launch_wait wait = {.loop = loop};
	struct etcd_launch *launch;
	enum pl_code code = etcd_launch_start(loop, opts, on_ready, &wait, &launch, err);

	if (code != PL_OK)
		return code;
	while (!wait.over)
		(void)uv_run(loop, UV_RUN_DEFAULT);
	if (wait.err.code == PL_OK)
		*out = launch;
	else if (err != NULL)
		*err = wait.err;
	return wait.err.code;
}

void etcd_launch_stop_wait(struct etcd_launch *launch)
{
	struct launch_wait wait = {.loop = launch->loop};

	etcd_launch_stop(launch, on_done, &wait);
	while (!wait.over)
		(void)uv_run(wait.loop, UV_RUN_DEFAULT);
}
