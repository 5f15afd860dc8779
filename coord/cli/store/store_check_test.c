/* placet store check, run as a command, against good stores and bad ones. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/etcd/launch.h"
#include "store/net/unconst.h"
#include "tests/harness/t.h"

enum { OUTPUT_MAX = 1 << 16, ARGS_MAX = 24 };

static char output[OUTPUT_MAX];
static uv_loop_t loop;
static struct etcd_launch *launch;
static struct pl_err err;

static void launch_with(unsigned members, bool tls, const char *arg)
{
	const char *const args[] = {arg, NULL};
	struct etcd_launch_opts opts = {
		.members = members, .no_fsync = true, .tls = tls, .extra_args = args};

	T_EQ(uv_loop_init(&loop), 0);
	T_OK(etcd_launch_start_wait(&loop, &opts, &launch, &err), &err);
}

static void launch_up(unsigned members, bool tls)
{
	launch_with(members, tls, "--experimental-watch-progress-notify-interval=500ms");
}

static void launch_down(void)
{
	etcd_launch_stop_wait(launch);
	T_EQ(uv_run(&loop, UV_RUN_DEFAULT), 0);
	T_EQ(uv_loop_close(&loop), 0);
}

static void read_output(int fd)
{
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd, output + len, sizeof output - 1 - len)) > 0)
		len += (size_t)got;
	output[len] = 0;
	(void)close(fd);
}

/* Returns the exit status; the output on both streams is in output. */
static int placet(const char *const args[])
{
	const char *argv[ARGS_MAX] = {getenv("PLACET"), "store", "check"};
	int status = 0, fd[2], count = 3;
	pid_t pid;

	T_TRUE(argv[0] != NULL);
	while (*args != NULL && count < ARGS_MAX - 1)
		argv[count++] = *args++;
	T_EQ(pipe(fd), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fd[1], STDOUT_FILENO);
		(void)dup2(fd[1], STDERR_FILENO);
		(void)close(fd[0]);
		(void)close(fd[1]);
		execv(argv[0], unconst(argv));
		_exit(127);
	}
	T_TRUE(pid > 0);
	(void)close(fd[1]);
	read_output(fd[0]);
	T_EQ(waitpid(pid, &status, 0), pid);
	T_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define PLACET(...) placet((const char *const[]){__VA_ARGS__, NULL})

