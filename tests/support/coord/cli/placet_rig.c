#include "tests/support/coord/cli/placet_rig.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/net/unconst.h"

enum { ARGS_MAX = 64 };

struct placet_rig placet_rig;

/* -- the store ---------------------------------------------------------------------- */

void placet_up(unsigned partitions)
{
	struct kv_req grant = {.op = KV_LEASE_GRANT,
	                       .lease = {.id = PLACET_LEASE, .ttl_s = 600}};
	char meta[200];

	etcd_rig_up(&placet_rig.rig, NULL, NULL);
	T_EQ(setenv("PLACET_ENDPOINTS", etcd_launch_endpoints(placet_rig.rig.launch), 1),
	     0);
	T_EQ(etcd_rig_call(&placet_rig.rig, &grant, ETCD_RIG_TIMEOUT_MS, NULL), PL_OK);
	if (partitions == 0)
		return;
	(void)snprintf(meta, sizeof meta,
	               "{\"v\":1,\"partitions\":%u,"
	               "\"created\":\"2026-11-21T05:00:00.000Z\",\"version\":\"0.1.0\","
	               "\"incarnation\":\"0123456789abcdef0123456789abcdef\"}",
	               partitions);
	placet_put("/placet/meta", meta);
}

void placet_down(void)
{
	etcd_rig_down(&placet_rig.rig);
}

void placet_put(const char *key, const char *value)
{
	(void)etcd_rig_put(&placet_rig.rig, key, value);
}

void placet_put_leased(const char *key, const char *value)
{
	struct kv_req req =
		kv_op_put_leased(pl_span_str(key), pl_span_str(value), PLACET_LEASE);

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, NULL), PL_OK);
}

void placet_delete(const char *key)
{
	struct kv_req req = kv_op_delete(kv_key(pl_span_str(key)));

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, NULL), PL_OK);
}

void placet_shard(const char *id, const char *partitions)
{
	char key[300], record[2048], loads[512] = "";
	size_t len = 0;

	for (const char *at = partitions; *at != 0; at++)
		if (at == partitions || at[-1] == ',')
			len += (size_t)snprintf(loads + len, sizeof loads - len, "%s10",
			                        len == 0 ? "" : ",");
	(void)snprintf(key, sizeof key, "/shards/%s", id);
	(void)snprintf(record, sizeof record,
	               "{\"v\":1,\"id\":\"%s\","
	               "\"instance\":\"0123456789abcdef0123456789abcdef\","
	               "\"state\":\"active\",\"host\":\"h1\",\"pid\":4711,"
	               "\"boot\":\"b\",\"version\":\"0.1.0\",\"api\":\"10.0.0.1:7400\","
	               "\"zone\":\"z1\",\"weight\":1000,"
	               "\"started\":\"2999-01-01T00:00:00.000Z\","
	               "\"partitions\":[%s],\"loads\":[%s],"
	               "\"rates\":{\"writes_per_s\":12.5,\"fenced\":0,\"busy\":0.03},"
	               "\"config\":{\"coord\":0}}",
	               id, partitions, loads);
	placet_put_leased(key, record);
}

void placet_owner(unsigned partition, const char *shard)
{
	char key[64], record[300];

	(void)snprintf(key, sizeof key, "/partitions/%04u/owner", partition);
	(void)snprintf(record, sizeof record, "{\"v\":1,\"shard\":\"%s\"}", shard);
	placet_put_leased(key, record);
}

/* -- the command -------------------------------------------------------------------- */

static const char **argv_of(const char *const args[], const char *argv[ARGS_MAX])
{
	int count = 0;

	argv[count++] = getenv("PLACET");
	T_TRUE(argv[0] != NULL);
	while (*args != NULL && count < ARGS_MAX - 1)
		argv[count++] = *args++;
	T_TRUE(*args == NULL);
	argv[count] = NULL;
	return argv;
}

