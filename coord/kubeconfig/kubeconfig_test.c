/* Kubeconfigs as people and programs write them, and what becomes of their contexts. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coord/kubeconfig/kubeconfig_exec.h"
#include "coord/kubeconfig/kubeconfig_files.h"
#include "coord/kubeconfig/kubeconfig_write.h"
#include "coord/kubeconfig/target_files.h"
#include "store/base/buf.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static const char plain[] =
	"apiVersion: v1\n"
	"kind: Config\n"
	"current-context: home\n"
	"preferences: {}\n"
	"clusters:\n"
	"- name: east\n"
	"  cluster:\n"
	"    server: https://east.example:6443/k8s/\n"
	"    certificate-authority-data: cGVt\n"
	"    tls-server-name: api.east\n"
	"    extensions: [{name: x, extension: {a: 1}}]\n"
	"- name: here\n"
	"  cluster: {server: 'http://127.0.0.1:8001', insecure-skip-tls-verify: true}\n"
	"- name: loose\n"
	"  cluster: {server: 'https://127.0.0.1:8001', insecure-skip-tls-verify: true}\n"
	"- name: sealed\n"
	"  cluster: {server: 'https://127.0.0.1:8001', insecure-skip-tls-verify: true,\n"
	"            certificate-authority: ca.pem}\n"
	"- name: far\n"
	"  cluster:\n"
	"    server: https://far.example\n"
	"    proxy-url: socks5://127.0.0.1:1080\n"
	"    extensions:\n"
	"    - {name: other, extension: 7}\n"
	"    - {name: client.authentication.k8s.io/exec, extension: {audience: a b}}\n"
	"users:\n"
	"- name: ann\n"
	"  user: {client-certificate: pki/ann.pem, client-key: /etc/ann.key}\n"
	"- name: robot\n"
	"  user: {tokenFile: robot.token}\n"
	"- name: half\n"
	"  user: {client-certificate: ann.pem}\n"
	"- name: program\n"
	"  user:\n"
	"    exec:\n"
	"      apiVersion: client.authentication.k8s.io/v1\n"
	"      command: bin/login\n"
	"      args: [get, token]\n"
	"      env: [{name: REGION, value: east}, {name: EMPTY, value: ''}]\n"
	"      installHint: get it from us\n"
	"      interactiveMode: Never\n"
	"      provideClusterInfo: true\n"
	"- name: basic\n"
	"  user: {username: ann, password: x}\n"
	"contexts:\n"
	"- name: home\n"
	"  context: {cluster: east, user: ann, namespace: shop}\n"
	"- name: here\n"
	"  context: {cluster: here, user: robot}\n"
	"- name: alone\n"
	"  context: {cluster: here}\n"
	"- name: loose\n"
	"  context: {cluster: loose}\n"
	"- name: half\n"
	"  context: {cluster: here, user: half}\n"
	"- name: program\n"
	"  context: {cluster: far, user: program}\n"
	"- name: sealed\n"
	"  context: {cluster: sealed}\n"
	"- name: basic\n"
	"  context: {cluster: here, user: basic}\n"
	"- name: lost\n"
	"  context: {cluster: west}\n"
	"- name: empty\n";

static struct kubeconfig config;
static struct kubeconfig_target target;
static struct pl_err err;

static void add(const char *text, const char *path)
{
	T_OK(kubeconfig_add(&config, pl_span_str(text), path, &err), &err);
}

static void resolve(const char *context)
{
	T_OK(kubeconfig_resolve(&config, context, &target, &err), &err);
}

static void refuses(const char *context, enum pl_code code, const char *words)
{
	T_EQ(kubeconfig_resolve(&config, context, &target, &err), code);
	if (strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in: %s", words, err.msg);
}

T_CASE(a_context_names_a_cluster_and_a_user)
{
	kubeconfig_init(&config);
	add(plain, "/home/ann/.kube/config");
	resolve(NULL);
	T_STR(target.server, "https://east.example:6443/k8s");
	T_STR(target.server_name, "api.east");
	T_SPAN(target.ca_data, PL_SPAN_LIT("pem"));
	T_TRUE(target.ca_file == NULL && target.token == NULL);
	T_STR(target.cert_file, "/home/ann/.kube/pki/ann.pem");
	T_STR(target.key_file, "/etc/ann.key");
	T_STR(target.namespace, "shop");
	resolve("here");
	T_STR(target.server, "http://127.0.0.1:8001");
	T_STR(target.token_file, "/home/ann/.kube/robot.token");
	T_TRUE(target.namespace == NULL && target.cert_file == NULL);
	resolve("alone");
	T_TRUE(target.token_file == NULL);
	kubeconfig_done(&config);
}

T_CASE(what_is_not_supported_hurts_only_who_uses_it)
{
	kubeconfig_init(&config);
	add(plain, "config");
	refuses("sealed", PL_INVALID,
	        "config: cluster sealed: insecure-skip-tls-verify: does not go with a "
	        "certificate-authority");
	refuses("basic", PL_UNSUPPORTED, "user basic: username: want a token");
	refuses("half", PL_INVALID, "user half: client-key: a certificate and its key");
	refuses("lost", PL_INVALID, "context lost: cluster: there is none of that name");
	refuses("empty", PL_INVALID, "context empty: cluster: is missing");
	refuses("away", PL_NOTFOUND, "no context 'away'");
	kubeconfig_done(&config);
}

T_CASE(a_program_may_give_the_credentials)
{
	kubeconfig_init(&config);
	add(plain, "/home/ann/.kube/config");
	resolve("program");
	T_TRUE(target.exec != NULL);
	T_STR(target.exec->api_version, "client.authentication.k8s.io/v1");
	T_STR(target.exec->argv[0], "/home/ann/.kube/bin/login");
	T_STR(target.exec->argv[1], "get");
	T_STR(target.exec->argv[2], "token");
	T_TRUE(target.exec->argv[3] == NULL);
	T_STR(target.exec->env[0], "REGION=east");
	T_STR(target.exec->env[1], "EMPTY=");
	T_TRUE(target.exec->env[2] == NULL);
	T_STR(target.exec->hint, "get it from us");
	T_EQ(target.exec->interactive, KUBECONFIG_INTERACTIVE_NEVER);
	T_TRUE(target.exec->cluster_info);
	T_SPAN(target.exec->config, PL_SPAN_LIT("{\"audience\":\"a b\"}"));
	T_STR(target.proxy, "socks5://127.0.0.1:1080");
	T_TRUE(!target.unverified);
	resolve("loose");
	T_TRUE(target.unverified && target.exec == NULL);
	resolve("here");
	T_TRUE(!target.unverified); /* there is no certificate */
	kubeconfig_done(&config);
}

