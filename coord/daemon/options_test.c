#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coord/daemon/options.h"
#include "store/base/arena.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

enum { ARGS_MAX = 16, ARG_SIZE = 128 };

static struct daemon_opts opts;
static struct pl_err err;
static char *no_environment[] = {NULL};

/* A copy of the arguments, since getopt may permute them. */
static enum pl_code read_all(const char *const args[], char **environment)
{
	static char *argv[ARGS_MAX + 1], room[ARGS_MAX][ARG_SIZE] = {"placetd"};
	int argc = 1;

	argv[0] = room[0];
	for (; args[argc - 1] != NULL; argc++) {
		T_TRUE(argc < ARGS_MAX);
		argv[argc] = room[argc];
		(void)snprintf(room[argc], ARG_SIZE, "%s", args[argc - 1]);
	}
	argv[argc] = NULL;
	err = (struct pl_err){0};
	return daemon_opts_read(&opts, argc, argv, environment, "East-1.example.org",
	                        &err);
}

#define READ(...) read_all((const char *const[]){__VA_ARGS__, NULL}, no_environment)
#define READ_ENV(environment, ...) \
	read_all((const char *const[]){__VA_ARGS__, NULL}, environment)

/* In memory, so that nothing is left behind however a case ends. */
static const char *file_with(const char *text)
{
	static char path[64];
	int fd = memfd_create("options", MFD_CLOEXEC);

	T_TRUE(fd >= 0);
	T_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return path;
}

static void refused(const char *words)
{
	daemon_opts_done(&opts);
	if (err.code == PL_OK || strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, err.msg);
}

/* The last flag may be anything that changes nothing. */
T_CASE(without_options_the_defaults_of_the_help_hold)
{
	T_OK(READ("--log-level", "info"), &err);
	T_EQ(opts.shards, 1);
	T_STR(opts.name, "east-1");
	T_STR(opts.store.endpoints, "http://127.0.0.1:2379");
	T_EQ(opts.weight, 1000);
	T_EQ(opts.ttl_s, 10);
	T_EQ(opts.partitions, 0);
	T_EQ(opts.drain_timeout_ms, 30000);
	T_TRUE(opts.scheduling);
	T_STR(opts.prefix, "");
	T_EQ(opts.action, DAEMON_RUN);
	daemon_opts_done(&opts);
}

T_CASE(a_flag_wins_over_the_environment_and_that_over_files)
{
	const char *path =
		file_with("{\"shards\":2,\"ttl\":\"5s\",\"zone\":\"z\",\"weight\":7}");
	char *environment[] = {(char[]){"PLACET_TTL=6s"}, (char[]){"PLACET_WEIGHT=8"},
	                       (char[]){"HOME=/"}, NULL};

	T_OK(READ_ENV(environment, "--weight", "9", "--config", path), &err);
	T_EQ(opts.shards, 2);
	T_EQ(opts.ttl_s, 6);
	T_EQ(opts.weight, 9);
	T_STR(opts.zone, "z");
	T_STR(opts.source[DAEMON_SHARDS], path);
	T_STR(opts.source[DAEMON_TTL], "PLACET_TTL");
	T_STR(opts.source[DAEMON_WEIGHT], "--weight");
	T_STR(opts.source[DAEMON_PREFIX], "default");
	daemon_opts_done(&opts);
}

T_CASE(a_later_file_wins_over_an_earlier)
{
	char first[64];

	(void)snprintf(first, sizeof first, "%s",
	               file_with("{\"shards\":2,\"ttl\":\"5s\"}"));
	T_OK(READ("--config", first, "--config", file_with("{\"shards\":3}")), &err);
	T_EQ(opts.shards, 3);
	T_EQ(opts.ttl_s, 5);
	daemon_opts_done(&opts);
}

T_CASE(a_file_may_be_yaml)
{
	const char *path = file_with(
		"# ours\nshards: 4\nscheduling: \"off\"\nttl: 7s\nzone: \"z\"\n");

	T_OK(READ("--config", path), &err);
	T_EQ(opts.shards, 4);
	T_TRUE(!opts.scheduling);
	T_EQ(opts.ttl_s, 7);
	T_STR(opts.zone, "z");
	daemon_opts_done(&opts);
}

