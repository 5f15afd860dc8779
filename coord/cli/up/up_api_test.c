/* The API of placet up, and the commands that ask it: what they print is what the store
 * says. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/coord/cli/placet_rig.h"

enum { LOOKS_MAX = 50 }; /* until the API has what the store has */

static struct placet_running it;
static char endpoint[128], url[128], kubeconfig[512];

/* The rest of the line behind the words, which are at its beginning. */
static void take_line(const char *words, char *out, size_t size)
{
	placet_await(&it, words);
	T_EQ(strncmp(it.line, words, strlen(words)), 0);
	(void)snprintf(out, size, "%.*s", (int)strcspn(it.line + strlen(words), "\n"),
	               it.line + strlen(words));
}

static void up(void)
{
	static const char *const args[] = {"up", "--store",     "memory", "--shards",
	                                   "2",  "--processes", "1",      "--nodes",
	                                   "3",  "--clusters",  "2",      NULL};
	const char *at;

	T_EQ(unsetenv("KUBECONFIG"), 0);
	placet_start(&it, args);
	placet_await(&it, "store ");
	at = strstr(it.line, "http://");
	T_TRUE(at != NULL);
	(void)snprintf(endpoint, sizeof endpoint, "%.*s", (int)strcspn(at, " \n"), at);
	take_line("api ", url, sizeof url);
	take_line("kubeconfig ", kubeconfig, sizeof kubeconfig);
	placet_await(&it, "Ctrl-C ends it");
}

static void down(void)
{
	T_EQ(kill(it.pid, SIGINT), 0);
	T_EQ(placet_end(&it), 0);
}

static const char pods[] =
	"apiVersion: v1\n"
	"kind: List\n"
	"items:\n"
	"- {kind: Pod, apiVersion: v1, metadata: {name: a, namespace: shop, labels: {app: web}},"
	" spec: {containers: [{name: m, image: i}]}}\n"
	"- {kind: Pod, apiVersion: v1, metadata: {name: b, namespace: shop, labels: {app: web}},"
	" spec: {containers: [{name: m, image: i}], nodeSelector: {no: such}}}\n"
	"- {kind: Pod, apiVersion: v1, metadata: {name: c, namespace: shop, labels: {app: db}},"
	" spec: {containers: [{name: m, image: i}]}}\n"
	"- {kind: Pod, apiVersion: v1, metadata: {name: d, namespace: shop, labels: {app: db}},"
	" spec: {schedulingGates: [{name: g}], containers: [{name: m, image: i}]}}\n";

/* Both ways print the same; the API's view follows the store's. */
static void prints_the_same(const char *const args[])
{
	static char of_store[PLACET_OUTPUT_MAX];
	const char *both[12];
	unsigned count = 0;

	while (args[count] != NULL) {
		both[count] = args[count];
		count++;
	}
	both[count] = "--endpoints";
	both[count + 1] = endpoint;
	both[count + 2] = NULL;
	T_EQ(placet_run(NULL, both), 0);
	(void)snprintf(of_store, sizeof of_store, "%s", placet_rig.out);
	both[count] = "--server";
	both[count + 1] = url;
	for (unsigned i = 0; i < LOOKS_MAX; i++) {
		T_EQ(placet_run(NULL, both), 0);
		if (strcmp(placet_rig.out, of_store) == 0)
			break;
	}
	T_STR(placet_rig.out, of_store);
}
#define SAME(...) prints_the_same((const char *const[]){__VA_ARGS__, NULL})

static void submit_pods(void)
{
	static const char *const submit[] = {"submit",      "-f",     "-",
	                                     "--endpoints", endpoint, NULL};

	T_EQ(placet_run(pods, submit), 0);
	do
		T_EQ(PLACET("get", "pods", "--endpoints", endpoint, "-o", "wide"), 0);
	while (strstr(placet_rig.out, "affinity") == NULL ||
	       strstr(placet_rig.out, "a      Bound") == NULL);
}