static void refuses_exec(const char *members, enum pl_code code, const char *words)
{
	char text[1024];

	(void)snprintf(text, sizeof text,
	               "clusters: [{name: c, cluster: {server: 'http://a:1'}}]\n"
	               "users: [{name: u, user: {exec: %s}}]\n"
	               "contexts: [{name: c, context: {cluster: c, user: u}}]\n",
	               members);
	kubeconfig_init(&config);
	add(text, "k");
	refuses("c", code, words);
	kubeconfig_done(&config);
}

T_CASE(malformed_programs_are_refused)
{
#define V1 "apiVersion: client.authentication.k8s.io/v1"
	refuses_exec("7", PL_INVALID, "k: user u: exec: want an object");
	refuses_exec("{command: a}", PL_INVALID, "apiVersion");
	refuses_exec("{apiVersion: client.authentication.k8s.io/v1alpha1, command: a}",
	             PL_UNSUPPORTED, "apiVersion: want client.authentication.k8s.io/v1");
	refuses_exec("{" V1 ", command: a}", PL_INVALID, "interactiveMode");
	refuses_exec("{" V1 ", command: a, interactiveMode: Often}", PL_INVALID,
	             "interactiveMode: want Never, IfAvailable or Always");
	refuses_exec("{" V1 ", interactiveMode: Never}", PL_INVALID, "command");
	refuses_exec("{" V1 ", interactiveMode: Never, command: ''}", PL_INVALID,
	             "command: is empty");
	refuses_exec("{" V1 ", interactiveMode: Never, command: a, args: [1]}",
	             PL_INVALID, "args");
	refuses_exec("{" V1 ", interactiveMode: Never, command: a, args: b}", PL_INVALID,
	             "args");
	refuses_exec("{" V1 ", interactiveMode: Never, command: a, env: [{value: b}]}",
	             PL_INVALID, "env");
	refuses_exec("{" V1 ", interactiveMode: Never, command: a, env: [{name: a=b}]}",
	             PL_INVALID, "env: name: is no name of a variable");
#undef V1
}

/* kubectl takes files together in the same way. */
T_CASE(of_two_entries_of_one_name_the_first_counts)
{
	kubeconfig_init(&config);
	refuses(NULL, PL_NOTFOUND, "no current-context");
	add("{\"clusters\": [{\"name\": \"a\", \"cluster\": {\"server\": "
	    "\"http://one:1\"}}]}",
	    "one");
	add("clusters:\n"
	    "- {name: a, cluster: {server: 'http://two:2'}}\n"
	    "- {name: b, cluster: {server: 'http://b:2'}}\n"
	    "contexts:\n"
	    "- {name: a, context: {cluster: a}}\n"
	    "- {name: b, context: {cluster: b}}\n"
	    "current-context: b\n",
	    "two");
	add("current-context: a\n", "three");
	resolve(NULL);
	T_STR(target.server, "http://b:2");
	resolve("a");
	T_STR(target.server, "http://one:1");
	T_STR(kubeconfig_name(&config, KUBECONFIG_CONTEXTS, 1), "b");
	T_TRUE(kubeconfig_name(&config, KUBECONFIG_CONTEXTS, 2) == NULL);
	kubeconfig_done(&config);
}

