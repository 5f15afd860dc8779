/*
 * The launcher's processes: the members and the guard.
 *
 * setpriv makes the kernel kill a member when the thread that started it ends; the shell
 * behind it closes the gap before that took effect (a parent that had ended already would
 * not be noticed), then becomes etcd. Both are in sessions of their own, so a Ctrl-C at
 * the terminal reaches this process only, which ends them in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/base/fault.h"
#include "store/etcd/launch_int.h"

enum { ARGS_MAX = 64 + LAUNCH_EXTRA_MAX, ARENA_MAX = 256 * 1024 };

#define EXEC_UNLESS_ORPHAN "[ \"$PPID\" = \"$0\" ] && exec \"$@\""

/* Waits until no process holds the other end of stdin. The members are ending at that
 * moment and may still add a file while rm runs. */
#define REMOVE_WHEN_ALONE                                           \
	"cat >/dev/null; n=0; until rm -rf -- \"$1\" 2>/dev/null; " \
	"do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.05; done"

enum pl_code launch_find(const char *name, char *path, const char *package,
                         struct pl_err *err)
{
	const char *dirs = getenv("PATH");

	if (dirs == NULL || *dirs == 0)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	while (*dirs != 0) {
		size_t len = strcspn(dirs, ":");
		struct stat info;

		(void)snprintf(path, LAUNCH_PATH_SIZE, "%.*s/%s", (int)len, dirs, name);
		if (len > 0 && access(path, X_OK) == 0 && stat(path, &info) == 0 &&
		    S_ISREG(info.st_mode))
			return PL_OK;
		dirs += len + (dirs[len] == ':');
	}
	return pl_err_set(err, PL_NOTFOUND, "'%s' is not in PATH: apt-get install %s",
	                  name, package);
}

/* A list of strings being built; being full or out of memory shows at the end. */
struct launch_args {
	struct pl_arena *arena;
	char *at[ARGS_MAX];
	size_t count;
	bool failed;
};

static void args_put(struct launch_args *args, char *text)
{
	if (text == NULL || args->count + 1 >= ARGS_MAX) {
		args->failed = true;
		return;
	}
	args->at[args->count++] = text;
	args->at[args->count] = NULL;
}

#define args_add(args, ...) args_put((args), pl_arena_printf((args)->arena, __VA_ARGS__))

static void add_cluster(struct launch_args *args, const struct etcd_launch *launch)
{
	char list[ETCD_MEMBERS_MAX * (LAUNCH_URL_SIZE + 8)];
	size_t len = 0;

	for (unsigned i = 0; i < launch->count; i++)
		len += (size_t)snprintf(list + len, sizeof list - len, "%sm%u=%s",
		                        i == 0 ? "" : ",", i,
		                        launch->members[i].peer_url);
	args_add(args, "--initial-cluster=%s", list);
	/* The token is unique, so that members that get ports of an earlier launch never
	 * talk to its remains. */
	args_add(args, "--initial-cluster-token=%s.%u", launch->dir, launch->attempt);
}

static void add_tls(struct launch_args *args, const struct etcd_launch *launch)
{
	static const char *const sides[] = {"", "peer-"};

	for (size_t i = 0; i < 2; i++) {
		args_add(args, "--%strusted-ca-file=%s/ca.pem", sides[i], launch->dir);
		args_add(args, "--%scert-file=%s/server.pem", sides[i], launch->dir);
		args_add(args, "--%skey-file=%s/server-key.pem", sides[i], launch->dir);
		args_add(args, "--%sclient-cert-auth", sides[i]);
	}
}

/* The values are the ones that matter by measurement: large transactions, a quota that
 * heavy writing does not fill in a minute, reads that stay fast after bulk writes,
 * compaction faster than the writers. */
static void add_flags(struct launch_args *args, const struct launch_member *member)
{
	const struct etcd_launch *launch = member->launch;

	args_add(args, "--name=m%u", member->index);
	args_add(args, "--data-dir=%s/m%u.%u", launch->dir, member->index,
	         launch->attempt);
	args_add(args, "--listen-client-urls=%s", member->url);
	args_add(args, "--advertise-client-urls=%s", member->url);
	args_add(args, "--listen-peer-urls=%s", member->peer_url);
	args_add(args, "--initial-advertise-peer-urls=%s", member->peer_url);
	add_cluster(args, launch);
	args_add(args, "--max-txn-ops=1024");
	args_add(args, "--quota-backend-bytes=8589934592");
	args_add(args, "--backend-batch-interval=10ms");
	args_add(args, "--backend-batch-limit=200");
	args_add(args, "--experimental-compaction-batch-limit=10000");
	args_add(args, "--snapshot-count=10000");
	args_add(args, "--experimental-watch-progress-notify-interval=5s");
	if (launch->no_fsync)
		args_add(args, "--unsafe-no-fsync");
	if (launch->heartbeat_ms != 0)
		args_add(args, "--heartbeat-interval=%u", launch->heartbeat_ms);
	if (launch->election_ms != 0)
		args_add(args, "--election-timeout=%u", launch->election_ms);
	if (launch->tls)
		add_tls(args, launch);
	for (size_t i = 0; launch->extra[i] != NULL; i++)
		args_put(args, launch->extra[i]);
}

