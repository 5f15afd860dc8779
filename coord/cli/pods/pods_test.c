/* placet submit, get, delete and wait over a real etcd. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/support/coord/cli/pods_fixture.h"

static const char deployment[] =
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
	"\"web\",\"namespace\":\"shop\"},\"spec\":{\"replicas\":3,\"selector\":{"
	"\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{\"labels\":{"
	"\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}";

static size_t keys(void)
{
	struct kv_req req = kv_op_get(kv_prefix(PL_SPAN_LIT("/schedules/")));
	struct kv_result result;

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	return result.get.count;
}

T_CASE(submitting_again_changes_nothing)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(deployment, "submit", "-f", "-"), 0);
	T_STR(placet_rig.out, "3 submitted, 0 unchanged\n");
	T_EQ(RUN(deployment, "submit", "-f", "-", "-o", "json"), 0);
	placet_prints("\"submitted\":0,\"unchanged\":3,");
	T_EQ(RUN(MEMBER("a") MEMBER("b") MEMBER("c") MEMBER("d"), "submit", "-f", "-"),
	     0);
	T_STR(placet_rig.out, "4 submitted, 0 unchanged\n");
	T_EQ(RUN(MEMBER("a") MEMBER("b") MEMBER("c") MEMBER("d"), "submit", "-f", "-"),
	     0);
	T_STR(placet_rig.out, "0 submitted, 4 unchanged\n");
	T_EQ(RUN(POD("one", "\"priority\":1,"), "submit", "-f", "-"), 0);
	T_EQ(RUN(POD("one", "\"priority\":2,") POD("two", ""), "submit", "-f", "-"), 1);
	placet_prints("1 submitted, 0 unchanged, and others are there");
	placet_says("default/one exists with another spec");
	placet_says("1 pod exists with another spec, and nothing was changed in it");
	T_EQ(PLACET("get", "pods"), 0);
	t_golden("cli/e2e_pods.txt", placet_rig.out);
	placet_down();
}

/* A class of the store counts, and so does one in the input. */
T_CASE(priorities_come_from_the_classes_of_the_store)
{
	struct kv_req req;
	struct kv_result result;
	char spec[1024];

	placet_up(PARTITIONS);
	placet_put("/objects/scheduling.k8s.io/priorityclasses/high",
	           "{\"metadata\":{\"name\":\"high\"},\"value\":1000}");
	placet_put("/objects/scheduling.k8s.io/priorityclasses/broken", "{");
	T_EQ(RUN(POD("one", "\"priorityClassName\":\"high\","), "submit", "-f", "-"), 0);
	req = kv_op_get(kv_prefix(PL_SPAN_LIT("/schedules/")));
	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	T_EQ(result.get.count, 1);
	(void)snprintf(spec, sizeof spec, PL_SPAN_FMT,
	               PL_SPAN_ARG(result.get.records[0].value));
	T_TRUE(strstr(spec, "\"priority\":1000") != NULL);
	T_EQ(RUN(POD("two", "\"priorityClassName\":\"broken\","), "submit", "-f", "-"),
	     1);
	placet_says("spec.priorityClassName: want its PriorityClass in the store");
	placet_down();
}

T_CASE(nothing_is_written_when_something_is_refused)
{
	static const char input[] =
		POD("good", "") "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"bad\"}}\n"
				"{\"kind\":\"Service\"}\n";

	placet_up(PARTITIONS);
	T_EQ(RUN(input, "submit", "-f", "-"), 1);
	placet_says(
		"refused: standard input: object 2: Pod default/bad: spec.containers");
	placet_says("skipped: 1 Service");
	placet_says("nothing was done");
	T_EQ(keys(), 0);
	T_EQ(RUN(POD("good", ""), "submit", "-f", "-", "--dry-run"), 0);
	placet_prints("1 would be submitted, 0 unchanged\n");
	T_EQ(RUN(deployment, "submit", "-f", "-", "--dry-run", "-o", "json"), 0);
	T_STR(placet_rig.out, "{\"kind\":\"SubmitCheck\",\"submitted\":3,\"unchanged\":0,"
	                      "\"others\":0,\"leaving\":0,\"refused\":0}\n");
	T_EQ(keys(), 0);
	T_EQ(RUN(input, "submit", "-f", "-", "--keep-going"), 1);
	placet_prints("1 submitted");
	T_EQ(keys(), 1);
	T_EQ(RUN(POD("good", "\"priority\":7,") POD("new", ""), "submit", "-f", "-",
	         "--dry-run"),
	     1);
	placet_prints("1 would be submitted, 0 unchanged, and others are there\n");
	placet_says("default/good exists with another spec, and stays as it is\n");
	T_EQ(keys(), 1);
	T_EQ(RUN(POD("odd", "\"nodeSelectr\":{},"), "submit", "-f", "-", "--strict"), 1);
	placet_says("refused: ");
	placet_says("spec.nodeSelectr: unknown field; is nodeSelector meant?");
	T_EQ(RUN(POD("odd", "\"nodeSelectr\":{},"), "submit", "-f", "-"), 0);
	placet_says("warning: ");
	placet_says("spec.nodeSelectr: unknown field; is nodeSelector meant?");
	T_EQ(PLACET("submit"), 2);
	T_EQ(PLACET("submit", "-f", "/nowhere"), 2);
	T_EQ(PLACET("submit", "-f", "-", "-n", "No"), 2);
	placet_down();
}

