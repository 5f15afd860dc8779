/*
 * The whole life of pods through a real etcd, a shard and a simulated member: they
 * come, run, move and end, and their room is used again.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/coord/cli/placet_rig.h"

enum { PARTITIONS = 8, PODS = 40 };

/* Two nodes with room for four pods each of eight. */
static const char profile[] =
	"prefix: m\nregion: r\nzones: [{name: a}]\n"
	"shapes: [{name: s, weight: 1, cpu: 4, memory: 8Gi, storage: 10Gi}]\n";

static struct placet_running shards, member;

#define RUN(input, ...) placet_run(input, (const char *const[]){__VA_ARGS__, NULL})

static bool two_shards;

static void start_shards(void)
{
	const char *const args[] = {
		"--shards", two_shards ? "2" : "1", "--partitions", "8", "--name",
		"east",     "--log-level",          "info",         NULL};
	char *placet = getenv("PLACET"), *placetd = getenv("PLACETD");
	char kept[4096];

	T_TRUE(placet != NULL && placetd != NULL);
	if (placet == NULL || placetd == NULL)
		return;
	(void)snprintf(kept, sizeof kept, "%s", placet);
	T_EQ(setenv("PLACET", placetd, 1), 0);
	placet_start(&shards, args);
	T_EQ(setenv("PLACET", kept, 1), 0);
}

static void start_member(const char *ends)
{
	const char *const args[] = {"sim-cluster", "--cluster",    "east", "--run",
	                            ends,          "--grace=50ms", NULL};

	placet_start(&member, args);
}

static void up(void)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(profile, "sim-cluster", "--cluster", "east", "--nodes", "2", "--profile",
	         "-"),
	     0);
	start_shards();
}

static void down(void)
{
	placet_kill(&member);
	placet_kill(&shards);
	T_EQ(PLACET("fsck"), 0);
	placet_says("0 violations");
	placet_down();
}

/* Each pod requests one cpu. */
static const char *pods(unsigned first, unsigned count)
{
	static char text[PODS * 256];
	size_t len = 0;

	for (unsigned i = first; i < first + count; i++)
		len += (size_t)snprintf(
			text + len, sizeof text - len,
			"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%u\"},\"spec\":{"
			"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
			"\"requests\":{\"cpu\":\"1\"}}}]}}\n",
			i);
	return text;
}

static void are_bound(const char *input)
{
	T_EQ(RUN(input, "wait", "--for=bound", "-f", "-", "--timeout=60s"), 0);
}

T_CASE_SECONDS(room_is_given_to_others_when_pods_go, 120)
{
	up();
	start_member("--lifetime=0");
	T_EQ(RUN(pods(0, 8), "submit", "-f", "-"), 0);
	are_bound(pods(0, 8));
	T_EQ(RUN(pods(8, 8), "submit", "-f", "-"), 0); /* no room */
	T_EQ(RUN(pods(0, 8), "delete", "pod", "-f", "-", "--yes", "--timeout=30s"), 0);
	are_bound(pods(8, 8));
	/* Without a running member too. */
	placet_kill(&member);
	T_EQ(RUN(pods(8, 8), "delete", "pod", "-f", "-", "--yes", "--timeout=300ms"), 1);
	T_EQ(RUN(pods(8, 8), "delete", "pod", "-f", "-", "--yes", "--timeout=30s",
	         "--force"),
	     0);
	T_EQ(PLACET("get", "nodes"), 0);
	placet_prints("0/110");
	start_member("--lifetime=0");
	down();
}

T_CASE_SECONDS(pods_that_end_by_themselves_make_room, 120)
{
	up();
	start_member("--lifetime=200ms");
	T_EQ(RUN(pods(0, 32), "submit", "-f", "-"), 0);
	are_bound(pods(0, 32));
	placet_await(&member, "32 succeeded");
	down();
}

T_CASE_SECONDS(pods_that_end_at_a_rate_make_room, 120)
{
	up();
	start_member("--ends=40/s");
	T_EQ(RUN(pods(0, 32), "submit", "-f", "-"), 0);
	are_bound(pods(0, 32));
	placet_await(&member, "32 succeeded");
	down();
}

