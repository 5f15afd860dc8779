/* The commands about nodes over a real etcd: what they print, write and refuse. */
#include "store/keys/keys.h"
#include "store/keys/partition.h"
#include "tests/support/coord/cli/placet_rig.h"

enum { PARTITIONS = 8 };

static const char *key_of(enum keys_kind kind, const char *cluster, const char *name)
{
	static struct keys_text text;
	struct keys_id id = {
		.kind = kind, .scope = pl_span_str(cluster), .name = pl_span_str(name)};

	T_OK(partition_of_node(id.scope, id.name, PARTITIONS, &id.partition, NULL), NULL);
	T_OK(keys_build(&id, &text, NULL), NULL);
	return text.at;
}

static void stands(enum keys_kind kind, const char *cluster, const char *name,
                   const char *value)
{
	T_STR(etcd_rig_get(&placet_rig.rig, key_of(kind, cluster, name)), value);
}

static size_t count(const char *prefix)
{
	struct kv_req req = kv_op_get(kv_prefix(pl_span_str(prefix)));
	struct kv_result result;

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	return result.get.count;
}

static const char two[] = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"
			  " {\"kind\":\"Node\", \"metadata\": {\"name\":\"b\"}},\n"
			  " {\"kind\":\"Node\", \"metadata\": {\"name\":\"a\"},\n"
			  "  \"status\": {\"allocatable\": {\"cpu\": \"4\"}}}]}\n";

static int apply(const char *input, const char *option)
{
	return placet_run(input, (const char *const[]){"nodes", "apply", "--cluster",
	                                               "east", "-f", "-", option, NULL});
}

T_CASE(nodes_out_of_a_file_stand_in_the_store)
{
	placet_up(PARTITIONS);
	T_EQ(apply(two, "--dry-run"), 0);
	placet_prints("east/b would be created\neast/a would be created\n");
	T_EQ(count("/nodes/"), 0);
	T_EQ(placet_run(two, (const char *const[]){"nodes", "apply", "--cluster", "east",
	                                           "--filename", "-", "--dry-run", NULL}),
	     0);
	T_EQ(placet_run(two, (const char *const[]){"nodes", "apply", "--cluster", "east",
	                                           "--file", "-", "--dry-run", NULL}),
	     0);
	T_EQ(apply(two, NULL), 0);
	placet_prints("east/b created\neast/a created\n");
	stands(KEYS_NODE, "east", "a",
	       "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"},\"status\":{"
	       "\"allocatable\":{\"cpu\":\"4\"}}}");
	stands(KEYS_ALLOC, "east", "a", "{\"v\":1,\"generation\":1}");
	T_EQ(apply("kind: Node\nmetadata: {name: b, labels: {x: z}}\n---\n"
	           "kind: Node\nmetadata:\n  name: c\n",
	           NULL),
	     0);
	placet_prints("east/b changed\neast/c created\n");
	stands(KEYS_ALLOC, "east", "b", "{\"v\":1,\"generation\":2}");
	T_EQ(apply(two, NULL), 0);
	placet_prints("east/b changed\neast/a unchanged\n");
	placet_down();
}

T_CASE(an_invalid_node_keeps_all_out)
{
	placet_up(PARTITIONS);
	T_EQ(apply("kind: Node\nmetadata: {name: a}\n---\n"
	           "kind: Node\nmetadata: {name: b}\n"
	           "spec: {taints: [{key: x, effect: Never}]}\n",
	           "--dry-run"),
	     1);
	placet_says("object 2: spec.taints[0].effect");
	T_EQ(apply("kind: Pod\nmetadata: {name: a}\n", "--dry-run"), 1);
	placet_says("this is a Pod");
	T_EQ(apply("", "--dry-run"), 1);
	placet_says("no Node");
	T_EQ(PLACET("nodes", "apply", "-f", "-"), 2);
	placet_says("--cluster");
	T_EQ(PLACET("nodes", "apply", "--cluster", "East", "-f", "-"), 2);
	T_EQ(PLACET("nodes", "apply", "--cluster", "east"), 2);
	T_EQ(PLACET("nodes", "apply", "--cluster", "east", "-f", "/nowhere/at/all"), 2);
	placet_says("open /nowhere/at/all: No such file or directory");
	T_EQ(count("/nodes/"), 0);
	placet_down();
}

T_CASE(a_missing_node_does_not_keep_others_from_being_drained)
{
	placet_up(PARTITIONS);
	T_EQ(apply(two, NULL), 0);
	T_EQ(PLACET("nodes", "drain", "west/a", "east/b", "west/a", "--timeout=20s"), 1);
	placet_says("west/a: there is no such node\n");
	placet_says("1 of 2 nodes was refused; why is said above\n");
	placet_prints("east/b cordoned\n");
	placet_prints("east/b drained\n");
	placet_prints_not("west/a");
	T_EQ(PLACET("nodes", "drain", "west/a"), 1);
	placet_prints_not("drained");
	T_EQ(PLACET("nodes", "drain", "west/a", "east/a", "--dry-run"), 1);
	placet_prints("east/a would be changed\n");
	placet_prints_not("drained");
	placet_down();
}

