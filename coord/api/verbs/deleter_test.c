/* The deletion of many objects, over the store in memory. */
#include "coord/api/verbs/deleter.h"
#include "coord/api/verbs/finalizer.h"
#include "store/base/fault.h"
#include "store/keys/partition.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/kv/rival.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 4, NOW_MS = 1790000000 };

static struct kit kit;
static struct kv *mine, *faulty,
	*rival; /* the test's session; below and above the server's */
static struct sources sources;
static struct api api;
static bool closed;
static unsigned dones;
static uint64_t deleted;
static struct pl_err failure;

/* -- an API without a server -------------------------------------------------------------- */

static void on_changed(void *ctx, enum source_kind kind,
                       const struct source_change *change)
{
	(void)ctx;
	(void)kind;
	(void)change;
}

static void on_progress(void *ctx, enum source_kind kind, int64_t revision)
{
	(void)ctx;
	(void)kind;
	(void)revision;
}

static void on_synced(void *ctx, enum source_kind kind)
{
	(void)ctx;
	(void)kind;
}

static void on_lost(void *ctx, enum source_kind kind, const struct pl_err *err)
{
	(void)ctx;
	(void)kind;
	(void)err;
}

static void on_closed(void *ctx)
{
	(void)ctx;
	closed = true;
}

static int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return (int64_t)NOW_MS * 1000;
}

static void run_for(uint64_t ms)
{
	kit_until(&kit, kit.now_ms + ms);
}

static void up_with(const struct faulty_rule *rules, size_t count)
{
	struct sources_opts opts = {
		.partitions = PARTITIONS,
		.fns = {on_changed, on_progress, on_synced, on_lost, on_closed, NULL}};
	struct write_queue_opts writes = {.timeout_ms = 500, .patience_ms = 2000};

	kit_open(&kit, NULL);
	T_OK(memkv_session(kit.mem, &mine, &kit.err), &kit.err);
	T_OK(faulty_open(kit.kv, t_seed(), rules, count, &faulty, &kit.err), &kit.err);
	faulty_pause(faulty, true);
	T_OK(rival_open(faulty, &rival, &kit.err), &kit.err);
	kit.kv = opts.kv = writes.kv = rival;
	api = (struct api){.kv = rival,
	                   .sources = &sources,
	                   .service = {.kv = rival,
	                               .partitions = PARTITIONS,
	                               .timeout_ms = 500,
	                               .user = "api"},
	                   .wall_ms = wall_ms};
	T_OK(write_queue_open(&writes, &api.writes, &kit.err), &kit.err);
	T_OK(sources_open(&opts, &sources, &kit.err), &kit.err);
	run_for(1000);
	T_TRUE(sources_synced(&sources));
	dones = 0;
}

static void up(void)
{
	up_with(NULL, 0);
}

static void down(void)
{
	closed = false;
	write_queue_close(api.writes, on_closed, NULL);
	run_for(10000);
	T_TRUE(closed);
	closed = false;
	sources_close(&sources);
	run_for(10000);
	T_TRUE(closed);
	kit_close_session(&kit, mine);
	kit_close(&kit);
}

static void on_done(void *ctx, uint64_t count, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	deleted = count;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static struct deleter_opts opts_of(const char *group, const char *plural,
                                   const char *namespace)
{
	const struct schema_resource *resource = schema_resource_find(
		pl_span_str(group), PL_SPAN_LIT("v1"), pl_span_str(plural));

	T_TRUE(resource != NULL);
	return (struct deleter_opts){.resource = resource,
	                             .namespace = pl_span_str(namespace),
	                             .grace_s = -1,
	                             .done = on_done};
}

/* Returns how many went, or are going. */
static uint64_t delete_all(const struct deleter_opts *opts)
{
	run_for(1000); /* the informers have all of it */
	dones = 0;
	T_OK(deleter_start(&api, opts, &kit.err), &kit.err);
	T_EQ(dones, 0);
	run_for(20000);
	T_EQ(dones, 1);
	return deleted;
}

/* -- objects -------------------------------------------------------------------------------- */

static const char *map_key(const char *namespace, unsigned number)
{
	static char key[100];

	(void)snprintf(key, sizeof key, "/objects/core/configmaps/%s/m-%03u", namespace,
	               number);
	return key;
}

static const char *map_value(const char *meta)
{
	static char value[300];

	(void)snprintf(
		value, sizeof value,
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
		"\"m\",\"namespace\":\"shop\",\"uid\":\"u\"%s}}",
		meta);
	return value;
}

static void put_map(const char *namespace, unsigned number, const char *meta)
{
	(void)kit_put(&kit, map_key(namespace, number), map_value(meta));
}

static size_t count_below(const char *prefix)
{
	T_EQ(kit_get_at(&kit, kv_prefix(pl_span_str(prefix)), 0), PL_OK);
	return kit.result.get.count;
}

static const char *value_at(const char *key)
{
	static char text[600];

	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	if (kit.result.get.count == 0)
		return NULL;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT,
	               PL_SPAN_ARG(kit.result.get.records[0].value));
	return text;
}

