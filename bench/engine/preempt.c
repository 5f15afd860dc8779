/*
 * The cost of preemption: every node is 95 % full of pods of low priority, and pods of
 * high priority come that fit nowhere. Each takes its victims' place before the next.
 *
 *	full     10 pods a node, all equal: an order does not matter
 *	small    100 of several sizes and priorities, which came one after the other
 *	budgets  the same, of many apps with budgets that allow none to three disruptions
 *	guarded  of few such apps, so that every node overdraws some and all are tried
 *	alike    100 of several sizes, which only the name puts in an order
 *	restless as small, but that every node changed since the last decision
 *	renewed  as guarded, but that every budget changed since the last decision
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engine/bench.h"
#include "bench/engine/scene.h"
#include "store/base/clock.h"
#include "store/base/rng.h"

enum { DECISIONS = 200 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The pods on the nodes before the measured ones. */
struct preempt_load {
	const char *name;
	unsigned pods;       /* a node */
	unsigned sizes;      /* how many sizes pods have; 1: all pods are alike */
	unsigned priorities; /* from 0 on */
	unsigned starts;     /* seconds in which they started; 0: it is not said */
	unsigned budgets;    /* kinds of pods, each with a budget; 0: none */
	bool restless;       /* a pod of each node goes and comes between decisions */
	bool renewed;        /* each budget allows others than before */
};

static const struct preempt_load loads[] = {
	{"full", 10, 1, 1, 0, 0, false, false},
	{"small", 100, 16, 5, 100000, 0, false, false},
	{"budgets", 100, 16, 5, 100000, 100, false, false},
	{"guarded", 100, 16, 5, 100000, 10, false, false},
	{"alike", 100, 16, 1, 1, 0, false, false},
	{"restless", 100, 16, 5, 100000, 0, true, false},
	{"renewed", 100, 16, 5, 100000, 10, false, true},
};

static const struct spec *low_spec(struct scene *scene, const struct preempt_load *load,
                                   unsigned n)
{
	unsigned share = 3800 / load->pods, most = 30720 / load->pods;
	unsigned size = n % load->sizes;
	char json[512];

	/* From half of an equal share to one and a half. */
	if (load->sizes > 1) {
		share = share / 2 + share * size / (load->sizes - 1);
		most = most / 2 + most * (size * 7 % load->sizes) / (load->sizes - 1);
	}
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"low\",\"namespace\":\"bench\","
	               "\"labels\":{\"app\":\"app-%u\"}},\"spec\":{\"priority\":%u,"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"%um\",\"memory\":\"%uMi\"}}}]}}",
	               load->budgets == 0 ? 0 : n % load->budgets,
	               n / load->sizes % load->priorities, share, most);
	return scene_spec(scene, json);
}

static void fill_nodes(struct scene *scene, const struct preempt_load *load,
                       uint64_t seed)
{
	unsigned kinds = load->sizes * load->priorities;
	const struct spec **spec;
	struct pl_rng rng;

	if (load->budgets > 1)
		kinds *= load->budgets;
	spec = bench_alloc(kinds, sizeof(struct spec *));
	pl_rng_init(&rng, seed);
	for (unsigned i = 0; i < kinds; i++)
		spec[i] = low_spec(scene, load, i);
	for (unsigned i = 0; i < load->pods; i++)
		PL_BITSET_EACH (slot, scene->snapshot.live) {
			int64_t start =
				load->starts == 0
					? 0
					: 1700000000 + (int64_t)pl_rng_below(
							       &rng, load->starts);

			scene_place_old(scene, spec[pl_rng_below(&rng, kinds)],
			                (uint32_t)slot, start * 1000);
		}
	for (unsigned i = 0; i < kinds; i++)
		model_unref(&scene->model, MODEL_SPECS, spec[i]);
	free(spec);
}

static void put_budgets(struct scene *scene, const struct preempt_load *load,
                        unsigned round)
{
	char json[256];

	for (unsigned i = 0; i < load->budgets; i++) {
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"name\":\"b%u\",\"namespace\":\"bench\"},"
		               "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":"
		               "\"app-%u\"}}},\"status\":{\"disruptionsAllowed\":%u}}",
		               i, i, (i + round) % load->budgets % 4);
		scene_budget(scene, json);
	}
}