T_CASE(a_dry_run_of_a_drain_names_the_pods)
{
	char alloc[2048];
	size_t len = 0;

	placet_up(PARTITIONS);
	T_EQ(apply(two, NULL), 0);
	placet_put(key_of(KEYS_ALLOC, "east", "a"),
	           "{\"v\":1,\"generation\":9,\"used\":{\"pods\":\"1\"},"
	           "\"pods\":{\"0001\":{\"web\":[\"p\"]}}}");
	T_EQ(PLACET("nodes", "drain", "east/a", "east/b", "--dry-run"), 0);
	T_STR(placet_rig.out, "east/a would be changed\neast/b would be changed\n"
	                      "web/p would go from east/a\n");
	len = (size_t)snprintf(alloc, sizeof alloc,
	                       "{\"v\":1,\"generation\":9,\"used\":{\"pods\":\"23\"},"
	                       "\"pods\":{\"0001\":{\"web\":[");
	for (unsigned i = 10; i < 33; i++)
		len += (size_t)snprintf(alloc + len, sizeof alloc - len, "%s\"p-%u\"",
		                        i == 10 ? "" : ",", i);
	(void)snprintf(alloc + len, sizeof alloc - len, "]}}}");
	placet_put(key_of(KEYS_ALLOC, "east", "a"), alloc);
	T_EQ(PLACET("nodes", "drain", "east/a", "--dry-run"), 0);
	placet_prints("web/p-10 would go from east/a\n");
	placet_prints("web/p-29 would go from east/a\nand 3 more\n");
	placet_prints_not("p-30");
	stands(KEYS_ALLOC, "east", "a", alloc);
	placet_down();
}

T_CASE(cordon_uncordon_delete)
{
	placet_up(PARTITIONS);
	T_EQ(apply(two, NULL), 0);
	T_EQ(PLACET("nodes", "cordon", "east/a", "east/b", "east/a"), 0);
	placet_prints("east/a cordoned\n");
	placet_prints("east/b cordoned\n");
	stands(KEYS_NODE, "east", "b",
	       "{\"kind\":\"Node\",\"metadata\":{\"name\":\"b\"},\"spec\":{"
	       "\"unschedulable\":true}}");
	T_EQ(PLACET("nodes", "cordon", "east/a", "west/a"), 1);
	placet_prints("east/a unchanged\n");
	placet_says("west/a: there is no such node");
	placet_says("1 of 2 nodes was refused; why is said above\n");
	T_EQ(PLACET("nodes", "uncordon", "east/b"), 0);
	placet_prints("east/b uncordoned\n");
	stands(KEYS_NODE, "east", "b",
	       "{\"kind\":\"Node\",\"metadata\":{\"name\":\"b\"},\"spec\":{}}");
	T_EQ(PLACET("nodes", "delete", "east/b"), 1);
	placet_says("--yes");
	T_EQ(PLACET("nodes", "delete", "east/b", "--dry-run"), 0);
	placet_prints("east/b would be deleted\n");
	T_EQ(PLACET("nodes", "delete", "east/b", "--yes"), 0);
	placet_prints("east/b deleted\n");
	placet_put(key_of(KEYS_ALLOC, "east", "a"),
	           "{\"v\":1,\"generation\":9,\"used\":{\"pods\":\"1\"},"
	           "\"pods\":{\"0001\":{\"web\":[\"p\"]}}}");
	T_EQ(PLACET("nodes", "delete", "east/a", "-y"), 1);
	placet_says("east/a: 1 pod is on it");
	T_EQ(count("/nodes/"), 1);
	T_EQ(PLACET("nodes", "delete", "east"), 2);
	T_EQ(PLACET("nodes", "delete", "east/A"), 2);
	placet_down();
}

T_CASE(a_cluster_that_does_not_exist)
{
	placet_up(PARTITIONS);
	T_EQ(PLACET("sim-cluster", "--cluster", "sim", "--nodes", "1000"), 0);
	placet_prints("cluster sim: 1000 nodes created, 0 changed, 0 unchanged");
	T_EQ(count("/nodes/"), 1000);
	T_EQ(count("/alloc/"), 1000);
	T_EQ(PLACET("sim-cluster", "--cluster", "sim", "--nodes", "1001"), 0);
	placet_prints("1 nodes created, 0 changed, 1000 unchanged");
	T_EQ(PLACET("sim-cluster", "--cluster", "sim", "--nodes", "10", "--seed", "5"),
	     0);
	placet_prints("0 nodes created");
	T_EQ(count("/nodes/"), 1001);
	T_EQ(placet_run("zones: [{name: a}]\nshapes: [{name: s, cpu: 1, mem: 1}]\n",
	                (const char *const[]){"sim-cluster", "--nodes", "1", "--cluster",
	                                      "x", "--profile", "-", NULL}),
	     1);
	placet_says("shapes[0].mem");
	T_EQ(PLACET("sim-cluster", "--nodes", "0", "--cluster", "x"), 2);
	T_EQ(PLACET("sim-cluster", "--nodes", "1"), 2);
	placet_down();
}

T_CASE(printing_nodes_needs_no_store)
{
	T_EQ(PLACET("sim-cluster", "--nodes", "2", "--print", "--endpoints",
	            "http://127.0.0.1:1"),
	     0);
	placet_prints("\"name\":\"node-000000\"");
	placet_prints("\n{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
	              "\"node-000001\"");
}
