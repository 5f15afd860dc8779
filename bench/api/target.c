#include "bench/api/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/api/api_load.h"
#include "bench/common/report.h"
#include "bench/live/followers.h"
#include "coord/config/config_edit.h"
#include "store/base/clock.h"
#include "store/net/certs.h"
#include "store/net/unconst.h"

enum { READY_MS = 120000, LOOK_MS = 20, ARGS_MAX = 40 };

static const char token[] = "bench-token-0123456789";

static void write_text(const struct target *target, const char *name, const char *text)
{
	char path[TARGET_PATH_SIZE + 32];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", target->dir, name);
	file = fopen(path, "we");
	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
		bench_fail("%s: %s", path, strerror(errno));
}

static void make_files(struct target *target)
{
	struct pl_err err = {0};

	(void)snprintf(target->dir, sizeof target->dir, "%s/api",
	               etcd_launch_dir(target->live.launch));
	if (mkdir(target->dir, 0700) != 0)
		bench_fail("%s: %s", target->dir, strerror(errno));
	bench_check(certs_make(target->dir, "DNS:localhost,IP:127.0.0.1", &err), &err,
	            "certificates");
	(void)snprintf(target->ca_file, sizeof target->ca_file, "%s/ca.pem", target->dir);
	write_text(target, "tokens.csv",
	           target->kind == TARGET_RIGHTS
	                   ? "bench-token-0123456789,bench,1,benchers\n"
	                   : "bench-token-0123456789,bench,1,system:masters\n");
	target->token = token;
}

/* -- placetd ------------------------------------------------------------------------ */

static void start_placetd(struct target *target)
{
	char listen[32], cert[TARGET_PATH_SIZE + 32], key[TARGET_PATH_SIZE + 32];
	char file[TARGET_PATH_SIZE + 32], audit[TARGET_PATH_SIZE + 32];
	const char *args[] = {"--etcd",
	                      etcd_launch_endpoints(target->live.launch),
	                      "--name",
	                      "bench",
	                      "--scheduling",
	                      "off",
	                      "--log-format",
	                      "json",
	                      "--api-listen",
	                      listen,
	                      "--api-cert",
	                      cert,
	                      "--api-key",
	                      key,
	                      "--api-token-file",
	                      file,
	                      target->kind == TARGET_RIGHTS ? "--audit-log" : NULL,
	                      audit,
	                      NULL};
	struct pl_err err = {0};

	(void)snprintf(listen, sizeof listen, "127.0.0.1:%u", target->port);
	(void)snprintf(cert, sizeof cert, "%s/server.pem", target->dir);
	(void)snprintf(key, sizeof key, "%s/server-key.pem", target->dir);
	(void)snprintf(file, sizeof file, "%s/tokens.csv", target->dir);
	(void)snprintf(audit, sizeof audit, "%s/audit.log", target->dir);
	bench_check(
		daemon_fixture_start(&target->process, target->process.log, args, &err),
		&err, "start placetd");
}

/* -- kube-apiserver ----------------------------------------------------------------- */

struct arguments {
	char text[ARGS_MAX][TARGET_PATH_SIZE + 96];
	const char *at[ARGS_MAX + 1];
	unsigned count;
};

PL_PRINTF(2, 3) static void add_argument(struct arguments *to, const char *fmt, ...)
{
	va_list args;

	PL_ASSERT(to->count < ARGS_MAX);
	va_start(args, fmt);
	(void)vsnprintf(to->text[to->count], sizeof to->text[0], fmt, args);
	va_end(args);
	to->at[to->count] = to->text[to->count];
	to->count++;
}

static _Noreturn void exec_program(const struct arguments *args, const char *log)
{
	int fd = open(log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd >= 0) {
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		execv(args->at[0], unconst(args->at));
	}
	_exit(127);
}

/* Everything that bears on its speed is at its default. Without ServiceAccount's
 * admission no controller has to run. */
static void start_kube(struct target *target)
{
	struct arguments *args = bench_alloc(1, sizeof *args);
	const char *dir = target->dir;
	pid_t pid;

	add_argument(args, "%s", target->program);
	add_argument(args, "--etcd-servers=%s",
	             etcd_launch_endpoints(target->live.launch));
	add_argument(args, "--bind-address=127.0.0.1");
	add_argument(args, "--secure-port=%u", target->port);
	add_argument(args, "--tls-cert-file=%s/server.pem", dir);
	add_argument(args, "--tls-private-key-file=%s/server-key.pem", dir);
	add_argument(args, "--cert-dir=%s", dir);
	add_argument(args, "--token-auth-file=%s/tokens.csv", dir);
	add_argument(args, "--authorization-mode=AlwaysAllow");
	add_argument(args, "--service-account-issuer=https://kubernetes.default.svc");
	add_argument(args, "--service-account-key-file=%s/server-key.pem", dir);
	add_argument(args, "--service-account-signing-key-file=%s/server-key.pem", dir);
	add_argument(args, "--service-cluster-ip-range=10.0.0.0/24");
	add_argument(args, "--disable-admission-plugins=ServiceAccount");
	pid = fork();
	if (pid < 0)
		bench_fail("fork: %s", strerror(errno));
	if (pid == 0)
		exec_program(args, target->process.log);
	target->process.pid = pid;
	free(args);
}

