/*
 * The shard's core alone: nodes and pods come in through lists, and every transaction
 * is answered at once with a success. Decoding specs, deciding, printing states and
 * allocs and keeping the books is all in it; the store is not.
 */
#include "shardsched/shard/sched.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engine/bench.h"
#include "store/base/clock.h"

enum { PARTITIONS = 16, PODS_A_DEPLOYMENT = 1000, TURN = 256 };

struct sched_run {
	struct sched *sched;
	int64_t revision;
	uint64_t placed;
	unsigned nodes, pods;
	bool replicas; /* pods of a StatefulSet: a label has the pod's name */
	struct kv_result then[4 * SCHED_BATCH_MAX];
};

static const char node_json[] =
	"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"uid\":"
	"\"7c6e1c52-9f2e-4c3e-8a55-%012u\",\"labels\":{\"kubernetes.io/hostname\":\"%s\","
	"\"topology.kubernetes.io/zone\":\"zone-%u\"}},\"spec\":{},\"status\":{\"capacity\":"
	"{\"cpu\":\"32\",\"memory\":\"256Gi\",\"pods\":\"250\"},\"allocatable\":{\"cpu\":"
	"\"32\",\"memory\":\"256Gi\",\"pods\":\"250\"}}}";

static const char pod_json[] =
	"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
	"\"default\",\"uid\":\"1b6e1c52-9f2e-4c3e-8a55-%012u\",\"creationTimestamp\":"
	"\"2026-11-21T09:00:00Z\",\"labels\":{\"app\":\"web-%u\"%s},\"ownerReferences\":[{"
	"\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-%u\",\"uid\":"
	"\"2b6e1c52-9f2e-4c3e-8a55-%012u\",\"controller\":true}]},\"spec\":{\"containers\":"
	"[{\"name\":\"main\",\"image\":\"registry.k8s.io/pause:3.9\",\"resources\":{"
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}}}],\"schedulerName\":"
	"\"default-scheduler\"}}";

static void add_record(struct sched_run *run, uint32_t p, enum sched_part part,
                       const char *key, const char *value)
{
	const struct kv_record record = {.key = pl_span_str(key),
	                                 .value = pl_span_str(value),
	                                 .create_revision = run->revision,
	                                 .mod_revision = run->revision};

	sched_list_records(run->sched, p, part, &record, 1);
}

static void list_nodes(struct sched_run *run, unsigned nodes)
{
	char key[128], name[32], value[1024];

	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t p = i % PARTITIONS;

		(void)snprintf(name, sizeof name, "node-%06u", i);
		(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
		(void)snprintf(value, sizeof value, node_json, name, i, name, i % 3);
		add_record(run, p, SCHED_NODES, key, value);
		(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, name);
		add_record(run, p, SCHED_ALLOCS, key, "{\"v\":1,\"generation\":1}");
	}
}

/* In pieces, so that what the bench itself keeps does not count. */
static void list_pods(struct sched_run *run, unsigned pods)
{
	char key[160], name[64], value[1024], label[128] = "";

	for (uint32_t i = 0; i < pods; i++) {
		uint32_t p = i * 7 % PARTITIONS, of = i / PODS_A_DEPLOYMENT;

		(void)snprintf(name, sizeof name, "web-%u-5d78c9869d-x%06u", of, i);
		(void)snprintf(key, sizeof key, "/schedules/%04u/default/%s/spec", p,
		               name);
		if (run->replicas)
			(void)snprintf(label, sizeof label,
			               ",\"statefulset.kubernetes.io/pod-name\":\"%s\"",
			               name);
		(void)snprintf(value, sizeof value, pod_json, name, i, of, label, of, of);
		add_record(run, p, SCHED_SCHEDULES, key, value);
	}
}

static void lists_end(struct sched_run *run, enum sched_part part)
{
	for (uint32_t p = 0; p < PARTITIONS; p++)
		sched_list_end(run->sched, p, part, run->revision);
}

