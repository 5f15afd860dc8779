/*
 * What preemption costs: every node is 95 % full of pods of low priority, and pods of
 * high priority come that fit nowhere. Each takes its victims' place before the next.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/engine/bench.h"
#include "bench/engine/scene.h"
#include "store/base/clock.h"

enum { DECISIONS = 200 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void run(unsigned nodes, bool all, bool cache)
{
	static const char low[] =
		"{\"metadata\":{\"name\":\"low\",\"namespace\":\"bench\"},\"spec\":{"
		"\"priority\":0,\"containers\":[{\"name\":\"c\",\"resources\":{"
		"\"requests\":{\"cpu\":\"380m\",\"memory\":\"3Gi\"}}}]}}";
	static const char high[] =
		"{\"metadata\":{\"name\":\"high\",\"namespace\":\"bench\"},\"spec\":{"
		"\"priority\":100,\"containers\":[{\"name\":\"c\",\"resources\":{"
		"\"requests\":{\"cpu\":\"1\",\"memory\":\"4Gi\"}}}]}}";
	struct preempt_opts opts = {.candidates_percent = all ? 100 : 10,
	                            .candidates_least = 100};
	double us[DECISIONS], total;
	uint64_t cpu_ns = 0;
	const struct spec *spec;
	struct fw_class *class;
	struct scene scene;
	unsigned done = 0;
	char fields[200];

	(void)fprintf(stderr, "# preemption, %u nodes\n", nodes);
	scene_init(&scene, nodes, cache);
	scene_fill(&scene, low, 10);
	spec = scene_spec(&scene, high);
	class = scene_class(&scene, spec);
	while (done < DECISIONS) {
		struct preempt_outcome out;
		struct outcome outcome;
		uint64_t from = pl_clock_ns(), cpu_from = pl_clock_cpu_ns();

		opts.draw = done * UINT64_C(0x9e3779b97f4a7c15);
		scene_decide(&scene, class, &outcome);
		if (outcome.result != CYCLE_NONE)
			break;
		preempt_run(scene.preempt, scene.cycle, &outcome, &opts, &out);
		us[done] = (double)(pl_clock_ns() - from) / 1e3;
		cpu_ns += pl_clock_cpu_ns() - cpu_from;
		if (out.code != VERDICT_SUCCESS)
			break;
		done++;
		for (uint32_t i = 0; i < out.victims; i++)
			snapshot_pod_remove(&scene.snapshot, out.victim[i]);
		scene_place(&scene, spec, out.node);
	}
	if (done == 0)
		bench_check(PL_UNSUPPORTED, NULL, "preemption found nobody");
	total = (double)cpu_ns / 1e3;
	qsort(us, done, sizeof us[0], by_value);
	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"decide\",\"nodes\":%u,\"pods\":%u,\"profile\":"
	               "\"preemption\",\"cache\":%s,\"candidates_percent\":%u",
	               nodes, done, cache ? "true" : "false", opts.candidates_percent);
	bench_emit(fields, "us_per_pod", total / done, "us");
	bench_emit(fields, "decisions_per_s", 1e6 * done / total, "1/s");
	bench_emit(fields, "p50_us", us[done / 2], "us");
	bench_emit(fields, "p99_us", us[done - 1 - done / 100], "us");
	bench_emit(fields, "p999_us", us[done - 1], "us");
	scene_class_close(&scene, class);
	model_unref(&scene.model, MODEL_SPECS, spec);
	scene_done(&scene);
}

void bench_preempt(const struct bench_opts *opts)
{
	static const unsigned sizes[] = {1000, 5000, 100000};

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		if (opts->nodes != 0 && opts->nodes != sizes[i])
			continue;
		run(sizes[i], false, true);
		run(sizes[i], true, true);
		run(sizes[i], true, false);
	}
}
