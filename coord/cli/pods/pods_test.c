/* placet submit, get, delete and wait over a real etcd, as a person uses them. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "coord/cli/placet_rig.h"
#include "store/keys/partition.h"

enum { PARTITIONS = 8, KEY = 160 };

static const char deployment[] =
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
	"\"web\",\"namespace\":\"shop\"},\"spec\":{\"replicas\":3,\"selector\":{"
	"\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{\"labels\":{"
	"\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}";

#define POD(name, more)                                                          \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\"},\"spec\":{" more \
	"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}\n"

/* Of a gang: its pods stand together, and their names lead there. */
#define MEMBER(name)                                                                    \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                              \
	"\",\"annotations\":{\"placet.io/gang\":\"train\"}},\"spec\":{\"containers\":[" \
	"{\"name\":\"c\",\"image\":\"i\"}]}}\n"

#define RUN(input, ...) placet_run(input, (const char *const[]){__VA_ARGS__, NULL})

static void put_state(const char *space, const char *name, const char *state)
{
	uint32_t partition;
	char key[KEY];

	T_EQ(partition_of_pod(pl_span_str(space), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/%s/%s/state", partition, space,
	               name);
	if (state == NULL)
		placet_delete(key);
	else
		placet_put(key, state);
}

#define BOUND                                                                       \
	"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":" \
	"\"n-1\",\"shard\":\"east-0\",\"epoch\":\"7\",\"attempts\":1,"              \
	"\"since\":\"2999-01-01T00:00:00.000Z\"}"
#define PENDING                                                                   \
	"{\"v\":1,\"uid\":\"u\",\"phase\":\"Pending\",\"attempts\":4,\"reason\":" \
	"\"fit.cpu\",\"message\":\"12 nodes lack 2 cpu\","                        \
	"\"since\":\"2999-01-01T00:00:00.000Z\"}"

static size_t keys(void)
{
	struct kv_req req = kv_op_get(kv_prefix(PL_SPAN_LIT("/schedules/")));
	struct kv_result result;

	T_EQ(rig_call(&placet_rig.rig, &req, RIG_TIMEOUT_MS, &result), PL_OK);
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
	placet_says("default/one is there with another spec");
	placet_says("1 pod is there with another spec, and nothing was changed in it");
	T_EQ(PLACET("get", "pods"), 0);
	t_golden("cli/e2e_pods.txt", placet_rig.out);
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
	placet_says("passed over: 1 Service");
	placet_says("nothing was done");
	T_EQ(keys(), 0);
	T_EQ(RUN(POD("good", ""), "submit", "-f", "-", "--dry-run"), 0);
	placet_prints("1 pod of 1 object could be submitted");
	T_EQ(RUN(deployment, "submit", "-f", "-", "--dry-run", "-o", "json"), 0);
	T_STR(placet_rig.out, "{\"kind\":\"SubmitCheck\",\"pods\":3,\"objects\":1,"
	                      "\"refused\":0}\n");
	T_EQ(keys(), 0);
	T_EQ(RUN(input, "submit", "-f", "-", "--keep-going"), 1);
	placet_prints("1 submitted");
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
	placet_says("passed over: 1 Service");
	T_EQ(keys(), 0);
	placet_down();
}

T_CASE(a_store_that_is_none_is_told)
{
	placet_up(0);
	T_EQ(RUN(deployment, "submit", "-f", "-"), 1);
	placet_says("start placetd once");
	T_EQ(keys(), 0);
	placet_down();
}

T_CASE(pods_are_shown_as_they_are)
{
	placet_up(PARTITIONS);
	T_EQ(PLACET("get", "pods"), 0);
	placet_says("no pods");
	T_EQ(RUN(POD("a", "") POD("b", "") POD("c", "") MEMBER("d"), "submit", "-f", "-",
	         "-n", "shop"),
	     0);
	T_EQ(RUN(POD("z", ""), "submit", "-f", "-"), 0);
	put_state("shop", "a", BOUND);
	put_state("shop", "b", PENDING);
	put_state("shop", "lost", BOUND);
	put_state("shop", "c", "\x1b[2J nonsense");
	T_EQ(PLACET("get", "pods", "-o", "wide"), 0);
	placet_prints_not("\x1b");
	t_golden("cli/e2e_pods_wide.txt", placet_rig.out);
	T_EQ(PLACET("get", "pods", "-o", "json", "-n", "shop"), 0);
	placet_prints_not("\"z\"");
	placet_prints("\"phase\": \"Bound\"");
	T_EQ(PLACET("get", "pods", "shop/a", "z"), 0);
	placet_prints("east");
	placet_prints_not("fit.cpu");
	placet_down();
}

T_CASE(pods_that_are_named_are_told_one_by_one)
{
	uint32_t partition;
	char key[KEY];

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") MEMBER("b") MEMBER("c") MEMBER("d"), "submit", "-f", "-"),
	     0);
	put_state("default", "lost", BOUND);
	T_EQ(PLACET("get", "pods", "b", "a", "default/b", "c", "d", "lost"), 0);
	t_golden("cli/e2e_pods_named.txt", placet_rig.out);
	T_EQ(PLACET("get", "pods", "a", "none", "shop/a", "none"), 1);
	placet_prints("default     a ");
	placet_says("default/none: no such pod\nshop/a: no such pod\n");
	placet_says("2 not there; check the name");
	T_EQ(PLACET("get", "pods", "a", "-n", "shop"), 1);
	T_STR(placet_rig.out, "");
	placet_says("shop/a: no such pod\n");
	/* Its name does not lead to it, and yet it is shown. */
	T_EQ(partition_of_pod(PL_SPAN_LIT("x"), PL_SPAN_LIT("astray"), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/x/astray/spec",
	               (partition + 1) % PARTITIONS);
	placet_put(key, "{\"kind\":\"Pod\"}");
	T_EQ(PLACET("get", "pods", "a", "x/astray"), 0);
	placet_prints("astray");
	placet_down();
}

T_CASE(pods_of_a_node_are_shown)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") POD("b", "") POD("c", ""), "submit", "-f", "-"), 0);
	put_state("default", "a", BOUND);
	put_state("default", "b", PENDING);
	T_EQ(PLACET("get", "pods", "--node", "east/n-1", "-o", "json"), 0);
	placet_prints("\"name\": \"a\"");
	placet_prints_not("\"b\"");
	placet_prints_not("\"c\"");
	T_EQ(PLACET("get", "pods", "--node", "east/n-11"), 0);
	placet_says("no pods");
	T_EQ(PLACET("get", "pods", "--node", "east/n-1", "-n", "shop"), 0);
	placet_says("no pods");
	T_EQ(PLACET("get", "pods", "--node", "n-1"), 2);
	placet_says("--node n-1: want CLUSTER/NODE");
	T_EQ(PLACET("get", "pods", "--node", "east/n-1", "a"), 2);
	T_EQ(PLACET("get", "pods", "--node", "east/n-1", "--watch"), 2);
	placet_says("goes with neither names nor --watch");
	placet_down();
}

