/* bench-store: figures of the store layer. */
#include "bench/common/options.h"
#include "bench/store/bench.h"

/* X(PART, name) */
#define PART_MAP(X)               \
	X(ALL, "all")             \
	X(PUT, "put")             \
	X(PAIRS, "pairs")         \
	X(TLS, "tls")             \
	X(PLACEMENT, "placement") \
	X(WATCH, "watch")         \
	X(REPLAY, "replay")       \
	X(RANGE, "range")         \
	X(REST, "rest")           \
	X(SOAK, "soak")

#define PART_ENUM(part, name) PART_##part,
enum part { PART_MAP(PART_ENUM) PARTS };
#define PART_NAME(part, name) name,
static const char *const part_names[PARTS + 1] = {PART_MAP(PART_NAME)};

void bench_open(struct store_bench *bench, const struct store_bench_opts *opts, bool tls)
{
	*bench = (struct store_bench){.opts = opts};
	live_open(&bench->live, &(struct live_opts){.dir = opts->dir, .tls = tls});
}

void bench_close(struct store_bench *bench)
{
	live_close(&bench->live);
}

static bool is_part_wanted(const struct store_bench_opts *opts, enum part part)
{
	bool run = opts->only == PART_ALL ? part != PART_SOAK : opts->only == part;

	if (run)
		bench_say("%s", part_names[part]);
	return run;
}

static void run_part(const struct store_bench_opts *opts, enum part part,
                     void (*fn)(struct store_bench *bench))
{
	struct store_bench bench;

	if (!is_part_wanted(opts, part))
		return;
	bench_open(&bench, opts, false);
	fn(&bench);
	bench_emit_server(&bench, part_names[part]);
	bench_close(&bench);
}

static void plain_pairs(struct store_bench *bench)
{
	bench_pairs(bench, "", false);
}

/* Plain and TLS in turn, so that they can be compared. */
static void run_tls(const struct store_bench_opts *opts)
{
	struct store_bench bench;

	if (!is_part_wanted(opts, PART_TLS))
		return;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned tls = 0; tls < 2; tls++) {
			bench_open(&bench, opts, tls == 1);
			bench_pairs(&bench, tls == 1 ? ",\"tls\":true" : ",\"tls\":false",
			            true);
			bench_close(&bench);
		}
}

static void run_parts(const struct store_bench_opts *opts)
{
	struct store_bench bench;

	bench_open(&bench, opts, false);
	live_environment(&bench.live, NULL);
	bench_close(&bench);
	if (is_part_wanted(opts, PART_PUT))
		bench_puts(opts);
	run_part(opts, PART_PAIRS, plain_pairs);
	run_tls(opts);
	if (is_part_wanted(opts, PART_PLACEMENT))
		bench_placement(opts);
	run_part(opts, PART_WATCH, bench_watch);
	run_part(opts, PART_REPLAY, bench_replay);
	run_part(opts, PART_RANGE, bench_ranges);
	run_part(opts, PART_REST, bench_rest);
	run_part(opts, PART_SOAK, bench_soak);
}

int main(int argc, char **argv)
{
	struct store_bench_opts opts = {
		.seconds = 3, .pods = 200000, .nodes = 5000, .events = 10000000};
	const struct bench_option options[] = {
		{"only", BENCH_WORD, &opts.only, "PART",
	         "run one part only; soak runs only with this option",
	         .words = part_names},
		{"seconds", BENCH_REAL, &opts.seconds, "S", "time of each timed case",
	         .low = 0.1},
		{"pods", BENCH_COUNT, &opts.pods, NULL,
	         "distinct pods of the placement case", .low = 256},
		{"nodes", BENCH_COUNT, &opts.nodes, NULL, "nodes of the placement case",
	         .low = 1024},
		{"events", BENCH_SEED, &opts.events, NULL, "events of soak", .low = 0},
		{"dir", BENCH_TEXT, &opts.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "store",
		.about = "The store layer on an etcd of its own with fsync.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
	};

	bench_options(&usage, argc, argv);
	run_parts(&opts);
	return BENCH_OK;
}