T_CASE_SECONDS(a_node_is_drained_and_taken_away, 120)
{
	up();
	start_member("--lifetime=0");
	T_EQ(RUN(pods(0, 4), "submit", "-f", "-"), 0);
	are_bound(pods(0, 4));
	T_EQ(PLACET("nodes", "drain", "east/m-000000", "--timeout=30s"), 0);
	placet_prints("east/m-000000 cordoned\n");
	placet_prints("east/m-000000 drained\n");
	are_bound(pods(0, 4));
	T_EQ(PLACET("nodes", "uncordon", "east/m-000000"), 0);
	/* The other node: its machine is gone, and its member reports nothing. */
	placet_kill(&member);
	T_EQ(PLACET("nodes", "drain", "east/m-000001", "--timeout=300ms"), 1);
	placet_says("still there");
	T_EQ(PLACET("nodes", "delete", "east/m-000001", "--yes"), 1);
	T_EQ(PLACET("nodes", "delete", "east/m-000001", "--yes", "--force"), 0);
	placet_prints("east/m-000001 deleted\n");
	are_bound(pods(0, 4));
	T_EQ(PLACET("get", "nodes"), 0);
	placet_prints("4/110");
	start_member("--lifetime=0");
	down();
}

/* Long before the timeouts of calls. */
T_CASE_SECONDS(a_store_that_does_not_answer_is_reported_at_once, 60)
{
	const char *const args[] = {"--etcd", "http://127.0.0.1:1", "--name", "east",
	                            NULL};
	char *placetd = getenv("PLACETD");

	T_TRUE(placetd != NULL);
	if (placetd == NULL || setenv("PLACET", placetd, 1) != 0)
		return;
	placet_start(&shards, args);
	placet_await(&shards, "shard.trouble");
	T_TRUE(strstr(shards.line, "part=connection") != NULL);
	T_TRUE(strstr(shards.line, "127.0.0.1:1: connect: connection refused") != NULL);
	T_TRUE(strstr(shards.line, "check the endpoint") != NULL);
	placet_kill(&shards);
}

/* -- budgets ----------------------------------------------------------------------- */

static const char budget_of_one[] =
	"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
	"spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n";
static const char budget_of_none[] =
	"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
	"spec: {minAvailable: 100%, selector: {matchLabels: {app: web}}}\n";

static const char web[] =
	"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	"spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: "
	"{labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: "
	"{requests: {cpu: 500m}}}]}}}\n";