static void says(const char *words)
{
	if (strstr(output, words) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in:\n%s", words, output);
}

PL_PRINTF(1, 2) static void shell(const char *fmt, ...)
{
	char line[1400];
	va_list args;
	int status;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	status = system(line); // NOLINT(cert-env33-c): a test's own words
	if (status != 0)
		t_fail(__FILE__, __LINE__, "%s: status %d", line, status);
}

/* -- good stores ------------------------------------------------------------ */

T_CASE(everything_holds_on_an_etcd_of_its_own)
{
	T_EQ(PLACET("--launch"), 0);
	says("10 passed, 0 failed");
	says("1024 operations");
}

T_CASE(machines_read_json_lines)
{
	T_EQ(PLACET("--launch", "-o", "json"), 0);
	says("{\"step\":\"reach\",\"ok\":true,\"note\":\"etcd ");
	says("{\"step\":\"clean up\",\"ok\":true");
}

T_CASE(leaves_nothing_behind_in_the_store)
{
	launch_up(1, false);
	T_EQ(PLACET("--endpoints", etcd_launch_endpoints(launch)), 0);
	shell("test -z \"$(ETCDCTL_API=3 etcdctl --endpoints=%s get --prefix '')\"",
	      etcd_launch_endpoints(launch));
	launch_down();
}

/* Debian 12's etcd without options: shards would list everything again and again. */
T_CASE_SECONDS(an_etcd_without_progress_notes_fails, 60)
{
	launch_with(1, false, "--experimental-watch-progress-notify-interval=10m");
	T_EQ(PLACET("--endpoints", etcd_launch_endpoints(launch)), 1);
	says("8 passed, 1 failed");
	says("--experimental-watch-progress-notify-interval=5s");
	launch_down();
}

T_CASE_SECONDS(tls_with_a_client_certificate_and_a_user, 60)
{
	char files[512], base[700];
	const char *ca, *cert, *key, *at;

	launch_up(1, true);
	ca = etcd_launch_ca_file(launch);
	cert = etcd_launch_cert_file(launch);
	key = etcd_launch_key_file(launch);
	at = etcd_launch_endpoints(launch);
	T_EQ(PLACET("--endpoints", at, "--cacert", ca, "--cert", cert, "--key", key), 0);
	says("9 passed, 0 failed");
	(void)snprintf(files, sizeof files, "--cacert=%s --cert=%s --key=%s", ca, cert,
	               key);
	(void)snprintf(base, sizeof base, "ETCDCTL_API=3 etcdctl --endpoints=%s %s", at,
	               files);
	shell("%s user add root:secret >/dev/null", base);
	shell("%s user grant-role root root >/dev/null", base);
	shell("%s user add ann:pass >/dev/null", base);
	shell("%s role add checks >/dev/null", base);
	shell("%s role grant-permission checks --prefix=true readwrite /placet-check/ "
	      ">/dev/null",
	      base);
	shell("%s user grant-role ann checks >/dev/null", base);
	shell("%s auth enable >/dev/null", base);
	T_EQ(setenv("PLACET_PASSWORD", "pass", 1), 0);
	T_EQ(PLACET("--endpoints", at, "--cacert", ca, "--cert", cert, "--key", key,
	            "--user", "ann"),
	     0);
	says("9 passed, 0 failed");
	T_TRUE(strstr(output, "pass\n") == NULL); /* no secret in what it prints */
	T_EQ(PLACET("--endpoints", at, "--cacert", ca, "--cert", cert, "--key", key,
	            "--user", "ann", "--prefix", "/elsewhere/"),
	     1);
	says("permission denied");
	T_EQ(setenv("PLACET_PASSWORD", "wrong", 1), 0);
	T_EQ(PLACET("--endpoints", at, "--cacert", ca, "--cert", cert, "--key", key,
	            "--user", "ann"),
	     1);
	says("check user and password");
	launch_down();
}

T_CASE(three_members_of_which_one_is_down)
{
	launch_up(3, false);
	T_EQ(PLACET("--endpoints", etcd_launch_endpoints(launch)), 0);
	says("12 passed, 0 failed");
	says(", leads");
	T_OK(etcd_launch_signal(launch, 1, SIGKILL, &err), &err);
	T_EQ(PLACET("--endpoints", etcd_launch_endpoints(launch), "--timeout", "2s"), 1);
	says("11 passed, 1 failed");
	says(etcd_launch_endpoint(launch, 1));
	launch_down();
}

/* -- bad ones ---------------------------------------------------------------- */

T_CASE(certificates_that_do_not_fit_are_named)
{
	const char *at;

	launch_up(1, true);
	at = etcd_launch_endpoints(launch);
	T_EQ(PLACET("--endpoints", at), 1);
	says("unknown authority");
	T_EQ(PLACET("--endpoints", at, "--cacert", etcd_launch_ca_file(launch)), 1);
	says("certificate");
	T_EQ(PLACET("--endpoints", at, "--cacert", "/does/not/exist"), 1);
	says("/does/not/exist");
	T_EQ(PLACET("--endpoints", at, "--cacert", etcd_launch_ca_file(launch), "--cert",
	            etcd_launch_cert_file(launch), "--key", etcd_launch_key_file(launch),
	            "--server-name", "other.example"),
	     1);
	says("other.example");
	launch_down();
}

struct server {
	int fd;
	pid_t pid;
	char url[64];
};

/* A server that answers every connection with the same bytes, or never. */
static void server_up(struct server *server, const char *answer)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;

	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	T_EQ(bind(server->fd, (struct sockaddr *)&at, sizeof at), 0);
	T_EQ(listen(server->fd, 16), 0);
	T_EQ(getsockname(server->fd, (struct sockaddr *)&at, &len), 0);
	(void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u",
	               ntohs(at.sin_port));
	server->pid = answer == NULL ? 0 : fork();
	if (answer == NULL || server->pid != 0)
		return;
	for (;;) {
		char buf[4096];
		int fd = accept(server->fd, NULL, NULL);

		(void)!read(fd, buf, sizeof buf);
		(void)!write(fd, answer, strlen(answer));
		(void)close(fd);
	}
}

static void server_down(struct server *server)
{
	(void)close(server->fd);
	if (server->pid > 0)
		(void)kill(server->pid, SIGKILL);
}

T_CASE(servers_that_are_not_etcd_are_reported)
{
	struct server server;

	server_up(&server, "HTTP/1.1 400 Bad Request\r\n\r\n");
	T_EQ(PLACET("--endpoints", server.url), 1);
	says("not a gRPC server");
	server_down(&server);
	server_up(&server, "SSH-2.0-OpenSSH_9.2\r\n");
	T_EQ(PLACET("--endpoints", server.url), 1);
	says("SSH-2.0");
	server_down(&server);
}

T_CASE(an_endpoint_that_accepts_and_never_answers_ends_in_time)
{
	struct server server;

	server_up(&server, NULL);
	T_EQ(PLACET("--endpoints", server.url, "--timeout", "3s"), 1);
	says("no answer within");
	server_down(&server);
}

T_CASE(a_port_without_a_listener)
{
	T_EQ(PLACET("--endpoints", "http://127.0.0.1:1", "--timeout", "300ms"), 1);
	says("connection refused");
	says("to do: check the endpoint");
}

/* -- usage -------------------------------------------------------------------- */

T_CASE(malformed_nodes_are_refused_with_the_reason)
{
	T_EQ(PLACET("--nonsense"), 2);
	says("no option '--nonsense'");
	T_EQ(PLACET("--endpoints"), 2);
	says("a value is missing");
	T_EQ(PLACET("--timeout", "soon"), 2);
	says("--timeout");
	T_EQ(PLACET("--output", "xml"), 2);
	says("want text or json");
	T_EQ(PLACET("--prefix", ""), 2);
	T_EQ(PLACET("more", "words"), 2);
	T_EQ(PLACET("--endpoints", "ftp://x"), 1);
	says("want http://host:port");
	T_EQ(PLACET("--help"), 0);
	says("usage: placet store check");
}
