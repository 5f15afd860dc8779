/* Pods submitted to the store in memory with faults: each exists once, with what was
 * submitted or with what was there before. */
#include "coord/service/submit/submit.h"
#include "store/base/fault.h"
#include "store/keys/partition.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PODS_MAX = 2000, PARTITIONS = 8, TEXT = 64 };

static struct kit kit;
static struct job {
	struct kv *kv;
	struct submit *submit; /* NULL: it has ended */
	unsigned pods, given, reported, leaving;
	unsigned every_pointed; /* every so many pods one stands in another partition */
	unsigned repeat_at;     /* from this number on the first pods come again */
	unsigned fail_at;       /* the source fails at this number; 0: never */
	struct submit_counts counts;
	struct pl_err err;
	bool dry_run, failed;
	char name[TEXT], spec[TEXT];
} job;

static void pod_of(unsigned number, struct submit_pod *out)
{
	(void)snprintf(job.name, TEXT, "pod-%05u", number);
	(void)snprintf(job.spec, TEXT, "{\"number\":%u}", number);
	*out = (struct submit_pod){.namespace = PL_SPAN_LIT("ns"),
	                           .name = pl_span_str(job.name),
	                           .spec = pl_span_str(job.spec)};
	T_EQ(partition_of_pod(out->namespace, out->name, PARTITIONS, &out->location.named,
	                      NULL),
	     PL_OK);
	out->location.partition = out->location.named;
	if (job.every_pointed != 0 && number % job.every_pointed == 0)
		out->location.partition = (out->location.named + 1) % PARTITIONS;
}

static enum pl_code next(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	(void)ctx;
	if (job.fail_at != 0 && job.given == job.fail_at)
		return pl_err_set(err, PL_INVALID, "the source is dry");
	if (job.given == job.pods)
		return PL_NOTFOUND;
	pod_of(job.repeat_at != 0 ? job.given % job.repeat_at : job.given, out);
	job.given++;
	return PL_OK;
}

static void exists(void *ctx, const struct submit_pod *pod)
{
	(void)ctx;
	T_TRUE(pl_span_starts(pod->name, PL_SPAN_LIT("pod-")));
	job.reported++;
}

static void leaving(void *ctx, const struct submit_pod *pod)
{
	(void)ctx;
	T_TRUE(pl_span_starts(pod->name, PL_SPAN_LIT("pod-")));
	job.leaving++;
}

static void done(void *ctx, const struct submit_counts *counts, const struct pl_err *err)
{
	(void)ctx;
	job.submit = NULL;
	job.counts = *counts;
	job.failed = err != NULL;
	if (err != NULL)
		job.err = *err;
}

static void up(const struct faulty_rule *rules, size_t count)
{
	const struct memkv_opts opts = {.txn_ops_max = 32};

	memset(&job, 0, sizeof job);
	kit_open(&kit, &opts);
	T_OK(faulty_open(kit.kv, t_seed(), rules, count, &job.kv, &kit.err), &kit.err);
	kit.kv = job.kv;
}

static enum pl_code start(void)
{
	struct submit_opts opts = {.dry_run = job.dry_run,
	                           .slots = 4,
	                           .timeout_ms = 100,
	                           .patience_ms = 3000,
	                           .next = next,
	                           .exists = exists,
	                           .leaving = leaving,
	                           .done = done};

	job.given = job.reported = job.leaving = 0;
	return submit_open(job.kv, &opts, &job.submit, &kit.err);
}

static void run(void)
{
	T_OK(start(), &kit.err);
	while (job.submit != NULL) {
		if (memkv_next_ms(kit.mem) > kit.now_ms)
			kit.now_ms = memkv_next_ms(kit.mem);
		kit_run(&kit, kit.now_ms);
	}
}

static void key_of(const struct submit_pod *pod, uint32_t partition, char out[128])
{
	(void)snprintf(out, 128, "/schedules/%04u/ns/%.*s/spec", partition,
	               PL_SPAN_ARG(pod->name));
}

static const char *value_at(const char *key)
{
	static char text[TEXT];

	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	if (kit.result.get.count == 0)
		return NULL;
	T_EQ(kit.result.get.records[0].version, 1);
	(void)snprintf(text, TEXT, "%.*s", PL_SPAN_ARG(kit.result.get.records[0].value));
	return text;
}

/* The pod exists with its pointer, as it was submitted or as it was before. */
static void stands(unsigned number, bool other)
{
	struct submit_pod pod;
	char key[128], pointer[TEXT];

	pod_of(number, &pod);
	key_of(&pod, pod.location.partition, key);
	T_STR(value_at(key), other ? "{\"other\":1}" : job.spec);
	if (pod.location.named == pod.location.partition)
		return;
	key_of(&pod, pod.location.named, key);
	(void)snprintf(pointer, TEXT, "{\"v\":1,\"at\":%u}", pod.location.partition);
	T_STR(value_at(key), other ? NULL : pointer);
}

