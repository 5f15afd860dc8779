#include "tests/support/shardsched/snapshot/snapshot_rig.h"

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
	T_TRUE(pl_bitset_has(snapshot.vacant, slot));
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

T_CASE(node_name_is_unique_in_each_cluster)
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
	T_EQ(snapshot.row[slot].used.pods, 1);
	T_EQ(snapshot.storage_free[slot], 30);
	T_TRUE(pl_bitset_has(snapshot.with_ports, slot));
	T_EQ(snapshot.row[slot].first_pod, pod);
	put_pod(slot, POD("p2", ""));
	T_EQ(snapshot.storage_free[slot], -40);
	snapshot_check(&snapshot);
	snapshot_pod_remove(&snapshot, pod);
	T_EQ(snapshot.row[slot].used.pods, 1);
	T_TRUE(!pl_bitset_has(snapshot.with_ports, slot));
	end();
}

#define HOST "kubernetes.io/hostname"

T_CASE(each_node_is_a_domain_of_the_hostname)
{
	struct label_column *value, *domain, *again;
	uint32_t slot[3], key;

	begin();
	slot[0] = put_node(NODE("n1", "'" HOST "':'a'", ""));
	T_OK(strings_add(&model.strings, PL_SPAN_LIT(HOST), &key), NULL);
	T_OK(label_column_open_domains(&snapshot, key, &domain, &err), &err);
	T_OK(label_column_open(&snapshot, key, &value, &err), &err);
	T_OK(label_column_open_domains(&snapshot, key, &again, &err), &err);
	T_TRUE(domain == again && domain != value);
	slot[1] = put_node(NODE("n2", "'" HOST "':'a'", ""));
	slot[2] = put_node(NODE("n3", "", ""));
	T_EQ(value->value[slot[0]], value->value[slot[1]]);
	T_EQ(domain->domains, 2);
	T_TRUE(domain->value[slot[0]] != domain->value[slot[1]]);
	T_EQ(domain->value[slot[2]], 0);
	T_EQ(domain->domain[domain->value[slot[0]]].text, id("a"));
	change_node(slot[2], NODE("n3", "'" HOST "':'a'", ""));
	change_node(slot[0], NODE("n1", "'" HOST "':'b'", ""));
	T_EQ(domain->domains, 3);
	T_EQ(domain->domain[domain->value[slot[0]]].text, id("b"));
	change_node(slot[1], NODE("n2", "", ""));
	T_EQ(domain->domains, 2);
	T_EQ(domain->value[slot[1]], 0);
	snapshot_check(&snapshot);
	label_column_close(&snapshot, again);
	label_column_close(&snapshot, domain);
	label_column_close(&snapshot, value);
	strings_unref(&model.strings, key);
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

static uint32_t ask(uint32_t slot, const char *requests)
{
	char text[512];

	snprintf(text, sizeof text,
	         "{'metadata':{'name':'p','namespace':'x'},'spec':{'containers':[{"
	         "'name':'c','image':'i','resources':{'requests':{%s}}}]}}",
	         requests);
	return put_pod(slot, text);
}

T_CASE(a_node_beyond_32_bits_makes_the_columns_wide)
{
	uint32_t slot, pod;

	begin();
	slot = put_node(NODE("n1", "", ""));
	T_EQ(snapshot.hot.wide, 0);
	change_node(slot, "{'metadata':{'name':'n1'},'status':{'allocatable':{"
	                  "'cpu':'2147483647m','pods':'3000000000'}}}");
	T_EQ(snapshot.hot.wide, 1);
	T_EQ(snapshot.hot.cpu_alloc[slot], INT32_MAX);
	T_EQ(snapshot.row[slot].alloc.pods, INT64_C(3000000000));
	change_node(slot, "{'metadata':{'name':'n1'},'status':{'allocatable':{"
	                  "'cpu':'2147483646m'}}}");
	T_EQ(snapshot.hot.wide, 0);
	ask(slot, "'cpu':'2147483600m'");
	T_EQ(snapshot.hot.wide, 0);
	pod = ask(slot, "'memory':'1'"); /* counts as 100m where nothing is asked for */
	T_EQ(snapshot.hot.wide, 1);
	T_EQ(snapshot.row[slot].nonzero_cpu_milli, INT64_C(2147483700));
	snapshot_pod_remove(&snapshot, pod);
	T_EQ(snapshot.hot.wide, 0);
	pod = ask(slot, "'cpu':'3000000'");
	T_EQ(snapshot.hot.wide, 1);
	T_EQ(snapshot.row[slot].used.cpu_milli, INT64_C(5147483600));
	snapshot_pod_remove(&snapshot, pod);
	T_EQ(snapshot.hot.cpu_used[slot], 2147483600);
	end();
}

T_CASE(amounts_that_can_not_be_counted_are_refused)
{
	const char *huge[] = {"'memory':'4611686018427387000'",
	                      "'ephemeral-storage':'4611686018427387000'",
	                      "'cpu':'4611686018427387'",
	                      "'example.com/gpu':'4611686018427387000'"};
	struct pod_on_node there;
	struct pod pod;
	uint32_t slot, placed;

	begin();
	slot = put_node(NODE("n1", "", ""));
	for (unsigned i = 0; i < 4; i++) {
		placed = ask(slot, huge[i]);
		pod = pod_from(
			"{'metadata':{'name':'p','namespace':'x'},'spec':{"
			"'containers':[{'name':'c','image':'i','resources':{"
			"'requests':{'cpu':'5','memory':'5000','ephemeral-storage':"
			"'5000','example.com/gpu':'5000'}}}]}}");
		there = on_node(&pod);
		T_CODE(snapshot_pod_add(&snapshot, slot, &there, &placed, &err), PL_LIMIT,
		       NULL);
		snapshot_check(&snapshot);
		snapshot_pod_remove(&snapshot, snapshot.row[slot].first_pod);
		T_OK(snapshot_pod_add(&snapshot, slot, &there, &placed, &err), &err);
		snapshot_pod_remove(&snapshot, placed);
		pod_drop(&model, &pod);
	}
	end();
}

T_CASE(there_are_64_kinds_of_scalars_at_once)
{
	char text[4096] = "{'metadata':{'name':'n1'},'status':{'allocatable':{";
	struct node node;
	uint32_t slot;

	begin();
	for (unsigned i = 0; i < SNAPSHOT_SCALARS_MAX; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text),
		         "'example.com/r%u':'%u',", i, i);
	snprintf(text + strlen(text), sizeof text - strlen(text), "'cpu':'1'}}}");
	slot = put_node(text);
	node = node_from(NODE("n2", "", ",'example.com/r64':'1','example.com/r1':'1'"));
	T_CODE(snapshot_node_add(&snapshot, 0, &node, &slot, &err), PL_LIMIT, NULL);
	T_EQ(snapshot.nodes, 1);
	snapshot_check(&snapshot);
	snapshot_node_remove(&snapshot, slot);
	T_OK(snapshot_node_add(&snapshot, 0, &node, &slot, &err), &err);
	T_TRUE(snapshot_scalar(&snapshot, id("example.com/r64")) != SNAPSHOT_NONE);
	T_EQ(snapshot_scalar(&snapshot, id("example.com/r2")), SNAPSHOT_NONE);
	node_drop(&model, &node);
	end();
}

