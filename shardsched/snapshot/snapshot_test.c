#include "shardsched/snapshot/snapshot_rig.h"

#define NODE(name, labels, rest)                           \
	"{'metadata':{'name':'" name "','labels':{" labels \
	"}},'status':{'allocatable':{"                     \
	"'cpu':'4','memory':'8Gi','ephemeral-storage':'100','pods':'110'" rest "}}}"
#define POD(name, rest)                                                             \
	"{'metadata':{'name':'" name "','namespace':'x'},'spec':{'containers':[{"   \
	"'name':'c','image':'i','resources':{'requests':{'cpu':'1','memory':'1Gi'," \
	"'ephemeral-storage':'70'}}" rest "}]}}"

T_CASE(a_node_is_a_slot)
{
	uint32_t slot;

	begin();
	slot = put_node(NODE("n1", "'zone':'a'", ""));
	T_EQ(slot, 0);
	T_EQ(snapshot.nodes, 1);
	T_TRUE(pl_bitset_has(snapshot.live, slot));
	T_EQ(snapshot.hot.cpu_alloc[slot], 4000);
	T_EQ(snapshot.hot.memory_alloc[slot], INT64_C(8) << 30);
	T_EQ(snapshot.hot.pods_alloc[slot], 110);
	T_EQ(snapshot.storage_free[slot], 100);
	T_EQ(snapshot_node_find(&snapshot, 0, id("n1")), slot);
	T_EQ(snapshot_node_find(&snapshot, 1, id("n1")), SNAPSHOT_NONE);
	snapshot_check(&snapshot);
	snapshot_node_remove(&snapshot, slot);
	T_EQ(snapshot.nodes, 0);
	T_EQ(snapshot.hot.cpu_alloc[slot], 0);
	T_TRUE(!pl_bitset_has(snapshot.live, slot));
	end();
}

T_CASE(a_node_is_there_once_in_each_cluster)
{
	struct node node;
	uint32_t slot[2], other, cluster;

	begin();
	node = node_from(NODE("n1", "", ""));
	T_OK(strings_add(&model.strings, PL_SPAN_LIT("east"), &cluster), NULL);
	T_OK(snapshot_node_add(&snapshot, 0, &node, &slot[0], &err), &err);
	T_CODE(snapshot_node_add(&snapshot, 0, &node, &other, &err), PL_EXISTS, NULL);
	T_OK(snapshot_node_add(&snapshot, cluster, &node, &slot[1], &err), &err);
	T_EQ(snapshot_node_find(&snapshot, 0, node.name), slot[0]);
	T_EQ(snapshot_node_find(&snapshot, cluster, node.name), slot[1]);
	other = snapshot_node_named(&snapshot, node.name, SNAPSHOT_NONE);
	T_TRUE(other == slot[0] || other == slot[1]);
	T_EQ(snapshot_node_named(&snapshot, node.name, other), slot[0] + slot[1] - other);
	node_drop(&model, &node);
	strings_unref(&model.strings, cluster);
	end();
}

T_CASE(a_pod_is_counted_and_given_back)
{
	uint32_t slot, pod;

	begin();
	slot = put_node(NODE("n1", "", ",'example.com/gpu':'2'"));
	pod = put_pod(slot, POD("p1", ",'ports':[{'hostPort':80,'containerPort':80}]"));
	T_EQ(snapshot.row[slot].used.cpu_milli, 1000);
	T_EQ(snapshot.hot.cpu_used[slot], 1000);
	T_EQ(snapshot.hot.cpu_nonzero[slot], 1000);
	T_EQ(snapshot.hot.pods_used[slot], 1);
	T_EQ(snapshot.storage_free[slot], 30);
	T_TRUE(pl_bitset_has(snapshot.with_ports, slot));
	T_EQ(snapshot.row[slot].first_pod, pod);
	put_pod(slot, POD("p2", ""));
	T_EQ(snapshot.storage_free[slot], -40);
	snapshot_check(&snapshot);
	snapshot_pod_remove(&snapshot, pod);
	T_EQ(snapshot.hot.pods_used[slot], 1);
	T_TRUE(!pl_bitset_has(snapshot.with_ports, slot));
	end();
}

T_CASE(a_label_is_a_number)
{
	struct label_column *zone;
	uint32_t slot[3], key;

	begin();
	slot[0] = put_node(NODE("n1", "'zone':'a'", ""));
	T_OK(strings_add(&model.strings, PL_SPAN_LIT("zone"), &key), NULL);
	T_OK(label_column_open(&snapshot, key, &zone, &err), &err);
	slot[1] = put_node(NODE("n2", "'zone':'b'", ""));
	slot[2] = put_node(NODE("n3", "", ""));
	T_EQ(zone->domains, 2);
	T_EQ(zone->value[slot[0]], label_column_find(zone, id("a")));
	T_EQ(zone->value[slot[1]], label_column_find(zone, id("b")));
	T_EQ(zone->value[slot[2]], 0);
	change_node(slot[0], NODE("n1", "'zone':'b'", ""));
	T_EQ(zone->domains, 1);
	T_EQ(zone->value[slot[0]], zone->value[slot[1]]);
	T_EQ(zone->domain[zone->value[slot[0]]].nodes, 2);
	snapshot_check(&snapshot);
	label_column_close(&snapshot, zone);
	strings_unref(&model.strings, key);
	end();
}
