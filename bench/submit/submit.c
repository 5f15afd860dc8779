/*
 * Submission: pods of a file into a real etcd with fsync, as placet submit does it.
 *
 *	check_s              reading and checking all of it, before the first is written
 *	pods_per_s           from the first transaction to the last answer
 *	ceiling_pods_per_s   transactions of the same shape and size from a client that
 *does nothing else, on the same etcd, right before ceiling_ratio        the one by the
 *other again_pods_per_s     the same once more, when all is there already
 *
 * ndjson: as many Pods, a line each; deployment: one object of as many replicas.
 */
#include "coord/submit/submit.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/store/bench.h"
#include "coord/cli/intake.h"
#include "shardsched/ledger/book.h"
#include "store/base/clock.h"

enum { INFLIGHT = 8, PARTITIONS = 64, FIELDS = 160, SPEC_MAX = 4096 };

static const char usage[] =
	"usage: bench/run submit [--json] [options]\n\n"
	"  --pods N        (default 100000)\n"
	"  --source NAME   ndjson, deployment (default both)\n"
	"  --dir DIR       where etcd's data goes (default TMPDIR or /tmp)\n";

static const char container[] =
	"{\"containers\":[{\"name\":\"app\",\"image\":\"registry.example.com/shop/web:1.7\","
	"\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}}}],"
	"\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\"}]}";

struct run {
	struct bench bench;
	struct bench_opts opts;
	const char *source;
	char path[64], fields[FIELDS];
	struct files files;
	struct intake intake;
	/* ceiling */
	struct book book;
	unsigned sent, taken[INFLIGHT];
	char spec[SPEC_MAX];
	size_t spec_len;
	/* submission */
	bool over;
	struct submit_counts counts;
};

/* -- the input ------------------------------------------------------------- */

static void write_input(struct run *run)
{
	bool lines = strcmp(run->source, "ndjson") == 0;
	FILE *file;
	int fd;

	(void)snprintf(run->path, sizeof run->path, "/tmp/bench-submit-XXXXXX.ndjson");
	fd = mkostemps(run->path, 7, 0);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (file == NULL)
		bench_check(PL_IO, NULL, run->path);
	for (unsigned i = 0; lines && i < run->opts.pods; i++)
		(void)fprintf(file,
		              "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
		              "\"name\":\"web-%07u\",\"namespace\":\"bench\",\"labels\":{"
		              "\"app\":\"web\"}},\"spec\":%s}\n",
		              i, container);
	if (!lines)
		(void)fprintf(
			file,
			"{\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\","
			"\"namespace\":\"bench\"},\"spec\":{\"replicas\":%u,\"selector\":{"
			"\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{"
			"\"labels\":{\"app\":\"web\"}},\"spec\":%s}}}\n",
			run->opts.pods, container);
	if (fclose(file) != 0)
		bench_check(PL_IO, NULL, run->path);
}

static void read_input(struct run *run)
{
	struct intake_opts opts = {.files = &run->files, .partitions = PARTITIONS};
	uint64_t start = pl_clock_ns();
	struct intake_pod pod;
	struct pl_err err = {0};

	bench_check(files_add(&run->files, run->path, &err), &err, "the input");
	bench_check(intake_open(&run->intake, &opts, &err), &err, "the input");
	bench_check(intake_check(&run->intake, &err), &err, "check the input");
	if (run->intake.pods != run->opts.pods)
		bench_check(PL_INVALID, NULL, "as many pods as wanted");
	bench_emit(run->fields, "check_s", (double)(pl_clock_ns() - start) / 1e9, "s");
	/* One of them is what the ceiling writes. */
	bench_check(intake_next(&run->intake, &pod, &err), &err, "the first pod");
	run->spec_len = pod.pod.json.len < SPEC_MAX ? pod.pod.json.len : SPEC_MAX;
	memcpy(run->spec, pod.pod.json.at, run->spec_len);
	bench_emit(run->fields, "bytes_per_pod", (double)run->spec_len, "B");
}

/* From the start again. */
static void rewind_input(struct run *run)
{
	struct intake_opts opts = run->intake.opts;
	struct pl_err err = {0};

	intake_close(&run->intake);
	bench_check(intake_open(&run->intake, &opts, &err), &err, "the input");
}

/* -- the ceiling ----------------------------------------------------------- */

static bool next_plain(void *ctx, unsigned slot, struct kv_req *req)
{
	struct run *run = ctx;
	unsigned count = 0;

	book_begin(&run->book, &run->bench.arena, kv_limits(run->bench.kv));
	while (run->sent + count < run->opts.pods && count < SUBMIT_BATCH_MAX) {
		struct book_pod pod = {.partition = (run->sent + count) % PARTITIONS,
		                       .space = PL_SPAN_LIT("ceiling")};
		char name[32];
		int len = snprintf(name, sizeof name, "web-%07u", run->sent + count);

		pod.name = pl_span(name, (size_t)len);
		if (!book_submit(&run->book, &pod, pod.partition,
		                 pl_span(run->spec, run->spec_len)))
			break;
		count++;
	}
	run->sent += count;
	run->taken[slot] = count;
	if (count > 0)
		book_req(&run->book, req);
	return count > 0;
}

