/* placet get pods over a real etcd: what is shown, of which pods. */
#include "tests/support/coord/cli/pods_fixture.h"

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

T_CASE(named_pods_are_reported_one_by_one)
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
	placet_says("2 not found; check the name");
	T_EQ(PLACET("get", "pods", "a", "-n", "shop"), 1);
	T_STR(placet_rig.out, "");
	placet_says("shop/a: no such pod\n");
	/* A pod that its name does not lead to is shown all the same. */
	T_EQ(partition_of_pod(PL_SPAN_LIT("x"), PL_SPAN_LIT("orphan"), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/x/orphan/spec",
	               (partition + 1) % PARTITIONS);
	placet_put(key, "{\"kind\":\"Pod\"}");
	T_EQ(PLACET("get", "pods", "a", "x/orphan"), 0);
	placet_prints("orphan");
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
	placet_says("--node: does not go with names");
	placet_down();
}

#define GATED(name, gates)                                                             \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\"},\"spec\":{"            \
	"\"schedulingGates\":[" gates "],\"containers\":[{\"name\":\"c\",\"image\":\"" \
	"schedulingGates\"}]}}\n"

/* The shard writes no state for a gated pod: the spec shows the gates. */
T_CASE(a_pod_with_gates_shows_them)
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

/* a and b of web, of which a is bound; c without labels; d in another namespace. */
static void some_labeled(void)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(LABELED("a", "\"app\":\"web\",\"tier\":\"front\"")
	                 LABELED("b", "\"app\":\"web\"") POD("c", ""),
	         "submit", "-f", "-"),
	     0);
	T_EQ(RUN(LABELED("d", "\"app\":\"web\""), "submit", "-f", "-", "-n", "shop"), 0);
	put_state("default", "a", BOUND);
	put_state("default", "b", PENDING);
	put_state("default", "lost", BOUND);
}

T_CASE(a_watch_names_missing_pods_once)
{
	static const char *const args[] = {"get", "pods", "shop/x", "a", "-w", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	T_EQ(RUN(POD("a", ""), "submit", "-f", "-"), 0);
	placet_start(&running, args);
	placet_await(&running, "shop/x: does not exist (yet)");
	T_EQ(RUN(POD("x", ""), "submit", "-f", "-", "-n", "shop"), 0);
	placet_await(&running, " x ");
	T_TRUE(strstr(running.line, "not exist") == NULL);
	placet_kill(&running);
	T_EQ(PLACET("get", "pods", "shop/x", "-n", "other"), 2);
	placet_says("shop/x: is not of namespace other, which --namespace names");
	T_EQ(PLACET("get", "pods", "shop/x", "x", "-n", "shop"), 0);
	placet_down();
}

T_CASE(names_alone_are_for_other_commands)
{
	some_labeled();
	T_EQ(PLACET("get", "pods", "-o", "name"), 0);
	T_STR(placet_rig.out, "default/a\ndefault/b\ndefault/c\ndefault/lost\nshop/d\n");
	T_EQ(PLACET("get", "pods", "-A", "-o", "name", "-l", "app=web"), 0);
	T_STR(placet_rig.out, "default/a\ndefault/b\nshop/d\n");
	T_EQ(PLACET("get", "pods", "-o", "name", "--watch"), 2);
	placet_says("--output name: does not go with --watch");
	T_EQ(PLACET("config", "get", "placet", "-o", "name"), 2);
	placet_says("--output name: want table, wide, json or yaml");
	placet_down();
}

T_CASE(pods_are_chosen_by_labels_and_phase)
{
	some_labeled();
	T_EQ(PLACET("get", "pods", "-l", "app=web,!tier", "-n", "default", "-o", "name"),
	     0);
	T_STR(placet_rig.out, "default/b\n");
	T_EQ(PLACET("get", "pods", "--selector", "app!=web", "-o", "name"), 0);
	T_STR(placet_rig.out, "default/c\n"); /* lost has no labels: it has no spec */
	T_EQ(PLACET("get", "pods", "--phase", "pending", "-o", "name"), 0);
	T_STR(placet_rig.out, "default/b\ndefault/c\nshop/d\n");
	T_EQ(PLACET("get", "pods", "--phase", "Bound", "-l", "app", "-o", "name"), 0);
	T_STR(placet_rig.out, "default/a\n");
	T_EQ(PLACET("get", "pods", "--phase", "malformed", "-o", "name"), 0);
	T_STR(placet_rig.out, "default/lost\n");
	T_EQ(PLACET("get", "pods", "--phase", "Failed", "-o", "json"), 0);
	placet_prints("\"items\": []");
	placet_down();
}

T_CASE(commands_without_a_choice_of_pods_are_refused)
{
	placet_up(PARTITIONS);
	T_EQ(PLACET("get", "pods", "-l", "app is web"), 2);
	placet_says("--selector: at 'is web': want =, ==, !=, in or notin");
	T_EQ(PLACET("get", "pods", "--phase", "Running"), 2);
	placet_says("--phase Running: want Pending, Bound,");
	T_EQ(PLACET("get", "pods", "a", "-l", "app"), 2);
	placet_says("--selector: does not go with names");
	T_EQ(PLACET("get", "pods", "a", "--phase", "Bound"), 2);
	placet_says("--phase: does not go with names");
	T_EQ(PLACET("get", "pods", "-A", "-n", "shop"), 2);
	placet_says("--all-namespaces: goes with neither names nor --namespace");
	placet_down();
}

/* A pod that does not match any more is gone; one that comes to match is there. */
T_CASE(a_watch_with_labels_shows_pods_that_join_and_leave)
{
	static const char *const args[] = {"get",     "pods",    "--watch", "-l",
	                                   "app=web", "--phase", "bound",   "-o",
	                                   "json",    NULL};
	struct placet_running running;

	some_labeled();
	placet_start(&running, args);
	placet_await(&running, "\"name\":\"a\"");
	put_state("default", "c", BOUND); /* has no such label */
	put_state("default", "b", BOUND);
	placet_await(&running, "\"name\"");
	T_TRUE(strstr(running.line, "\"change\":\"added\",\"namespace\":\"default\","
	                            "\"name\":\"b\"") != NULL);
	put_state("default", "a", PENDING);
	placet_await(&running, "\"name\"");
	T_TRUE(strstr(running.line, "\"change\":\"deleted\",\"namespace\":\"default\","
	                            "\"name\":\"a\",\"phase\":\"gone\"") != NULL);
	placet_kill(&running);
	placet_down();
}

/* The state is unchanged. */
T_CASE(a_watch_sees_labels_that_change)
{
	static const char *const args[] = {"get", "pods",         "--watch",
	                                   "-l",  "track=canary", NULL};
	static const char *const specs[] = {
		LABELED("a", "\"track\":\"canary\""),
		LABELED("a", "\"track\":\"stable\""),
	};
	struct placet_running running;
	uint32_t partition;
	char key[KEY];

	some_labeled();
	T_EQ(RUN(LABELED("z", "\"track\":\"canary\""), "submit", "-f", "-"), 0);
	T_EQ(partition_of_pod(PL_SPAN_LIT("default"), PL_SPAN_LIT("a"), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/default/a/spec", partition);
	placet_start(&running, args);
	placet_await(&running, " z ");
	placet_put(key, specs[0]);
	placet_await(&running, " a ");
	T_TRUE(strstr(running.line, "n-1") != NULL);
	placet_put(key, specs[1]);
	placet_await(&running, "gone");
	T_TRUE(strstr(running.line, " a ") != NULL);
	placet_kill(&running);
	placet_down();
}