T_CASE(pods_are_submitted_many_at_a_time)
{
	up(NULL, 0);
	job.pods = 1000;
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.submitted, 1000);
	T_EQ(job.counts.transactions, (1000 + 31) / 32);
	for (unsigned i = 0; i < job.pods; i++)
		stands(i, false);
	kit_close(&kit);
}

T_CASE(submitting_again_changes_nothing)
{
	int64_t revision;

	up(NULL, 0);
	job.pods = 500;
	job.every_pointed = 3;
	run();
	T_EQ(job.counts.submitted, 500);
	revision = memkv_revision(kit.mem);
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.unchanged, 500);
	T_EQ(job.counts.submitted, 0);
	T_EQ(memkv_revision(kit.mem), revision);
	for (unsigned i = 0; i < job.pods; i++)
		stands(i, false);
	kit_close(&kit);
}

T_CASE(a_pod_with_another_spec_stays_and_is_reported)
{
	struct submit_pod pod;
	char key[128];

	up(NULL, 0);
	job.pods = 200;
	for (unsigned i = 0; i < job.pods; i += 10) {
		pod_of(i, &pod);
		key_of(&pod, pod.location.partition, key);
		(void)kit_put(&kit, key, "{\"other\":1}");
	}
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.others, 20);
	T_EQ(job.reported, 20);
	T_EQ(job.counts.submitted, 180);
	for (unsigned i = 0; i < job.pods; i++)
		stands(i, i % 10 == 0);
	kit_close(&kit);
}

T_CASE(a_dry_run_counts_and_writes_nothing)
{
	struct submit_pod pod;
	char key[128];
	int64_t revision;

	up(NULL, 0);
	job.pods = 100;
	run(); /* the first hundred exist already */
	job.pods = 300;
	for (unsigned i = 100; i < 120; i++) {
		pod_of(i, &pod);
		key_of(&pod, pod.location.partition, key);
		(void)kit_put(&kit, key, "{\"other\":1}");
	}
	revision = memkv_revision(kit.mem);
	job.dry_run = true;
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.unchanged, 100);
	T_EQ(job.counts.others, 20);
	T_EQ(job.reported, 20);
	T_EQ(job.counts.submitted, 180);
	T_EQ(memkv_revision(kit.mem), revision);
	kit_close(&kit);
}

/* A pod that exists when it is read again was not written by a dry run. */
T_CASE(a_dry_run_whose_answers_are_lost_counts_what_is_there_as_unchanged)
{
	static const struct faulty_rule rule = {
		.what = FAULTY_LOSE_ANSWER, .ops = 1U << KV_TXN, .per_mille = 300};

	up(&rule, 1);
	job.pods = 200;
	run();
	T_TRUE(!job.failed);
	job.dry_run = true;
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.unchanged, 200);
	T_EQ(job.counts.submitted, 0);
	kit_close(&kit);
}

/* The name leads to another partition, or is taken: a pod that looks the same is not
 * the same. */
T_CASE(a_pod_with_another_pointer_is_another_pod)
{
	struct submit_pod pod;
	char key[128];

	up(NULL, 0);
	job.pods = 1;
	job.every_pointed = 1;
	pod_of(0, &pod);
	key_of(&pod, pod.location.partition, key);
	(void)kit_put(&kit, key, job.spec);
	key_of(&pod, pod.location.named, key);
	(void)kit_put(&kit, key, "{\"v\":1,\"at\":7777}");
	run();
	T_EQ(job.counts.others, 1);
	kit_close(&kit);
}

#define PLACED(phase, more)                                                             \
	"{\"v\":1,\"uid\":\"u\",\"phase\":\"" phase "\",\"cluster\":\"east\",\"node\":" \
	"\"n-1\"" more ",\"since\":\"2026-11-21T09:00:00.000Z\"}"

/* A pod that is being deleted will not be there, whatever its spec. */
T_CASE(a_pod_that_is_being_deleted_is_not_unchanged)
{
	static const char *const states[] = {
		PLACED("Bound", ",\"ask\":\"delete\""),
		PLACED("Terminating", ""),
		PLACED("Bound", ",\"ask\":\"evict\""),
		PLACED("Terminating", ",\"next\":\"Pending\""),
		PLACED("Terminating", ",\"ask\":\"delete\",\"next\":\"Pending\""),
		PLACED("Bound", ""),
		"malformed",
	};
	struct submit_pod pod;
	char key[128];

	up(NULL, 0);
	job.pods = sizeof states / sizeof *states;
	job.every_pointed = 2;
	run();
	T_EQ(job.counts.submitted, job.pods);
	for (unsigned i = 0; i < job.pods; i++) {
		pod_of(i, &pod);
		(void)snprintf(key, sizeof key, "/schedules/%04u/ns/%.*s/state",
		               pod.location.partition, PL_SPAN_ARG(pod.name));
		(void)kit_put(&kit, key, states[i]);
	}
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.leaving, 3);
	T_EQ(job.leaving, 3);
	T_EQ(job.counts.unchanged, 4);
	pod_of(1, &pod);
	key_of(&pod, pod.location.partition, key);
	(void)kit_put(&kit, key, "{\"other\":1}");
	run();
	T_EQ(job.counts.leaving, 3);
	T_EQ(job.counts.others, 0);
	kit_close(&kit);
}