T_CASE(errors_name_their_place)
{
	char *unknown[] = {(char[]){"PLACET_SHARD=2"}, NULL};
	char *invalid[] = {(char[]){"PLACET_SHARDS=257"}, NULL};

	T_TRUE(READ("--shards", "0") != PL_OK);
	refused("--shards 0: want --api-listen");
	T_TRUE(READ("--shard", "2", "--what") != PL_OK);
	refused("--what");
	T_TRUE(READ("--ttl") != PL_OK);
	refused("--ttl");
	T_TRUE(READ("east") != PL_OK);
	refused("options only");
	T_TRUE(READ_ENV(unknown, "--shards", "1") != PL_OK);
	refused("PLACET_SHARD");
	T_TRUE(READ_ENV(invalid, "--shards", "1") != PL_OK);
	refused("PLACET_SHARDS=");
	T_TRUE(READ("--config", "/nowhere/at/all") != PL_OK);
	refused("--config /nowhere/at/all: No such file");
	T_TRUE(READ("--config", file_with("{\"shardz\":2}")) != PL_OK);
	refused("shardz: no such option");
	T_TRUE(READ("--config", file_with("{\"ttl\":\"soon\"}")) != PL_OK);
	refused("ttl: ");
	T_TRUE(READ("--config", file_with("{\"shards\":true}")) != PL_OK);
	refused("shards: ");
	T_TRUE(READ("--config", file_with("[1]")) != PL_OK);
	refused("want an object");
	T_TRUE(READ("--config", file_with("{")) != PL_OK);
	refused("--config ");
}

T_CASE(each_value_is_checked)
{
	static const char *const bad[][2] = {
		{"--shards", "257"},
		{"--shards", "two"},
		{"--name", "East"},
		{"--name", "-a"},
		{"--etcd", "ftp://a:1"},
		{"--etcd", ""},
		{"--weight", "0"},
		{"--ttl", "1s"},
		{"--ttl", "2500ms"},
		{"--partitions", "4097"},
		{"--prefix", "a"},
		{"--prefix", "/a/"},
		{"--zone", "a b"},
		{"--drain-timeout", "0"},
		{"--scheduling", "maybe"},
		{"--log-format", "xml"},
		{"--log-level", "loud"},
		{"--password-file", "/no"},
		{"--cert", "only.pem"},
		{"--name",
	         "a23456789012345678901234567890123456789012345678901234567890"},
	};

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (READ(bad[i][0], bad[i][1]) == PL_OK)
			t_fail(__FILE__, __LINE__, "%s %s was taken", bad[i][0],
			       bad[i][1]);
		daemon_opts_done(&opts);
	}
}

T_CASE(variables_that_others_set_are_left_alone)
{
	char *environment[] = {(char[]){"PLACET_SERVICE_HOST=10.0.0.1"},
	                       (char[]){"PLACET_PORT_7400_TCP=tcp://10.0.0.1:7400"},
	                       (char[]){"PLACET_BUILDS=/tmp"},
	                       (char[]){"PLACET_PASSWORD=secret"}, NULL};

	T_OK(READ_ENV(environment, "--shards", "1"), &err);
	T_STR(opts.store.password, "secret");
	daemon_opts_done(&opts);
}

T_CASE(a_process_may_serve_the_api_alone)
{
	T_OK(READ("--shards", "0", "--api-listen", "127.0.0.1:0"), &err);
	T_EQ(opts.shards, 0);
	daemon_opts_done(&opts);
}

T_CASE(help_comes_despite_other_errors)
{
	char *environment[] = {(char[]){"PLACET_SHARDS=257"}, NULL};

	T_OK(READ_ENV(environment, "--shards", "many", "--help"), &err);
	T_EQ(opts.action, DAEMON_SHOW_HELP);
	daemon_opts_done(&opts);
}

T_CASE(the_shown_options_have_sources_and_no_secrets)
{
	char *environment[] = {(char[]){"PLACET_PASSWORD=hunter2"},
	                       (char[]){"PLACET_USER=ann"}, NULL};
	char *text = NULL;
	size_t len = 0;
	FILE *to;

	T_OK(READ_ENV(environment, "--print-config", "--shards", "3", "--etcd",
	              "http://a:1"),
	     &err);
	T_EQ(opts.action, DAEMON_SHOW_CONFIG);
	to = open_memstream(&text, &len);
	T_TRUE(to != NULL);
	daemon_opts_show(&opts, to);
	T_EQ(fclose(to), 0);
	t_golden("daemon/config.txt", text);
	free(text);
	daemon_opts_done(&opts);
}