#define SPREAD_OVER(key)                                                                  \
	"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"" key            \
	"\",\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":{\"matchLabels\":" \
	"{\"app\":\"web\"},\"matchExpressions\":[{\"key\":\"app\",\"operator\":"          \
	"\"NotIn\",\"values\":[\"web\"]}]}}],"

T_CASE(rules_that_mean_nothing_are_warned_of_and_submitted)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", SPREAD_OVER("zone")), "submit", "-f", "-"), 0);
	placet_says(
		"warning: standard input: object 1: spec.topologySpreadConstraints[0]: "
		"it can match no pod");
	T_TRUE(strstr(placet_rig.said, "no node has") == NULL);
	T_EQ(RUN("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n-1\",\"labels\":{\"rack\":"
	         "\"1\"}},\"status\":{\"allocatable\":{\"cpu\":\"4\",\"pods\":\"10\"}}}",
	         "nodes", "apply", "-f", "-", "--cluster", "east"),
	     0);
	T_EQ(RUN(POD("b", SPREAD_OVER("zone")), "submit", "-f", "-"), 0);
	placet_says(
		"warning: standard input: object 1: spec.topologySpreadConstraints[0]."
		"topologyKey: no node has the label zone");
	placet_prints("1 submitted");
	T_EQ(RUN(POD("c", SPREAD_OVER("rack")), "submit", "-f", "-"), 0);
	T_TRUE(strstr(placet_rig.said, "no node has") == NULL);
	placet_down();
}

T_CASE(input_without_an_object_is_no_success)
{
	placet_up(PARTITIONS);
	T_EQ(RUN("", "submit", "-f", "-"), 1);
	placet_says("placet submit: there is no object in standard input");
	T_EQ(RUN("# all of it is switched off\n---\n", "submit", "-f", "-"), 1);
	placet_says("there is no object in standard input");
	T_EQ(RUN("root:x:0:0\n", "submit", "-f", "-"), 1);
	placet_says("it is no object");
	T_EQ(RUN("greeting: hello\n", "submit", "-f", "-"), 1);
	placet_says("refused: standard input: object 1: kind: want one");
	T_EQ(RUN("{\"kind\":\"List\",\"items\":3}", "submit", "-f", "-"), 1);
	placet_says("refused: standard input: object 1: items: want a list");
	T_EQ(RUN("{\"kind\":\"Service\"}", "submit", "-f", "-"), 0);
	placet_says("skipped: 1 Service");
	T_EQ(keys(), 0);
	placet_down();
}

T_CASE(a_store_that_is_none_of_placets_is_reported)
{
	placet_up(0);
	T_EQ(RUN(deployment, "submit", "-f", "-"), 1);
	placet_says("start placetd once");
	T_EQ(keys(), 0);
	placet_down();
}

T_CASE(pods_are_deleted_or_marked)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") POD("b", "") MEMBER("c") MEMBER("d"), "submit", "-f", "-"),
	     0);
	put_state("default", "a", BOUND);
	T_EQ(PLACET("delete", "pod", "a"), 1);
	placet_says("--yes");
	T_EQ(PLACET("delete", "pod", "a", "default/b", "none", "--yes", "--wait=false"),
	     1);
	placet_prints("default/a is terminating\n");
	placet_prints("default/b deleted\n");
	placet_says("default/none: no such pod");
	T_EQ(PLACET("get", "pods", "a", "-o", "wide"), 0);
	placet_prints("deleted");
	T_EQ(PLACET("delete", "pod", "a", "--yes", "--timeout=100ms"), 1);
	placet_prints("default/a is terminating already\n");
	placet_says("still there: default/a");
	T_EQ(RUN(MEMBER("c") MEMBER("d") POD("e", ""), "delete", "pod", "-f", "-", "-y",
	         "--ignore-not-found"),
	     0);
	T_EQ(keys(), 2); /* of a */
	T_EQ(PLACET("delete", "pod", "--all", "-n", "nope"),
	     0); /* nothing to ask about */
	placet_says("no pods in namespace nope\n");
	T_EQ(PLACET("delete", "pod"), 2);
	T_EQ(PLACET("delete", "pod", "-y", "No"), 2);
	placet_down();
}