/* The requests of its pods make no difference. */
T_CASE(node_without_resources_is_not_counted)
{
	struct node node, bare;
	uint32_t slot, placed;

	begin();
	node = bare = node_from(NODE("n1", "", ",'example.com/r1':'1'"));
	bare.allocatable = NULL;
	T_OK(snapshot_node_add(&snapshot, 0, &bare, &slot, &err), &err);
	placed = put_pod(slot, "{'metadata':{'name':'p','namespace':'x'},'spec':{"
	                       "'containers':[{'name':'c','image':'i','resources':{"
	                       "'requests':{'cpu':'5','example.com/r1':'1'}}}]}}");
	snapshot_check(&snapshot);
	T_EQ(snapshot.row[slot].pods, 1);
	T_EQ(snapshot.row[slot].used.cpu_milli, 0);
	T_EQ(snapshot_scalar(&snapshot, id("example.com/r1")), SNAPSHOT_NONE);
	snapshot_pod_remove(&snapshot, placed);
	snapshot_node_remove(&snapshot, slot);
	snapshot_check(&snapshot);
	node_drop(&model, &node);
	end();
}

static uint32_t ask_port(uint32_t slot, unsigned port)
{
	char text[512];

	snprintf(text, sizeof text,
	         "{'metadata':{'name':'p','namespace':'x'},'spec':{'containers':[{"
	         "'name':'c','image':'i','ports':[{'containerPort':1,'hostPort':%u}]}]}}",
	         port);
	return put_pod(slot, text);
}

T_CASE(lifted_pods_are_restored_to_their_places)
{
	uint32_t slot, lifted, other;
	uint64_t changes, generation;

	begin();
	slot = put_node(NODE("n1", "", ""));
	lifted = ask_port(slot, 1);
	for (unsigned port = 2; port <= 64; port++)
		ask_port(slot, port);
	T_EQ(snapshot.inner->ports.cap, 64); /* else the case shows nothing */
	changes = snapshot.changes;
	generation = snapshot.row[slot].generation;
	snapshot_probe(&snapshot);
	snapshot_pod_lift(&snapshot, lifted);
	T_EQ(snapshot.row[slot].used.pods, 63);
	other = ask_port(slot, 65);
	snapshot_check(&snapshot);
	snapshot_pod_restore(&snapshot, lifted);
	T_EQ(snapshot.row[slot].used.pods, 65);
	snapshot_check(&snapshot);
	snapshot_pod_remove(&snapshot, other);
	snapshot_probe_end(&snapshot);
	T_EQ(snapshot.changes, changes);
	T_EQ(snapshot.row[slot].generation, generation);
	end();
}

