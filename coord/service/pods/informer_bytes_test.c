/*
 * Bytes of memory a pod, in an informer and in the parts that list and watch without one.
 *
 *	T_DEBUG=1 build/dev/coord/service/service_informer_bytes_test
 *
 * prints them. An informer without values keeps a version of each key, the spec's and the
 * state's. The user's form of a pod, which is all that these parts need, comes on top.
 */
#include <malloc.h>

#include "coord/service/pods/pod_watch.h"
#include "shardsched/budget/counter.h"
#include "store/base/alloc.h"
#include "store/kv/cache/cache.h"
#include "tests/support/store/memkv/kit.h"

enum { PODS = 4000 };

/* The address sanitizer has an allocator of its own. */
/* NOLINTNEXTLINE(readability-identifier-naming): the sanitizer's name */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static struct kit kit;
static bool is_whole, has_stopped;

static size_t heap_bytes(void)
{
	return __sanitizer_get_current_allocated_bytes != NULL
	               ? __sanitizer_get_current_allocated_bytes()
	               : mallinfo2().uordblks;
}

static const char *key_of(int pod, const char *leaf)
{
	static char key[128];

	(void)snprintf(key, sizeof key, "/schedules/%04d/shop/web-7d4b9c6f5d-%05d/%s",
	               pod % 64, pod, leaf);
	return key;
}

static void put_pods(void)
{
	char json[400];

	kit_open(&kit, NULL);
	for (int i = 0; i < PODS; i++) {
		(void)snprintf(
			json, sizeof json,
			"{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web-"
			"7d4b9c6f5d-%05d\",\"labels\":{\"app\":\"web\"}},\"spec\":{"
			"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
			i);
		(void)kit_put(&kit, key_of(i, "spec"), json);
		(void)kit_put(&kit, key_of(i, "state"),
		              "{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":"
		              "\"east\",\"node\":\"n-1\",\"shard\":\"s\",\"epoch\":\"1\","
		              "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	}
	is_whole = has_stopped = false;
}

static double per_pod(size_t before)
{
	return (double)(heap_bytes() - before) / PODS;
}

/* -- an informer ---------------------------------------------------------------------- */

static void on_note(void *ctx, const struct cache_note *note)
{
	(void)ctx;
	is_whole = is_whole || note->type == CACHE_SYNCED;
	has_stopped = has_stopped || note->type == CACHE_STOPPED;
}

/* The user's form is counted apart. */
static enum pl_code parse_nothing(void *ctx, const struct kv_record *record,
                                  void **object, size_t *bytes)
{
	(void)ctx;
	(void)record;
	(void)bytes;
	*object = NULL;
	return PL_OK;
}

static double informer_bytes(double *counted)
{
	const struct cache_opts opts = {
		.list = {.keys = kv_prefix(PL_SPAN_LIT("/schedules/")), .seed = 1},
		.parse = parse_nothing,
		.free_object = free,
		.drop_values = true};
	struct cache_listener listener;
	struct cache *cache;
	size_t before;
	double bytes;

	put_pods();
	before = heap_bytes();
	T_OK(cache_open(kit.kv, &opts, &cache, &kit.err), &kit.err);
	cache_listen(cache, &listener, on_note, NULL);
	kit_until(&kit, 100);
	T_TRUE(is_whole && cache_count(cache) == 2 * (size_t)PODS);
	bytes = per_pod(before);
	*counted = (double)cache_bytes(cache) / PODS;
	cache_stop(cache);
	kit_until(&kit, 200);
	T_TRUE(has_stopped);
	kit_close(&kit);
	return bytes;
}

/* -- a pod watch ---------------------------------------------------------------------- */

static void on_pod(void *ctx, const struct pod_watch_note *note)
{
	(void)ctx;
	is_whole = is_whole || note->what == POD_WATCH_WHOLE;
	has_stopped = has_stopped || note->what == POD_WATCH_STOPPED;
}

static double pod_watch_bytes(void)
{
	const struct pl_span all = PL_SPAN_LIT("/schedules/");
	const struct pod_watch_opts opts = {.prefix = &all, .count = 1, .fn = on_pod};
	struct pod_watch *watch;
	size_t before;
	double bytes;

	put_pods();
	before = heap_bytes();
	T_OK(pod_watch_open(kit.kv, &opts, &watch, &kit.err), &kit.err);
	kit_until(&kit, 100);
	T_TRUE(is_whole);
	bytes = per_pod(before);
	pod_watch_stop(watch);
	kit_until(&kit, 200);
	T_TRUE(has_stopped);
	kit_close(&kit);
	return bytes;
}

/* -- the counter of budgets ------------------------------------------------------------ */

static void count_record(struct counter *counter, const struct kv_record *record)
{
	struct keys_id id;

	T_OK(keys_parse(record->key, &id, &kit.err), &kit.err);
	T_OK(counter_pod(counter, &id, record, &kit.err), &kit.err);
}

static double counter_bytes(void)
{
	static const char budget[] =
		"{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"web\",\"namespace\":"
		"\"shop\"},\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{"
		"\"app\":\"web\"}}}}}";
	const struct keys_id id = {.kind = KEYS_BUDGET,
	                           .scope = PL_SPAN_LIT("shop"),
	                           .name = PL_SPAN_LIT("web")};
	const struct kv_record record = {.key = PL_SPAN_LIT("/budgets/shop/web"),
	                                 .value = pl_span_str(budget),
	                                 .mod_revision = 1};
	struct kv_req req = kv_op_get(kv_prefix(PL_SPAN_LIT("/schedules/")));
	struct counter *counter;
	size_t before;
	double bytes;

	put_pods();
	T_EQ(kit_call(&kit, &req), PL_OK);
	before = heap_bytes();
	T_OK(counter_new(0, &counter, &kit.err), &kit.err);
	T_OK(counter_budget(counter, &id, &record, &kit.err), &kit.err);
	T_EQ(counter_pods_pick(counter), 1);
	counter_pods_begin(counter);
	for (size_t i = 0; i < kit.result.get.count; i++)
		count_record(counter, &kit.result.get.records[i]);
	counter_pods_end(counter, kit.result.header.revision);
	bytes = per_pod(before);
	counter_free(counter);
	kit_close(&kit);
	return bytes;
}

T_CASE_SECONDS(an_informer_would_cost_more_than_what_it_is_for, 60)
{
	double counted, informer = informer_bytes(&counted);
	double watch = pod_watch_bytes(), counter = counter_bytes();

	printf("# bytes a pod: informer without values %.0f (by its own count %.0f), "
	       "pod watch %.0f, counter %.0f\n",
	       informer, counted, watch, counter);
	T_TRUE(watch > sizeof(struct pod_watch_pod) && counter > 0);
	T_TRUE(informer > watch && informer > counter);
	/* The bound of a cache is kept by its own count. */
	T_TRUE(counted > informer * 0.8 && counted < informer * 1.5);
}