T_CASE(pods_are_deleted_and_evicted_by_labels)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(LABELED("a", "\"app\":\"web\",\"tier\":\"front\"")
	                 LABELED("b", "\"app\":\"web\"") POD("c", ""),
	         "submit", "-f", "-"),
	     0);
	T_EQ(RUN(LABELED("d", "\"app\":\"web\""), "submit", "-f", "-", "-n", "shop"), 0);
	put_state("default", "lost", BOUND);
	T_EQ(RUN(NULL, "delete", "pod", "-l", "app=web", "--yes"), 2);
	placet_says("--selector: want a namespace (-n NAME, or -A)");
	T_EQ(RUN(NULL, "delete", "pod", "-l", "app=web", "a", "--yes"), 2);
	placet_says("want names, -f FILE, --selector or --all");
	T_EQ(RUN(NULL, "delete", "pod", "--all", "-A", "--yes"), 2);
	placet_says("--all-namespaces: goes with --selector, and not with --namespace");
	T_EQ(RUN(NULL, "delete", "pod", "-l", "app=db", "-n", "default", "--yes"), 0);
	placet_says("no such pods in namespace default");
	T_EQ(RUN(NULL, "delete", "pod", "-l", "app=web,!tier", "-n", "default", "--yes"),
	     0);
	placet_prints("default/b deleted");
	put_state("default", "a", BOUND);
	T_EQ(RUN(NULL, "evict", "pod", "-l", "tier", "-A", "--yes"), 0);
	placet_prints("default/a is evicted");
	T_EQ(RUN(NULL, "delete", "pod", "-l", "app!=x", "-A", "--yes", "--wait=false"),
	     0);
	placet_prints("default/a is terminating");
	placet_prints("default/c deleted");
	placet_prints("shop/d deleted");
	placet_prints_not("lost"); /* the pod has no spec, so no labels */
	placet_down();
}

T_CASE(a_deletion_waits_until_they_are_gone)
{
	static const char *const forced[] = {"delete",  "pod",   "--all",   "-n",
	                                     "default", "--yes", "--force", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") POD("b", ""), "submit", "-f", "-"), 0);
	put_state("default", "a", BOUND);
	placet_start(&running, forced);
	placet_await(&running, "default/b deleted");
	placet_await(&running, "default/a is terminating");
	put_state("default", "a", NULL);
	T_EQ(RUN(NULL, "delete", "pod", "a", "-y", "--timeout=5s"), 0);
	T_EQ(placet_end(&running), 0);
	T_EQ(keys(), 0);
	T_EQ(PLACET("delete", "pod", "--all", "--yes"), 2);
	placet_says("--all: want a namespace");
	T_EQ(PLACET("delete", "pod", "a", "--wait=maybe"), 2);
	placet_down();
}

T_CASE(pods_are_evicted_to_be_placed_again)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") POD("b", ""), "submit", "-f", "-"), 0);
	put_state("default", "a", BOUND);
	T_EQ(PLACET("evict", "pod", "a", "b", "c", "--yes"), 1);
	placet_prints("default/a is evicted\n");
	placet_prints("default/b has no place\n");
	placet_says("default/c: no such pod");
	T_EQ(PLACET("evict", "pod", "a", "--yes"), 0);
	placet_prints("default/a is terminating already\n");
	T_EQ(PLACET("evict", "pod", "a", "--yes", "--force"), 0);
	placet_prints("default/a is evicted\n");
	T_EQ(keys(), 3);
	placet_down();
}

static void put_record(const char *id, const char *work)
{
	char key[KEY], record[1024];

	(void)snprintf(key, sizeof key, "/shards/%s", id);
	(void)snprintf(record, sizeof record,
	               "{\"v\":1,\"id\":\"%s\","
	               "\"instance\":\"0123456789abcdef0123456789abcdef\","
	               "\"state\":\"active\",\"host\":\"h1\",\"pid\":4711,\"boot\":\"b\","
	               "\"version\":\"0.1.0\",\"weight\":1000,"
	               "\"started\":\"2999-01-01T00:00:00.000Z\",\"partitions\":[0],"
	               "\"loads\":[10],\"work\":{%s},\"config\":{\"coord\":0}}",
	               id, work);
	placet_put_leased(key, record);
}

