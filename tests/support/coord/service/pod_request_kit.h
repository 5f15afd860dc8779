/*
 * For tests of requests about pods in the store in memory: pods pod-00000, pod-00001, ... of
 * namespace ns, budgets, and what was reported.
 */
#ifndef TESTS_SUPPORT_COORD_SERVICE_POD_REQUEST_KIT_H
#define TESTS_SUPPORT_COORD_SERVICE_POD_REQUEST_KIT_H

#include "coord/service/submit/pod_request.h"
#include "shardsched/records/budget_record.h"
#include "store/keys/partition.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8, TEXT = 96, WHATS = POD_REQUEST_MALFORMED + 1 };

static struct kit kit;
static struct job {
	struct kv *kv;
	struct pod_requests *requests; /* NULL: it has ended */
	struct pod_request request;
	unsigned pods, given;
	bool past;
	unsigned reported[WHATS];
	struct pl_err err;
	bool failed;
	char name[TEXT], why[PL_ERR_MSG_SIZE];
} job;

static const char bound[] = "{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":"
			    "\"east\",\"node\":\"n-1\",\"shard\":\"s-0\",\"epoch\":\"7\","
			    "\"since\":\"2026-11-21T09:00:00.000Z\"}";
static const char pending[] = "{\"v\":1,\"uid\":\"u\",\"phase\":\"Pending\",\"attempts\":"
			      "3,\"since\":\"2026-11-21T09:00:00.000Z\"}";

static inline enum pl_code next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	(void)ctx;
	(void)err;
	if (job.given == job.pods)
		return PL_NOTFOUND;
	(void)snprintf(job.name, TEXT, "pod-%05u", job.given++);
	*out = job.request;
	out->namespace = PL_SPAN_LIT("ns");
	out->name = pl_span_str(job.name);
	out->at = POD_REQUEST_BY_NAME;
	return PL_OK;
}

static inline void on_report(void *ctx, const struct pod_request *request,
                             enum pod_request_outcome what, const char *why)
{
	(void)ctx;
	(void)request;
	job.reported[what]++;
	if (why != NULL)
		(void)snprintf(job.why, sizeof job.why, "%s", why);
}

static inline void done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	job.requests = NULL;
	job.failed = err != NULL;
	if (err != NULL)
		job.err = *err;
}

static inline void up(const struct faulty_rule *rules, size_t count)
{
	memset(&job, 0, sizeof job);
	kit_open(&kit, NULL);
	T_OK(faulty_open(kit.kv, t_seed(), rules, count, &job.kv, &kit.err), &kit.err);
	kit.kv = job.kv;
	faulty_pause(job.kv, true);
}

static inline void key_of(unsigned number, unsigned further, const char *leaf,
                          char out[TEXT])
{
	char name[TEXT / 4];
	uint32_t partition;

	(void)snprintf(name, sizeof name, "pod-%05u", number);
	T_EQ(partition_of_pod(PL_SPAN_LIT("ns"), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(out, TEXT, "/schedules/%04u/ns/%s/%s",
	               (partition + further) % PARTITIONS, name, leaf);
}

/* The spec of that pod. */
static inline void put_spec(const char *key, unsigned number)
{
	char spec[TEXT];

	(void)snprintf(
		spec, TEXT,
		"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%05u\",\"namespace\":\"ns\"}}",
		number);
	(void)kit_put(&kit, key, spec);
}

/* further: how many partitions after that of its name it stands; 0: in that one. */
static inline void put(unsigned number, unsigned further, const char *state)
{
	char key[TEXT], pointer[TEXT];
	uint32_t at;

	key_of(number, further, "spec", key);
	at = (uint32_t)(key[14] - '0');
	put_spec(key, number);
	if (state != NULL) {
		key_of(number, further, "state", key);
		(void)kit_put(&kit, key, state);
	}
	if (further == 0)
		return;
	key_of(number, 0, "spec", key);
	(void)snprintf(pointer, TEXT, "{\"v\":1,\"at\":%u}", at);
	(void)kit_put(&kit, key, pointer);
}

static inline void start(void)
{
	struct pod_request_opts opts = {.partitions = PARTITIONS,
	                                .slots = job.request.verb == POD_REQUEST_EVICT ||
	                                                         job.request.under_budgets
	                                                 ? 1
	                                                 : 4,
	                                .timeout_ms = 100,
	                                .patience_ms = 3000,
	                                .wall_ms = 7000,
	                                .who = "ann@h1",
	                                .past_budgets = job.past,
	                                .next = next,
	                                .report = on_report,
	                                .done = done};

	job.given = 0;
	memset(job.reported, 0, sizeof job.reported);
	T_OK(pod_requests_open(job.kv, &opts, &job.requests, &kit.err), &kit.err);
}

static inline void run(void)
{
	start();
	while (job.requests != NULL) {
		if (memkv_next_ms(kit.mem) > kit.now_ms)
			kit.now_ms = memkv_next_ms(kit.mem);
		kit_run(&kit, kit.now_ms);
	}
	faulty_pause(job.kv, true);
}

static inline const char *all(void)
{
	T_EQ(kit_get_at(&kit, kv_prefix(PL_SPAN_LIT("/")), 0), PL_OK);
	return kit_show(&kit);
}

/* -- budgets ----------------------------------------------------------------------- */

/* In one transaction with the lock, as clients make or delete (NULL) a budget. */
static inline void put_budget(const char *key, const char *value)
{
	struct pl_span at = pl_span_str(key);
	const struct kv_req ops[] = {
		value == NULL ? kv_op_delete(kv_key(at))
			      : kv_op_put(at, pl_span_str(value)),
		kv_op_put(PL_SPAN_LIT("/budgets/lock"), PL_SPAN_LIT("{\"v\":1}"))};
	const struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};

	T_EQ(kit_call(&kit, &req), PL_OK);
}

/* A budget of all pods. */
static inline void budget(const char *name, unsigned healthy, unsigned allowed)
{
	char key[TEXT], value[512];

	(void)snprintf(key, sizeof key, "/budgets/ns/%s", name);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"%s\",\"namespace\":"
		"\"ns\"},\"spec\":{\"minAvailable\":%u,\"selector\":{}}},\"status\":{"
		"\"expected\":%u,\"desired\":%u,\"healthy\":%u,\"allowed\":%u}}",
		name, healthy - allowed, healthy, healthy - allowed, healthy, allowed);
	put_budget(key, value);
}

static inline struct budget_record budget_now(struct pl_arena *arena, const char *name)
{
	struct budget_record record = {0};
	char key[TEXT];

	(void)snprintf(key, sizeof key, "/budgets/ns/%s", name);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	T_OK(budget_record_parse(kit.result.get.records[0].value, arena, &record,
	                         &kit.err),
	     &kit.err);
	return record;
}

/* As many as the budget allows, each noted with the revision of its state. */
static inline void lowered(const char *name, unsigned by, unsigned left)
{
	struct pl_arena arena;
	struct budget_record record;

	pl_arena_init(&arena, 0, 0);
	record = budget_now(&arena, name);
	T_EQ(record.disrupted_count, by);
	T_EQ(record.status.allowed, left);
	pl_arena_done(&arena);
}

#endif