T_CASE(a_pod_that_comes_twice_is_submitted_once)
{
	up(NULL, 0);
	job.pods = 90;
	job.repeat_at = 10; /* some in one transaction, some in another */
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.submitted, 10);
	T_EQ(job.counts.unchanged, 80);
	kit_close(&kit);
}

static const struct faulty_rule storm[] = {
	{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 200},
	{.what = FAULTY_APPLY_LATE,
         .ops = 1u << KV_TXN,
         .per_mille = 200,
         .delay_min_ms = 1,
         .delay_max_ms = 90},
	{.what = FAULTY_REFUSE,
         .ops = 1u << KV_TXN,
         .per_mille = 100,
         .code = PL_UNAVAIL},
	{.what = FAULTY_REFUSE, .ops = 1u << KV_TXN, .per_mille = 50, .code = PL_BUSY},
	{.what = FAULTY_SLOW_ANSWER,
         .ops = 1u << KV_TXN,
         .per_mille = 100,
         .delay_min_ms = 1,
         .delay_max_ms = 50},
};

T_CASE(each_exists_once_despite_lost_answers)
{
	struct submit_pod pod;
	char key[128];

	up(storm, sizeof storm / sizeof storm[0]);
	faulty_pause(job.kv, true);
	job.pods = 2000;
	job.every_pointed = 5;
	for (unsigned i = 0; i < job.pods; i += 40) {
		pod_of(i + 1, &pod);
		key_of(&pod, pod.location.partition, key);
		(void)kit_put(&kit, key, "{\"other\":1}");
	}
	faulty_pause(job.kv, false);
	run();
	T_TRUE(!job.failed);
	T_EQ(job.counts.others, 50);
	/* There is no other writer: what exists is ours, however often it was sent. */
	T_EQ(job.counts.submitted + job.counts.unchanged, 1950);
	T_EQ(job.counts.unchanged, 0);
	T_REACHED(faulty_count(job.kv, FAULTY_LOSE_ANSWER) > 10);
	faulty_pause(job.kv, true);
	for (unsigned i = 0; i < job.pods; i++)
		stands(i, i % 40 == 1);
	kit_close(&kit);
}

T_CASE(what_ends_it_is_reported)
{
	static const struct faulty_rule deny[] = {{.what = FAULTY_REFUSE,
	                                           .ops = 1u << KV_TXN,
	                                           .per_mille = 1000,
	                                           .code = PL_DENIED}};

	up(NULL, 0);
	job.pods = 200;
	job.fail_at = 100;
	run();
	T_TRUE(job.failed);
	T_STR(job.err.msg, "the source is dry");
	kit_close(&kit);
	up(deny, 1);
	job.pods = 5;
	run();
	T_EQ(job.err.code, PL_DENIED);
	kit_close(&kit);
	up(NULL, 0);
	job.pods = 500;
	T_OK(start(), &kit.err);
	submit_cancel(job.submit);
	kit_run(&kit, 10);
	T_EQ(job.err.code, PL_CANCELED);
	T_EQ(submit_open(job.kv, &(struct submit_opts){.next = next, .done = done},
	                 &job.submit, &kit.err),
	     PL_OK);
	while (job.submit != NULL)
		kit_run(&kit, kit.now_ms + 1);
	T_TRUE(!job.failed);
	kit_close(&kit);
}

static enum pl_code tortured(void)
{
	enum pl_code code;

	up(NULL, 0);
	job.pods = 3;
	job.every_pointed = 2;
	code = start();
	while (code == PL_OK && job.submit != NULL)
		kit_run(&kit, kit.now_ms + 1);
	if (code == PL_OK && job.failed)
		code = job.err.code;
	kit_close(&kit);
	return code;
}

T_CASE(memory_may_run_out)
{
	/* Only the allocations of submit itself fail: the fixture has no way to. */
	pl_fault_reset();
	T_OK(tortured(), &kit.err);
	up(NULL, 0);
	for (uint64_t nth = 1; nth < 6; nth++) {
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		job.pods = 3;
		if (start() == PL_OK)
			while (job.submit != NULL)
				kit_run(&kit, kit.now_ms + 100);
		else
			T_EQ(kit.err.code, PL_NOMEM);
		pl_fault_reset();
	}
	kit_close(&kit);
}
