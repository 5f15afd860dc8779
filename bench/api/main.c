/*
 * How fast the API is: an etcd and a placetd of the bench's own, and another server with
 * an etcd of its own that gets the same requests in turn: a kube-apiserver, if the bench
 * is told where one is, or with --rights a placetd whose client has its rights by a
 * binding.
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "bench/api/cases.h"
#include "bench/common/options.h"
#include "bench/common/report.h"
#include "store/base/buf.h"

/* etcd_launch looks for the program in PATH. */
static void use_etcd(const char *path)
{
	char *own = strdup(path);
	const char *dirs = getenv("PATH");
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 20);
	if (own == NULL || strcmp(basename(own), "etcd") != 0)
		bench_refuse("--etcd: want the path of a program etcd");
	free(own);
	own = strdup(path);
	if (own == NULL ||
	    pl_buf_printf(&buf, "%s:%s", dirname(own), dirs == NULL ? "" : dirs) !=
	            PL_OK ||
	    setenv("PATH", (const char *)buf.at, 1) != 0)
		bench_fail("out of memory");
	free(own);
	pl_buf_done(&buf);
}

int main(int argc, char **argv)
{
	struct api_bench bench = {.nodes = 5000,
	                          .pods = 50000,
	                          .conns = 64,
	                          .rounds = 3,
	                          .seconds = 10,
	                          .percent = 100};
	const char *kube = NULL, *etcd = NULL, *dir = NULL;
	bool rights = false;
	const struct bench_option options[] = {
		{"nodes", BENCH_COUNT, &bench.nodes, NULL, "nodes of 3 KB", .low = 10,
	         .high = 100000},
		{"pods", BENCH_COUNT, &bench.pods, NULL, "pods", .low = 100,
	         .high = 1000000},
		{"connections", BENCH_COUNT, &bench.conns, NULL,
	         "connections that send requests", .low = 1, .high = 256},
		{"rounds", BENCH_COUNT, &bench.rounds, NULL,
	         "of each case; the median counts", .low = 1, .high = API_ROUNDS_MAX},
		{"seconds", BENCH_COUNT, &bench.seconds, NULL,
	         "length of the cases with a constant rate", .low = 1, .high = 600},
		{"percent", BENCH_COUNT, &bench.percent, NULL,
	         "of the usual watchers and rates", .low = 1, .high = 100},
		{"only", BENCH_WORD, &bench.only, "CASE", "runs one case",
	         .words = api_case_names},
		{"kube-apiserver", BENCH_TEXT, &kube, "PATH",
	         "measures this program as well, and prints ratios", .low = 0},
		{"rights", BENCH_ON, &rights, NULL,
	         "the first server audits, and its client is bound to a role; the second "
	         "does without",
	         .low = 0},
		{"etcd", BENCH_TEXT, &etcd, "PATH", "the etcd of all servers", .low = 0},
		{"dir", BENCH_TEXT, &dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "api",
		.about = "Measures Kubernetes' API as placetd serves it, over TLS.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
	};

	bench_options(&usage, argc, argv);
	if (getenv("PLACETD") == NULL)
		bench_refuse("PLACETD does not name the program; bench/run does that");
	if (etcd != NULL)
		use_etcd(etcd);
	if (rights && kube != NULL)
		bench_refuse("want --rights or --kube-apiserver, not both");
	target_open(&bench.target[bench.targets++],
	            rights ? TARGET_RIGHTS : TARGET_PLACET, NULL, dir);
	if (rights)
		target_open(&bench.target[bench.targets++], TARGET_PLACET, NULL, dir);
	if (kube != NULL)
		target_open(&bench.target[bench.targets++], TARGET_KUBE, kube, dir);
	live_environment(&bench.target[0].live, NULL);
	api_bench_run(&bench);
	for (unsigned i = 0; i < bench.targets; i++)
		target_close(&bench.target[i]);
	return bench.lost_events > 0 ? BENCH_FAILED : BENCH_OK;
}