/* Without a terminal, a line every 5 s. */
T_CASE_SECONDS(a_wait_prints_its_progress, 40)
{
	static const char *const all[] = {"wait", "--for=bound", "--all", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") POD("b", "") POD("c", ""), "submit", "-f", "-"), 0);
	put_state("default", "a", PENDING);
	put_record("x", "\"placed\":900,\"pending\":70,\"conflicts\":3,\"txns\":90");
	put_record("y", "\"placed\":800,\"pending\":60,\"conflicts\":9,\"txns\":90");
	placet_put("/shards/z", "none");
	put_state("default", "b", BOUND);
	placet_start(&running, all);
	placet_await(&running, "1 of 3 pods placed, 2 pending, 0 placements/s, "
	                       "12 conflicts");
	put_record("y", "\"placed\":800,\"pending\":60,\"conflicts\":11,\"txns\":90");
	placet_await(&running, "1 of 3 pods placed, 2 pending, 0 placements/s, "
	                       "14 conflicts");
	put_state("default", "a", BOUND);
	put_state("default", "c", BOUND);
	placet_await(&running, "3 pods bound");
	T_EQ(placet_end(&running), 0);
	placet_down();
}

/* Reads until the output ends with the words; NULL: until nothing comes. */
static size_t read_until(FILE *out, const char *words, char *text, size_t size)
{
	size_t len = 0;
	int c;

	while (len + 1 < size && (c = fgetc(out)) != EOF) {
		text[len++] = (char)c;
		text[len] = 0;
		if (words != NULL && strstr(text, words) != NULL)
			break;
	}
	return len;
}

T_CASE_SECONDS(an_interrupted_wait_leaves_whole_lines, 40)
{
	static const char *const all[] = {"wait", "--for=bound", "--all", NULL};
	struct placet_running running;
	char text[4096] = "";
	size_t len;
	int status = 0;

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", ""), "submit", "-f", "-"), 0);
	placet_start_at_terminal(&running, all);
	len = read_until(running.out, "0 conflicts", text, sizeof text);
	T_TRUE(len > 0);
	T_EQ(kill(running.pid, SIGINT), 0);
	len = read_until(running.out, NULL, text, sizeof text);
	T_TRUE(len > 0 && text[len - 1] == '\n');
	(void)fclose(running.out);
	T_EQ(waitpid(running.pid, &status, 0), running.pid);
	T_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	placet_down();
}

T_CASE(waiting_ends_when_all_are_bound)
{
	static const char *const all[] = {"wait", "--for=bound", "--all", NULL};
	static const char *const named[] = {"wait", "--for=bound", "a", "b", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(PLACET("wait", "--for=bound", "--all"), 0);
	placet_prints("0 pods bound");
	T_EQ(RUN(POD("a", "") POD("b", ""), "submit", "-f", "-"), 0);
	T_EQ(PLACET("wait", "--for=bound", "--all", "--timeout=200ms"), 1);
	placet_says("2 of 2 pods are not bound after 200ms");
	T_EQ(RUN(POD("a", "") POD("x", ""), "wait", "--for=bound", "-f", "-",
	         "--timeout=100ms"),
	     1);
	placet_says("not bound: default/x");
	T_EQ(PLACET("wait", "--for=bound", "none"), 1);
	placet_says("no such pod");
	placet_start(&running, all);
	put_state("default", "a", PENDING);
	put_state("default", "a", BOUND);
	put_state("default", "b", BOUND);
	placet_await(&running, "2 pods bound");
	T_EQ(placet_end(&running), 0);
	T_EQ(RUN(POD("a", "") POD("b", ""), "wait", "--for=bound", "-f", "-"), 0);
	T_EQ(PLACET("wait", "--for=bound", "--all", "--summary"), 0);
	placet_prints("clusters  ");
	placet_prints("shards    ");
	placet_prints("2 pods bound");
	put_state("default", "b", PENDING);
	placet_start(&running, named);
	put_state("default", "b", NULL);
	T_EQ(RUN(NULL, "delete", "pod", "b", "-y"), 0);
	T_EQ(placet_end(&running), 1);
	T_EQ(PLACET("wait", "--all"), 2);
	T_EQ(PLACET("wait", "--for=ready", "--all"), 2);
	T_EQ(PLACET("wait", "--for=bound"), 2);
	placet_down();
}

/* The name leads to a partition that the pod does not stand in any more. */
T_CASE(pods_are_waited_for_by_labels_and_namespace)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(LABELED("a", "\"app\":\"web\"") POD("b", ""), "submit", "-f", "-"), 0);
	T_EQ(RUN(LABELED("d", "\"app\":\"web\""), "submit", "-f", "-", "-n", "shop"), 0);
	put_state("default", "a", BOUND);
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=web", "-n", "default"), 0);
	placet_prints("1 pod bound");
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=web", "--timeout", "200ms"), 1);
	placet_says("1 of 2 pods are not bound");
	T_EQ(PLACET("wait", "--for=bound", "--all", "-n", "shop", "--timeout", "200ms"),
	     1);
	placet_says("1 of 1 pods are not bound");
	put_state("shop", "d", BOUND);
	T_EQ(PLACET("wait", "--for=bound", "--all", "-n", "shop"), 0);
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=web"), 0);
	placet_prints("2 pods bound");
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=db"), 1);
	placet_says("no pod has these labels");
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=db", "--all"), 2);
	placet_says("want names, -f FILE, --selector or --all");
	placet_down();
}