static void add_command(struct launch_args *args, struct etcd_launch *launch)
{
	args_put(args, launch->setpriv_path);
	args_add(args, "--pdeathsig=KILL");
	args_add(args, "--");
	args_add(args, "/bin/sh");
	args_add(args, "-c");
	args_add(args, "%s", EXEC_UNLESS_ORPHAN);
	args_add(args, "%ld", (long)getpid());
	args_put(args, launch->etcd_path);
}

/* The memory of the machine or of the container in bytes; 0: not known. */
static uint64_t memory_limit(void)
{
	uint64_t room = uv_get_total_memory(), given = uv_get_constrained_memory();
	FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
	char line[32] = "";

	if (given > 0 && given < room)
		room = given;
	if (file == NULL)
		return room;
	given = fgets(line, sizeof line, file) == NULL ? 0 : strtoull(line, NULL, 10);
	(void)fclose(file);
	return given > 0 && given < room ? given : room; /* "max" reads as 0 */
}

/* etcd keeps every key and recent reads and writes on Go's heap, whose collector walks
 * all of it each time it has doubled: with a million keys that takes over a third of
 * etcd's time. So the heap may grow to four times the live data while the machine has
 * memory. An environment that sets one of these variables decides both. */
static enum pl_code add_collector(struct pl_arena *arena, unsigned members, char **env)
{
	uint64_t room = memory_limit();

	if (getenv("GOGC") != NULL || getenv("GOMEMLIMIT") != NULL || room == 0)
		return PL_OK;
	env[0] = pl_arena_printf(arena, "GOGC=%d", ETCD_LAUNCH_GOGC);
	env[1] = pl_arena_printf(arena, "GOMEMLIMIT=%" PRIu64, room / 5 * 4 / members);
	return env[0] == NULL || env[1] == NULL ? PL_NOMEM : PL_OK;
}

/* etcd reads flags from its environment; the user's are removed, because they are not
 * meant for these members. */
static enum pl_code make_env(struct pl_arena *arena, unsigned members, char ***out)
{
	size_t count = 0, kept = 0;
	char **env;

	while (environ[count] != NULL)
		count++;
	env = pl_arena_zalloc(arena, count + 3, sizeof *env);
	if (env == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(environ[i], "ETCD_", 5) != 0 ||
		    strncmp(environ[i], "ETCD_UNSUPPORTED_ARCH=", 22) == 0)
			env[kept++] = environ[i];
	}
	*out = env;
	return add_collector(arena, members, env + kept);
}

static void on_proc_closed(uv_handle_t *handle)
{
	struct launch_proc *proc = PL_CONTAINER_OF(handle, struct launch_proc, handle);
	struct etcd_launch *launch = proc->member->launch;

	free(proc);
	launch->handles--;
	launch_advance(launch);
}

static void on_proc_exit(uv_process_t *handle, int64_t status, int signum)
{
	struct launch_proc *proc = PL_CONTAINER_OF(handle, struct launch_proc, handle);
	struct launch_member *member = proc->member;

	PL_ASSERT(member->proc == proc);
	member->proc = NULL;
	member->stopped = false;
	uv_close((uv_handle_t *)handle, on_proc_closed);
	launch_member_ended(member, status, signum);
}

/* The ports are released and the thread is in the member's namespace. */
static enum pl_code spawn_in_netns(struct launch_member *member,
                                   uv_process_options_t *how, struct pl_err *err)
{
	struct etcd_launch *launch = member->launch;
	struct launch_proc *proc = pl_calloc(1, sizeof *proc);
	int back, rc;
	enum pl_code code;

	if (proc == NULL)
		return pl_err_set(err, PL_NOMEM, "start etcd");
	code = launch_netns_enter(member->netns_fd, &back, err);
	if (code != PL_OK) {
		free(proc);
		return code;
	}
	proc->member = member;
	launch_port_release(&member->client);
	launch_port_release(&member->peer);
	rc = uv_spawn(launch->loop, &proc->handle, how);
	launch_netns_leave(back);
	launch->handles++;
	if (rc != 0) {
		uv_close((uv_handle_t *)&proc->handle, on_proc_closed);
		return pl_err_set(err, PL_IO, "start %s: %s", how->file, uv_strerror(rc));
	}
	member->proc = proc;
	member->state = MEMBER_RUNS;
	member->healthy = false;
	return PL_OK;
}

