/* bench-engine: figures of the scheduling engine, one JSON object a line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/engine/engine.h"

static const char usage[] =
	"usage: bench/run engine [--json] [options]\n\n"
	"One thread, no store; prints one JSON object a line on stdout and its progress\n"
	"on stderr. Times are of the CPU.\n\n"
	"  --only PART     queue\n"
	"  --pods N        pending pods (default 1000000)\n"
	"  --seed N        (default 1)\n";

void engine_check(enum pl_code code, const struct pl_err *err, const char *what)
{
	if (code == PL_OK)
		return;
	(void)fprintf(stderr, "bench: %s: %s\n", what,
	              err == NULL ? pl_code_name(code) : err->msg);
	exit(1);
}

void *engine_alloc(size_t count, size_t size)
{
	void *at = calloc(count, size);

	if (at == NULL)
		engine_check(PL_NOMEM, NULL, "memory");
	return at;
}

void engine_emit(const char *fields, const char *metric, double value, const char *unit)
{
	(void)printf(
		"{\"bench\":\"engine\",\"case\":{%s},\"metric\":\"%s\",\"value\":%.6g,"
		"\"unit\":\"%s\"}\n",
		fields, metric, value, unit);
	(void)fflush(stdout);
}

static void environment(const struct engine_opts *opts)
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
	engine_emit(fields, "environment", 1, "");
}

static void run_part(const struct engine_opts *opts, const char *part,
                     void (*fn)(const struct engine_opts *opts))
{
	if (opts->only != NULL && strcmp(opts->only, part) != 0)
		return;
	(void)fprintf(stderr, "# %s\n", part);
	fn(opts);
}

static void parse(struct engine_opts *opts, int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"only", required_argument, NULL, 'o'},
		{"pods", required_argument, NULL, 'p'},
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
	struct engine_opts opts = {.pods = 1000000, .seed = 1};

	parse(&opts, argc, argv);
	environment(&opts);
	run_part(&opts, "queue", engine_queue);
	return 0;
}
