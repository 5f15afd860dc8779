/* The check over a real etcd: a clean store, a broken one, and a repaired one. */
#include "store/base/json.h"
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

static void up(void)
{
	placet_up(PARTITIONS);
	if (PLACET("sim-cluster", "--cluster", "sim", "--nodes", "2500") != 0)
		t_fail(__FILE__, __LINE__, "%s%s", placet_rig.out, placet_rig.said);
}

T_CASE(a_consistent_store_passes)
{
	up();
	T_EQ(PLACET("fsck"), 0);
	placet_prints("");
	placet_says(
		"2500 nodes, 0 pods, 0 of them on a node; 0 violations, 0 conditions");
	T_EQ(PLACET("fsck", "-o", "json"), 0);
	placet_prints("\"items\": []");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 0);
	placet_says("nothing can be repaired");
	T_EQ(PLACET("fsck", "--yes"), 2);
	placet_says("--yes goes with --repair");
	placet_down();
}

T_CASE(a_broken_store_is_repaired)
{
	up();
	placet_put(key_of(KEYS_ALLOC, "sim", "node-000007"), "{");
	placet_delete(key_of(KEYS_ALLOC, "sim", "node-000008"));
	placet_put("/nodes/what", "{}");
	T_EQ(PLACET("fsck"), 1);
	placet_prints("alloc.malformed");
	placet_prints("node.no_alloc");
	placet_prints("key.malformed");
	placet_says("3 violations");
	T_EQ(PLACET("fsck", "--repair", "--dry-run"), 1);
	placet_says("would write /alloc/");
	T_EQ(PLACET("fsck", "--repair"), 1);
	placet_says("--yes");
	T_STR(etcd_rig_get(&placet_rig.rig, key_of(KEYS_ALLOC, "sim", "node-000007")),
	      "{");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 1);
	placet_says("2 repaired, 0 not");
	placet_says("1 violation,");
	placet_delete("/nodes/what");
	T_EQ(PLACET("fsck"), 0);
	placet_down();
}

/* -- of pods and nodes ----------------------------------------------------------------
 */

#define STATE(name) "/schedules/0000/web/" name "/state"
#define SPEC(name) "/schedules/0000/web/" name "/spec"

#define ALLOC_REST                                                  \
	",\"used\":{\"cpu\":\"500m\",\"pods\":\"1\"},\"nonzero\":{" \
	"\"memory\":\"209715200\"},\"pods\":{\"0000\":{\"web\":[\"a\"]}}}"
static const char alloc_text[] = "{\"v\":1,\"generation\":3" ALLOC_REST;

static void put_spec(const char *key, const char *name)
{
	char json[300];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
		"\"u-1\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
		"\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}}",
		name);
	placet_put(key, json);
}

/* One partition; sim/node-000001 has web/a, and web/b waits. */
static void up_pods(void)
{
	placet_up(1);
	T_EQ(PLACET("sim-cluster", "--cluster", "sim", "--nodes", "2"), 0);
	put_spec(SPEC("a"), "a");
	put_spec(SPEC("b"), "b");
	placet_put(STATE("a"), "{\"v\":1,\"uid\":\"u-1\",\"phase\":\"Bound\",\"cluster\":"
	                       "\"sim\",\"node\":\"node-000001\",\"since\":"
	                       "\"2026-11-21T09:00:00.000Z\"}");
	placet_put("/alloc/0000/sim/node-000001", alloc_text);
	T_EQ(PLACET("fsck"), 0);
}

static void is_bound(const char *pod)
{
	T_EQ(PLACET("get", "pods", "-o", "wide"), 0);
	placet_prints(pod);
	placet_prints("node-000001");
	T_STR(etcd_rig_get(&placet_rig.rig, "/alloc/0000/sim/node-000001"), alloc_text);
}

T_CASE(a_bound_pods_state_follows_from_the_alloc)
{
	up_pods();
	placet_put(STATE("a"), "xx");
	T_EQ(PLACET("fsck"), 1);
	placet_prints("state.malformed");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 0);
	placet_says("repaired /schedules/0000/web/a/state {");
	is_bound("a");
	placet_delete(STATE("a"));
	T_EQ(PLACET("fsck"), 1);
	placet_prints("state.missing");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 0);
	is_bound("a");
	placet_put(STATE("b"), "xx");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 0);
	placet_says("deleted /schedules/0000/web/b/state");
	T_STR(etcd_rig_get(&placet_rig.rig, STATE("b")), NULL);
	placet_down();
}

T_CASE(a_node_without_its_key_can_be_put_or_deleted)
{
	static const char node[] = "/nodes/0000/sim/node-000001";
	char json[8192];

	up_pods();
	(void)snprintf(json, sizeof json, "%s", etcd_rig_get(&placet_rig.rig, node));
	placet_delete(node);
	T_EQ(PLACET("fsck", "--repair", "--yes"), 1);
	placet_prints("alloc.no_node");
	placet_prints("placet nodes apply");
	T_EQ(PLACET("sim-cluster", "--cluster", "sim", "--nodes", "2"), 0);
	T_STR(etcd_rig_get(&placet_rig.rig, node), json);
	T_EQ(PLACET("fsck"), 0);
	T_STR(etcd_rig_get(&placet_rig.rig, "/alloc/0000/sim/node-000001"),
	      "{\"v\":1,\"generation\":4" ALLOC_REST);
	placet_delete(node);
	placet_put("/alloc/0000/sim/node-000001", "{\"v\":1,\"generation\":9}");
	placet_delete(STATE("a"));
	T_EQ(PLACET("nodes", "delete", "sim/node-000001", "--force", "--yes"), 0);
	placet_prints("sim/node-000001 deleted");
	T_EQ(PLACET("fsck"), 0);
	placet_delete("/nodes/0000/sim/node-000000");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 0);
	placet_says("deleted /alloc/0000/sim/node-000000");
	placet_down();
}

/* The requests of one pod are lost: the allocs of other nodes are repaired all the
 * same. */
T_CASE(a_malformed_pod_holds_up_no_other)
{
	up_pods();
	placet_put(SPEC("a"), "xx");
	placet_put(
		"/alloc/0000/sim/node-000001",
		"{\"v\":1,\"generation\":3,\"used\":{\"cpu\":\"1100m\",\"pods\":\"2\"},"
		"\"nonzero\":{\"memory\":\"419430400\"},\"pods\":{"
		"\"0000\":{\"web\":[\"a\",\"gone\"]}}}");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 1);
	placet_prints("alloc.pod_unknown");
	placet_says("1 repaired, 0 not");
	T_STR(etcd_rig_get(&placet_rig.rig, "/alloc/0000/sim/node-000001"),
	      "{\"v\":1,\"generation\":4,\"left\":1,\"used\":{\"cpu\":\"1100m\",\"pods\":\"1\"},"
	      "\"nonzero\":{\"memory\":\"419430400\"},\"pods\":{"
	      "\"0000\":{\"web\":[\"a\"]}}}");
	placet_down();
}
