/* bench-engine: figures of the scheduling engine, one JSON object a line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/engine/bench.h"

static const char usage[] =
	"usage: bench/run engine [--json] [options]\n\n"
	"One thread, no store; prints one JSON object a line on stdout and its progress\n"
	"on stderr. Times are of the CPU.\n\n"
	"  --only PART     decide, preempt, pending, count, queue, ledger or sched\n"
	"  --nodes N       of decide and preempt: 1000, 5000, 100000 or 1000000 (all)\n"
	"  --profile NAME  of decide: basic, nodeaffinity, spread, softspread,\n"
	"                  antiaffinity, affinity or mixed; of preempt: full, small,\n"
	"                  budgets, guarded, alike or restless\n"
	"                  (all)\n"
	"  --pods N        of queue: pending pods (default 1000000)\n"
	"  --seed N        (default 1)\n";

void bench_check(enum pl_code code, const struct pl_err *err, const char *what)
{
	if (code == PL_OK)
		return;
	(void)fprintf(stderr, "bench: %s: %s\n", what,
	              err == NULL ? pl_code_name(code) : err->msg);
	exit(1);
}

void *bench_alloc(size_t count, size_t size)
{
	void *at = calloc(count, size);

	if (at == NULL)
		bench_check(PL_NOMEM, NULL, "memory");
	return at;
}

void bench_emit(const char *fields, const char *metric, double value, const char *unit)
{
	(void)printf(
		"{\"bench\":\"engine\",\"case\":{%s},\"metric\":\"%s\",\"value\":%.6g,"
		"\"unit\":\"%s\"}\n",
		fields, metric, value, unit);
	(void)fflush(stdout);
}

static void environment(const struct bench_opts *opts)
{
	struct utsname host;
	char fields[512];

	(void)uname(&host);
	(void)snprintf(fields, sizeof fields,
	               "\"cores\":%ld,\"kernel\":\"%s\",\"seed\":%llu,\"build\":\"%s\"",
	               sysconf(_SC_NPROCESSORS_ONLN), host.release,
	               (unsigned long long)opts->seed,
#ifdef __OPTIMIZE__
	               "optimized"
#else
	               "debug"
#endif
	);
	bench_emit(fields, "environment", 1, "");
}

static void run_part(const struct bench_opts *opts, const char *part,
                     void (*fn)(const struct bench_opts *opts))
{
	if (opts->only != NULL && strcmp(opts->only, part) != 0)
		return;
	(void)fprintf(stderr, "# %s\n", part);
	fn(opts);
}

static void parse(struct bench_opts *opts, int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"only", required_argument, NULL, 'o'},
		{"pods", required_argument, NULL, 'p'},
		{"nodes", required_argument, NULL, 'n'},
		{"profile", required_argument, NULL, 'r'},
		{"count-child", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
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
		case 'p':
			opts->pods = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'n':
			opts->nodes = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'r':
			opts->profile = optarg;
			break;
		case 'c':
			bench_count_child(optarg);
			exit(0);
		case 's':
			opts->seed = strtoull(optarg, NULL, 10);
			break;
		default:
			(void)fputs(usage, opt == 'h' ? stdout : stderr);
			exit(opt == 'h' ? 0 : 2);
		}
	}
	if (opts->pods < 1000) {
		(void)fputs("bench: want --pods of 1000 at least\n", stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct bench_opts opts = {.pods = 1000000, .seed = 1};

	parse(&opts, argc, argv);
	environment(&opts);
	run_part(&opts, "decide", bench_decide);
	run_part(&opts, "preempt", bench_preempt);
	run_part(&opts, "pending", bench_pending);
	run_part(&opts, "count", bench_count);
	run_part(&opts, "queue", bench_queue);
	run_part(&opts, "ledger", bench_ledger);
	run_part(&opts, "sched", bench_sched);
	return 0;
}
