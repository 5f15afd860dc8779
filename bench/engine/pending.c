/* What a pod that waits takes of the heap: replicas that share a class, and pods that
 * have one each, as of a StatefulSet. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/engine/bench.h"
#include "bench/engine/scene.h"
#include "shardsched/model/parse.h"
#include "shardsched/queue/queue.h"

enum { PODS = 100000 };

/* As a shard holds it. */
struct pending {
	struct pod pod;
	struct queue_pod queued;
};

static const char format[] =
	"{\"metadata\":{\"name\":\"%s-%06u\",\"namespace\":\"bench\",\"uid\":"
	"\"0b5c8a4e-0000-4000-8000-%012u\",\"labels\":{\"app\":\"web\"%s%06u%s}},\"spec\":{"
	"\"priority\":0,\"containers\":[{\"name\":\"c\",\"image\":\"app:1\","
	"\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"500Mi\"}}}]}}";

static void run(bool own)
{
	struct pending *pending = bench_alloc(PODS, sizeof *pending);
	struct pl_arena arena;
	struct model model;
	size_t before;
	char fields[120];

	pl_arena_init(&arena, 1 << 16, 0);
	model_init(&model);
	before = scene_heap();
	for (unsigned i = 0; i < PODS; i++) {
		struct parse parse = {.model = &model, .arena = &arena};
		struct pl_err err = {0};
		char json[1024];

		(void)snprintf(json, sizeof json, format, own ? "db" : "web-5d4f8c7b9", i,
		               i,
		               own ? ",\"statefulset.kubernetes.io/pod-name\":\"db-"
		                   : ",\"pod-template-hash\":\"",
		               own ? i : 7, "\"");
		bench_check(pod_parse(&parse, pl_span_str(json), &pending[i].pod, &err),
		            &err, "pod");
		pl_arena_reset(&arena);
	}
	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"pending\",\"pods\":%d,\"profile\":\"%s\"", PODS,
	               own ? "statefulset" : "deployment");
	bench_emit(fields, "bytes_per_pod",
	           (double)(scene_heap() - before) / PODS +
	                   (double)(sizeof *pending +
	                            (own ? sizeof(struct queue_class) : 0)),
	           "B");
	for (unsigned i = 0; i < PODS; i++)
		pod_drop(&model, &pending[i].pod);
	free(pending);
	model_done(&model);
	pl_arena_done(&arena);
}

void bench_pending(const struct bench_opts *opts)
{
	(void)opts;
	run(false);
	run(true);
}