static _Noreturn void exec_placet(const char *const args[], int in, int out, int err)
{
	const char *argv[ARGS_MAX];

	(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	execv(argv_of(args, argv)[0], unconst(argv));
	_exit(127);
}

/* A file that is deleted when it is closed. */
static int open_scratch(void)
{
	char path[] = "/tmp/placet-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	T_TRUE(fd >= 0);
	T_EQ(unlink(path), 0);
	return fd;
}

static void read_output(int fd, char *to)
{
	ssize_t got = pread(fd, to, PLACET_OUTPUT_MAX - 1, 0);

	T_TRUE(got >= 0);
	to[got] = 0;
	(void)close(fd);
}

/* Closes in. */
static int run_with(int in, const char *const args[])
{
	int out = open_scratch(), err = open_scratch(), status = 0;
	pid_t pid = fork();

	T_TRUE(pid >= 0);
	if (pid == 0)
		exec_placet(args, in, out, err);
	T_EQ(waitpid(pid, &status, 0), pid);
	(void)close(in);
	read_output(out, placet_rig.out);
	read_output(err, placet_rig.said);
	if (!WIFEXITED(status) || strstr(placet_rig.said, "Sanitizer") != NULL ||
	    strstr(placet_rig.said, "runtime error") != NULL)
		t_fail(__FILE__, __LINE__, "status %d:\n%s", status, placet_rig.said);
	return WEXITSTATUS(status);
}

int placet_run(const char *input, const char *const args[])
{
	int in = open_scratch();

	if (input != NULL) {
		T_EQ(write(in, input, strlen(input)), (ssize_t)strlen(input));
		T_EQ(lseek(in, 0, SEEK_SET), 0);
	}
	return run_with(in, args);
}

int placet_run_typed(const char *typed, const char *const args[])
{
	int person = -1, in = -1, status;

	T_EQ(openpty(&person, &in, NULL, NULL, NULL), 0);
	T_EQ(write(person, typed, strlen(typed)), (ssize_t)strlen(typed));
	status = run_with(in, args);
	(void)close(person);
	return status;
}

void placet_prints(const char *words)
{
	if (strstr(placet_rig.out, words) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in:\n%s\nand said was:\n%s", words,
		       placet_rig.out, placet_rig.said);
}

void placet_says(const char *words)
{
	if (strstr(placet_rig.said, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' was not said, but:\n%s", words,
		       placet_rig.said);
}

void placet_prints_not(const char *words)
{
	if (strstr(placet_rig.out, words) != NULL)
		t_fail(__FILE__, __LINE__, "'%s' in:\n%s", words, placet_rig.out);
}

/* -- one that goes on -----------------------------------------------------------------
 */

void placet_start(struct placet_running *running, const char *const args[])
{
	int pair[2];

	T_EQ(pipe2(pair, O_CLOEXEC), 0);
	running->pid = fork();
	T_TRUE(running->pid >= 0);
	if (running->pid == 0)
		exec_placet(args, open_scratch(), pair[1], pair[1]);
	(void)close(pair[1]);
	running->out = fdopen(pair[0], "r");
	T_TRUE(running->out != NULL);
}

void placet_start_at_terminal(struct placet_running *running, const char *const args[])
{
	int person = -1, out = -1;

	T_EQ(openpty(&person, &out, NULL, NULL, NULL), 0);
	T_EQ(fcntl(person, F_SETFD, FD_CLOEXEC), 0);
	running->pid = fork();
	T_TRUE(running->pid >= 0);
	if (running->pid == 0)
		exec_placet(args, open_scratch(), out, out);
	(void)close(out);
	running->out = fdopen(person, "r");
	T_TRUE(running->out != NULL);
}

void placet_await(struct placet_running *running, const char *words)
{
	while (fgets(running->line, sizeof running->line, running->out) != NULL)
		if (strstr(running->line, words) != NULL)
			return;
	t_fail(__FILE__, __LINE__, "it ended without '%s'", words);
}

int placet_end(struct placet_running *running)
{
	int status = 0;

	while (fgets(running->line, sizeof running->line, running->out) != NULL)
		(void)fputs(running->line, stdout);
	(void)fclose(running->out);
	T_EQ(waitpid(running->pid, &status, 0), running->pid);
	T_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

void placet_kill(struct placet_running *running)
{
	int status = 0;

	T_EQ(kill(running->pid, SIGKILL), 0);
	(void)fclose(running->out);
	T_EQ(waitpid(running->pid, &status, 0), running->pid);
}