T_CASE(malformed_files_add_nothing)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"- a\n", "not a kubeconfig"},
		{"kind: Pod\n", "kind: want Config, got Pod"},
		{"current-context: [a]\n", "current-context"},
		{"clusters: {a: b}\n", "clusters"},
		{"clusters: [a]\n", "clusters[0]: want an object"},
		{"clusters: [{cluster: {}}]\n", "clusters[0].name"},
		{"clusters: [{name: a, cluster: {server: 7}}]\n",
	         "clusters[0].cluster.server"},
		{"clusters: [{name: a, cluster: {insecure-skip-tls-verify: maybe}}]\n",
	         "insecure-skip-tls-verify"},
		{"users: [{name: a, user: {token: [x]}}]\n", "users[0].user.token"},
		{"contexts: [{name: a, context: 7}]\n", "contexts[0].context"},
		{"clusters: [&a {name: a}]\n", "anchor"},
		{"clusters: [\n", "k: "},
	};

	kubeconfig_init(&config);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		T_EQ(kubeconfig_add(&config, pl_span_str(bad[i].text), "k", &err),
		     PL_INVALID);
		if (strstr(err.msg, bad[i].words) == NULL)
			t_fail(__FILE__, __LINE__, "no '%s' in: %s", bad[i].words,
			       err.msg);
	}
	add("contexts: [{name: good}]\n", "k");
	T_EQ(kubeconfig_add(&config,
	                    PL_SPAN_LIT("contexts: [{name: b}]\nclusters: [7]\n"), "k",
	                    &err),
	     PL_INVALID);
	T_TRUE(kubeconfig_name(&config, KUBECONFIG_CONTEXTS, 1) == NULL);
	kubeconfig_done(&config);
}

static void refuses_cluster(const char *members, const char *words)
{
	char text[512];

	(void)snprintf(text, sizeof text,
	               "clusters: [{name: c, cluster: {%s}}]\n"
	               "contexts: [{name: c, context: {cluster: c}}]\n",
	               members);
	kubeconfig_init(&config);
	add(text, "k");
	refuses("c", PL_INVALID, words);
	kubeconfig_done(&config);
}

T_CASE(malformed_members_are_refused_where_they_are_used)
{
	refuses_cluster("server: east", "k: cluster c: server: want http://HOST:PORT");
	refuses_cluster("server: 'https://'", "server");
	refuses_cluster("server: 'https://a/?x=1'", "server");
	refuses_cluster("server: 'https://me:secret@a'", "server");
	refuses_cluster("server: \"http://a/\\r\\nX: 1\"", "server");
	refuses_cluster("server: 'https://a', proxy-url: 'ftp://b'",
	                "proxy-url: want http://");
	refuses_cluster("server: 'https://a', proxy-url: 'http://b c'", "proxy-url");
	refuses_cluster("server: 'https://a', certificate-authority-data: 'cGV'",
	                "certificate-authority-data: want base64");
	refuses_cluster("server: 'https://a', certificate-authority-data: 'cG=t'",
	                "certificate-authority-data: want base64");
	refuses_cluster("server: 'https://a', certificate-authority-data: 'c===' ",
	                "certificate-authority-data: want base64");
}

static char dir[] = "/tmp/placet-kubeconfig-XXXXXX";

static const char *put_file(const char *name, const char *text)
{
	static char path[256];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	file = fopen(path, "we");
	T_TRUE(file != NULL);
	T_TRUE(fputs(text, file) >= 0);
	T_EQ(fclose(file), 0);
	return path;
}

static void in_dir(void)
{
	T_TRUE(mkdtemp(dir) != NULL);
	T_EQ(setenv("HOME", dir, 1), 0);
	T_EQ(unsetenv("KUBECONFIG"), 0);
}

T_CASE(files_are_found_as_kubectl_finds_them)
{
	char list[600];

	in_dir();
	kubeconfig_init(&config);
	T_EQ(kubeconfig_load(&config, NULL, &err), PL_NOTFOUND);
	(void)snprintf(list, sizeof list, "%s/.kube", dir);
	T_EQ(mkdir(list, 0700), 0);
	(void)put_file(".kube/config", "current-context: home\n");
	T_OK(kubeconfig_load(&config, NULL, &err), &err);
	T_STR(config.current, "home");
	kubeconfig_done(&config);

	kubeconfig_init(&config);
	(void)put_file("b", "current-context: b\n");
	(void)snprintf(list, sizeof list, "%s/none::%s/b", dir, dir);
	T_EQ(setenv("KUBECONFIG", list, 1), 0);
	T_OK(kubeconfig_load(&config, NULL, &err), &err);
	T_STR(config.current, "b");
	T_EQ(setenv("KUBECONFIG", "/none:/neither", 1), 0);
	T_EQ(kubeconfig_load(&config, NULL, &err), PL_NOTFOUND);
	T_EQ(kubeconfig_load(&config, "/none", &err), PL_NOTFOUND);
	T_EQ(kubeconfig_load(&config, dir, &err), PL_IO);
	kubeconfig_done(&config);
}

