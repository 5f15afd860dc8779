/* bench-e2e: from pods in the store to pods on nodes, one JSON object a line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/e2e/e2e.h"
#include "store/base/clock.h"

void e2e_check(enum pl_code code, const struct pl_err *err, const char *what)
{
	if (code == PL_OK)
		return;
	(void)fprintf(stderr, "bench: %s: %s\n", what,
	              err == NULL ? pl_code_name(code) : err->msg);
	exit(1);
}

void e2e_emit(const struct e2e_opts *opts, const char *metric, double value,
              const char *unit)
{
	(void)printf(
		"{\"bench\":\"e2e\",\"case\":{\"nodes\":%u,\"pods\":%u,\"shards\":%u,"
		"\"processes\":%u,\"partitions\":%u,\"profile\":\"%s\","
		"\"op\":\"%s\"},\"metric\":\"%s\",\"value\":%.6g,\"unit\":\"%s\"}\n",
		opts->crowd.nodes, opts->crowd.pods, opts->shards, opts->processes,
		opts->crowd.partitions, crowd_profile_name(opts->crowd.profile),
		opts->submitting ? "submitting" : "waiting", metric, value, unit);
	(void)fflush(stdout);
}

double e2e_now_s(void)
{
	return (double)pl_clock_ns() / 1e9;
}

/* 0: our own. */
double e2e_cpu_s(pid_t pid)
{
	struct timespec at;
	clockid_t id;

	if (pid == 0)
		return (double)pl_clock_cpu_ns() / 1e9;
	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &at) != 0)
		return 0;
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void environment(void)
{
	struct utsname host;

	(void)uname(&host);
	(void)printf("{\"bench\":\"e2e\",\"case\":{\"cores\":%ld,\"kernel\":\"%s\","
	             "\"libuv\":\"%s\",\"build\":\"%s\"},\"metric\":\"environment\","
	             "\"value\":1,\"unit\":\"\"}\n",
	             sysconf(_SC_NPROCESSORS_ONLN), host.release, uv_version_string(),
#ifdef __OPTIMIZE__
	             "optimized"
#else
	             "debug"
#endif
	);
	(void)fflush(stdout);
}

static const char usage[] =
	"usage: bench/run e2e [--json] [options]\n\n"
	"An etcd of its own with fsync, nodes and pods in it, shards over them, until\n"
	"every pod is bound; then what the same store takes from an idle client that\n"
	"sends transactions of the same size (ceiling). One JSON object a line.\n\n"
	"  --nodes N        (default 5000)\n"
	"  --pods N         (default 50000)\n"
	"  --shards N       (default 4)\n"
	"  --processes N    of placetd, which share the shards (default 1)\n"
	"  --partitions N   (default 64)\n"
	"  --profile NAME   basic, nodeaffinity (default basic)\n"
	"  --waiting        the pods are there before the shards (the default)\n"
	"  --submitting     they come once every partition has its owner\n"
	"  --no-ceiling     leave the idle client out\n"
	"  --timeout S      fail when not all are bound by then (default 120)\n"
	"  --dir DIR        where etcd's data goes (default TMPDIR or /tmp)\n\n"
	"placements_per_s counts from the first partition owned (--submitting: from the\n"
	"first submission) to the last pod bound, as a watcher hears of both.\n";

enum {
	OPT_NODES = 1000,
	OPT_PODS,
	OPT_SHARDS,
	OPT_PROCESSES,
	OPT_PARTITIONS,
	OPT_PROFILE,
	OPT_TIMEOUT,
	OPT_DIR,
	OPT_WAITING,
	OPT_SUBMITTING,
	OPT_NO_CEILING,
	OPT_JSON,
};

static _Noreturn void refuse(const char *why)
{
	(void)fprintf(stderr, "bench: %s (--help)\n", why);
	exit(2);
}

static enum crowd_profile profile_of(const char *name)
{
	for (unsigned i = 0; i < CROWD_PROFILES; i++)
		if (name != NULL && strcmp(name, crowd_profile_name(i)) == 0)
			return i;
	refuse("no such profile");
}

static void take(struct e2e_opts *opts, int option)
{
	uint32_t number = optarg == NULL ? 0 : (uint32_t)strtoul(optarg, NULL, 10);

	switch (option) {
	case OPT_NODES:
		opts->crowd.nodes = number;
		return;
	case OPT_PODS:
		opts->crowd.pods = number;
		return;
	case OPT_SHARDS:
		opts->shards = number;
		return;
	case OPT_PROCESSES:
		opts->processes = number;
		return;
	case OPT_PARTITIONS:
		opts->crowd.partitions = number;
		return;
	case OPT_TIMEOUT:
		opts->timeout_s = number;
		return;
	case OPT_PROFILE:
		opts->crowd.profile = profile_of(optarg);
		return;
	case OPT_DIR:
		opts->dir = optarg;
		return;
	case OPT_WAITING:
	case OPT_SUBMITTING:
		opts->submitting = option == OPT_SUBMITTING;
		return;
	case OPT_NO_CEILING:
		opts->ceiling = false;
		return;
	case OPT_JSON:
		return; /* it is what comes anyway */
	default:
		(void)fputs(usage, option == 'h' ? stdout : stderr);
		exit(option == 'h' ? 0 : 2);
	}
}

static void parse(struct e2e_opts *opts, int argc, char **argv)
{
	static const struct option options[] = {
		{"nodes", required_argument, NULL, OPT_NODES},
		{"pods", required_argument, NULL, OPT_PODS},
		{"shards", required_argument, NULL, OPT_SHARDS},
		{"processes", required_argument, NULL, OPT_PROCESSES},
		{"partitions", required_argument, NULL, OPT_PARTITIONS},
		{"profile", required_argument, NULL, OPT_PROFILE},
		{"timeout", required_argument, NULL, OPT_TIMEOUT},
		{"dir", required_argument, NULL, OPT_DIR},
		{"waiting", no_argument, NULL, OPT_WAITING},
		{"submitting", no_argument, NULL, OPT_SUBMITTING},
		{"no-ceiling", no_argument, NULL, OPT_NO_CEILING},
		{"json", no_argument, NULL, OPT_JSON},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		take(opts, option);
	if (opts->crowd.nodes < 16 || opts->crowd.pods == 0 ||
	    opts->crowd.partitions == 0 || opts->crowd.partitions > KEYS_PARTITIONS_MAX)
		refuse("want 16 nodes, a pod, 1 to 4096 partitions at least");
	if (opts->processes == 0 || opts->processes > E2E_PROCESSES_MAX ||
	    opts->shards < opts->processes || opts->shards > opts->crowd.partitions)
		refuse("want 1 to 16 processes, a shard for each, and partitions for all");
	if (opts->crowd.pods / 40 > opts->crowd.nodes)
		refuse("so many pods do not fit on the nodes (40 each)");
}

int main(int argc, char **argv)
{
	struct e2e_opts opts = {.crowd = {.partitions = 64, .nodes = 5000, .pods = 50000},
	                        .shards = 4,
	                        .processes = 1,
	                        .ceiling = true,
	                        .timeout_s = 120};
	struct e2e_sizes sizes;
	double placements, ceiling;

	parse(&opts, argc, argv);
	environment();
	race_run(&opts, &sizes, &placements);
	if (!opts.ceiling)
		return 0;
	ceiling = ceiling_run(&opts, &sizes);
	e2e_emit(&opts, "ceiling_per_s", ceiling, "1/s");
	e2e_emit(&opts, "ceiling_ratio", placements / ceiling, "");
	return 0;
}
