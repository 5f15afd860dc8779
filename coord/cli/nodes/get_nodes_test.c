/* placet get nodes over a real etcd: what is shown, of which nodes. */
#include "store/keys/partition.h"
#include "tests/support/coord/cli/placet_rig.h"

enum { PARTITIONS = 8, KEY = 256 };

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

T_CASE(named_nodes_are_reported_one_by_one)
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
	placet_says("2 not found; check the name");
	T_EQ(PLACET("get", "nodes", "n-1"), 2);
	placet_says("'n-1': want CLUSTER/NODE, or --cluster");
	/* A node in a partition that its name does not fall in is shown all the
	 * same. */
	T_EQ(partition_of_node(PL_SPAN_LIT("x"), PL_SPAN_LIT("orphan"), PARTITIONS,
	                       &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/nodes/%04u/x/orphan",
	               (partition + 1) % PARTITIONS);
	placet_put(key, "{\"metadata\":{\"name\":\"orphan\"}}");
	T_EQ(PLACET("get", "nodes", "east/n-1", "x/orphan"), 0);
	placet_prints("no-alloc");
	placet_prints("ready");
	placet_down();
}

#define NODE(name, labels, cpu)                                                      \
	"{\"metadata\":{\"name\":\"" name "\",\"labels\":{" labels "}},\"status\":{" \
	"\"allocatable\":{\"cpu\":\"" cpu "\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}"

#define ALLOC(generation, pods)                                                        \
	"{\"v\":1,\"generation\":" generation ",\"used\":{\"cpu\":\"500m\","           \
	"\"memory\":\"1073741824\",\"pods\":\"1\"},\"pods\":{\"0007\":{\"web\":[" pods \
	"]}}}"

T_CASE(nodes_are_chosen_by_labels)
{
	placet_up(PARTITIONS);
	placet_put("/nodes/0001/east/n-1", NODE("n-1", "\"disk\":\"ssd\"", "4"));
	placet_put("/nodes/0001/east/n-2", NODE("n-2", "\"disk\":\"hdd\"", "4"));
	placet_put("/nodes/0002/west/n-3", NODE("n-3", "", "4"));
	placet_put("/alloc/0002/west/n-4", "{\"v\":1,\"generation\":1}");
	T_EQ(PLACET("get", "nodes", "-o", "name"), 0);
	T_STR(placet_rig.out, "east/n-1\neast/n-2\nwest/n-3\nwest/n-4\n");
	T_EQ(PLACET("get", "nodes", "-l", "disk!=hdd", "-o", "name"), 0);
	T_STR(placet_rig.out, "east/n-1\nwest/n-3\n");
	T_EQ(PLACET("get", "nodes", "-c", "east", "-l", "disk in (hdd)", "-o", "name"),
	     0);
	T_STR(placet_rig.out, "east/n-2\n");
	T_EQ(PLACET("get", "nodes", "-l", "disk=", "-o", "name"), 0);
	T_STR(placet_rig.out, "");
	placet_says("no nodes");
	T_EQ(PLACET("get", "nodes", "-l", "disk", "east/n-1"), 2);
	placet_says("--selector: does not go with names");
	T_EQ(PLACET("get", "nodes", "-l", "disk=a b"), 2);
	placet_says("--selector: at 'b': want , between requirements");
	placet_down();
}

T_CASE(changes_of_nodes_are_printed_as_they_come)
{
	static const char *const args[] = {"get", "nodes", "-w", "-c", "east", NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	placet_put("/nodes/0001/east/n-2", NODE("n-2", "", "4"));
	placet_put("/alloc/0001/east/n-2", "{\"v\":1,\"generation\":1}");
	placet_put("/nodes/0003/east/n-1", NODE("n-1", "", "4"));
	placet_put("/alloc/0003/east/n-1", "{\"v\":1,\"generation\":1}");
	placet_put("/nodes/0003/west/n-1", NODE("n-1", "", "64"));
	placet_start(&running, args);
	placet_await(&running, "CLUSTER");
	placet_await(&running, "n-");
	T_TRUE(strstr(running.line, "east      n-1    ready   0/10   0/4") != NULL);
	placet_await(&running, "n-");
	T_TRUE(strstr(running.line, "east      n-2    ready   0/10   0/4") != NULL);
	placet_put("/alloc/0001/east/n-2", ALLOC("2", "\"app-1\""));
	placet_await(&running, "1/10");
	T_TRUE(strstr(running.line, "n-2") != NULL);
	T_TRUE(strstr(running.line, "0.5/4   1.0Gi/8.0Gi") != NULL);
	placet_put("/alloc/0001/east/n-2", "}");
	placet_await(&running, "malformed");
	placet_put("/nodes/0002/west/n-9", NODE("n-9", "", "4")); /* not asked for */
	placet_delete("/alloc/0001/east/n-2");
	placet_await(&running, "n-");
	T_TRUE(strstr(running.line, "no-alloc") != NULL);
	placet_delete("/nodes/0001/east/n-2");
	placet_await(&running, "gone");
	T_TRUE(strstr(running.line, "east      n-2") != NULL);
	placet_kill(&running);
	placet_down();
}

/* A node that loses its label is gone. */
T_CASE(a_watch_with_labels_shows_nodes_that_join_and_leave)
{
	static const char *const args[] = {"get",      "nodes", "--watch", "-l",
	                                   "disk=ssd", "-o",    "json",    NULL};
	struct placet_running running;

	placet_up(PARTITIONS);
	placet_put("/nodes/0001/east/n-1", NODE("n-1", "\"disk\":\"ssd\"", "4"));
	placet_put("/nodes/0001/east/n-2", NODE("n-2", "\"disk\":\"hdd\"", "4"));
	placet_start(&running, args);
	placet_await(&running, "\"name\":\"n-1\"");
	placet_put("/nodes/0001/east/n-2", NODE("n-2", "\"disk\":\"ssd\"", "4"));
	placet_await(&running, "\"name\"");
	T_TRUE(strstr(running.line, "\"change\":\"added\",\"cluster\":\"east\","
	                            "\"name\":\"n-2\"") != NULL);
	placet_put("/nodes/0001/east/n-1", NODE("n-1", "", "4"));
	placet_await(&running, "\"name\"");
	T_TRUE(strstr(running.line, "\"change\":\"deleted\",\"cluster\":\"east\","
	                            "\"name\":\"n-1\",\"state\":\"gone\"") != NULL);
	placet_kill(&running);
	placet_down();
}