T_CASE(a_pod_finds_its_own_cluster)
{
	char token[KUBECONFIG_TOKEN_MAX], path[300];

	in_dir();
	kubeconfig_init(&config);
	T_EQ(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	(void)put_file("token", "abc.def\n");
	T_TRUE(!kubeconfig_in_pod(dir));
	T_EQ(kubeconfig_pod_target(&config.arena, dir, &target, &err), PL_NOTFOUND);
	T_EQ(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
	T_EQ(setenv("KUBERNETES_SERVICE_PORT", "6443", 1), 0);
	T_TRUE(kubeconfig_in_pod(dir));
	T_TRUE(!kubeconfig_in_pod("/none"));
	T_OK(kubeconfig_pod_target(&config.arena, dir, &target, &err), &err);
	T_STR(target.server, "https://[fd00::1]:6443");
	T_OK(kubeconfig_read_token(target.token_file, token, &err), &err);
	T_STR(token, "abc.def");
	(void)snprintf(path, sizeof path, "%s/ca.crt", dir);
	T_STR(target.ca_file, path);
	T_EQ(kubeconfig_read_token(put_file("token", "\nabc"), token, &err), PL_INVALID);
	T_EQ(kubeconfig_read_token(put_file("token", "a b"), token, &err), PL_INVALID);
	kubeconfig_done(&config);
}

T_CASE(what_is_written_can_be_read)
{
	struct kubeconfig_target given = {.server = "https://127.0.0.1:6443",
	                                  .server_name = "api",
	                                  .ca_data = PL_SPAN_LIT("a certificate"),
	                                  .cert_file = "/pki/cert.pem",
	                                  .key_file = "/pki/key.pem",
	                                  .token = "yes",
	                                  .namespace = "true"};
	struct pl_buf out;
	struct stat st;
	char path[256];

	in_dir();
	pl_buf_init(&out, 1 << 20);
	T_OK(kubeconfig_print(&given, "placet", &out, &err), &err);
	(void)snprintf(path, sizeof path, "%s", put_file("k", "old"));
	T_OK(kubeconfig_save(pl_buf_span(&out), path, &err), &err);
	T_EQ(stat(path, &st), 0);
	T_EQ(st.st_mode & 0777, 0600);
	kubeconfig_init(&config);
	T_OK(kubeconfig_load(&config, path, &err), &err);
	resolve(NULL);
	T_STR(target.server, given.server);
	T_STR(target.server_name, given.server_name);
	T_SPAN(target.ca_data, given.ca_data);
	T_STR(target.cert_file, given.cert_file);
	T_STR(target.key_file, given.key_file);
	T_STR(target.token, given.token);
	T_STR(target.namespace, given.namespace);
	T_EQ(kubeconfig_save(pl_buf_span(&out), "/none/k", &err), PL_IO);
	kubeconfig_done(&config);
	pl_buf_done(&out);
}

T_CASE(inline_data_is_a_file_in_memory)
{
	struct target_files files;
	char text[8] = "";
	FILE *file;

	target = (struct kubeconfig_target){
		.ca_data = PL_SPAN_LIT("pem"), .cert_file = "c", .key_file = "k"};
	T_OK(target_files_open(&target, &files, &err), &err);
	T_STR(files.tls.cert_file, "c");
	T_STR(files.tls.key_file, "k");
	file = fopen(files.tls.ca_file, "re");
	T_TRUE(file != NULL);
	T_TRUE(fgets(text, sizeof text, file) != NULL);
	T_STR(text, "pem");
	T_EQ(fclose(file), 0);
	target_files_close(&files);
	T_EQ(access(files.tls.ca_file, R_OK), -1);
}

static enum pl_code read_all(void)
{
	enum pl_code code;

	kubeconfig_init(&config);
	code = kubeconfig_add(&config, pl_span_str(plain), "/k/config", &err);
	if (code == PL_OK)
		code = kubeconfig_resolve(&config, NULL, &target, &err);
	if (code == PL_OK)
		code = kubeconfig_resolve(&config, "program", &target, &err);
	kubeconfig_done(&config);
	return code;
}

T_CASE(memory_may_run_out)
{
	t_torture(read_all, false);
}