T_CASE_SECONDS(pods_of_the_api_are_those_of_the_store, 180)
{
	up();
	submit_pods();
	SAME("get", "pods", "-o", "name");
	SAME("get", "pods", "-n", "shop", "-l", "app=web,app!=db", "-o", "name");
	SAME("get", "pods", "-l", "app in (db)", "-o", "name");
	SAME("get", "pods", "--phase", "Bound", "-o", "name");
	SAME("get", "pods", "--phase", "Pending", "-o", "name");
	SAME("get", "pods", "shop/a", "-o", "name");
	T_EQ(PLACET("get", "pods", "shop/d", "shop/none", "--server", url), 1);
	placet_prints("pod.gated");
	placet_says("shop/none: no such pod");
	T_EQ(PLACET("get", "pods", "shop/b", "-o", "json", "--kubeconfig", kubeconfig),
	     0);
	placet_prints("\"phase\": \"Pending\"");
	placet_prints("node affinity/selector\"");
	T_EQ(PLACET("get", "pods", "-n", "none", "--context", "placet", "--kubeconfig",
	            kubeconfig),
	     0);
	placet_says("no pods");
	down();
}

T_CASE_SECONDS(changes_are_told_through_the_api, 180)
{
	static const char *const shards[] = {"shards",   "--watch", "-o", "json",
	                                     "--server", url,       NULL};
	static const char *const parts[] = {"partitions", "--summary", "--watch",
	                                    "--server",   url,         NULL};
	static struct placet_running pods_watch, shards_watch, parts_watch;
	static const char *const pods_args[] = {"get", "pods",   "-n",      "shop",
	                                        "-l",  "app=db", "--watch", "--server",
	                                        url,   NULL};

	up();
	placet_start(&pods_watch, pods_args);
	placet_start(&shards_watch, shards);
	placet_await(&shards_watch, "\"up-0-1\"");
	placet_start(&parts_watch, parts);
	placet_await(&parts_watch, "up-0-1");
	submit_pods();
	placet_await(&pods_watch, "d      Pending");
	T_EQ(PLACET("delete", "pod", "shop/d", "--yes", "--server", url), 0);
	placet_await(&pods_watch, "d      gone");
	T_EQ(PLACET("shard", "drain", "up-0-0", "--endpoints", endpoint), 0);
	placet_await(&shards_watch, "\"modified\"");
	placet_await(&parts_watch, "up-0-1   owned   64");
	placet_kill(&pods_watch);
	placet_kill(&shards_watch);
	placet_kill(&parts_watch);
	down();
}

T_CASE_SECONDS(configurations_are_changed_through_the_api, 180)
{
	static const char *const set_file[] = {"config", "set",      "coord", "-f",
	                                       "-",      "--server", url,     NULL};

	up();
	SAME("config", "get", "coord");
	T_EQ(PLACET("config", "set", "coord", "handover_ms=700", "--server", url), 0);
	placet_prints("- .handover_ms: 2000\n+ .handover_ms: 700\n"
	              "coord: version 1 is current\n");
	SAME("config", "get", "coord");
	T_EQ(PLACET("config", "set", "coord", "handover_ms=700", "--server", url), 0);
	placet_prints("coord: unchanged, version 1 is the same\n");
	T_EQ(PLACET("config", "set", "coord", "handover_ms=900", "--dry-run", "--server",
	            url),
	     0);
	T_EQ(PLACET("config", "set", "coord", "handover_ms=0", "--server", url), 1);
	placet_says("handover_ms: want 1 to 60000");
	T_EQ(placet_run("handover_ms: 800\n", set_file), 0);
	placet_prints("coord: version 2 is current\n");
	do
		T_EQ(PLACET("config", "get", "--server", url), 0);
	while (strstr(placet_rig.out, "coord       2         current   2/2") == NULL);
	placet_prints("weights     0         default   2/2");
	T_EQ(PLACET("config", "get", "coord", "--version", "1", "--server", url), 2);
	placet_says("the API shows the current version only");
	T_EQ(PLACET("config", "set", "coord", "handover_ms=1", "--why", "x", "--server",
	            url),
	     2);
	placet_says("--why: needs the store");
	T_EQ(PLACET("config", "history", "coord", "--server", url), 2);
	placet_says("not to the API, because the API shows the current version only");
	down();
}