/* A lift follows kube-scheduler's preemption, which keeps ports as a set. */
T_CASE(lift_hides_a_port_that_another_pod_has_too)
{
	uint32_t slot, lifted, use, added;

	begin();
	slot = put_node(NODE("n1", "", ""));
	(void)ask_port(slot, 80);
	lifted = ask_port(slot, 80);
	use = snapshot.row[slot].first_port;
	T_EQ(snapshot.port_use[use].users, 2);
	T_TRUE(port_is_taken(&snapshot.port_use[use]));
	snapshot_probe(&snapshot);
	snapshot_pod_lift(&snapshot, lifted);
	T_TRUE(!port_is_taken(&snapshot.port_use[use]));
	added = ask_port(slot, 80);
	T_TRUE(port_is_taken(&snapshot.port_use[use]));
	snapshot_pod_remove(&snapshot, added);
	T_TRUE(!port_is_taken(&snapshot.port_use[use]));
	snapshot_check(&snapshot);
	snapshot_pod_restore(&snapshot, lifted);
	T_TRUE(port_is_taken(&snapshot.port_use[use]));
	snapshot_probe_end(&snapshot);
	snapshot_pod_remove(&snapshot, lifted); /* removed for good: the other pod still
						 * has the port */
	T_TRUE(port_is_taken(&snapshot.port_use[use]));
	end();
}

static void on_changed(void *ctx, uint32_t slot)
{
	*(uint64_t *)ctx += slot + 1;
}

T_CASE(changes_are_logged_for_a_while)
{
	uint64_t before, sum = 0;
	uint32_t slot[2], pod;

	begin();
	slot[0] = put_node(NODE("n0", "", ""));
	slot[1] = put_node(NODE("n1", "", ""));
	before = snapshot.changes;
	change_node(slot[1], NODE("n1", "", "")); /* the same node again */
	T_EQ(snapshot.changes, before);
	T_TRUE(snapshot_changed_since(&snapshot, before, on_changed, &sum));
	T_EQ(sum, 0);
	for (unsigned i = 0; i < SNAPSHOT_LOG / 2; i++) {
		pod = put_pod(slot[1], POD("p", ""));
		snapshot_pod_remove(&snapshot, pod);
	}
	T_TRUE(snapshot_changed_since(&snapshot, before, on_changed, &sum));
	T_EQ(sum, 2 * SNAPSHOT_LOG);
	change_node(slot[0], NODE("n0", "'zone':'a'", ""));
	T_TRUE(!snapshot_changed_since(&snapshot, before, on_changed, &sum));
	T_TRUE(snapshot_changed_since(&snapshot, snapshot.changes - 1, on_changed, &sum));
	T_EQ(sum, 2 * SNAPSHOT_LOG + 1);
	end();
}

T_CASE(pod_terminates_once)
{
	uint32_t slot, pod;
	uint64_t changes;

	begin();
	slot = put_node(NODE("n1", "", ""));
	pod = put_pod(slot, POD("p", ""));
	snapshot_pod_terminate(&snapshot, pod);
	T_TRUE((snapshot.placed[pod].flags & PLACED_TERMINATING) != 0);
	changes = snapshot.changes;
	snapshot_pod_terminate(&snapshot, pod);
	T_EQ(snapshot.changes, changes);
	T_EQ(snapshot.row[slot].used.pods, 1);
	end();
}

T_CASE(unused_label_columns_are_dropped)
{
	struct label_column *column, *first = NULL;
	char name[16];
	uint32_t key, first_key = 0;

	begin();
	put_node(NODE("n1", "'k0':'a'", ""));
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "k%u", i);
		T_OK(strings_add(&model.strings, pl_span_str(name), &key), NULL);
		T_OK(label_column_open(&snapshot, key, &column, &err), &err);
		if (i == 0) {
			first = column;
			first_key = key;
		} else {
			label_column_close(&snapshot, column);
		}
		strings_unref(&model.strings, key);
	}
	T_TRUE(snapshot.inner->columns.count < 20);
	T_OK(label_column_open(&snapshot, first_key, &column, &err), &err);
	T_TRUE(column == first);
	label_column_close(&snapshot, column);
	label_column_close(&snapshot, column);
	T_OK(label_column_open(&snapshot, first_key, &column, &err), &err);
	T_TRUE(column == first); /* the column was not dropped yet */
	label_column_close(&snapshot, column);
	end();
}