/* A pod that was bound counts once, however often it loses and regains its label. */
T_CASE(labels_that_come_again_are_not_waited_for_twice)
{
	static const char *const args[] = {"wait", "--for=bound", "-l", "app=web", NULL};
	static const char *const specs[] = {LABELED("a", "\"app\":\"x\""),
	                                    LABELED("a", "\"app\":\"web\"")};
	static struct placet_running running;
	uint32_t partition;
	char key[KEY], text[4096] = "";

	placet_up(PARTITIONS);
	T_EQ(RUN(LABELED("a", "\"app\":\"web\"") LABELED("b", "\"app\":\"web\""),
	         "submit", "-f", "-"),
	     0);
	put_state("default", "a", BOUND);
	T_EQ(partition_of_pod(PL_SPAN_LIT("default"), PL_SPAN_LIT("a"), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/default/a/spec", partition);
	placet_start_at_terminal(&running, args);
	T_TRUE(read_until(running.out, "1 of 2 pods placed", text, sizeof text) > 0);
	placet_put(key, specs[0]);
	placet_put(key, specs[1]);
	put_state("default", "b", BOUND);
	T_EQ(placet_end(&running), 0);
	placet_down();
}

T_CASE(a_named_pod_that_went_before_the_watch_is_reported)
{
	uint32_t at;
	char key[KEY], pointer[32];

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", ""), "submit", "-f", "-"), 0);
	put_state("default", "a", BOUND);
	T_EQ(partition_of_pod(PL_SPAN_LIT("default"), PL_SPAN_LIT("x"), PARTITIONS, &at,
	                      NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/default/x/spec", at);
	(void)snprintf(pointer, sizeof pointer, "{\"v\":1,\"at\":%u}",
	               (at + 1) % PARTITIONS);
	placet_put(key, pointer);
	T_EQ(PLACET("wait", "--for=bound", "a", "x"), 1);
	placet_says("default/x is gone");
	placet_says("1 pods are gone");
	placet_down();
}

/* The revision of the key; 0: it is not there. */
static int64_t rev_of(const char *key)
{
	struct kv_req req = kv_op_get(kv_key(pl_span_str(key)));
	struct kv_result result;

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	return result.get.count == 0 ? 0 : result.get.records[0].mod_revision;
}

#define BUDGET(more)                                                                    \
	"{\"kind\":\"PodDisruptionBudget\",\"apiVersion\":\"policy/v1\",\"metadata\":{" \
	"\"name\":\"web\"},\"spec\":{" more                                             \
	",\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}\n"

/* Evictions compare the budget. */
T_CASE(new_and_deleted_budgets_bump_the_lock)
{
	static const char one[] = BUDGET("\"maxUnavailable\":1");
	static const char two[] = BUDGET("\"maxUnavailable\":2");
	int64_t made;

	placet_up(PARTITIONS);
	T_EQ(rev_of("/budgets/lock"), 0);
	T_EQ(RUN(one, "submit", "-f", "-"), 0);
	made = rev_of("/budgets/default/web");
	T_TRUE(made > 0);
	T_EQ(rev_of("/budgets/lock"), made);
	T_EQ(RUN(two, "submit", "-f", "-"), 0);
	T_TRUE(rev_of("/budgets/default/web") > made);
	T_EQ(rev_of("/budgets/lock"), made);
	T_EQ(PLACET("get", "budgets", "-o", "json"), 0);
	placet_prints("\"web\"");
	placet_prints_not("lock");
	T_EQ(PLACET("delete", "pdb", "web", "--yes"), 0);
	T_EQ(rev_of("/budgets/default/web"), 0);
	T_TRUE(rev_of("/budgets/lock") > made);
	T_EQ(PLACET("get", "budgets", "-o", "json"), 0);
	placet_prints_not("lock");
	placet_down();
}