T_CASE_SECONDS(nodes_are_drained_through_the_api, 180)
{
	static const char budget[] =
		"{\"kind\":\"PodDisruptionBudget\",\"apiVersion\":\"policy/v1\","
		"\"metadata\":{\"name\":\"db\",\"namespace\":\"shop\"},\"spec\":"
		"{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"app\":\"db\"}}}}";
	static const char *const submit[] = {"submit",      "-f",     "-",
	                                     "--endpoints", endpoint, NULL};
	char cluster[32], name[32], node[72];

	up();
	T_EQ(placet_run(budget, submit), 0);
	submit_pods();
	do
		T_EQ(PLACET("get", "pods", "shop/c", "--server", url), 0);
	while (sscanf(placet_rig.out, "%*[^\n]\nshop c Bound %31s %31s", cluster, name) !=
	       2);
	(void)snprintf(node, sizeof node, "%s/%s", cluster, name);
	T_EQ(PLACET("nodes", "drain", node, "--server", url), 1);
	placet_says("--yes");
	T_EQ(PLACET("nodes", "drain", node, "--dry-run", "--server", url), 0);
	placet_prints("shop/c would go from sim-");
	T_EQ(PLACET("nodes", "drain", node, "--yes", "--timeout", "1s", "--server", url),
	     1);
	placet_prints(" cordoned\n");
	placet_says(
		" are still there; 1 wait for their budgets"); /* shop/a may be, too */
	T_EQ(PLACET("delete", "pdb", "shop/db", "--yes", "--endpoints", endpoint), 0);
	T_EQ(PLACET("nodes", "drain", node, "--yes", "--server", url), 0);
	placet_prints(" drained\n");
	T_EQ(PLACET("get", "pods", "shop/c", "--server", url), 1);
	T_EQ(PLACET("nodes", "drain", node, "--force", "--server", url), 2);
	placet_says("--force: needs the store");
	down();
}

T_CASE_SECONDS(pods_are_deleted_through_the_api, 180)
{
	static const char budget[] =
		"{\"kind\":\"PodDisruptionBudget\",\"apiVersion\":\"policy/v1\","
		"\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":"
		"{\"minAvailable\":\"50%\",\"selector\":{\"matchLabels\":"
		"{\"app\":\"web\"}}}}";
	static const char *const submit[] = {"submit",      "-f",     "-",
	                                     "--endpoints", endpoint, NULL};

	up();
	T_EQ(placet_run(budget, submit), 0);
	submit_pods();
	SAME("get", "budgets", "-n", "shop", "-o", "name");
	T_EQ(PLACET("get", "pdb", "--server", url), 0);
	placet_prints("shop        web    50%");
	SAME("get", "pods", "-o", "name");
	T_EQ(PLACET("delete", "pod", "shop/d", "shop/none", "--server", url, "--yes"), 1);
	placet_prints("shop/d deleted\n");
	placet_says("shop/none: no such pod");
	T_EQ(PLACET("delete", "pod", "shop/a", "--server", url), 1);
	placet_says("--yes");
	T_EQ(PLACET("delete", "pod", "-n", "shop", "-l", "app in (web,db)", "--server",
	            url, "--yes"),
	     0);
	placet_prints("shop/a ");
	placet_prints("shop/b deleted\n");
	placet_prints("shop/c ");
	T_EQ(PLACET("get", "pods", "--endpoints", endpoint), 0);
	placet_says("no pods");
	T_EQ(PLACET("delete", "pod", "-n", "shop", "--all", "--server", url, "--yes"), 0);
	placet_says("no such pods");
	T_EQ(PLACET("delete", "pod", "shop/a", "--ignore-not-found", "--server", url,
	            "--yes"),
	     0);
	down();
}

