/*
 * The heap that a pending pod takes: in the model and the queue, and in the cache of a
 * shard.
 *
 *	deployment    replicas that share a class
 *	statefulset   replicas that differ in labels that are kept beside the class
 *	claims        as statefulset, and each has a claim that is named after the pod: each
 *	              has its own class in the queue
 *	apart         each has a claim of another name: each has its own class everywhere
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engine/bench.h"
#include "bench/engine/scene.h"
#include "shardsched/model/parse.h"
#include "shardsched/queue/queue.h"
#include "shardsched/shard/sched.h"

enum {
	PODS = 100000,
	SHARD_PODS = 50000,
	REVISION = 2,
	JSON_SIZE = 1024,
	KEY_SIZE = 128
};

/* As a shard holds it. */
struct pending {
	struct pod pod;
	struct queue_pod queued;
};

static const char *const profiles[] = {"deployment", "statefulset", "claims", "apart"};

static bool profile_is(const char *profile, const char *of)
{
	return strcmp(profile, of) == 0;
}

static void pod_name(const char *profile, unsigned i, char out[64])
{
	(void)snprintf(out, 64, "%s-%06u",
	               profile_is(profile, "deployment") ? "web-5d4f8c7b9" : "db", i);
}

static void pod_json(const char *profile, unsigned i, char out[JSON_SIZE])
{
	char name[64], labels[160] = "", volumes[160] = "";

	pod_name(profile, i, name);
	if (profile_is(profile, "deployment"))
		(void)snprintf(labels, sizeof labels,
		               ",\"pod-template-hash\":\"5d4f8c7b9\"");
	else
		(void)snprintf(labels, sizeof labels,
		               ",\"statefulset.kubernetes.io/pod-name\":\"%s\","
		               "\"apps.kubernetes.io/pod-index\":\"%u\"",
		               name, i);
	if (profile_is(profile, "claims") || profile_is(profile, "apart"))
		(void)snprintf(volumes, sizeof volumes,
		               "\"volumes\":[{\"name\":\"data\","
		               "\"persistentVolumeClaim\":{\"claimName\":\"%s-%s\"}}],",
		               profile_is(profile, "claims") ? "data" : "of",
		               profile_is(profile, "claims") ? name : name + 1);
	(void)snprintf(
		out, JSON_SIZE,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"bench\",\"uid\":"
		"\"0b5c8a4e-0000-4000-8000-%012u\",\"labels\":{\"app\":\"web\"%s}},"
		"\"spec\":{\"priority\":0,%s\"containers\":[{\"name\":\"c\","
		"\"image\":\"app:1\",\"resources\":{\"requests\":{\"cpu\":\"100m\","
		"\"memory\":\"500Mi\"}}}]}}",
		name, i, labels, volumes);
}

static void emit_bytes(const char *op, const char *profile, unsigned pods, double bytes)
{
	char fields[120];

	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"%s\",\"pods\":%u,\"profile\":\"%s\"", op, pods, profile);
	bench_emit(fields, "bytes_per_pod", bytes, "B");
}

/* The model's part, and what is embedded in the caller's pods and classes. */
static void run_profile(const char *profile)
{
	struct pending *pending = bench_alloc(PODS, sizeof *pending);
	struct pl_arena arena;
	struct model model;
	double classes;
	size_t before;

	pl_arena_init(&arena, 1 << 16, 0);
	model_init(&model);
	before = scene_heap();
	for (unsigned i = 0; i < PODS; i++) {
		struct parse parse = {.model = &model, .arena = &arena};
		struct pl_err err = {0};
		char json[JSON_SIZE];

		pod_json(profile, i, json);
		bench_check(pod_parse(&parse, pl_span_str(json), &pending[i].pod, &err),
		            &err, "pod");
		pl_arena_reset(&arena);
	}
	classes = (double)model.intern[MODEL_SPECS].count / PODS;
	if ((pending[0].pod.spec->flags & SPEC_BY_NAME) != 0)
		classes += 1;
	emit_bytes("pending", profile, PODS,
	           (double)(scene_heap() - before) / PODS + (double)sizeof *pending +
	                   classes * (double)sizeof(struct queue_class));
	for (unsigned i = 0; i < PODS; i++)
		pod_drop(&model, &pending[i].pod);
	free(pending);
	model_done(&model);
	pl_arena_done(&arena);
}

static void list_pods(struct sched *sched, const char *profile)
{
	char key[KEY_SIZE], name[64], json[JSON_SIZE];

	for (unsigned i = 0; i < SHARD_PODS; i++) {
		struct kv_record record = {.create_revision = REVISION,
		                           .mod_revision = REVISION};

		pod_name(profile, i, name);
		(void)snprintf(key, sizeof key, "/schedules/0000/bench/%s/spec", name);
		pod_json(profile, i, json);
		record.key = pl_span_str(key);
		record.value = pl_span_str(json);
		sched_list_records(sched, 0, SCHED_SCHEDULES, &record, 1);
	}
}

/* All of it: listed, and in the queue. */
static void run_shard(const char *profile)
{
	const struct sched_opts opts = {.shard = "bench", .partitions = 1, .seed = 1};
	struct pl_err err = {0};
	struct sched *sched;
	size_t before;

	bench_check(sched_new(&opts, &sched, &err), &err, "shard");
	bench_check(sched_own(sched, 0, 1, &err), &err, "own");
	sched_list_end(sched, 0, SCHED_NODES, REVISION);
	sched_list_end(sched, 0, SCHED_ALLOCS, REVISION);
	before = scene_heap();
	list_pods(sched, profile);
	sched_list_end(sched, 0, SCHED_SCHEDULES, REVISION);
	emit_bytes("pending-shard", profile, SHARD_PODS,
	           (double)(scene_heap() - before) / SHARD_PODS);
	sched_free(sched);
}

void bench_pending(const struct engine_bench_opts *opts)
{
	(void)opts;
	for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
		run_profile(profiles[i]);
		run_shard(profiles[i]);
	}
}
