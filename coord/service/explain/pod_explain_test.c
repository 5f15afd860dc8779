#include "coord/service/explain/pod_explain.h"
#include "store/keys/partition.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8 };

static struct kit kit;
static struct service service;
static unsigned dones;
static struct pl_err failure;
static char text[16384];

static void on_done(void *ctx, const struct pod_explanation *pod,
                    const struct explain *explain, const struct pl_err *err)
{
	struct pl_json_out out;
	struct pl_buf buf;

	(void)ctx;
	T_TRUE((pod == NULL) == (err != NULL));
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
	text[0] = 0;
	if (err != NULL)
		return;
	pl_buf_init(&buf, sizeof text - 1);
	pl_json_out_init(&out, &buf);
	pod_explanation_json(pod, explain, &out);
	T_EQ(pl_json_out_done(&out), PL_OK);
	memcpy(text, buf.at, buf.len);
	text[buf.len] = 0;
	pl_buf_done(&buf);
}

static void put(const char *kind, uint32_t partition, const char *rest, const char *value)
{
	char key[160];

	(void)snprintf(key, sizeof key, "/%s/%04u/%s", kind, partition, rest);
	(void)kit_put(&kit, key, value);
}

static uint32_t pod_partition(const char *name)
{
	uint32_t partition;

	T_OK(partition_of_pod(PL_SPAN_LIT("shop"), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     NULL);
	return partition;
}

static void put_pod(const char *name, const char *leaf, const char *value)
{
	char rest[100];

	(void)snprintf(rest, sizeof rest, "shop/%s/%s", name, leaf);
	put("schedules", pod_partition(name), rest, value);
}

static void put_spec(const char *name, const char *more)
{
	char json[400];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s\"},\"spec\":{%s"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
		"\"requests\":{\"cpu\":\"1\"}}}]}}",
		name, more);
	put_pod(name, "spec", json);
}

static void up(void)
{
	uint32_t node;

	kit_open(&kit, NULL);
	service = (struct service){
		.kv = kit.kv, .partitions = PARTITIONS, .timeout_ms = 1000};
	dones = 0;
	T_OK(partition_of_node(PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1"), PARTITIONS, &node,
	                       NULL),
	     NULL);
	put("nodes", node, "east/n-1",
	    "{\"metadata\":{\"name\":\"n-1\"},\"status\":{\"allocatable\":{\"cpu\":\"4\","
	    "\"memory\":\"8Gi\",\"pods\":\"10\"}}}");
	put("alloc", node, "east/n-1", "{\"v\":1,\"generation\":1}");
	put_spec("web-0", "");
}

static struct pod_explain *start(const char *name)
{
	const struct pod_explain_opts opts = {
		.pod = {PL_SPAN_LIT("shop"), pl_span_str(name)}, .done = on_done};
	struct pod_explain *explain;

	dones = 0;
	T_OK(pod_explain_start(&service, &opts, &explain, &kit.err), &kit.err);
	T_EQ(dones, 0);
	return explain;
}

static enum pl_code explain(const char *name)
{
	(void)start(name);
	kit_until(&kit, kit.now_ms + 100);
	T_EQ(dones, 1);
	return failure.code;
}

static void says(const char *words)
{
	if (strstr(text, words) == NULL)
		t_fail(__FILE__, __LINE__, "want %s in %s", words, text);
}

T_CASE(a_waiting_pod_is_decided_as_a_shard_would)
{
	up();
	T_CODE(explain("web-0"), PL_OK, &failure);
	says("\"kind\":\"PodExplanation\"");
	says("\"decision\":{");
	says("n-1");
	kit_close(&kit);
}

T_CASE(a_pod_that_does_not_exist_is_not_found)
{
	up();
	T_CODE(explain("none"), PL_NOTFOUND, &failure);
	kit_close(&kit);
}

T_CASE(a_pod_that_has_run_is_not_decided)
{
	up();
	put_pod("web-0", "state",
	        "{\"v\":1,\"uid\":\"u\",\"phase\":\"Succeeded\",\"cluster\":\"east\","
	        "\"node\":\"n-1\",\"shard\":\"s\",\"epoch\":\"1\",\"since\":"
	        "\"2026-11-21T09:00:00.000Z\"}");
	T_CODE(explain("web-0"), PL_OK, &failure);
	says("\"phase\":\"Succeeded\"");
	T_TRUE(strstr(text, "\"decision\"") == NULL);
	kit_close(&kit);
}

T_CASE(a_pod_of_an_unknown_scheduler_is_refused)
{
	up();
	put_spec("web-1", "\"schedulerName\":\"other\",");
	T_CODE(explain("web-1"), PL_INVALID, &failure);
	T_TRUE(strstr(failure.msg, "schedulerName") != NULL);
	kit_close(&kit);
}

T_CASE(waiting_pods_of_the_same_shard_are_counted)
{
	char key[64];

	up();
	for (unsigned p = 0; p < PARTITIONS; p++) {
		(void)snprintf(key, sizeof key, "/partitions/%04u/owner", p);
		(void)kit_put(&kit, key, "{\"v\":1,\"shard\":\"east-0\"}");
	}
	put_spec("web-1", "");
	put_spec("web-2", "\"priority\":5,");
	T_CODE(explain("web-0"), PL_OK, &failure);
	says("\"owner\":\"east-0\"");
	says("\"before\":1,\"alike\":1");
	kit_close(&kit);
}

T_CASE(cancel_ends_an_explanation_through_done)
{
	up();
	pod_explain_cancel(start("web-0"));
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 100);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}

/* A decision goes by the objects that shards go by. */
T_CASE(cluster_objects_count)
{
	up();
	put_spec("db-0", "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
	                 "\"claimName\":\"c\"}}],");
	T_CODE(explain("db-0"), PL_OK, &failure);
	says("persistentvolumeclaim \\\"c\\\" not found");
	(void)kit_put(&kit, "/objects/core/persistentvolumes/v",
	              "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":{"
	              "\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"],"
	              "\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"h\"},\"claimRef\":{"
	              "\"namespace\":\"shop\",\"name\":\"c\"}}}");
	(void)kit_put(&kit, "/objects/core/persistentvolumeclaims/shop/c",
	              "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"c\","
	              "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}},"
	              "\"spec\":{\"volumeName\":\"v\",\"accessModes\":["
	              "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
	              "\"1Gi\"}}}}");
	/* malformed: it is not there, for a shard either */
	(void)kit_put(&kit, "/objects/core/namespaces/shop", "{");
	T_CODE(explain("db-0"), PL_OK, &failure);
	says("\"verdict\":\"placed\"");
	kit_close(&kit);
}
