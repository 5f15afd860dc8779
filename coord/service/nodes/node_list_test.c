#include "coord/service/nodes/node_list.h"
#include "coord/service/nodes/node_watch.h"
#include "store/keys/partition.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8 };

static struct kit kit;
static struct service service;
static struct node_list *list;
static unsigned dones;
static struct pl_err failure;

static void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static uint32_t partition_of(const char *cluster, const char *name)
{
	uint32_t partition;

	T_OK(partition_of_node(pl_span_str(cluster), pl_span_str(name), PARTITIONS,
	                       &partition, NULL),
	     NULL);
	return partition;
}

static void put_at(uint32_t partition, const char *kind, const char *cluster,
                   const char *name, const char *value)
{
	char key[160];

	(void)snprintf(key, sizeof key, "/%s/%04u/%s/%s", kind, partition, cluster, name);
	(void)kit_put(&kit, key, value);
}

static void put(const char *kind, const char *cluster, const char *name,
                const char *value)
{
	put_at(partition_of(cluster, name), kind, cluster, name, value);
}

#define NODE(disk)                                                                       \
	"{\"metadata\":{\"name\":\"n\",\"labels\":{\"disk\":\"" disk "\"}},\"status\":{" \
	"\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}"
#define ALLOC                                                                       \
	"{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"500m\",\"memory\":\"1024\"," \
	"\"pods\":\"1\"},\"pods\":{\"0001\":{\"web\":[\"a\"]}}}"

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){
		.kv = kit.kv, .partitions = PARTITIONS, .timeout_ms = 1000};
	put("nodes", "east", "n-1", NODE("ssd"));
	put("alloc", "east", "n-1", ALLOC);
	put("nodes", "east", "n-2", NODE("hdd"));
	put("alloc", "west", "n-1", ALLOC);
	put("nodes", "west", "n-2", "{");
	put("alloc", "west", "n-2", ALLOC);
	(void)kit_put(&kit, "/nodes/tick", "{\"v\":1}");
}

static void down(void)
{
	node_list_free(list);
	list = NULL;
	kit_close(&kit);
}

static void start(const struct node_filter *filter)
{
	struct node_list_opts opts = {.filter = *filter, .done = on_done};

	dones = 0;
	node_list_free(list);
	T_OK(node_list_start(&service, &opts, &list, &kit.err), &kit.err);
	T_EQ(dones, 0);
}

/* "cluster/name:state " of each, in order. */
static const char *listed(const struct node_filter *filter)
{
	static char text[256];
	const struct node_info *nodes;
	size_t count, len = 0;

	start(filter);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	nodes = node_list_nodes(list, &count);
	text[0] = 0;
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(
			text + len, sizeof text - len, PL_SPAN_FMT "/" PL_SPAN_FMT ":%s ",
			PL_SPAN_ARG(nodes[i].cluster), PL_SPAN_ARG(nodes[i].name),
			node_info_state(&nodes[i]));
	return text;
}