#define HOLD ",\"finalizers\":[\"example.com/a\"]"

T_CASE(a_namespace_is_emptied_of_a_resource_in_batches)
{
	struct deleter_opts opts = opts_of("", "configmaps", "shop");

	up();
	for (unsigned i = 0; i < 600; i++)
		put_map("shop", i, "");
	put_map("zoo", 0, "");
	opts.dry_run = true;
	T_EQ(delete_all(&opts), 600);
	T_EQ(count_below("/objects/core/configmaps/"), 601);
	opts.dry_run = false;
	T_EQ(delete_all(&opts), 600);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(count_below("/objects/core/configmaps/"), 1);
	T_EQ(delete_all(&opts), 0);
	/* All namespaces. */
	opts.namespace = (struct pl_span){0};
	T_EQ(delete_all(&opts), 1);
	down();
}

T_CASE(objects_with_finalizers_are_marked_once)
{
	const struct deleter_opts opts = opts_of("", "configmaps", "shop");
	int64_t revision;

	up();
	put_map("shop", 0, "");
	put_map("shop", 1, HOLD);
	put_map("shop", 2, ",\"finalizers\":[]");
	T_EQ(delete_all(&opts), 3);
	T_EQ(count_below("/objects/core/configmaps/"), 1);
	T_STR(value_at(map_key("shop", 1)),
	      "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
	      "\"deletionTimestamp\":\"2026-09-21T14:13:20Z\","
	      "\"deletionGracePeriodSeconds\":0,\"name\":\"m\",\"namespace\":\"shop\",\"uid\":"
	      "\"u\"" HOLD "}}");
	revision = kit.result.get.records[0].mod_revision;
	T_EQ(delete_all(&opts), 0);
	(void)value_at(map_key("shop", 1));
	T_EQ(kit.result.get.records[0].mod_revision, revision);
	down();
}

static unsigned rounds;

static void send_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	T_TRUE(err == NULL);
}

static void send_put(const char *key, const char *value)
{
	struct kv_req req = kv_op_put(pl_span_str(key), pl_span_str(value));

	T_OK(kv_start(mine, &req, 1000, send_done, NULL, NULL, &kit.err), &kit.err);
}

static void other_changes(void *ctx)
{
	(void)ctx;
	rounds++;
	send_put(map_key("shop", 1), map_value(""));
}

T_CASE(what_changes_meanwhile_is_looked_at_again_some_times)
{
	const struct deleter_opts opts = opts_of("", "configmaps", "shop");

	up();
	for (unsigned i = 0; i < 3; i++)
		put_map("shop", i, "");
	rounds = 0;
	rival_before(rival, "/objects/core/configmaps/shop/m-001", 4, other_changes,
	             NULL);
	T_EQ(delete_all(&opts), 3);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(rounds, 4);
	T_EQ(count_below("/objects/core/configmaps/"), 0);
	put_map("shop", 1, "");
	rival_before(rival, "/objects/core/configmaps/shop/m-001", 1000, other_changes,
	             NULL);
	T_EQ(delete_all(&opts), 0);
	T_CODE(failure.code, PL_CONFLICT, &failure);
	T_EQ(rounds, 4 + 10);
	T_EQ(count_below("/objects/core/configmaps/"), 1);
	down();
}

T_CASE(a_failure_ends_the_deletion_once)
{
	const struct faulty_rule refuse = {
		.what = FAULTY_REFUSE,
		.ops = 1u << KV_TXN,
		.prefix = PL_SPAN_LIT("/objects/core/configmaps/shop/m-300"),
		.per_mille = 1000,
		.code = PL_DENIED};
	const struct deleter_opts opts = opts_of("", "configmaps", "shop");

	up_with(&refuse, 1);
	for (unsigned i = 0; i < 600; i++)
		put_map("shop", i, "");
	run_for(1000);
	faulty_pause(faulty, false);
	T_EQ(delete_all(&opts), 511); /* all of two batches but this one */
	T_CODE(failure.code, PL_DENIED, &failure);
	faulty_pause(faulty, true);
	T_EQ(delete_all(&opts), 89);
	T_CODE(failure.code, PL_OK, &failure);
	down();
}

/* -- budgets -------------------------------------------------------------------------------- */

static const char *budget_value(const char *name, const char *meta)
{
	static char value[400];

	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"budget\":{\"apiVersion\":\"policy/v1\",\"kind\":"
		"\"PodDisruptionBudget\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
		"\"shop\"%s},\"spec\":{\"minAvailable\":1,\"selector\":{"
		"\"matchLabels\":{\"app\":\"web\"}}}},\"status\":{\"expected\":3,"
		"\"desired\":1,\"healthy\":3,\"allowed\":2}}",
		name, meta);
	return value;
}