T_CASE_SECONDS(nodes_of_the_api_are_those_of_the_store, 180)
{
	up();
	SAME("get", "nodes", "-o", "name");
	SAME("get", "nodes", "-c", "sim-2", "-o", "name");
	SAME("get", "nodes", "sim-1/node-000001", "-o", "name");
	T_EQ(PLACET("nodes", "cordon", "sim-1/node-000001", "--endpoints", endpoint), 0);
	do
		T_EQ(PLACET("get", "nodes", "sim-1/node-000001", "--server", url), 0);
	while (strstr(placet_rig.out, "cordoned") == NULL);
	placet_prints("-/110");
	T_EQ(PLACET("nodes", "uncordon", "sim-1/node-000001", "--server", url), 0);
	placet_prints("sim-1/node-000001 uncordoned\n");
	T_EQ(PLACET("get", "nodes", "sim-1/node-000001", "--endpoints", endpoint), 0);
	placet_prints("ready");
	T_EQ(PLACET("nodes", "cordon", "sim-1/node-000002", "--server", url), 0);
	T_EQ(PLACET("get", "nodes", "sim-1/node-000002", "--endpoints", endpoint), 0);
	placet_prints("cordoned");
	T_EQ(PLACET("nodes", "cordon", "sim-1/none", "--server", url), 1);
	placet_says("sim-1/none: nodes \"sim-1:none\" not found");
	T_EQ(PLACET("get", "nodes", "sim-1/none", "--server", url), 1);
	placet_says("sim-1/none: no such node");
	SAME("shards", "-o", "name");
	down();
}

T_CASE_SECONDS(a_given_port_and_file_are_used_and_the_file_goes, 180)
{
	char dir[] = "/tmp/placet-up-test-XXXXXX", path[64];
	const char *const args[] = {"up", "--store",      "memory", "--shards",
	                            "1",  "--processes",  "1",      "--nodes",
	                            "1",  "--kubeconfig", path,     NULL};

	T_TRUE(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof path, "%s/k", dir);
	placet_start(&it, args);
	take_line("kubeconfig ", kubeconfig, sizeof kubeconfig);
	T_STR(kubeconfig, path);
	T_EQ(access(path, R_OK), 0);
	placet_await(&it, "Ctrl-C ends it");
	down();
	T_EQ(access(path, R_OK), -1);
	T_EQ(rmdir(dir), 0);
}

/* -- kubectl's plugin, and completion ------------------------------------------------------- */

static char links[] = "/tmp/placet-links-XXXXXX";

/* The path of placet, which meson gives to the test. */
static const char *placet_program(void)
{
	const char *path = getenv("PLACET");

	T_TRUE(path != NULL);
	return path == NULL ? "" : path;
}

/* The program under another name, as it is installed. */
static void link_as(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", links, name);
	T_EQ(symlink(placet_program(), path), 0);
}

static void unlink_as(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", links, name);
	T_EQ(unlink(path), 0);
}

static void links_up(void)
{
	char path[4096];

	T_TRUE(mkdtemp(links) != NULL);
	link_as("placet");
	link_as("kubectl-placet");
	link_as("kubectl_complete-placet");
	(void)snprintf(path, sizeof path, "%s:%s", links, getenv("PATH"));
	T_EQ(setenv("PATH", path, 1), 0);
}

static void links_down(void)
{
	unlink_as("placet");
	unlink_as("kubectl-placet");
	unlink_as("kubectl_complete-placet");
	T_EQ(rmdir(links), 0);
}

