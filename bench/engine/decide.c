/*
 * The cost of a decision: replicas of one class ("mixed": pods of twelve classes, two
 * of each kind, in turn) are decided one after the other, and each is placed before the
 * next is decided. Each node has two small pods before. The time that the machine needs
 * to read the columns of all nodes once is reported, too: no scan of every node is
 * faster.
 *
 * us_per_pod is CPU time of the whole run. The percentiles are wall clock times of
 * single decisions, so they include whatever else the machine does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engine/bench.h"
#include "bench/engine/scene.h"
#include "store/base/clock.h"

enum { CLASSES_MAX = 12, JSON_SIZE = 2048, READS = 20 };

/* %u: the class. */
#define POD_HEAD                                                             \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"bench\",\"labels\":{" \
	"\"app\":\"app-%u\"}},\"spec\":{\"priority\":0,"
#define POD_TAIL                                                              \
	"\"containers\":[{\"name\":\"c\",\"image\":\"app:1\",\"resources\":{" \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"500Mi\"}}}]}}"
#define SELF "\"labelSelector\":{\"matchLabels\":{\"app\":\"app-%u\"}}"

static const char *const profiles[][2] = {
	{"basic", POD_HEAD POD_TAIL},
	{"nodeaffinity",
         POD_HEAD "\"affinity\":{\"nodeAffinity\":{"
                  "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
                  "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
                  "\"topology.kubernetes.io/zone\",\"operator\":\"In\",\"values\":["
                  "\"zone-1\",\"zone-2\"]}]}]}}}," POD_TAIL},
	{"spread",
         POD_HEAD "\"topologySpreadConstraints\":[{\"maxSkew\":1,"
                  "\"topologyKey\":\"topology.kubernetes.io/zone\","
                  "\"whenUnsatisfiable\":\"DoNotSchedule\"," SELF "}]," POD_TAIL},
	{"softspread",
         POD_HEAD "\"topologySpreadConstraints\":[{\"maxSkew\":1,"
                  "\"topologyKey\":\"topology.kubernetes.io/zone\","
                  "\"whenUnsatisfiable\":\"ScheduleAnyway\"," SELF "}]," POD_TAIL},
	{"antiaffinity",
         POD_HEAD "\"affinity\":{\"podAntiAffinity\":{"
                  "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                  "\"topologyKey\":\"kubernetes.io/hostname\"," SELF "}]}}," POD_TAIL},
	{"affinity", POD_HEAD "\"affinity\":{\"podAffinity\":{"
                              "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                              "\"topologyKey\":\"topology.kubernetes.io/zone\"," SELF
                              "}]}}," POD_TAIL},
};

enum { PROFILES = sizeof profiles / sizeof profiles[0] };

struct decide_run {
	const char *profile; /* name of a pod profile, or "mixed" */
	unsigned nodes, pods;
	bool cache;
	double *us; /* wall clock time of each decision */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void emit_run(const struct decide_run *run, const char *metric, double value,
                     const char *unit)
{
	char fields[200];

	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"decide\",\"nodes\":%u,\"pods\":%u,\"profile\":\"%s\","
	               "\"cache\":%s",
	               run->nodes, run->pods, run->profile,
	               run->cache ? "true" : "false");
	bench_emit(fields, metric, value, unit);
}

/* The class-th pod of the run's profile. */
static const struct spec *spec_of(struct scene *scene, const struct decide_run *run,
                                  unsigned class)
{
	char json[JSON_SIZE];
	unsigned which = 0;

	while (which < PROFILES && strcmp(profiles[which][0], run->profile) != 0)
		which++;
	if (which == PROFILES)
		which = class % PROFILES;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(json, sizeof json, profiles[which][1], class, class);
#pragma GCC diagnostic pop
	return scene_spec(scene, json);
}

static void report_run(struct decide_run *run, unsigned done, double total_us)
{
	qsort(run->us, done, sizeof run->us[0], by_value);
	run->pods = done;
	emit_run(run, "us_per_pod", total_us / done, "us");
	emit_run(run, "decisions_per_s", 1e6 * done / total_us, "1/s");
	emit_run(run, "p50_us", run->us[done / 2], "us");
	emit_run(run, "p99_us", run->us[done - 1 - done / 100], "us");
	emit_run(run, "p999_us", run->us[done - 1 - done / 1000], "us");
}

