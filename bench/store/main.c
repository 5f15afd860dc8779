/* bench-store: figures of the store layer, one JSON object a line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/store/bench.h"

static const char usage[] =
	"usage: bench/run store [--json] [options]\n\n"
	"Starts an etcd of its own, with fsync, in a fresh directory; prints one JSON\n"
	"object a line on stdout and its progress on stderr.\n\n"
	"  --only PART     put, pairs, tls, placement, watch, replay, range, rest, soak\n"
	"                  (soak only runs when asked for)\n"
	"  --seconds S     of each timed case (default 3)\n"
	"  --pods N        distinct pods of the placement case (default 200000)\n"
	"  --nodes N       (default 5000)\n"
	"  --events N      of the soak (default 10000000)\n"
	"  --dir DIR       where etcd's data goes (default TMPDIR or /tmp)\n";

static bool wanted(const struct bench_opts *opts, const char *part)
{
	bool run = opts->only == NULL ? strcmp(part, "soak") != 0
	                              : strcmp(opts->only, part) == 0;

	if (run)
		(void)fprintf(stderr, "# %s\n", part);
	return run;
}

static void run_part(const struct bench_opts *opts, const char *part,
                     void (*fn)(struct bench *bench))
{
	struct bench bench;

	if (!wanted(opts, part))
		return;
	bench_open(&bench, opts, false);
	fn(&bench);
	bench_emit_server(&bench, part);
	bench_close(&bench);
}

static void plain_pairs(struct bench *bench)
{
	bench_pairs(bench, "", false);
}

/* Plain and TLS in turn, so that they can be compared. */
static void run_tls(const struct bench_opts *opts)
{
	struct bench bench;

	if (!wanted(opts, "tls"))
		return;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned tls = 0; tls < 2; tls++) {
			bench_open(&bench, opts, tls == 1);
			bench_pairs(&bench, tls == 1 ? ",\"tls\":true" : ",\"tls\":false",
			            true);
			bench_close(&bench);
		}
}

static void parse(struct bench_opts *opts, int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"only", required_argument, NULL, 'o'},
		{"seconds", required_argument, NULL, 's'},
		{"pods", required_argument, NULL, 'p'},
		{"nodes", required_argument, NULL, 'n'},
		{"events", required_argument, NULL, 'e'},
		{"dir", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			break; /* it is what comes anyway */
		case 'o':
			opts->only = optarg;
			break;
		case 's':
			opts->seconds = strtod(optarg, NULL);
			break;
		case 'p':
			opts->pods = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'n':
			opts->nodes = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'e':
			opts->events = strtoull(optarg, NULL, 10);
			break;
		case 'd':
			opts->dir = optarg;
			break;
		default:
			(void)fputs(usage, opt == 'h' ? stdout : stderr);
			exit(opt == 'h' ? 0 : 2);
		}
	}
	if (opts->seconds < 0.1 || opts->pods < 256 || opts->nodes < 1024) {
		(void)fputs(
			"bench: want --seconds of 0.1, --pods of 256, --nodes of 1024 at "
			"least\n",
			stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct bench_opts opts = {
		.seconds = 3, .pods = 200000, .nodes = 5000, .events = 10000000};
	struct bench bench;

	parse(&opts, argc, argv);
	bench_open(&bench, &opts, false);
	bench_environment(&bench);
	bench_close(&bench);
	if (wanted(&opts, "put"))
		bench_puts(&opts);
	run_part(&opts, "pairs", plain_pairs);
	run_tls(&opts);
	if (wanted(&opts, "placement"))
		bench_placement(&opts);
	run_part(&opts, "watch", bench_watch);
	run_part(&opts, "replay", bench_replay);
	run_part(&opts, "range", bench_ranges);
	run_part(&opts, "rest", bench_rest);
	run_part(&opts, "soak", bench_soak);
	return 0;
}