/* Runs a shell; its output is in placet_rig.out. */
static int run_shell(const char *shell, const char *script)
{
	FILE *from;
	char command[8192];
	size_t got;

	T_TRUE(strchr(script, '\'') == NULL);
	(void)snprintf(command, sizeof command, "%s -c '%s' 2>&1", shell, script);
	from = popen(command, "r"); /* NOLINT(cert-env33-c): a shell is what is tested */
	T_TRUE(from != NULL);
	got = fread(placet_rig.out, 1, sizeof placet_rig.out - 1, from);
	placet_rig.out[got] = 0;
	return WEXITSTATUS(pclose(from));
}

T_CASE_SECONDS(the_plugin_asks_the_api_of_kubectls_context, 180)
{
	up();
	links_up();
	T_EQ(setenv("KUBECONFIG", kubeconfig, 1), 0);
	T_EQ(run_shell("sh", "kubectl-placet get nodes -o name"), 0);
	placet_prints("sim-1/node-000000\n");
	T_EQ(run_shell("sh", "kubectl-placet fsck"), 2);
	placet_prints(
		"talks to the store, and not to the API, because it checks the records themselves: name the store");
	T_EQ(setenv("STORE", endpoint, 1), 0);
	T_EQ(run_shell("sh", "kubectl-placet fsck --endpoints $STORE"), 0);
	placet_prints("0 violations");
	T_EQ(run_shell("sh", "kubectl-placet explain --help"), 0);
	T_EQ(run_shell("sh", "kubectl_complete-placet nodes drain sim-1/"), 0);
	T_STR(placet_rig.out,
	      "sim-1/node-000000\nsim-1/node-000001\nsim-1/node-000002\n:4\n");
	T_EQ(run_shell("sh", "kubectl_complete-placet plan -f \"\""), 0);
	T_STR(placet_rig.out, ":0\n");
	/* A context that is gone is no reason to ask some store instead. */
	T_EQ(setenv("KUBECONFIG", "/none", 1), 0);
	T_EQ(run_shell("sh", "kubectl-placet shards"), 1);
	placet_prints("KUBECONFIG: none of its files exists");
	links_down();
	down();
}

T_CASE_SECONDS(shells_complete_live_names, 180)
{
	static const char bash[] =
		"source <(placet completion bash);"
		"try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _placet;"
		" echo \"${COMPREPLY[*]}\"; };"
		"try placet comp; try placet get no; try placet shard drain \"\";"
		"try placet nodes drain sim-1/; try placet get nodes -c \"\";"
		"try placet get pods --output = js; try placet get pods --names;"
		"try placet get pods -n shop \"\"; try placet get pods -n \"\";"
		"cd \"$T_ROOT\"; try placet plan -f READ";

	up();
	submit_pods();
	links_up();
	T_EQ(setenv("PLACET_SERVER", url, 1), 0);
	T_EQ(unsetenv("PLACET_ENDPOINTS"), 0);
	T_EQ(run_shell("bash", bash), 0);
	T_STR(placet_rig.out, "completion\n"
	                      "nodes\n"
	                      "up-0-0 up-0-1\n"
	                      "sim-1/node-000000 sim-1/node-000001 sim-1/node-000002\n"
	                      "sim-1 sim-2\n"
	                      "json\n"
	                      "--namespace\n"
	                      "a b c d\n"
	                      "shop\n"
	                      "README.md\n");
	if (run_shell("fish", "true") == 0) {
		T_EQ(run_shell("fish", "placet completion fish | source;"
		                       "complete -C \"placet shard drain up-0-\""),
		     0);
		T_STR(placet_rig.out, "up-0-0\nup-0-1\n");
	}
	if (run_shell("zsh", "true") == 0) {
		T_EQ(run_shell("zsh",
		               "autoload -Uz compinit; compinit -u -d /dev/null;"
		               "source <(placet completion zsh); whence -w _placet;"
		               "print $_comps[placet]"),
		     0);
		T_STR(placet_rig.out, "_placet: function\n_placet\n");
	}
	links_down();
	down();
}