#define GATED(name, gates)                                                             \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\"},\"spec\":{"            \
	"\"schedulingGates\":[" gates "],\"containers\":[{\"name\":\"c\",\"image\":\"" \
	"schedulingGates\"}]}}\n"

/* Nobody writes a state of it: its spec says so. */
T_CASE(a_pod_with_gates_says_so)
{
	static const char *const args[] = {"get", "pods", "--watch", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(RUN(GATED("a", "{\"name\":\"g\"}") GATED("b", ""), "submit", "-f", "-"), 0);
	T_EQ(PLACET("get", "pods", "a", "-o", "json"), 0);
	placet_prints("\"reason\": \"pod.gated\"");
	placet_prints("\"message\": \"waiting for scheduling gates\"");
	T_EQ(PLACET("get", "pods", "b", "-o", "json"), 0);
	placet_prints("\"phase\": \"Pending\"");
	placet_prints_not("pod.gated");
	placet_start(&running, args);
	placet_await(&running, "pod.gated");
	T_TRUE(strstr(running.line, " a ") != NULL);
	T_EQ(RUN(GATED("c", "{\"name\":\"g\"}"), "submit", "-f", "-"), 0);
	placet_await(&running, "pod.gated");
	T_TRUE(strstr(running.line, " c ") != NULL);
	put_state("default", "a", BOUND);
	placet_await(&running, "n-1");
	T_TRUE(strstr(running.line, "pod.gated") == NULL);
	placet_kill(&running);
	placet_down();
}

T_CASE(changes_of_pods_are_printed_as_they_come)
{
	static const char *const args[] = {"get", "pods", "--watch", "-n", "shop", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") POD("b", ""), "submit", "-f", "-", "-n", "shop"), 0);
	placet_start(&running, args);
	placet_await(&running, "Pending");
	placet_await(&running, "Pending");
	put_state("shop", "a", BOUND);
	placet_await(&running, "n-1");
	put_state("shop", "a", NULL);
	placet_await(&running, "Pending");
	T_EQ(RUN(NULL, "delete", "pod", "shop/b", "--yes"), 0);
	placet_await(&running, "gone");
	placet_kill(&running);
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
	placet_says("of which namespace");
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
	placet_prints("default/a is leaving already\n");
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

/* Where there is no terminal, a line every 5 s. */
T_CASE_SECONDS(waiting_says_how_far_it_is, 40)
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

/* Reads what comes until it ends with the words; NULL: until nothing comes. */
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

/* Its name was found, and leads to where it does not stand (any more). */
T_CASE(a_named_pod_that_went_before_it_was_watched_is_told)
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

T_CASE(nodes_are_shown_with_what_is_taken)
{
	placet_up(PARTITIONS);
	placet_put(
		"/nodes/0001/east/n-1",
		"{\"metadata\":{\"name\":\"n-1\"},\"spec\":{\"taints\":[{\"key\":\"k\","
		"\"effect\":\"NoSchedule\"}]},\"status\":{\"allocatable\":{\"cpu\":"
		"\"16\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}");
	placet_put(
		"/alloc/0001/east/n-1",
		"{\"v\":1,\"generation\":12,\"used\":{\"cpu\":\"4200m\",\"memory\":"
		"\"8589934592\",\"pods\":\"1\"},\"pods\":{\"0007\":{\"web\":[\"app-1\"]}}}");
	placet_put("/nodes/0001/east-b/n-9",
	           "{\"metadata\":{\"name\":\"n-9\"},\"spec\":{\"unschedulable\":true},"
	           "\"status\":{\"allocatable\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\","
	           "\"pods\":\"5\"}}}");
	placet_put("/alloc/0001/east-b/n-9", "{\"v\":1,\"generation\":1}");
	placet_put("/nodes/0002/west/n-2", "{\"metadata\":{\"name\":\"n-2\"}}");
	placet_put("/alloc/0003/west/n-3", "{\"v\":1,\"generation\":1}");
	placet_put("/nodes/0004/west/n-4", "nonsense");
	T_EQ(PLACET("get", "nodes", "-o", "wide"), 0);
	t_golden("cli/e2e_nodes_wide.txt", placet_rig.out);
	T_EQ(PLACET("get", "nodes", "-c", "east", "-o", "json"), 0);
	placet_prints("\"cpu_milli\": 4200");
	placet_prints_not("n-9");
	placet_down();
}

static void put_node(const char *scope, const char *name)
{
	uint32_t partition;
	char key[KEY], value[KEY];

	T_EQ(partition_of_node(pl_span_str(scope), pl_span_str(name), PARTITIONS,
	                       &partition, NULL),
	     PL_OK);
	(void)snprintf(value, sizeof value,
	               "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":{"
	               "\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}",
	               name);
	(void)snprintf(key, sizeof key, "/nodes/%04u/%s/%s", partition, scope, name);
	placet_put(key, value);
	(void)snprintf(key, sizeof key, "/alloc/%04u/%s/%s", partition, scope, name);
	placet_put(key, "{\"v\":1,\"generation\":1}");
}

T_CASE(nodes_that_are_named_are_told_one_by_one)
{
	uint32_t partition;
	char key[KEY];

	placet_up(PARTITIONS);
	for (unsigned i = 0; i < 30; i++) {
		(void)snprintf(key, sizeof key, "n-%u", i);
		put_node(i % 2 == 0 ? "west" : "east", key);
	}
	T_EQ(PLACET("get", "nodes", "west/n-2", "east/n-1", "west/n-2"), 0);
	t_golden("cli/e2e_nodes_named.txt", placet_rig.out);
	T_EQ(PLACET("get", "nodes", "n-1", "-c", "east"), 0);
	placet_prints("east      n-1    ready");
	T_EQ(PLACET("get", "nodes", "east/n-1", "east/n-2", "west/n-1"), 1);
	placet_prints("n-1");
	placet_prints_not("west");
	placet_says("east/n-2: no such node\nwest/n-1: no such node\n");
	placet_says("2 not there; check the name");
	T_EQ(PLACET("get", "nodes", "n-1"), 2);
	placet_says("'n-1': want CLUSTER/NODE, or --cluster");
	/* One that is not where its name falls, and yet is shown. */
	T_EQ(partition_of_node(PL_SPAN_LIT("x"), PL_SPAN_LIT("astray"), PARTITIONS,
	                       &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/nodes/%04u/x/astray",
	               (partition + 1) % PARTITIONS);
	placet_put(key, "{\"metadata\":{\"name\":\"astray\"}}");
	T_EQ(PLACET("get", "nodes", "east/n-1", "x/astray"), 0);
	placet_prints("no-alloc");
	placet_prints("ready");
	placet_down();
}

/* The revision of the key; 0: it is not there. */
static int64_t rev_of(const char *key)
{
	struct kv_req req = kv_op_get(kv_key(pl_span_str(key)));
	struct kv_result result;

	T_EQ(rig_call(&placet_rig.rig, &req, RIG_TIMEOUT_MS, &result), PL_OK);
	return result.get.count == 0 ? 0 : result.get.records[0].mod_revision;
}

#define BUDGET(more)                                                                    \
	"{\"kind\":\"PodDisruptionBudget\",\"apiVersion\":\"policy/v1\",\"metadata\":{" \
	"\"name\":\"web\"},\"spec\":{" more                                             \
	",\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}\n"

/* Whoever disturbs pods compares it. */
T_CASE(what_budgets_there_are_is_said_by_their_lock)
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