static void other_counts(void *ctx)
{
	(void)ctx;
	send_put("/budgets/shop/a", budget_value("a", ""));
}

T_CASE(budgets_go_or_are_marked)
{
	const struct deleter_opts opts =
		opts_of("policy", "poddisruptionbudgets", "shop");

	up();
	(void)kit_put(&kit, "/budgets/shop/a", budget_value("a", ""));
	(void)kit_put(&kit, "/budgets/shop/b", budget_value("b", HOLD));
	(void)kit_put(&kit, "/budgets/zoo/a", budget_value("a", ""));
	rival_before(rival, "/budgets/shop/a", 1, other_counts, NULL);
	T_EQ(delete_all(&opts), 2);
	T_CODE(failure.code, PL_OK, &failure);
	T_TRUE(value_at("/budgets/shop/a") == NULL);
	T_TRUE(strstr(value_at("/budgets/shop/b"),
	              "\"metadata\":{\"deletionTimestamp\":\"2026-09-21T14:13:20Z\"") !=
	       NULL);
	/* The counts stay. */
	T_TRUE(strstr(value_at("/budgets/shop/b"), "\"expected\":3") != NULL);
	T_TRUE(value_at("/budgets/zoo/a") != NULL);
	T_EQ(delete_all(&opts), 0);
	down();
}

/* -- pods ----------------------------------------------------------------------------------- */

static const char *pod_key(const char *name, const char *leaf)
{
	static char key[100];
	uint32_t partition;

	T_EQ(partition_of_pod(PL_SPAN_LIT("shop"), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/shop/%s/%s", partition, name,
	               leaf);
	return key;
}

static void put_pod(const char *name, const char *meta, bool bound)
{
	char spec[300];

	(void)snprintf(
		spec, sizeof spec,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\",\"uid\":\"u\"%s},"
		"\"spec\":{}}",
		name, meta);
	(void)kit_put(&kit, pod_key(name, "spec"), spec);
	if (bound)
		(void)kit_put(
			&kit, pod_key(name, "state"),
			"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":\"east\","
			"\"node\":\"n-1\",\"shard\":\"s-0\",\"since\":"
			"\"2026-11-21T09:00:00.000Z\"}");
}

T_CASE(pods_are_asked_to_go)
{
	struct deleter_opts opts = opts_of("", "pods", "shop");

	up();
	put_pod("waits", "", false);
	put_pod("runs", "", true);
	put_pod("held", HOLD, false);
	T_EQ(delete_all(&opts), 3);
	T_CODE(failure.code, PL_OK, &failure);
	T_TRUE(value_at(pod_key("waits", "spec")) == NULL);
	T_TRUE(strstr(value_at(pod_key("runs", "state")),
	              "\"ask\":\"delete\",\"cluster\"") != NULL);
	T_TRUE(strstr(value_at(pod_key("held", "state")), "\"awaits\":\"finalizers\"") !=
	       NULL);
	T_TRUE(strstr(value_at(pod_key("held", "state")),
	              "\"since\":\"2026-09-21T14:13:20.000Z\"") != NULL);
	opts.grace_s = 0;
	T_EQ(delete_all(&opts), 2);
	T_TRUE(strstr(value_at(pod_key("runs", "state")), "\"ended\":\"Gone\"") != NULL);
	down();
}

/* A state that cannot be read may hold a place: such a pod stays, and is no success. */
T_CASE(a_pod_that_cannot_be_asked_is_no_success)
{
	const struct deleter_opts opts = opts_of("", "pods", "shop");

	up();
	put_pod("a", "", false);
	put_pod("b", "", false);
	(void)kit_put(&kit, pod_key("b", "state"), "{\"v\":1,\"phase\":\"Lost\"}");
	T_EQ(delete_all(&opts), 1);
	T_CODE(failure.code, PL_CORRUPT, &failure);
	T_TRUE(strstr(failure.msg, "pod shop/b stays: ") != NULL);
	T_TRUE(value_at(pod_key("a", "spec")) == NULL);
	T_TRUE(value_at(pod_key("b", "spec")) != NULL);
	down();
}

/* -- memory --------------------------------------------------------------------------------- */

T_CASE(without_memory_nothing_is_begun)
{
	const struct deleter_opts opts = opts_of("", "configmaps", "shop");

	up();
	put_map("shop", 0, "");
	run_for(1000);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_CODE(deleter_start(&api, &opts, &kit.err), PL_NOMEM, &kit.err);
	pl_fault_reset();
	T_EQ(delete_all(&opts), 1);
	down();
}