/* A shell that asks is not kept waiting by a server that is not there. */
T_CASE(completion_without_a_server_has_no_names)
{
	T_EQ(setenv("PLACET_SERVER", "http://127.0.0.1:1", 1), 0);
	T_EQ(PLACET("__complete", "shard", "drain", ""), 0);
	T_STR(placet_rig.out, ":4\n");
	T_STR(placet_rig.said, "");
	T_EQ(PLACET("__complete", "up", "--store", ""), 0);
	T_STR(placet_rig.out, "etcd\nmemory\n:4\n");
	T_EQ(PLACET("__complete", "no", "such", ""), 0);
	T_STR(placet_rig.out, ":4\n");
	/* Contexts are those of the file; a malformed one has none. */
	T_EQ(PLACET("__complete", "shards", "--kubeconfig", "tests/none", "--context",
	            ""),
	     0);
	T_STR(placet_rig.out, ":4\n");
	T_EQ(setenv("KUBECONFIG", placet_program(), 1), 0);
	T_EQ(PLACET("__complete", "shards", "--context", ""), 0);
	T_STR(placet_rig.out, ":4\n");
	T_EQ(PLACET("completion", "tcsh"), 2);
	placet_says("want bash, zsh or fish");
}

/* -- options -------------------------------------------------------------------------------- */

T_CASE(contradicting_options_are_refused)
{
	T_EQ(PLACET("get", "pods", "--server", "http://a", "--endpoints", "http://b"), 2);
	placet_says("--endpoints: names a store");
	T_EQ(PLACET("get", "pods", "--server", "http://a", "--context", "b"), 2);
	placet_says("--server: does not go with");
	T_EQ(PLACET("get", "pods", "--server", "a"), 1);
	placet_says("server: want http://HOST:PORT");
	T_EQ(PLACET("get", "pods", "--kubeconfig", "/none"), 1);
	placet_says("/none: No such file");
	/* "--server" is not short for "--server-name" where the API is of no use. */
	T_EQ(PLACET("fsck", "--server", "http://a"), 2);
	placet_says("talks to the store, and not to the API");
	T_EQ(PLACET("nodes", "delete", "east/n-1", "--server", "http://a", "--yes"), 2);
	T_EQ(PLACET("fsck", "--help"), 0);
	placet_prints("It talks to the store, and not to the API.");
	T_EQ(PLACET("get", "nodes", "--help"), 0);
	placet_prints("--server URL");
	placet_prints_not("It talks to the store");
}

T_CASE(a_kubeconfig_is_written)
{
	char dir[] = "/tmp/placet-kc-XXXXXX", token[64], path[64];
	FILE *file;

	T_TRUE(mkdtemp(dir) != NULL);
	(void)snprintf(token, sizeof token, "%s/token", dir);
	(void)snprintf(path, sizeof path, "%s/k", dir);
	file = fopen(token, "we");
	T_TRUE(file != NULL && fputs("abc\n", file) >= 0);
	T_EQ(fclose(file), 0);
	T_EQ(PLACET("kubeconfig"), 0);
	placet_prints("server: http://127.0.0.1:6443\n");
	T_EQ(PLACET("kubeconfig", "--server", "https://h:1/", "--token-file", token,
	            "--context", "east", "-n", "shop", "-o", path),
	     0);
	T_EQ(PLACET("get", "pods", "--kubeconfig", path, "--timeout", "100ms"), 1);
	T_EQ(PLACET("kubeconfig", "--token-file", token, "--embed"), 0);
	placet_prints("token: abc\n");
	T_EQ(PLACET("kubeconfig", "--token-file", token), 0);
	placet_prints("tokenFile: /");
	placet_prints_not("abc");
	T_EQ(PLACET("kubeconfig", "--token-file", "/none"), 1);
	T_EQ(PLACET("kubeconfig", "--server", "ftp://h"), 1);
	T_EQ(PLACET("kubeconfig", "--cert", token), 2);
	T_EQ(unlink(token), 0);
	T_EQ(unlink(path), 0);
	T_EQ(rmdir(dir), 0);
}
