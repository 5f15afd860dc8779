/* A wait that does not end prints that no shard runs, which pods are left and why,
 * and one hint. */
#include <stdlib.h>

#include "tests/support/coord/cli/pods_fixture.h"

static uint32_t partition_of(const char *namespace, const char *name)
{
	uint32_t partition;

	T_EQ(partition_of_pod(pl_span_str(namespace), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	return partition;
}

static unsigned count_said(const char *words)
{
	unsigned count = 0;

	for (const char *at = placet_rig.said; (at = strstr(at, words)) != NULL; at++)
		count++;
	return count;
}

T_CASE_SECONDS(a_wait_warns_when_no_shard_runs, 60)
{
	static const char *const all[] = {"wait", "--for=bound", "--all", NULL};
	static const char *const named[] = {"wait", "--for=bound", "a", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", ""), "submit", "-f", "-"), 0);
	placet_start(&running, all);
	placet_await(&running, "note: no shard is running: pods are not placed (start "
	                       "one: placetd --etcd http://");
	put_state("default", "a", BOUND);
	T_EQ(placet_end(&running), 0);
	put_state("default", "a", PENDING);
	placet_start(&running, named);
	placet_await(&running, "note: no shard is running: pods are not placed");
	put_state("default", "a", BOUND);
	T_EQ(placet_end(&running), 0);
	T_EQ(RUN(POD("b", ""), "submit", "-f", "-"), 0);
	T_EQ(PLACET("wait", "--for=bound", "b", "--timeout", "10s"), 1);
	T_EQ(count_said("no shard is running"), 1);
	placet_down();
}

/* One partition has no owner; a wait for pods in another one prints nothing about
 * it. */
T_CASE_SECONDS(a_wait_names_a_partition_without_an_owner, 60)
{
	char words[80];
	uint32_t free_one = partition_of("default", "a");

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") LABELED("b", "\"app\":\"b\""), "submit", "-f", "-"), 0);
	T_TRUE(free_one != partition_of("default", "b"));
	placet_shard("east-0", "0,1,2");
	for (unsigned p = 0; p < PARTITIONS; p++)
		if (p != free_one)
			placet_owner(p, "east-0");
	T_EQ(PLACET("wait", "--for=bound", "--all", "--timeout", "6s"), 1);
	(void)snprintf(words, sizeof words,
	               "note: partition %u has no owner: pods are not placed there",
	               free_one);
	placet_says(words);
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=b", "--timeout", "6s"), 1);
	T_EQ(count_said("note: "), 0);
	placet_down();
}

T_CASE_SECONDS(a_deletion_warns_when_no_shard_runs, 60)
{
	static const char *const args[] = {"delete", "pod", "a", "--yes", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", ""), "submit", "-f", "-"), 0);
	put_state("default", "a", BOUND);
	placet_start(&running, args);
	placet_await(
		&running,
		"note: no shard is running: pods do not leave their nodes (start one: placetd --etcd http://");
	placet_kill(&running);
	placet_shard("east-0", "0,1,2");
	placet_start(&running, args);
	placet_await(&running, " has no owner: pods do not leave their nodes there");
	placet_kill(&running);
	placet_down();
}

T_CASE(pods_that_wait_are_shown_with_a_note_when_there_is_no_shard)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", "") POD("b", ""), "submit", "-f", "-"), 0);
	put_state("default", "a", BOUND);
	put_state("default", "b", PENDING);
	T_EQ(PLACET("get", "pods"), 0);
	placet_says("note: no shard is running: pods are not placed (start one: placetd "
	            "--etcd http://");
	T_EQ(PLACET("get", "pods", "a"), 0);
	T_STR(placet_rig.said, "");
	placet_shard("east-0", "0,1,2");
	T_EQ(PLACET("get", "pods"), 0);
	T_STR(placet_rig.said, "");
	placet_down();
}

static void submit_many(unsigned count)
{
	static char input[1 << 14];
	size_t len = 0;

	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(
			input + len, sizeof input - len,
			"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%02u\"},"
			"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"
			"}}\n",
			i);
	T_EQ(RUN(input, "submit", "-f", "-"), 0);
}

