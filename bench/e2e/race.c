/* Processes of placetd, started over what is in the store, until all is bound. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/e2e/e2e.h"
#include "store/base/timers.h"
#include "store/kv/calls.h"

struct race {
	const struct e2e_opts *opts;
	struct e2e_store store;
	struct crew_process process[E2E_PROCESSES_MAX];
	struct kv_watch *owners, *states;
	uint32_t owned, bound;
	double started_s, owned_s, submitted_s, bound_s; /* first owner, last bound */
	uint64_t state_bytes, pending_puts;
	bool submitted; /* all of them are in the store */
	unsigned ended; /* watches */
};

static void on_owner(void *ctx, const struct kv_watch_note *note)
{
	struct race *race = ctx;

	race->ended += note->what == KV_WATCH_END;
	for (size_t i = 0; i < note->count; i++) {
		if (race->owned == 0)
			race->owned_s = e2e_now_s();
		race->owned += !note->events[i].is_delete;
	}
}

static bool ends_with(struct pl_span text, struct pl_span end)
{
	return text.len >= end.len &&
	       pl_span_eq(pl_span(text.at + text.len - end.len, end.len), end);
}

/* Every pod is bound once here, as nothing evicts. */
static void on_state(void *ctx, const struct kv_watch_note *note)
{
	static const char bound[] = "\"phase\":\"Bound\"";
	struct race *race = ctx;

	race->ended += note->what == KV_WATCH_END;
	for (size_t i = 0; i < note->count; i++) {
		const struct kv_record *record = &note->events[i].record;

		if (!ends_with(record->key, PL_SPAN_LIT("/state")))
			continue;
		if (memmem(record->value.at, record->value.len, bound,
		           sizeof bound - 1) == NULL) {
			race->pending_puts++;
			continue;
		}
		race->state_bytes += record->value.len;
		if (++race->bound == race->opts->crowd.pods)
			race->bound_s = e2e_now_s();
	}
}

static void watch(struct race *race, const char *prefix, kv_watch_fn *fn,
                  struct kv_watch **out)
{
	struct kv_watch_req req = {.keys = kv_prefix(pl_span_str(prefix)),
	                           .from_revision = store_revision(&race->store) + 1};
	struct pl_err err = {0};

	e2e_check(kv_watch(race->store.kv, &req, fn, race, out, &err), &err, "watch");
}

static void start(struct race *race, unsigned which)
{
	const struct e2e_opts *opts = race->opts;
	uint32_t each = opts->shards / opts->processes;
	char log[CREW_PATH_SIZE], name[16], shards[16], partitions[16];
	const char *const args[] = {"--etcd",
	                            etcd_launch_endpoints(race->store.launch),
	                            "--name",
	                            name,
	                            "--shards",
	                            shards,
	                            "--partitions",
	                            partitions,
	                            "--log-format",
	                            "json",
	                            NULL};
	struct pl_err err = {0};

	each += which < opts->shards % opts->processes;
	(void)snprintf(name, sizeof name, "p%u", which);
	(void)snprintf(shards, sizeof shards, "%u", each);
	(void)snprintf(partitions, sizeof partitions, "%u", opts->crowd.partitions);
	(void)snprintf(log, sizeof log, "%s/placetd-%u.log",
	               etcd_launch_dir(race->store.launch), which);
	e2e_check(crew_start(&race->process[which], log, args, &err), &err,
	          "start placetd");
}

static void on_late(void *ctx)
{
	const struct race *race = ctx;

	(void)fprintf(stderr, "bench: %u of %u pods are bound after %u s\n", race->bound,
	              race->opts->crowd.pods, race->opts->timeout_s);
	exit(1);
}

static void on_submitted(void *ctx, const struct pl_err *err)
{
	struct race *race = ctx;

	e2e_check(err == NULL ? PL_OK : err->code, err, "submit");
	race->submitted = true;
}

static void submit(struct race *race)
{
	struct crowd_range range = {.part = CROWD_PART_PODS,
	                            .count = race->opts->crowd.pods};
	struct pl_err err = {0};

	while (race->owned < race->opts->crowd.partitions)
		(void)uv_run(&race->store.loop, UV_RUN_ONCE);
	race->submitted_s = e2e_now_s();
	e2e_check(crowd_write(race->store.kv, &race->opts->crowd, &range, on_submitted,
	                      race, &err),
	          &err, "submit");
}

static void run(struct race *race)
{
	struct pl_timer late = {0};

	e2e_check(pl_timer_init(&late, kv_timers(race->store.kv), on_late, race), NULL,
	          "timer");
	pl_timer_set(&late, kv_now_ms(race->store.kv) + race->opts->timeout_s * 1000ULL);
	race->started_s = e2e_now_s();
	for (unsigned i = 0; i < race->opts->processes; i++)
		start(race, i);
	if (race->opts->submitting)
		submit(race);
	while (race->bound < race->opts->crowd.pods)
		(void)uv_run(&race->store.loop, UV_RUN_ONCE);
	pl_timer_done(&late);
}