static void touch_all_nodes(struct scene *scene)
{
	PL_BITSET_EACH (slot, scene->snapshot.live) {
		uint32_t placed = scene->snapshot.row[slot].first_pod;
		const struct placed_pod *pod = &scene->snapshot.placed[placed];
		int64_t started_ms = pod->started_ms;
		const struct spec *spec =
			model_ref(&scene->model, MODEL_SPECS, pod->view->spec);

		snapshot_pod_remove(&scene->snapshot, placed);
		scene_place_old(scene, spec, (uint32_t)slot, started_ms);
		model_unref(&scene->model, MODEL_SPECS, spec);
	}
}

static void report_case(const struct preempt_load *load, unsigned nodes, bool all,
                        bool cache, double *us, unsigned done, uint64_t cpu_ns)
{
	double total = (double)cpu_ns / 1e3;
	char fields[240];

	qsort(us, done, sizeof us[0], by_value);
	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"decide\",\"nodes\":%u,\"pods\":%u,\"profile\":"
	               "\"preemption\",\"cache\":%s,\"candidates_percent\":%u,"
	               "\"load\":\"%s\",\"pods_a_node\":%u",
	               nodes, done, cache ? "true" : "false", all ? 100 : 10, load->name,
	               load->pods);
	bench_emit(fields, "us_per_pod", total / done, "us");
	bench_emit(fields, "decisions_per_s", 1e6 * done / total, "1/s");
	bench_emit(fields, "p50_us", us[done / 2], "us");
	bench_emit(fields, "p99_us", us[done - 1 - done / 100], "us");
	bench_emit(fields, "p999_us", us[done - 1], "us");
}

static void run_case(const struct preempt_load *load, unsigned nodes, bool all,
                     bool cache)
{
	static const char high[] =
		"{\"metadata\":{\"name\":\"high\",\"namespace\":\"bench\"},\"spec\":{"
		"\"priority\":100,\"containers\":[{\"name\":\"c\",\"resources\":{"
		"\"requests\":{\"cpu\":\"1\",\"memory\":\"4Gi\"}}}]}}";
	struct preempt_opts opts = {.candidates_percent = all ? 100 : 10,
	                            .candidates_least = 100};
	double us[DECISIONS];
	uint64_t cpu_ns = 0;
	const struct spec *spec;
	struct fw_class *class;
	struct scene scene;
	unsigned done = 0;

	(void)fprintf(stderr, "# preemption, %u nodes, %s\n", nodes, load->name);
	scene_init(&scene, nodes, cache);
	fill_nodes(&scene, load, 1);
	put_budgets(&scene, load, 0);
	spec = scene_spec(&scene, high);
	class = scene_class(&scene, spec);
	while (done < DECISIONS) {
		struct preempt_outcome out;
		struct cycle_outcome outcome;
		uint64_t from, cpu_from;

		if (load->restless)
			touch_all_nodes(&scene);
		if (load->renewed)
			put_budgets(&scene, load, done);
		from = pl_clock_ns();
		cpu_from = pl_clock_cpu_ns();
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
		bench_check(PL_UNSUPPORTED, NULL, "preemption found no victims");
	report_case(load, nodes, all, cache, us, done, cpu_ns);
	scene_class_close(&scene, class);
	model_unref(&scene.model, MODEL_SPECS, spec);
	scene_done(&scene);
}

static void run_load(const struct engine_bench_opts *opts,
                     const struct preempt_load *load)
{
	static const unsigned sizes[] = {1000, 5000, 100000};

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		/* Ten million pods are not what this is about. */
		if ((opts->nodes != 0 && opts->nodes != sizes[i]) ||
		    sizes[i] * load->pods > 1000000)
			continue;
		run_case(load, sizes[i], false, true);
		run_case(load, sizes[i], true, true);
		if (load == loads)
			run_case(load, sizes[i], true, false);
	}
}

void bench_preempt(const struct engine_bench_opts *opts)
{
	for (unsigned i = 0; i < sizeof loads / sizeof loads[0]; i++)
		if (opts->profile == NULL || strcmp(opts->profile, loads[i].name) == 0)
			run_load(opts, &loads[i]);
}
