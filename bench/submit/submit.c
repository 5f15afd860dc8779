/*
 * Submission: pods of a file into a real etcd with fsync, as placet submit does it.
 *
 *	check_s              reading and checking all of it, before the first is written
 *	pods_per_s           from the first transaction to the last answer
 *	ceiling_pods_per_s   transactions of the same shape and size from a client that
 *	                     does nothing else, on the same etcd, right before
 *	ceiling_ratio        the one by the other
 *	again_pods_per_s     the same once more, when all is there already
 *
 * ndjson: as many Pods, a line each; deployment: one object of as many replicas.
 */
#include "coord/service/submit/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/live/pump.h"
#include "coord/cli/input/manifest.h"
#include "coord/service/input/pod_input.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/clock.h"

enum { INFLIGHT = 8, PARTITIONS = 64, FIELDS = 160, SPEC_MAX = 4096 };

static const char container[] =
	"{\"containers\":[{\"name\":\"app\",\"image\":\"registry.example.com/shop/web:1.7\","
	"\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}}}],"
	"\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\"}]}";

struct submit_run {
	struct live live;
	uint32_t pods;
	const char *source;
	char path[64], fields[FIELDS];
	struct files files;
	struct pod_input pod_input;
	/* ceiling */
	struct txn_builder builder;
	unsigned sent, taken[INFLIGHT];
	char spec[SPEC_MAX];
	size_t spec_len;
	/* submission */
	bool over;
	struct submit_counts counts;
};

/* -- the input ------------------------------------------------------------- */

static void write_input(struct submit_run *run)
{
	bool lines = strcmp(run->source, "ndjson") == 0;
	FILE *file;
	int fd;

	(void)snprintf(run->path, sizeof run->path, "/tmp/bench-submit-XXXXXX.ndjson");
	fd = mkostemps(run->path, 7, 0);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (file == NULL)
		bench_check(PL_IO, NULL, run->path);
	for (unsigned i = 0; lines && i < run->pods; i++)
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
			run->pods, container);
	if (fclose(file) != 0)
		bench_check(PL_IO, NULL, run->path);
}

static void open_input(struct submit_run *run)
{
	struct pod_input_opts opts = {.partitions = PARTITIONS};
	struct manifest *manifest;
	struct pl_err err = {0};

	bench_check(manifest_open(&run->files, &manifest, &err), &err, "the input");
	opts.source = manifest_source(manifest);
	pod_input_open(&run->pod_input, &opts);
}

static void read_input(struct submit_run *run)
{
	uint64_t start = pl_clock_ns();
	struct pod_input_pod pod;
	struct pl_err err = {0};

	bench_check(files_add(&run->files, run->path, &err), &err, "the input");
	open_input(run);
	bench_check(pod_input_check(&run->pod_input, &err), &err, "check the input");
	if (run->pod_input.pods != run->pods)
		bench_check(PL_INVALID, NULL, "as many pods as wanted");
	bench_emit(run->fields, "check_s", (double)(pl_clock_ns() - start) / 1e9, "s");
	/* One of them is what the ceiling writes. */
	bench_check(pod_input_next(&run->pod_input, &pod, &err), &err, "the first pod");
	run->spec_len = pod.pod.json.len < SPEC_MAX ? pod.pod.json.len : SPEC_MAX;
	memcpy(run->spec, pod.pod.json.at, run->spec_len);
	bench_emit(run->fields, "bytes_per_pod", (double)run->spec_len, "B");
}

/* From the start again. */
static void rewind_input(struct submit_run *run)
{
	pod_input_close(&run->pod_input);
	open_input(run);
}

/* -- the ceiling ----------------------------------------------------------- */

static bool next_plain(void *ctx, unsigned slot, struct kv_req *req)
{
	struct submit_run *run = ctx;
	unsigned count = 0;

	builder_begin(&run->builder, &run->live.arena, kv_limits(run->live.kv));
	while (run->sent + count < run->pods && count < SUBMIT_BATCH_MAX) {
		struct builder_pod pod = {.partition = (run->sent + count) % PARTITIONS,
		                          .namespace = PL_SPAN_LIT("ceiling")};
		char name[32];
		int len = snprintf(name, sizeof name, "web-%07u", run->sent + count);

		pod.name = pl_span(name, (size_t)len);
		if (!builder_submit(&run->builder, &pod, pod.partition,
		                    pl_span(run->spec, run->spec_len)))
			break;
		count++;
	}
	run->sent += count;
	run->taken[slot] = count;
	if (count > 0)
		builder_req(&run->builder, req);
	return count > 0;
}