T_CASE(the_help_is_unchanged)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	T_TRUE(to != NULL);
	daemon_opts_help(to);
	T_EQ(fclose(to), 0);
	t_golden("daemon/help.txt", text);
	free(text);
}

T_CASE(a_name_is_made_of_any_host)
{
	char name[DAEMON_NAME_SIZE];

	daemon_name_from("Node_7.example.org", name);
	T_STR(name, "node-7");
	daemon_name_from("__", name);
	T_STR(name, "placet");
	daemon_name_from("", name);
	T_STR(name, "placet");
	daemon_name_from("a-", name);
	T_STR(name, "a");
	daemon_name_from(
		"a234567890123456789012345678901234567890123456789012345678901234567",
		name);
	T_EQ(strlen(name), 59);
}

static const char *torture_file;

static enum pl_code read_once(void)
{
	enum pl_code code = READ("--config", torture_file, "--shards", "3");

	daemon_opts_done(&opts);
	return code;
}

T_CASE(a_want_of_memory_is_reported)
{
	torture_file = file_with("{\"zone\":\"z\"}");
	t_torture(read_once, false);
}

T_CASE(the_api_leaves_the_machine_only_with_tls_and_credentials)
{
#define TLS "--api-cert", "c", "--api-key", "k"
	T_OK(READ("--api-listen", "127.0.0.1:0"), &err);
	T_TRUE(opts.serve.loopback);
	daemon_opts_done(&opts);
	T_OK(READ("--api-listen", "[::1]:0"), &err);
	daemon_opts_done(&opts);
	(void)READ("--api-listen", "10.0.0.1:6443");
	refused("--api-listen: off loopback it needs --api-cert and --api-key; or say "
	        "--api-insecure 10.0.0.1:6443");
	(void)READ("--api-listen", "0.0.0.0:6443", "--api-token-file", "f");
	refused("off loopback it needs --api-cert");
	(void)READ("--api-listen", "[::]:6443", TLS);
	refused("off loopback it needs --api-client-ca, --api-token-file or --api-jwt-jwks; or "
	        "say --api-insecure [::]:6443");
	(void)READ("--api-listen", "10.0.0.1:6443", "--api-insecure", "10.0.0.1:644");
	refused("off loopback it needs --api-cert");
	T_OK(READ("--api-listen", "10.0.0.1:6443", TLS, "--api-client-ca", "ca"), &err);
	T_TRUE(!opts.serve.loopback);
	daemon_opts_done(&opts);
	T_OK(READ("--api-listen", "10.0.0.1:6443", TLS, "--api-token-file", "f"), &err);
	daemon_opts_done(&opts);
	T_OK(READ("--api-listen", "10.0.0.1:6443", "--api-insecure", "10.0.0.1:6443"),
	     &err);
	daemon_opts_done(&opts);
}

T_CASE(options_of_credentials_go_together)
{
	(void)READ("--api-cert", "c");
	refused("--api-cert and --api-key go together");
	(void)READ("--api-client-ca", "ca");
	refused("--api-client-ca needs --api-cert and --api-key");
	(void)READ(TLS, "--api-client-crl", "crl");
	refused("--api-client-crl needs --api-client-ca");
	(void)READ("--api-jwt-issuer", "i", "--api-jwt-jwks", "f");
	refused("--api-jwt-issuer, --api-jwt-audience and --api-jwt-jwks go together");
	T_OK(READ("--api-jwt-issuer", "i", "--api-jwt-jwks", "f", "--api-jwt-audience",
	          "a", "--api-jwt-user-prefix", "-"),
	     &err);
	T_STR(opts.serve.jwt_user_claim, "sub");
	T_STR(opts.serve.jwt_groups_claim, "groups");
	T_STR(opts.serve.jwt_user_prefix, "");
	T_STR(opts.serve.jwt_groups_prefix, "jwt:");
	daemon_opts_done(&opts);
#undef TLS
}
