#include "coord/service/nodes/node_drain.h"
#include "store/keys/partition.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8 };

static struct kit kit;
static struct service service;
static struct node_name node;
static unsigned dones, wanted, drained;
static struct pl_err failure;
static struct node_drain_status last;

static void on_wanted(void *ctx, const struct pod_request *request)
{
	(void)ctx;
	(void)request;
	wanted++;
}

static void on_drained(void *ctx, const struct node_name *name)
{
	(void)ctx;
	(void)name;
	drained++;
}

static void on_progress(void *ctx, const struct node_drain_status *status)
{
	(void)ctx;
	last = *status;
}

static void on_malformed(void *ctx, const struct pod_request *request, const char *why)
{
	(void)ctx;
	(void)request;
	(void)why;
}

static void on_done(void *ctx, const struct node_drain_status *status,
                    const struct pl_err *err)
{
	(void)ctx;
	last = *status;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static void put(const char *kind, uint32_t partition, const char *rest, const char *value)
{
	char key[160];

	(void)snprintf(key, sizeof key, "/%s/%04u/%s", kind, partition, rest);
	(void)kit_put(&kit, key, value);
}

static uint32_t node_partition(void)
{
	uint32_t partition;

	T_OK(partition_of_node(node.cluster, node.name, PARTITIONS, &partition, NULL),
	     NULL);
	return partition;
}

/* pods: "" for none. */
static void put_alloc(const char *pods)
{
	char json[400] = "{\"v\":1,\"generation\":6}";

	if (pods[0] != 0)
		(void)snprintf(json, sizeof json,
		               "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"1m\","
		               "\"memory\":\"1024\",\"pods\":\"1\"},\"pods\":{%s}}",
		               pods);
	put("alloc", node_partition(), "east/n-1", json);
}

static void up(void)
{
	uint32_t partition;
	char pods[64];

	kit_open(&kit, NULL);
	service = (struct service){.kv = kit.kv,
	                           .partitions = PARTITIONS,
	                           .timeout_ms = 1000,
	                           .user = "ann@host"};
	node = (struct node_name){PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1")};
	dones = wanted = drained = 0;
	T_OK(partition_of_pod(PL_SPAN_LIT("web"), PL_SPAN_LIT("a"), PARTITIONS,
	                      &partition, NULL),
	     NULL);
	put("schedules", partition, "web/a/spec",
	    "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\"},\"spec\":{"
	    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
	put("schedules", partition, "web/a/state",
	    "{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":"
	    "\"n-1\",\"shard\":\"s\",\"epoch\":\"1\",\"since\":"
	    "\"2026-11-21T09:00:00.000Z\"}");
	(void)snprintf(pods, sizeof pods, "\"%04u\":{\"web\":[\"a\"]}", partition);
	put_alloc(pods);
}

static struct node_drain *start(bool dry_run, uint64_t timeout_ms)
{
	const struct node_drain_opts opts = {.nodes = &node,
	                                     .node_count = 1,
	                                     .dry_run = dry_run,
	                                     .timeout_ms = timeout_ms,
	                                     .wanted = on_wanted,
	                                     .drained = on_drained,
	                                     .progress = on_progress,
	                                     .malformed = on_malformed,
	                                     .done = on_done};
	struct node_drain *drain;

	T_OK(node_drain_start(&service, &opts, &drain, &kit.err), &kit.err);
	T_EQ(dones, 0);
	return drain;
}

T_CASE(a_drain_ends_when_no_pod_is_left)
{
	up();
	(void)start(false, 0);
	kit_until(&kit, 1000);
	T_EQ(dones, 0);
	T_EQ(last.left, 1);
	put_alloc("");
	kit_until(&kit, 2000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(drained, 1);
	T_EQ(last.total, 1);
	kit_close(&kit);
}

T_CASE(a_dry_run_names_pods_and_writes_nothing)
{
	int64_t before;

	up();
	before = memkv_revision(kit.mem);
	(void)start(true, 0);
	kit_until(&kit, 1000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(wanted, 1);
	T_EQ(memkv_revision(kit.mem), before);
	kit_close(&kit);
}

T_CASE(a_drain_ends_with_its_time)
{
	up();
	(void)start(false, 1500);
	kit_until(&kit, 5000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_TIMEOUT, &failure);
	T_EQ(last.left, 1);
	T_TRUE(last.time_up);
	kit_close(&kit);
}

/* Both end with PL_TIMEOUT, but of pods that are still there nothing is known then. */
T_CASE(a_store_without_an_answer_is_not_the_end_of_the_time)
{
	const struct faulty_rule refuse = {.what = FAULTY_REFUSE,
	                                   .ops = 1u << KV_TXN,
	                                   .prefix = PL_SPAN_LIT("/alloc/"),
	                                   .per_mille = 1000,
	                                   .code = PL_TIMEOUT};

	up();
	T_OK(faulty_open(kit.kv, 1, &refuse, 1, &kit.kv, &kit.err), &kit.err);
	service.kv = kit.kv;
	faulty_pause(kit.kv, true);
	(void)start(false, 60000);
	kit_until(&kit, 100);
	T_EQ(dones, 0);
	T_EQ(last.left, 1);
	faulty_pause(kit.kv, false);
	kit_until(&kit, 5000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_TIMEOUT, &failure);
	T_TRUE(!last.time_up);
	kit_close(&kit);
}

T_CASE(cancel_ends_a_drain_through_done)
{
	struct node_drain *drain;

	up();
	drain = start(false, 0);
	kit_until(&kit, 100);
	node_drain_cancel(drain);
	T_EQ(dones, 0);
	kit_until(&kit, 200);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}