static void on_txn_done(void *ctx, unsigned slot, const struct kv_result *result)
{
	(void)ctx;
	(void)slot;
	if (!result->txn.succeeded)
		bench_check(PL_CONFLICT, NULL, "a submission that must succeed");
}

static double run_ceiling(struct submit_run *run)
{
	struct pump pump = {.live = &run->live,
	                    .inflight = INFLIGHT,
	                    .next = next_plain,
	                    .answered = on_txn_done,
	                    .ctx = run};
	double rate;

	pump_run(&pump);
	rate = run->pods / pump.measure.wall_s;
	bench_emit(run->fields, "ceiling_pods_per_s", rate, "1/s");
	return rate;
}

/* -- submission ------------------------------------------------------------ */

static enum pl_code on_next(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	struct submit_run *run = ctx;
	struct pod_input_pod pod;
	enum pl_code code = pod_input_next(&run->pod_input, &pod, err);

	if (code == PL_OK)
		*out = (struct submit_pod){.namespace = pod.pod.namespace,
		                           .name = pod.pod.name,
		                           .spec = pod.pod.json,
		                           .location = pod.location};
	return code;
}

static void on_done(void *ctx, const struct submit_counts *counts,
                    const struct pl_err *err)
{
	struct submit_run *run = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "submit");
	run->counts = *counts;
	run->over = true;
}

static double run_submission(struct submit_run *run, struct meter *measure)
{
	struct submit_opts opts = {
		.slots = INFLIGHT, .next = on_next, .done = on_done, .ctx = run};
	struct submit *submit;
	struct pl_err err = {0};

	rewind_input(run);
	run->over = false;
	meter_start(measure, &run->live);
	bench_check(submit_open(run->live.kv, &opts, &submit, &err), &err, "submit");
	while (!run->over)
		(void)uv_run(&run->live.loop, UV_RUN_ONCE);
	meter_end(measure, &run->live);
	return run->pods / measure->wall_s;
}

static void run_source(struct submit_run *run, const char *dir)
{
	struct meter measure;
	double ceiling, rate;

	(void)snprintf(
		run->fields, FIELDS,
		"\"op\":\"submit\",\"pods\":%u,\"source\":\"%s\",\"partitions\":%d,"
		"\"inflight\":%d",
		run->pods, run->source, PARTITIONS, INFLIGHT);
	bench_say("%s", run->source);
	live_open(&run->live, &(struct live_opts){.dir = dir});
	live_environment(&run->live, NULL);
	write_input(run);
	read_input(run);
	ceiling = run_ceiling(run);
	rate = run_submission(run, &measure);
	if (run->counts.submitted != run->pods)
		bench_check(PL_INVALID, NULL, "every pod is submitted");
	bench_emit(run->fields, "pods_per_s", rate, "1/s");
	bench_emit(run->fields, "ceiling_ratio", rate / ceiling, "");
	bench_emit(run->fields, "transactions", (double)run->counts.transactions, "");
	meter_emit(&measure, run->fields);
	rate = run_submission(run, &measure);
	if (run->counts.unchanged != run->pods)
		bench_check(PL_INVALID, NULL, "every pod is there already");
	bench_emit(run->fields, "again_pods_per_s", rate, "1/s");
	pod_input_close(&run->pod_input);
	files_done(&run->files);
	(void)unlink(run->path);
	live_close(&run->live);
}

int main(int argc, char **argv)
{
	static const char *const sources[] = {"both", "ndjson", "deployment", NULL};
	const char *dir = NULL;
	unsigned only = 0;
	uint32_t pods = 100000;
	const struct bench_option options[] = {
		{"pods", BENCH_COUNT, &pods, NULL, "pods in the file", .low = 1000,
	         .high = EXPAND_PODS_MAX},
		{"source", BENCH_WORD, &only, "NAME",
	         "objects that the pods are read from", .words = sources},
		{"dir", BENCH_TEXT, &dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "submit",
		.about =
			"Submits the pods of a file to an etcd of its own with fsync, as placet submit does.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
	};

	bench_options(&usage, argc, argv);
	for (unsigned i = 1; sources[i] != NULL; i++) {
		struct submit_run *run;

		if (only != 0 && only != i)
			continue;
		run = bench_alloc(1, sizeof *run);
		run->pods = pods;
		run->source = sources[i];
		run_source(run, dir);
		free(run);
	}
	return BENCH_OK;
}