static enum pl_code spawn_logged(struct launch_member *member, struct launch_args *args,
                                 char **env, struct pl_err *err)
{
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_IGNORE}, {.flags = UV_INHERIT_FD}, {.flags = UV_INHERIT_FD}};
	uv_process_options_t how = {.file = args->at[0],
	                            .args = args->at,
	                            .env = env,
	                            .cwd = member->launch->dir,
	                            .flags = UV_PROCESS_DETACHED,
	                            .stdio = stdio,
	                            .stdio_count = 3,
	                            .exit_cb = on_proc_exit};
	enum pl_code code;
	int log = open(member->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (log < 0)
		return pl_err_set(err, PL_IO, "%s: %s", member->log_path,
		                  strerror(errno));
	member->log_from = (long)lseek(log, 0, SEEK_END);
	stdio[1].data.fd = log;
	stdio[2].data.fd = log;
	code = spawn_in_netns(member, &how, err);
	(void)close(log);
	return code;
}

enum pl_code launch_spawn(struct launch_member *member, struct pl_err *err)
{
	struct pl_arena arena;
	struct launch_args args = {.arena = &arena};
	char **env = NULL;
	enum pl_code code;

	PL_ASSERT(member->proc == NULL);
	if (pl_fault_hit(PL_FAULT_SPAWN))
		return pl_err_set(err, PL_IO, "start etcd: fault");
	pl_arena_init(&arena, 0, ARENA_MAX);
	add_command(&args, member->launch);
	add_flags(&args, member);
	if (args.failed || make_env(&arena, member->launch->count, &env) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "command line of etcd");
	else
		code = spawn_logged(member, &args, env, err);
	pl_arena_done(&arena);
	return code;
}

void launch_kill(struct launch_member *member, int signum)
{
	if (member->proc == NULL)
		return;
	/* A stopped process handles SIGTERM only after SIGCONT. */
	if (member->stopped && signum != SIGKILL && signum != SIGSTOP)
		(void)uv_process_kill(&member->proc->handle, SIGCONT);
	member->stopped = signum == SIGSTOP;
	if (member->state == MEMBER_RUNS && (signum == SIGKILL || signum == SIGTERM))
		member->state = MEMBER_STOP_SENT;
	(void)uv_process_kill(&member->proc->handle, signum);
}

static void on_guard_closed(uv_handle_t *handle)
{
	struct etcd_launch *launch = handle->data;

	launch->handles--;
	launch->guard_open = false;
	launch_advance(launch);
}

static void on_pipe_closed(uv_handle_t *handle)
{
	struct etcd_launch *launch = handle->data;

	launch->handles--;
	launch_advance(launch);
}

static void on_guard_exit(uv_process_t *handle, int64_t status, int signum)
{
	struct etcd_launch *launch = handle->data;

	launch->dir_removed = status == 0 && signum == 0;
	launch_guard_release(launch);
	uv_close((uv_handle_t *)handle, on_guard_closed);
}

void launch_guard_release(struct etcd_launch *launch)
{
	if (!launch->guard_pipe_open)
		return;
	launch->guard_pipe_open = false;
	uv_close((uv_handle_t *)&launch->guard_pipe, on_pipe_closed);
}

enum pl_code launch_guard_spawn(struct etcd_launch *launch, bool now, struct pl_err *err)
{
	char file[] = "/bin/sh", flag[] = "-c", script[] = REMOVE_WHEN_ALONE;
	char *args[] = {file, flag, script, file, launch->dir, NULL};
	char cwd[] = "/";
	uv_stdio_container_t in = {.flags = UV_IGNORE};
	uv_process_options_t how = {.file = file,
	                            .args = args,
	                            .cwd = cwd,
	                            .flags = UV_PROCESS_DETACHED,
	                            .stdio = &in,
	                            .stdio_count = 1,
	                            .exit_cb = on_guard_exit};
	int rc;

	PL_ASSERT(!launch->guard_open);
	launch->guards++;
	if (pl_fault_hit(PL_FAULT_SPAWN))
		return pl_err_set(err, PL_IO, "start the guard: fault");
	if (!now) {
		rc = uv_pipe_init(launch->loop, &launch->guard_pipe, 0);
		PL_ASSERT(rc == 0);
		launch->guard_pipe.data = launch;
		launch->guard_pipe_open = true;
		launch->handles++;
		in.flags = UV_CREATE_PIPE | UV_READABLE_PIPE;
		in.data.stream = (uv_stream_t *)&launch->guard_pipe;
	}
	rc = uv_spawn(launch->loop, &launch->guard, &how);
	launch->guard.data = launch;
	launch->handles++;
	launch->guard_open = true;
	if (rc == 0)
		return PL_OK;
	launch_guard_release(launch);
	uv_close((uv_handle_t *)&launch->guard, on_guard_closed);
	return pl_err_set(err, PL_IO, "start %s: %s", file, uv_strerror(rc));
}