static void answered(void *ctx, unsigned slot, const struct kv_result *result)
{
	(void)ctx;
	(void)slot;
	if (!result->txn.succeeded)
		bench_check(PL_CONFLICT, NULL, "a submission that must succeed");
}

static double run_ceiling(struct run *run)
{
	struct pump pump = {.bench = &run->bench,
	                    .inflight = INFLIGHT,
	                    .next = next_plain,
	                    .answered = answered,
	                    .ctx = run};
	double rate;

	pump_run(&pump);
	rate = run->opts.pods / pump.measure.wall_s;
	bench_emit(run->fields, "ceiling_pods_per_s", rate, "1/s");
	return rate;
}

/* -- submission ------------------------------------------------------------ */

static enum pl_code on_next(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	struct run *run = ctx;
	struct intake_pod pod;
	enum pl_code code = intake_next(&run->intake, &pod, err);

	if (code == PL_OK)
		*out = (struct submit_pod){.space = pod.pod.space,
		                           .name = pod.pod.name,
		                           .spec = pod.pod.json,
		                           .home = pod.home};
	return code;
}

static void on_done(void *ctx, const struct submit_counts *counts,
                    const struct pl_err *err)
{
	struct run *run = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "submit");
	run->counts = *counts;
	run->over = true;
}

static double run_submission(struct run *run, struct measure *measure)
{
	struct submit_opts opts = {
		.slots = INFLIGHT, .next = on_next, .done = on_done, .ctx = run};
	struct submit *submit;
	struct pl_err err = {0};

	rewind_input(run);
	run->over = false;
	measure_start(measure, &run->bench);
	bench_check(submit_open(run->bench.kv, &opts, &submit, &err), &err, "submit");
	while (!run->over)
		(void)uv_run(&run->bench.loop, UV_RUN_ONCE);
	measure_end(measure, &run->bench);
	return run->opts.pods / measure->wall_s;
}

static void run_source(struct run *run)
{
	struct measure measure;
	double ceiling, rate;

	(void)snprintf(
		run->fields, FIELDS,
		"\"op\":\"submit\",\"pods\":%u,\"source\":\"%s\",\"partitions\":%d,"
		"\"inflight\":%d",
		run->opts.pods, run->source, PARTITIONS, INFLIGHT);
	(void)fprintf(stderr, "# %s\n", run->source);
	bench_open(&run->bench, &run->opts, false);
	bench_environment(&run->bench);
	write_input(run);
	read_input(run);
	ceiling = run_ceiling(run);
	rate = run_submission(run, &measure);
	if (run->counts.submitted != run->opts.pods)
		bench_check(PL_INVALID, NULL, "every pod is submitted");
	bench_emit(run->fields, "pods_per_s", rate, "1/s");
	bench_emit(run->fields, "ceiling_ratio", rate / ceiling, "");
	bench_emit(run->fields, "transactions", (double)run->counts.transactions, "");
	bench_emit_cpu(run->fields, &measure);
	rate = run_submission(run, &measure);
	if (run->counts.unchanged != run->opts.pods)
		bench_check(PL_INVALID, NULL, "every pod is there already");
	bench_emit(run->fields, "again_pods_per_s", rate, "1/s");
	intake_close(&run->intake);
	files_done(&run->files);
	(void)unlink(run->path);
	bench_close(&run->bench);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"pods", required_argument, NULL, 'p'},
		{"source", required_argument, NULL, 's'},
		{"dir", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	static const char *const sources[] = {"ndjson", "deployment"};
	const char *only = NULL;
	struct bench_opts opts = {.pods = 100000};
	int opt;

	bench_name = "submit";
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'p')
			opts.pods = (unsigned)strtoul(optarg, NULL, 10);
		else if (opt == 's')
			only = optarg;
		else if (opt == 'd')
			opts.dir = optarg;
		else if (opt != 'j') {
			(void)fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? 0 : 2;
		}
	}
	if (opts.pods < 1000 || opts.pods > EXPAND_PODS_MAX) {
		(void)fputs("bench: want --pods of 1000 to 2000000\n", stderr);
		return 2;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct run *run;

		if (only != NULL && strcmp(only, sources[i]) != 0)
			continue;
		run = bench_alloc(1, sizeof *run);
		run->opts = opts;
		run->source = sources[i];
		run_source(run);
		free(run);
	}
	return 0;
}