static void decide_all(struct scene *scene, struct decide_run *run)
{
	unsigned classes = strcmp(run->profile, "mixed") == 0 ? CLASSES_MAX : 1;
	const struct spec *spec[CLASSES_MAX];
	struct fw_class *class[CLASSES_MAX];
	unsigned done = 0;
	uint64_t cpu_ns;

	for (unsigned i = 0; i < classes; i++) {
		struct cycle_outcome outcome;

		spec[i] = spec_of(scene, run, i);
		class[i] = scene_class(scene, spec[i]);
		/* The first decision makes what a class needs once: it is not
		 * measured. */
		scene_decide(scene, class[i], &outcome);
	}
	cpu_ns = pl_clock_cpu_ns();
	for (unsigned i = 0; i < run->pods; i++) {
		unsigned which = i % classes;
		uint64_t from = pl_clock_ns();
		struct cycle_outcome outcome;

		scene_decide(scene, class[which], &outcome);
		if (outcome.result != CYCLE_NODE)
			break;
		scene_place(scene, spec[which], outcome.node);
		run->us[done++] = (double)(pl_clock_ns() - from) / 1e3;
	}
	cpu_ns = pl_clock_cpu_ns() - cpu_ns;
	if (done < run->pods)
		(void)fprintf(stderr, "# %s: %u pods, then the cluster was full\n",
		              run->profile, done);
	report_run(run, done, (double)cpu_ns / 1e3);
	for (unsigned i = 0; i < classes; i++) {
		scene_class_close(scene, class[i]);
		model_unref(&scene->model, MODEL_SPECS, spec[i]);
	}
}

/* -- the floor ------------------------------------------------------------ */

static uint64_t sum_of(const void *column, size_t bytes)
{
	const uint64_t *at = column;
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes / sizeof *at; i++)
		sum += at[i];
	return sum;
}

/* Reading what fitting and scoring by resources need of every node, and no more. */
static void floor_of(const struct scene *scene, struct decide_run *run)
{
	const struct hot_columns *hot = &scene->snapshot.hot;
	size_t slots = scene->snapshot.slots;
	volatile uint64_t sink = 0;
	double least = 0;

	for (unsigned i = 0; i < READS; i++) {
		uint64_t from = pl_clock_ns();
		double us;

		sink += sum_of(hot->cpu_alloc, slots * sizeof *hot->cpu_alloc) +
		        sum_of(hot->cpu_used, slots * sizeof *hot->cpu_used) +
		        sum_of(hot->cpu_nonzero, slots * sizeof *hot->cpu_nonzero) +
		        sum_of(hot->memory_alloc, slots * sizeof *hot->memory_alloc) +
		        sum_of(hot->memory_used, slots * sizeof *hot->memory_used) +
		        sum_of(hot->memory_nonzero, slots * sizeof *hot->memory_nonzero);
		us = (double)(pl_clock_ns() - from) / 1e3;
		least = i == 0 || us < least ? us : least;
	}
	(void)sink;
	emit_run(run, "read_columns_us", least, "us");
}

static void emit_memory(const struct scene *scene, struct decide_run *run)
{
	emit_run(run, "bytes_per_node", (double)scene->bytes_nodes / scene->nodes, "B");
}

static void one_case(struct decide_run *run, unsigned pods, bool first)
{
	struct scene scene;

	(void)fprintf(stderr, "# %s, %u nodes, %s the class cache\n", run->profile,
	              run->nodes, run->cache ? "with" : "without");
	run->pods = pods;
	run->us = bench_alloc(pods, sizeof run->us[0]);
	scene_init(&scene, run->nodes, run->cache);
	scene_fill(&scene,
	           "{\"metadata\":{\"name\":\"q\",\"namespace\":\"other\",\"labels\":{"
	           "\"app\":\"other\"}},\"spec\":{\"priority\":0,\"containers\":[{"
	           "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"50m\","
	           "\"memory\":\"100Mi\"}}}]}}",
	           2);
	if (first) {
		emit_memory(&scene, run);
		floor_of(&scene, run);
	}
	decide_all(&scene, run);
	scene_done(&scene);
	free(run->us);
}

/* As many as give a steady figure in a second or so, and fewer than fit. */
static unsigned pods_for(const struct decide_run *run)
{
	if (run->cache && strcmp(run->profile, "basic") == 0)
		return run->nodes < 5000 ? 10000 : 40000;
	if (strcmp(run->profile, "antiaffinity") == 0 && run->nodes <= 5000)
		return run->nodes - run->nodes / 10;
	if (run->nodes >= 1000000)
		return 100;
	return run->nodes >= 100000 ? 400 : run->nodes * 2;
}

void bench_decide(const struct engine_bench_opts *opts)
{
	static const unsigned sizes[] = {1000, 5000, 100000, 1000000};

	for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		if (opts->nodes != 0 && opts->nodes != sizes[s])
			continue;
		for (unsigned p = 0; p < 2 * (PROFILES + 1); p++) {
			struct decide_run run = {
				.profile =
					p / 2 == PROFILES ? "mixed" : profiles[p / 2][0],
				.nodes = sizes[s],
				.cache = p % 2 == 1,
			};

			if (opts->profile != NULL &&
			    strcmp(opts->profile, run.profile) != 0)
				continue;
			one_case(&run, pods_for(&run), p < 2);
		}
	}
}