/* -- afterwards -------------------------------------------------------------------- */

static double field_of(const char *line, const char *name)
{
	char quoted[64];
	const char *at;

	(void)snprintf(quoted, sizeof quoted, "\"%s\":", name);
	at = strstr(line, quoted);
	if (at == NULL)
		return 0;
	at += strlen(quoted);
	return strtod(at + (*at == '"'), NULL);
}

/* The last figures of each shard, written when it closes. */
static void read_log(const struct crew_process *process, unsigned shards,
                     struct e2e_work *sum)
{
	char lines[16][1024] = {{0}}, line[8192];
	FILE *file = fopen(process->log, "re");

	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		const char *shard = strstr(line, "\"shard\":\"p");
		unsigned number = 0;

		if (strstr(line, "work.figures") == NULL || shard == NULL ||
		    (shard = strchr(shard, '-')) == NULL)
			continue;
		number = (unsigned)strtoul(shard + 1, NULL, 10);
		if (number < 16)
			(void)snprintf(lines[number], sizeof lines[0], "%.1023s", line);
	}
	if (file != NULL)
		(void)fclose(file);
	for (unsigned i = 0; i < shards && i < 16; i++) {
		sum->decided += field_of(lines[i], "decided");
		sum->placed += field_of(lines[i], "placed");
		sum->txns += field_of(lines[i], "txns");
		sum->txns_failed += field_of(lines[i], "txns_failed");
		sum->txns_unknown += field_of(lines[i], "txns_unknown");
		sum->txns_fenced += field_of(lines[i], "txns_fenced");
		sum->conflicts += field_of(lines[i], "conflicts");
	}
}

struct allocs {
	uint64_t puts, bytes;
	int64_t until, seen;
	bool ended;
};

static void on_alloc(void *ctx, const struct kv_watch_note *note)
{
	struct allocs *allocs = ctx;

	allocs->ended = allocs->ended || note->what == KV_WATCH_END;
	for (size_t i = 0; i < note->count; i++) {
		allocs->puts++;
		allocs->bytes += note->events[i].record.value.len;
	}
	if (note->revision > allocs->seen)
		allocs->seen = note->revision;
}

/* What was written of the nodes, from the history, so that nobody watched meanwhile. */
static void read_allocs(struct race *race, int64_t from, int64_t until,
                        struct allocs *allocs)
{
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("/alloc/")),
	                           .from_revision = from};
	struct kv_watch *watch = NULL;
	struct pl_err err = {0};

	*allocs = (struct allocs){.until = until};
	e2e_check(kv_watch(race->store.kv, &req, on_alloc, allocs, &watch, &err), &err,
	          "watch");
	e2e_check(kv_progress(race->store.kv, watch, &err), &err, "watch");
	while (!allocs->ended && allocs->seen < until)
		(void)uv_run(&race->store.loop, UV_RUN_ONCE);
	if (!allocs->ended)
		kv_unwatch(race->store.kv, watch);
	while (!allocs->ended)
		(void)uv_run(&race->store.loop, UV_RUN_ONCE);
}

static void take_status(void *ctx, const struct kv_result *result)
{
	*(double *)ctx = (double)result->status.db_bytes;
}

static void stop(struct race *race, struct e2e_work *sum)
{
	const struct e2e_opts *opts = race->opts;

	for (unsigned i = 0; i < opts->processes; i++)
		crew_signal(&race->process[i], SIGTERM);
	for (unsigned i = 0; i < opts->processes; i++) {
		if (crew_wait(&race->process[i]) != 0)
			e2e_check(PL_IO, NULL, "graceful stop of placetd");
		read_log(&race->process[i], opts->shards, sum);
	}
}

static void emit_times(const struct race *race, double *placements)
{
	const struct e2e_opts *opts = race->opts;
	double pods = opts->crowd.pods;
	double since = opts->submitting ? race->submitted_s : race->owned_s;

	*placements = pods / (race->bound_s - since);
	e2e_emit(opts, "placements_per_s", *placements, "1/s");
	e2e_emit(opts, "place_s", race->bound_s - since, "s");
	if (opts->submitting)
		return;
	e2e_emit(opts, "placements_per_s_from_start",
	         pods / (race->bound_s - race->started_s), "1/s");
	e2e_emit(opts, "first_owner_s", race->owned_s - race->started_s, "s");
}

static double processes_cpu_s(const struct race *race)
{
	double sum = 0;

	for (unsigned i = 0; i < race->opts->processes; i++)
		sum += e2e_cpu_s(race->process[i].pid);
	return sum;
}

