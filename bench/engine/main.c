/* bench-engine: figures of the scheduling engine. */
#include <stdio.h>

#include "bench/common/options.h"
#include "bench/engine/bench.h"

/* X(part) */
#define PART_MAP(X) \
	X(decide)   \
	X(preempt)  \
	X(pending)  \
	X(count)    \
	X(queue)    \
	X(records)  \
	X(sched)

#define PART_NAME(part) #part,
static const char *const part_names[] = {"all", PART_MAP(PART_NAME) NULL};
#define PART_RUN(part) bench_##part,
static void (*const part_run[])(const struct engine_bench_opts *opts) = {
	PART_MAP(PART_RUN)};

int main(int argc, char **argv)
{
	struct engine_bench_opts opts = {.pods = 1000000, .seed = 1};
	const char *child = NULL;
	unsigned only = 0;
	char more[64];
	const struct bench_option options[] = {
		{"only", BENCH_WORD, &only, "PART", "run one part only",
	         .words = part_names},
		{"nodes", BENCH_COUNT, &opts.nodes, NULL,
	         "decide and preempt: 1000, 5000, 100000 or 1000000 (all)", .low = 0},
		{"profile", BENCH_TEXT, &opts.profile, "NAME",
	         "decide: basic, nodeaffinity, spread, softspread,\nantiaffinity, affinity or mixed; preempt: full, small,\nbudgets, guarded, alike, restless or renewed (all)",
	         .low = 0},
		{"pods", BENCH_COUNT, &opts.pods, NULL, "queue: pending pods",
	         .low = 1000},
		{"seed", BENCH_SEED, &opts.seed, NULL, "seed of random numbers",
	         .low = 0},
		{"count-child", BENCH_TEXT, &child, "HOW",
	         "internal: the run of part count, plain or cache", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "engine",
		.about =
			"The engine on one thread, without a store. Times are CPU times.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
	};

	bench_options(&usage, argc, argv);
	if (child != NULL) {
		bench_count_child(child);
		return BENCH_OK;
	}
	(void)snprintf(more, sizeof more, "\"seed\":%llu", (unsigned long long)opts.seed);
	bench_environment(more);
	for (unsigned i = 0; i < sizeof part_run / sizeof part_run[0]; i++) {
		if (only != 0 && only != i + 1)
			continue;
		bench_say("%s", part_names[i + 1]);
		part_run[i](&opts);
	}
	return BENCH_OK;
}
