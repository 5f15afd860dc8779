/* The check over a real etcd: clean, broken, and mended. */
#include "coord/cli/placet_rig.h"
#include "store/base/json.h"
#include "store/keys/keys.h"
#include "store/keys/partition.h"

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

T_CASE(a_store_that_is_right)
{
	up();
	T_EQ(PLACET("fsck"), 0);
	placet_prints("");
	placet_says(
		"2500 nodes, 0 pods, 0 of them on a node; 0 violations, 0 conditions");
	T_EQ(PLACET("fsck", "-o", "json"), 0);
	placet_prints("\"items\": []");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 0);
	placet_says("nothing can be mended");
	T_EQ(PLACET("fsck", "--yes"), 2);
	placet_says("--yes goes with --repair");
	placet_down();
}

T_CASE(one_that_is_broken_is_mended)
{
	up();
	placet_put(key_of(KEYS_ALLOC, "sim", "node-000007"), "{");
	placet_delete(key_of(KEYS_ALLOC, "sim", "node-000008"));
	placet_put("/nodes/what", "{}");
	T_EQ(PLACET("fsck"), 1);
	placet_prints("alloc.garbled");
	placet_prints("node.no_alloc");
	placet_prints("key.garbled");
	placet_says("3 violations");
	T_EQ(PLACET("fsck", "--repair", "--dry-run"), 1);
	placet_says("would write /alloc/");
	T_EQ(PLACET("fsck", "--repair"), 1);
	placet_says("--yes");
	T_STR(rig_get(&placet_rig.rig, key_of(KEYS_ALLOC, "sim", "node-000007")), "{");
	T_EQ(PLACET("fsck", "--repair", "--yes"), 1);
	placet_says("2 mended, 0 not");
	placet_says("1 violation,");
	placet_delete("/nodes/what");
	T_EQ(PLACET("fsck"), 0);
	placet_down();
}