static const char web_of_16[] =
	"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	"spec: {replicas: 16, selector: {matchLabels: {app: web}}, template: {metadata: "
	"{labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: "
	"{requests: {cpu: 500m}}}]}}}\n";

static bool has(struct pl_span text, const char *words)
{
	return memmem(text.at, text.len, words, strlen(words)) != NULL;
}

/* At one revision: pods that are bound and have not been asked to go. */
static unsigned healthy_of(const char *name)
{
	struct kv_req req = kv_op_get(kv_prefix(PL_SPAN_LIT("/schedules/")));
	struct kv_result result;
	unsigned count = 0;

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	for (size_t i = 0; i < result.get.count; i++) {
		struct pl_span value = result.get.records[i].value;

		count += has(result.get.records[i].key, name) &&
		         has(value, "\"phase\":\"Bound\"") && !has(value, "\"ask\"") &&
		         !has(value, "\"ended\"");
	}
	return count;
}

static unsigned healthy(void)
{
	return healthy_of("web-");
}

/* The fewest healthy pods at any time while the command ran. */
static unsigned fewest_until_done(struct placet_running *running, int *status)
{
	unsigned fewest = UINT32_MAX;
	int raw = 0;

	while (waitpid(running->pid, &raw, WNOHANG) == 0) {
		unsigned now = healthy();

		fewest = now < fewest ? now : fewest;
	}
	*status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
	(void)fclose(running->out);
	return fewest;
}

static void budget_says(const char *words)
{
	for (unsigned i = 0; i < 200; i++) {
		T_EQ(PLACET("get", "budgets", "-o", "json"), 0);
		if (strstr(placet_rig.out, words) != NULL)
			return;
	}
	placet_prints(words);
}

T_CASE_SECONDS(no_more_pods_leave_a_node_at_once_than_their_budget_allows, 120)
{
	static struct placet_running drain;
	int status = -1;

	up();
	start_member("--lifetime=0");
	T_EQ(RUN(budget_of_one, "submit", "-f", "-"), 0);
	placet_prints("budget default/web created\n");
	T_EQ(RUN(budget_of_one, "submit", "-f", "-"), 0);
	placet_prints("budget default/web unchanged\n");
	T_EQ(RUN(web, "submit", "-f", "-"), 0);
	are_bound(web);
	budget_says("\"healthy\": 4,\n      \"allowed\": 1");
	T_EQ(PLACET("nodes", "drain", "east/m-000000", "--timeout=30s"), 0);
	are_bound(web);
	T_EQ(PLACET("nodes", "uncordon", "east/m-000000"), 0);
	/* All of them are on the other node now. */
	placet_start(&drain, (const char *const[]){"nodes", "drain", "east/m-000001",
	                                           "--timeout=60s", NULL});
	T_EQ(fewest_until_done(&drain, &status), 3);
	T_EQ(status, 0);
	are_bound(web);
	budget_says("\"healthy\": 4,\n      \"allowed\": 1");
	T_EQ(PLACET("get", "pdb"), 0);
	placet_prints("default");
	down();
}

/* Two shards, each with a node full of pods of one budget and each with more important
 * pods to place: both want the last disruption. */
T_CASE_SECONDS(two_preempting_shards_lower_one_budget, 120)
{
	static const char high[] =
		"apiVersion: v1\nkind: List\nitems:\n"
		"- {kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: "
		"{name: high}, value: 1000}\n"
		"- {kind: Deployment, apiVersion: apps/v1, metadata: {name: high}, spec: "
		"{replicas: 4, selector: {matchLabels: {app: high}}, template: {metadata: "
		"{labels: {app: high}}, spec: {priorityClassName: high, containers: [{name: c, "
		"image: i, resources: {requests: {cpu: \"1\"}}}]}}}}\n";

	two_shards = true;
	up();
	two_shards = false;
	start_member("--lifetime=0");
	T_EQ(RUN(budget_of_one, "submit", "-f", "-"), 0);
	T_EQ(RUN(web_of_16, "submit", "-f", "-"), 0);
	are_bound(web_of_16);
	budget_says("\"healthy\": 16,\n      \"allowed\": 1");
	T_EQ(RUN(high, "submit", "-f", "-"), 0);
	are_bound(high);
	/* Four cpu had to be freed: as the last resort the budget was overdrawn, by as
	 * many pods as were evicted, and it says so. */
	budget_says("\"expected\": 16,\n      \"desired\": 15,\n      \"healthy\": 8,\n "
	            "     \"allowed\": 0,\n      \"disrupted\": 0");
	T_EQ(healthy_of("web-"), 8);
	T_EQ(PLACET("delete", "pod", "--all", "-n", "default", "--yes", "--wait=false"),
	     0);
	down();
}

T_CASE_SECONDS(protected_pods_stay_until_budgets_are_ignored, 120)
{
	up();
	start_member("--lifetime=0");
	T_EQ(RUN(budget_of_none, "submit", "-f", "-"), 0);
	T_EQ(RUN(web, "submit", "-f", "-"), 0);
	are_bound(web);
	budget_says("\"healthy\": 4,\n      \"allowed\": 0");
	T_EQ(PLACET("nodes", "drain", "east/m-000000", "east/m-000001",
	            "--timeout=700ms"),
	     1);
	placet_says("wait for budget default/web");
	T_EQ(PLACET("evict", "pod", "--all", "-n", "default", "--yes", "--timeout=300ms"),
	     1);
	placet_says("waits: budget default/web allows no disruption now");
	placet_says("4 pods were not asked");
	T_EQ(healthy(), 4);
	T_EQ(PLACET("nodes", "uncordon", "east/m-000000"), 0);
	T_EQ(PLACET("evict", "pod", "--all", "-n", "default", "--yes",
	            "--ignore-budgets"),
	     0);
	are_bound(web);
	budget_says("\"healthy\": 4,\n      \"allowed\": 0");
	/* A second budget of the same pods, which allows more. */
	T_EQ(RUN(budget_of_one, "submit", "-f", "-"), 0);
	placet_prints("budget default/web changed\n");
	T_EQ(PLACET("delete", "pdb", "web", "--yes"), 0);
	T_EQ(PLACET("delete", "pdb", "web", "--yes"), 1);
	T_EQ(PLACET("evict", "pod", "--all", "-n", "default", "--yes"), 0);
	down();
}
