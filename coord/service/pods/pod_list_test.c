#include "coord/service/pods/pod_find.h"
#include "coord/service/pods/pod_list.h"
#include "store/keys/partition.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8 };

static struct kit kit;
static struct service service;
static struct pod_list *list;
static unsigned dones;
static struct pl_err failure;
static uint32_t found;

static void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static void on_find(void *ctx, uint32_t partition, const struct pl_err *err)
{
	found = partition;
	on_done(ctx, err);
}

static uint32_t partition_of(const char *namespace, const char *name)
{
	uint32_t partition;

	T_OK(partition_of_pod(pl_span_str(namespace), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     NULL);
	return partition;
}

static void put_at(uint32_t partition, const char *namespace, const char *name,
                   const char *leaf, const char *value)
{
	char key[160];

	(void)snprintf(key, sizeof key, "/schedules/%04u/%s/%s/%s", partition, namespace,
	               name, leaf);
	(void)kit_put(&kit, key, value);
}

static void put(const char *namespace, const char *name, const char *leaf,
                const char *value)
{
	put_at(partition_of(namespace, name), namespace, name, leaf, value);
}

#define SPEC(labels) "{\"metadata\":{\"labels\":{" labels "}},\"spec\":{}}"
#define BOUND                                                                       \
	"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":" \
	"\"n-1\",\"since\":\"2026-11-21T09:00:00.000Z\"}"

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){
		.kv = kit.kv, .partitions = PARTITIONS, .timeout_ms = 1000};
	dones = 0;
	put("shop", "web-0", "spec", SPEC("\"app\":\"web\""));
	put("shop", "web-0", "state", BOUND);
	put("shop", "db-0", "spec", SPEC("\"app\":\"db\""));
	put("other", "web-0", "spec", SPEC("\"app\":\"web\""));
	put("shop", "bad", "state", BOUND);
	(void)kit_put(&kit, "/schedules/tick", "{\"v\":1}");
}

static void down(void)
{
	pod_list_free(list);
	list = NULL;
	kit_close(&kit);
}

static void start(const struct pod_filter *filter)
{
	struct pod_list_opts opts = {.filter = *filter, .done = on_done};

	dones = 0;
	pod_list_free(list);
	T_OK(pod_list_start(&service, &opts, &list, &kit.err), &kit.err);
	T_EQ(dones, 0);
}

/* "namespace/name " of each, in order. */
static const char *listed(const struct pod_filter *filter)
{
	static char text[256];
	const struct pod_info *pods;
	size_t count, len = 0;

	start(filter);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	pods = pod_list_pods(list, &count);
	text[0] = 0;
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(
			text + len, sizeof text - len, PL_SPAN_FMT "/" PL_SPAN_FMT " ",
			PL_SPAN_ARG(pods[i].namespace), PL_SPAN_ARG(pods[i].name));
	return text;
}

T_CASE(all_pods_are_listed_by_namespace_and_name)
{
	up();
	T_STR(listed(&(struct pod_filter){0}),
	      "other/web-0 shop/bad shop/db-0 shop/web-0 ");
	T_STR(listed(&(struct pod_filter){.namespace = PL_SPAN_LIT("shop")}),
	      "shop/bad shop/db-0 shop/web-0 ");
	down();
}

T_CASE(labels_phase_and_node_choose_pods)
{
	struct label_query query = {0};

	up();
	T_OK(label_query_parse(PL_SPAN_LIT("app=web"), &query, &kit.err), &kit.err);
	T_STR(listed(&(struct pod_filter){.query = &query}), "other/web-0 shop/web-0 ");
	T_STR(listed(&(struct pod_filter){.phase = "Pending"}), "other/web-0 shop/db-0 ");
	T_STR(listed(&(struct pod_filter){.phase = POD_PHASE_MALFORMED}), "shop/bad ");
	T_STR(listed(&(struct pod_filter){.cluster = PL_SPAN_LIT("east"),
	                                  .node = PL_SPAN_LIT("n-1")}),
	      "shop/web-0 ");
	down();
}

T_CASE(named_pods_are_found_where_their_pointer_leads)
{
	const struct pod_name names[] = {
		{PL_SPAN_LIT("shop"), PL_SPAN_LIT("gang-0")},
		{PL_SPAN_LIT("shop"), PL_SPAN_LIT("db-0")},
		{PL_SPAN_LIT("shop"), PL_SPAN_LIT("gang-0")},
	};
	const struct pod_filter filter = {.names = names, .name_count = 3};
	uint32_t other = (partition_of("shop", "gang-0") + 1) % PARTITIONS;
	struct pod_find *find;
	char pointer[64];

	up();
	(void)snprintf(pointer, sizeof pointer, "{\"v\":1,\"at\":%u}", other);
	put("shop", "gang-0", "spec", pointer);
	put_at(other, "shop", "gang-0", "spec", SPEC(""));
	T_STR(listed(&filter), "shop/db-0 shop/gang-0 ");
	T_EQ(pod_list_find(list, &names[0])->partition, other);
	T_OK(pod_find_start(&service, &names[0], on_find, NULL, &find, &kit.err),
	     &kit.err);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(found, other);
	down();
}

T_CASE(a_named_pod_in_a_wrong_partition_is_found_all_the_same)
{
	const struct pod_name names[] = {{PL_SPAN_LIT("shop"), PL_SPAN_LIT("lost")},
	                                 {PL_SPAN_LIT("shop"), PL_SPAN_LIT("none")}};

	up();
	put_at((partition_of("shop", "lost") + 1) % PARTITIONS, "shop", "lost", "spec",
	       SPEC(""));
	T_STR(listed(&(struct pod_filter){.names = names, .name_count = 2}),
	      "shop/lost ");
	T_TRUE(pod_list_find(list, &names[1]) == NULL);
	down();
}

T_CASE(a_pod_that_does_not_exist_is_not_found)
{
	const struct pod_name name = {PL_SPAN_LIT("shop"), PL_SPAN_LIT("none")};
	struct pod_find *find;

	up();
	T_OK(pod_find_start(&service, &name, on_find, NULL, &find, &kit.err), &kit.err);
	T_EQ(dones, 0);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_NOTFOUND, &failure);
	down();
}

T_CASE(cancel_ends_a_list_through_done)
{
	up();
	start(&(struct pod_filter){0});
	pod_list_cancel(list);
	T_EQ(dones, 0);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	down();
}