static void answer_action(struct sched_run *run, const struct sched_action *action)
{
	const struct kv_txn *txn = &action->req.txn;
	struct kv_result result = {.op = KV_TXN, .header = {.revision = ++run->revision}};

	for (size_t i = 0; i < txn->then_count; i++)
		run->then[i].op = txn->then[i].op;
	result.txn = (struct kv_txn_result){
		.succeeded = true, .results = run->then, .count = txn->then_count};
	sched_answer(run->sched, action->txn, &result, NULL);
}

static void place_all(struct sched_run *run)
{
	struct sched_action action;
	uint64_t now_ms = 1000;

	do {
		sched_run(run->sched, now_ms, INT64_C(1795251600000), TURN);
		while (sched_next(run->sched, &action))
			if (action.what == SCHED_TXN)
				answer_action(run, &action);
	} while (sched_deadline_ms(run->sched) <= now_ms);
}

static void emit_run(const struct sched_run *run, const char *op, double us,
                     const char *metric, const char *unit)
{
	char fields[160];

	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"sched-%s\",\"nodes\":%u,\"pods\":%u,\"profile\":\"%s\"",
	               op, run->nodes, run->pods,
	               run->replicas ? "statefulset" : "deployment");
	bench_emit(fields, metric, us, unit);
}

static void measure_sched(unsigned nodes, unsigned pods, bool replicas, uint64_t seed)
{
	const struct sched_opts opts = {
		.shard = "east-0", .partitions = PARTITIONS, .seed = seed};
	struct sched_run *run = bench_alloc(1, sizeof *run);
	struct pl_err err = {0};
	struct sched_figures figures;
	uint64_t begun_us, listed_us, placed_us;
	size_t before;

	run->revision = 1000;
	run->nodes = nodes;
	run->pods = pods;
	run->replicas = replicas;
	bench_check(sched_new(&opts, &run->sched, &err), &err, "sched");
	sched_set_limits(run->sched, (struct kv_limits){.txn_ops = 1024});
	for (uint32_t p = 0; p < PARTITIONS; p++)
		bench_check(sched_own(run->sched, p, 1, &err), &err, "own");
	for (unsigned i = SCHED_OBJECT_FIRST; i < SCHED_VIEWS; i++) {
		sched_view_begin(run->sched, (enum sched_view)i);
		sched_view_end(run->sched, (enum sched_view)i, run->revision);
	}
	list_nodes(run, nodes);
	lists_end(run, SCHED_NODES);
	lists_end(run, SCHED_ALLOCS);
	before = mallinfo2().uordblks;
	begun_us = pl_clock_cpu_ns() / 1000;
	list_pods(run, pods);
	lists_end(run, SCHED_SCHEDULES);
	listed_us = pl_clock_cpu_ns() / 1000;
	emit_run(run, "list", (double)(mallinfo2().uordblks - before) / pods,
	         "bytes_per_pod", "B");
	place_all(run);
	placed_us = pl_clock_cpu_ns() / 1000;
	sched_figures(run->sched, &figures);
	if (figures.placed != pods)
		bench_check(PL_INVALID, NULL, "not all pods were placed");
	emit_run(run, "list", (double)(listed_us - begun_us) / pods, "us_per_pod", "us");
	emit_run(run, "place", (double)(placed_us - listed_us) / pods, "us_per_pod",
	         "us");
	emit_run(run, "all", (double)(placed_us - begun_us) / pods, "us_per_pod", "us");
	emit_run(run, "all", 1e6 * pods / (double)(placed_us - begun_us),
	         "placements_per_s", "1/s");
	sched_free(run->sched);
	free(run);
}

void bench_sched(const struct engine_bench_opts *opts)
{
	unsigned nodes = opts->nodes == 0 ? 5000 : opts->nodes;
	unsigned pods = opts->pods < nodes * 10 ? opts->pods : nodes * 10;

	measure_sched(nodes, pods, false, opts->seed);
	measure_sched(nodes, pods, true, opts->seed);
}