/* -- both --------------------------------------------------------------------------- */

static bool accepts(uint16_t port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
	                               .sin_port = htons(port),
	                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connect(fd, (const struct sockaddr *)&to, sizeof to) == 0;

	(void)close(fd);
	return ok;
}

static bool is_ready(struct target *target)
{
	struct api_load_opts look = {.what = API_LOAD_FETCH,
	                             .port = target->port,
	                             .ca_file = target->ca_file,
	                             .token = target->token,
	                             .conns = 1,
	                             .count = 1,
	                             .of = 1,
	                             .path = "/readyz"};
	struct api_load_result result;
	struct child child;

	if (!accepts(target->port))
		return false;
	api_load_start(&child, &target->live.loop, &look);
	api_load_wait(&child, false, &result);
	return result.failed == 0;
}

static void on_closed(uv_handle_t *handle)
{
	*(bool *)handle->data = true;
}

static void on_time(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

static void rest(uv_loop_t *loop, uint64_t ms)
{
	bool over = false;
	uv_timer_t timer;

	(void)uv_timer_init(loop, &timer);
	timer.data = &over;
	(void)uv_timer_start(&timer, on_time, ms, 0);
	while (!over)
		(void)uv_run(loop, UV_RUN_ONCE);
	over = false;
	uv_close((uv_handle_t *)&timer, on_closed);
	while (!over)
		(void)uv_run(loop, UV_RUN_ONCE);
}

static void start_server(struct target *target)
{
	uint64_t until_ns = pl_clock_ns() + READY_MS * (uint64_t)1000000;

	target->port = followers_free_port();
	(void)snprintf(target->process.log, sizeof target->process.log, "%.400s/log-%u",
	               target->dir, target->starts++);
	if (target->kind == TARGET_KUBE)
		start_kube(target);
	else
		start_placetd(target);
	while (!is_ready(target)) {
		if (waitpid(target->process.pid, NULL, WNOHANG) != 0 ||
		    pl_clock_ns() > until_ns)
			bench_fail("%s does not become ready", target->name);
		rest(&target->live.loop, LOOK_MS);
	}
}

static void on_bound(void *ctx, uint64_t version, const struct pl_err *err)
{
	(void)version;
	bench_check(err == NULL ? PL_OK : err->code, err, "bind the role");
	*(bool *)ctx = true;
}

/* The server follows the configuration; it is ready when it has read it. One user sends
 * all requests, so it is given room for them. */
static void give_rights(struct target *target)
{
	static const char document[] =
		"{\"bindings\":[{\"role\":\"admin\",\"groups\":[\"benchers\"]}],"
		"\"limits\":{\"inflight_per_user\":256,\"queue_per_user\":256}}";
	struct config_edit_opts opts = {.name = CONFIG_ACCESS,
	                                .config = pl_span_str(document),
	                                .by = PL_SPAN_LIT("bench"),
	                                .why = PL_SPAN_LIT(""),
	                                .at_ms = pl_clock_wall_ms(),
	                                .expect_version = -1};
	struct pl_err err = {0};
	bool done = false;

	bench_check(
		config_edit_start(target->live.kv, &opts, on_bound, &done, NULL, &err),
		&err, "bind the role");
	while (!done)
		(void)uv_run(&target->live.loop, UV_RUN_ONCE);
}

void target_open(struct target *target, enum target_kind kind, const char *program,
                 const char *dir)
{
	static const char *const names[] = {[TARGET_PLACET] = "placet",
	                                    [TARGET_RIGHTS] = "placet-rights",
	                                    [TARGET_KUBE] = "kube-apiserver"};

	*target = (struct target){.kind = kind, .name = names[kind], .program = program};
	live_open(&target->live, &(struct live_opts){.dir = dir});
	make_files(target);
	if (kind == TARGET_RIGHTS)
		give_rights(target);
	start_server(target);
}

static void stop_server(struct target *target)
{
	daemon_fixture_signal(&target->process, SIGTERM);
	(void)daemon_fixture_wait(&target->process);
}

void target_restart(struct target *target)
{
	stop_server(target);
	start_server(target);
}

void target_close(struct target *target)
{
	stop_server(target);
	live_close(&target->live);
}

double target_cpu_s(const struct target *target)
{
	return bench_cpu_s(target->process.pid);
}

double target_etcd_cpu_s(const struct target *target)
{
	return bench_cpu_s(etcd_launch_pid(target->live.launch, 0));
}

double target_rss(const struct target *target)
{
	char path[64];
	char line[128] = "", *rest = line;
	unsigned long resident;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%ld/statm", (long)target->process.pid);
	file = fopen(path, "re");
	if (file == NULL || fgets(line, sizeof line, file) == NULL)
		bench_fail("%s: %s", path, strerror(errno));
	(void)fclose(file);
	(void)strtoul(line, &rest, 10); /* all pages; the resident ones come next */
	resident = strtoul(rest, NULL, 10);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}