static void emit_work(const struct e2e_opts *opts, const struct e2e_work *work)
{
	e2e_emit(opts, "txns", work->txns, "transactions");
	e2e_emit(opts, "txns_failed", work->txns_failed, "transactions");
	e2e_emit(opts, "txns_unknown", work->txns_unknown, "transactions");
	e2e_emit(opts, "conflicts", work->conflicts, "placements");
	e2e_emit(opts, "conflict_ratio",
	         work->placed > 0 ? work->conflicts / work->placed : 0, "");
	e2e_emit(opts, "conflicts_per_txn",
	         work->txns > 0 ? work->conflicts / work->txns : 0, "");
}

static void size_up(const struct race *race, const struct e2e_work *work,
                    const struct allocs *allocs, struct e2e_sizes *sizes)
{
	double ok = work->txns - work->txns_failed;
	double fences = (double)race->opts->crowd.partitions / race->opts->shards;

	ok = ok < 1 ? 1 : ok;
	*sizes = (struct e2e_sizes){
		.pods = race->opts->crowd.pods / ok,
		.nodes = (double)allocs->puts / ok,
		.state_bytes = (double)race->state_bytes / race->opts->crowd.pods,
		.alloc_bytes = allocs->puts == 0
	                               ? 0
	                               : (double)allocs->bytes / (double)allocs->puts,
		.inflight = 4,
	};
	sizes->fences = fences < sizes->pods ? fences : sizes->pods;
}

static void emit_sizes(const struct race *race, const struct allocs *allocs,
                       const struct e2e_sizes *sizes)
{
	const struct e2e_opts *opts = race->opts;

	e2e_emit(opts, "placements_per_txn", sizes->pods, "placements");
	e2e_emit(opts, "allocs_per_txn", sizes->nodes, "puts");
	e2e_emit(opts, "state_bytes_mean", sizes->state_bytes, "B");
	e2e_emit(opts, "alloc_bytes_mean", sizes->alloc_bytes, "B");
	e2e_emit(opts, "bytes_written", (double)race->state_bytes + (double)allocs->bytes,
	         "B");
	e2e_emit(opts, "pending_puts", (double)race->pending_puts, "puts");
}

static void unwatch(struct race *race)
{
	kv_unwatch(race->store.kv, race->owners);
	kv_unwatch(race->store.kv, race->states);
	while (race->ended < 2)
		(void)uv_run(&race->store.loop, UV_RUN_ONCE);
}

static void prepare(struct race *race)
{
	const struct e2e_opts *opts = race->opts;
	double since;

	store_up(&race->store, opts);
	store_write(&race->store, &opts->crowd, CROWD_PART_NODES);
	since = e2e_now_s();
	if (!opts->submitting) {
		store_write(&race->store, &opts->crowd, CROWD_PART_PODS);
		e2e_emit(opts, "submitted_per_s",
		         opts->crowd.pods / (e2e_now_s() - since), "1/s");
	}
	watch(race, "/partitions/", on_owner, &race->owners);
	watch(race, "/schedules/", on_state, &race->states);
}

void race_run(const struct e2e_opts *opts, struct e2e_sizes *sizes, double *placements)
{
	struct kv_req status = {.op = KV_STATUS};
	static struct race race;
	struct e2e_work work = {0};
	struct crowd_found found;
	struct allocs allocs;
	double etcd_s, bench_s, db_bytes = 0;
	int64_t from, until;
	pid_t etcd;

	race = (struct race){.opts = opts};
	prepare(&race);
	etcd = etcd_launch_pid(race.store.launch, 0);
	from = store_revision(&race.store);
	etcd_s = e2e_cpu_s(etcd);
	bench_s = e2e_cpu_s(0);
	run(&race);
	emit_times(&race, placements);
	e2e_emit(opts, "placetd_cpu_s", processes_cpu_s(&race), "s");
	e2e_emit(opts, "cpu_us_per_placement",
	         processes_cpu_s(&race) * 1e6 / opts->crowd.pods, "us");
	e2e_emit(opts, "etcd_cpu_s", e2e_cpu_s(etcd) - etcd_s, "s");
	e2e_emit(opts, "bench_cpu_s", e2e_cpu_s(0) - bench_s, "s");
	until = store_revision(&race.store);
	store_call(&race.store, &status, take_status, &db_bytes);
	e2e_emit(opts, "db_bytes", db_bytes, "B");
	stop(&race, &work);
	emit_work(opts, &work);
	unwatch(&race);
	store_check(&race.store, &opts->crowd, &found);
	read_allocs(&race, from + 1, until, &allocs);
	size_up(&race, &work, &allocs, sizes);
	emit_sizes(&race, &allocs, sizes);
	store_down(&race.store);
}