T_CASE(nodes_come_with_their_allocs_by_cluster_and_name)
{
	const struct node_name name = {PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1")};

	up();
	T_STR(listed(&(struct node_filter){0}),
	      "east/n-1:ready east/n-2:no-alloc west/n-1:no-node west/n-2:malformed ");
	T_EQ(node_list_find(list, &name)->used.cpu_milli, 500);
	T_EQ(node_list_find(list, &name)->most.cpu_milli, 4000);
	T_STR(listed(&(struct node_filter){.cluster = PL_SPAN_LIT("west")}),
	      "west/n-1:no-node west/n-2:malformed ");
	down();
}

/* Readable, but refused at submission: no shard would use it. */
T_CASE(a_node_that_shards_do_not_use_is_malformed)
{
	up();
	put("nodes", "east", "n-1",
	    "{\"metadata\":{\"name\":\"n-1\"},\"spec\":{\"taints\":[{\"key\":\"gpu\","
	    "\"effect\":\"noschedule\"}]},\"status\":{\"allocatable\":{\"cpu\":\"8\","
	    "\"memory\":\"32Gi\",\"pods\":\"110\"}}}");
	T_STR(listed(&(struct node_filter){.cluster = PL_SPAN_LIT("east")}),
	      "east/n-1:malformed east/n-2:no-alloc ");
	down();
}

T_CASE(labels_choose_nodes)
{
	struct label_query query = {0};

	up();
	T_OK(label_query_parse(PL_SPAN_LIT("disk=hdd"), &query, &kit.err), &kit.err);
	T_STR(listed(&(struct node_filter){.query = &query}), "east/n-2:no-alloc ");
	down();
}

T_CASE(named_nodes_are_read_by_their_keys)
{
	const struct node_name names[] = {{PL_SPAN_LIT("west"), PL_SPAN_LIT("n-1")},
	                                  {PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1")},
	                                  {PL_SPAN_LIT("west"), PL_SPAN_LIT("n-1")}};

	up();
	T_STR(listed(&(struct node_filter){.names = names, .name_count = 3}),
	      "east/n-1:ready west/n-1:no-node ");
	down();
}

/* With one partition the key of the first is a prefix of the second's. */
T_CASE(a_named_node_comes_once_beside_one_with_a_longer_name)
{
	const struct node_name names[] = {{PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1")},
	                                  {PL_SPAN_LIT("east"), PL_SPAN_LIT("n-10")}};

	up();
	service.partitions = 1;
	put_at(0, "nodes", "east", "n-1", NODE("ssd"));
	put_at(0, "alloc", "east", "n-1", ALLOC);
	put_at(0, "nodes", "east", "n-10", NODE("ssd"));
	put_at(0, "alloc", "east", "n-10", ALLOC);
	T_STR(listed(&(struct node_filter){.names = names, .name_count = 2}),
	      "east/n-1:ready east/n-10:ready ");
	down();
}

T_CASE(a_named_node_in_a_wrong_partition_is_found_all_the_same)
{
	const struct node_name names[] = {{PL_SPAN_LIT("east"), PL_SPAN_LIT("lost")},
	                                  {PL_SPAN_LIT("east"), PL_SPAN_LIT("none")}};

	up();
	put_at((partition_of("east", "lost") + 1) % PARTITIONS, "nodes", "east", "lost",
	       NODE("ssd"));
	T_STR(listed(&(struct node_filter){.names = names, .name_count = 2}),
	      "east/lost:no-alloc ");
	T_TRUE(node_list_find(list, &names[1]) == NULL);
	down();
}

T_CASE(cancel_ends_a_list_through_done)
{
	up();
	start(&(struct node_filter){0});
	node_list_cancel(list);
	T_EQ(dones, 0);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	down();
}

/* -- the watch ---------------------------------------------------------------------- */

static struct node_watch *watch;
static char notes[512];

static void add_note(const char *what, const struct node_info *info)
{
	size_t len = strlen(notes);

	(void)snprintf(notes + len, sizeof notes - len, "%s%s", what,
	               info == NULL ? " " : "");
	len = strlen(notes);
	if (info != NULL)
		(void)snprintf(notes + len, sizeof notes - len,
		               ":" PL_SPAN_FMT "/" PL_SPAN_FMT ":%s ",
		               PL_SPAN_ARG(info->cluster), PL_SPAN_ARG(info->name),
		               node_info_state(info));
}

static bool on_each(void *ctx, const struct node_info *info)
{
	(void)ctx;
	add_note("", info);
	return true;
}

static void on_note(void *ctx, const struct node_watch_note *note)
{
	static const char *const words[] = {[NODE_WATCH_NODE] = "node",
	                                    [NODE_WATCH_GONE] = "gone",
	                                    [NODE_WATCH_WHOLE] = "whole",
	                                    [NODE_WATCH_TROUBLE] = "trouble",
	                                    [NODE_WATCH_STOPPED] = "stopped"};

	(void)ctx;
	add_note(words[note->what], note->info);
	if (note->what == NODE_WATCH_WHOLE)
		node_watch_each(watch, on_each, NULL);
}

static const char *noted(void)
{
	static char text[sizeof notes];

	kit_until(&kit, kit.now_ms + 1000);
	memcpy(text, notes, sizeof text);
	notes[0] = 0;
	return text;
}

T_CASE(a_watch_orders_nodes_by_name)
{
	const struct node_filter filter = {.cluster = PL_SPAN_LIT("east")};

	up();
	put("nodes", "east", "n-1-a", NODE("ssd"));
	put("nodes", "east", "n-1.a", NODE("ssd"));
	put("nodes", "east", "n", NODE("ssd"));
	T_OK(node_watch_open(&service, &filter, on_note, NULL, &watch, &kit.err),
	     &kit.err);
	T_STR(noted(), "whole :east/n:no-alloc :east/n-1:ready :east/n-1-a:no-alloc "
	               ":east/n-1.a:no-alloc :east/n-2:no-alloc ");
	node_watch_stop(watch);
	T_STR(noted(), "stopped ");
	kit_close(&kit);
}

T_CASE(a_watch_passes_over_the_tick)
{
	const struct node_filter filter = {0};

	up();
	T_OK(node_watch_open(&service, &filter, on_note, NULL, &watch, &kit.err),
	     &kit.err);
	T_STR(noted(), "whole :east/n-1:ready :east/n-2:no-alloc :west/n-1:no-node "
	               ":west/n-2:malformed ");
	(void)kit_put(&kit, "/nodes/tick", "{\"v\":1}");
	T_STR(noted(), "");
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/nodes/tick")));
	T_STR(noted(), "");
	node_watch_stop(watch);
	T_STR(noted(), "stopped ");
	kit_close(&kit);
}

T_CASE(a_watch_notes_all_nodes_and_then_changes)
{
	const struct node_filter filter = {.cluster = PL_SPAN_LIT("east")};
	char key[64];

	up();
	T_OK(node_watch_open(&service, &filter, on_note, NULL, &watch, &kit.err),
	     &kit.err);
	T_STR(notes, "");
	T_STR(noted(), "whole :east/n-1:ready :east/n-2:no-alloc ");
	put("alloc", "east", "n-2", ALLOC);
	T_STR(noted(), "node:east/n-2:ready ");
	put("nodes", "west", "n-9", NODE("ssd"));
	T_STR(noted(), "");
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/n-1",
	               partition_of("east", "n-1"));
	(void)kit_delete(&kit, kv_key(pl_span_str(key)));
	T_STR(noted(), "node:east/n-1:no-node ");
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-1",
	               partition_of("east", "n-1"));
	(void)kit_delete(&kit, kv_key(pl_span_str(key)));
	T_STR(noted(), "gone:east/n-1:no-node ");
	node_watch_stop(watch);
	T_STR(notes, "");
	T_STR(noted(), "stopped ");
	kit_close(&kit);
}