T_CASE(a_wait_that_does_not_end_names_pods_and_reasons)
{
	placet_up(PARTITIONS);
	submit_many(13);
	put_state("default", "p-00", BOUND);
	put_state("default", "p-01", PENDING);
	T_EQ(PLACET("wait", "--for=bound", "--all", "--timeout=200ms"), 1);
	placet_says("... and 2 more\n");
	T_EQ(count_said("not bound: default/p-"), 10);
	T_EQ(count_said("p-00"), 0);
	T_EQ(RUN(POD("p-01", "") POD("p-02", "") POD("x", "") POD("p-00", ""), "wait",
	         "--for=bound", "-f", "-", "--timeout=200ms"),
	     1);
	placet_says("not bound: default/p-01 (fit.cpu: 12 nodes lack 2 cpu)\n"
	            "not bound: default/p-02 (no shard has decided it yet)\n"
	            "not bound: default/x (it does not exist)\n"
	            "placet wait: 3 of 4 pods are not bound after 200ms");
	put_state("default", "p-02", "\x1b[2J");
	T_EQ(PLACET("wait", "--for=bound", "p-02", "--timeout=200ms"), 1);
	placet_says("not bound: default/p-02 (its state is malformed: ");
	placet_down();
}

#define OF(name, scheduler)                                                                  \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                                   \
	"\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"schedulerName\":" \
	"\"" scheduler "\"}}\n"

T_CASE(a_wait_for_an_unknown_scheduler_warns)
{
	static const char pods[] =
		OF("a", "nobodys") OF("b", "theirs") OF("c", "default-scheduler");

	placet_up(PARTITIONS);
	T_EQ(RUN(pods, "submit", "-f", "-"), 0);
	T_EQ(RUN(pods, "wait", "--for=bound", "-f", "-", "--timeout=200ms"), 1);
	placet_says(
		"not bound: default/a (spec.schedulerName: no shard schedules for 'nobodys': the configuration scheduler has no profile of that name)\n"
		"not bound: default/b (spec.schedulerName: no shard schedules for 'theirs': the configuration scheduler has no profile of that name)\n"
		"not bound: default/c (no shard has decided it yet)\n");
	T_EQ(RUN("{\"profiles\":[{\"schedulerName\":\"theirs\"}]}", "config", "set",
	         "scheduler", "-f", "-"),
	     0);
	T_EQ(RUN(pods, "wait", "--for=bound", "-f", "-", "--timeout=200ms"), 1);
	placet_says(
		"'nobodys': the configuration scheduler has no profile of that name)\n"
		"not bound: default/b (no shard has decided it yet)\n"
		"not bound: default/c (spec.schedulerName: no shard schedules for 'default-scheduler': ");
	placet_down();
}

T_CASE(a_wait_by_labels_names_the_pods_left)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(LABELED("a", "\"app\":\"web\"") LABELED("b", "\"app\":\"web\"")
	                 POD("c", "\"schedulingGates\":[{\"name\":\"g\"}],"),
	         "submit", "-f", "-"),
	     0);
	put_state("default", "a", BOUND);
	put_state("default", "b", PENDING);
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=web", "--timeout=200ms"), 1);
	T_EQ(count_said("not bound: "), 1);
	placet_says("not bound: default/b (fit.cpu: 12 nodes lack 2 cpu)\n");
	T_EQ(PLACET("wait", "--for=bound", "c", "--timeout=200ms"), 1);
	placet_says("not bound: default/c (pod.gated: waiting for scheduling gates)\n");
	placet_down();
}

static const char budget[] =
	"{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{"
	"\"name\":\"web\"},\"spec\":{\"maxUnavailable\":1,\"selector\":{\"matchLabels\":{"
	"\"app\":\"web\"}}}}\n";

/* An error with a hint of its own gets no other one. */
T_CASE(pods_that_stay_are_named_with_one_hint)
{
	placet_up(1);
	T_EQ(RUN(budget, "submit", "-f", "-"), 0);
	T_EQ(RUN(LABELED("a", "\"app\":\"web\"") POD("b", ""), "submit", "-f", "-"), 0);
	T_EQ(PLACET("sim-cluster", "--cluster", "east", "--nodes", "1"), 0);
	for (unsigned i = 0; i < 2; i++)
		placet_put(i == 0 ? "/schedules/0000/default/a/state"
		                  : "/schedules/0000/default/b/state",
		           BOUND);
	T_EQ(PLACET("evict", "pod", "a", "--yes", "--timeout=100ms"), 1);
	placet_says("placet evict pod: 1 pods were not asked to move; their budgets do "
	            "not allow it, or --ignore-budgets\n");
	placet_put(
		"/alloc/0000/east/node-000000",
		"{\"v\":1,\"generation\":3,\"pods\":{\"0000\":{\"default\":[\"b\"]}}}");
	T_EQ(PLACET("nodes", "drain", "east/node-000000", "--timeout=100ms"), 1);
	placet_says(" are still there; their members have to say that they have ended, "
	            "or --force\n");
	placet_says("placet nodes drain: ");
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=none", "--timeout=1s"), 1);
	placet_says("no pod has these labels; check them, or the namespace\n");
	placet_down();
}
