/*
 * Take-over: 8 shards in 3 processes own 256 partitions of a real etcd with fsync.
 *
 *	takeover_s    from kill -9 of a process to its last partition owned again
 *	drain_gap_ms  the longest that a partition had no owner while a shard was drained
 *	join_moves    partitions that moved when a ninth shard came
 *	flow_s        from kill -9 of a process under load until pods of each partition
 *	              that it owned, submitted after the kill, are bound again
 *
 * Gaps are between the arrivals of two news at one watcher, so they hold a commit and
 * the way of both. What is measured is decided by the lease's TTL in the first case,
 * so it stands in the case.
 */
#include "bench/takeover/takeover.h"

#include <signal.h>
#include <stdio.h>

#include "coord/config/config_edit.h"
#include "store/base/clock.h"
#include "store/base/timers.h"

enum {
	PROCESSES = TAKEOVER_PROCESSES,
	SHARDS = TAKEOVER_SHARDS,
	WAIT_MAX_MS = TAKEOVER_WAIT_MAX_MS,
};

const char *const takeover_names[PROCESSES + 1] = {"a", "b", "c", "d"};
static const unsigned shards_of[PROCESSES + 1] = {3, 3, 2, 1};

static void fields_of(const struct takeover *t, struct bench_fields *fields)
{
	bench_field(fields,
	            "\"shards\":%d,\"processes\":%d,\"partitions\":%u,\"ttl_s\":%u",
	            SHARDS, PROCESSES, t->partitions, t->ttl_s);
}

void takeover_emit(const struct takeover *t, const char *op, const char *metric,
                   double value, const char *unit)
{
	struct bench_fields fields = {.len = 0};

	bench_field(&fields, "\"op\":\"%s\"", op);
	fields_of(t, &fields);
	bench_emit(fields.at, metric, value, unit);
}

static void on_time(void *ctx)
{
	*(bool *)ctx = true;
}

/* Runs the loop until it holds; false: not within that time. */
static bool run_until(struct takeover *t, bool (*holds)(const struct takeover *t),
                      uint64_t within_ms)
{
	struct pl_timer timer = {0};
	bool over = false;

	bench_check(pl_timer_init(&timer, kv_timers(t->live.kv), on_time, &over), NULL,
	            "timer");
	pl_timer_set(&timer, kv_now_ms(t->live.kv) + within_ms);
	while (!over && (holds == NULL || !holds(t)))
		(void)uv_run(&t->live.loop, UV_RUN_ONCE);
	pl_timer_done(&timer);
	if (t->view.wrong[0] != 0)
		bench_check(PL_PROTO, NULL, t->view.wrong);
	return !over;
}

static void wait_for(struct takeover *t, bool (*holds)(const struct takeover *t),
                     const char *what)
{
	if (!run_until(t, holds, WAIT_MAX_MS))
		bench_check(PL_TIMEOUT, NULL, what);
}

static bool all_owned(const struct takeover *t)
{
	return t->view.owned == t->partitions;
}

/* Every running process is active and owns partitions. */
static bool all_active(const struct takeover *t)
{
	char id[DAEMON_FIXTURE_ID_SIZE];

	for (unsigned i = 0; i <= PROCESSES; i++)
		for (unsigned k = 0; t->process[i].pid != 0 && k < shards_of[i]; k++) {
			const char *record;

			(void)snprintf(id, sizeof id, "%s-%u", takeover_names[i], k);
			record = daemon_fixture_record(&t->view, id);
			if (record == NULL || daemon_fixture_owns(&t->view, id) == 0 ||
			    strstr(record, "\"state\":\"active\"") == NULL)
				return false;
		}
	return all_owned(t);
}

/* And nothing has moved for a while. */
void takeover_settle(struct takeover *t)
{
	unsigned moves;

	wait_for(t, all_active, "wait for all shards");
	do {
		moves = t->view.moves;
		(void)run_until(t, NULL, t->rest_ms);
	} while (t->view.moves != moves || !all_active(t));
}

void takeover_start(struct takeover *t, unsigned which)
{
	char log[DAEMON_FIXTURE_PATH_SIZE], shards[16], ttl[16], partitions[16];
	const char *const args[] = {"--etcd",
	                            etcd_launch_endpoints(t->live.launch),
	                            "--name",
	                            takeover_names[which],
	                            "--shards",
	                            shards,
	                            "--ttl",
	                            ttl,
	                            "--partitions",
	                            partitions,
	                            NULL};
	struct pl_err err = {0};

	(void)snprintf(log, sizeof log, "%s/placetd-%s.log",
	               etcd_launch_dir(t->live.launch), takeover_names[which]);
	(void)snprintf(shards, sizeof shards, "%u", shards_of[which]);
	(void)snprintf(ttl, sizeof ttl, "%us", t->ttl_s);
	(void)snprintf(partitions, sizeof partitions, "%u", t->partitions);
	bench_check(daemon_fixture_start(&t->process[which], log, args, &err), &err,
	            "start placetd");
}

/* -- the cases -------------------------------------------------------------------- */

static void kill_one(struct takeover *t, unsigned which)
{
	uint64_t since;
	unsigned lost;

	takeover_settle(t);
	lost = daemon_fixture_owns_with(&t->view, takeover_names[which]);
	since = pl_clock_ns();
	daemon_fixture_signal(&t->process[which], SIGKILL);
	(void)daemon_fixture_wait(&t->process[which]);
	/* Until its lease is gone they are still written as its own. */
	while (daemon_fixture_owns_with(&t->view, takeover_names[which]) != 0 ||
	       !all_owned(t)) {
		if (pl_clock_ns() - since > (uint64_t)WAIT_MAX_MS * 1000000)
			bench_check(PL_TIMEOUT, NULL, "take-over");
		(void)uv_run(&t->live.loop, UV_RUN_ONCE);
	}
	takeover_emit(t, "kill", "takeover_s", (double)(pl_clock_ns() - since) / 1e9,
	              "s");
	takeover_emit(t, "kill", "partitions_lost", lost, "partitions");
	takeover_start(t, which);
}

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	(void)version;
	bench_check(err == NULL ? PL_OK : err->code, err, "configure");
	*(bool *)ctx = true;
}

static void write_config(struct takeover *t, const char *json)
{
	struct config_edit_opts opts = {.name = CONFIG_SHARDS,
	                                .config = pl_span_str(json),
	                                .by = PL_SPAN_LIT("bench"),
	                                .why = PL_SPAN_LIT(""),
	                                .at_ms = pl_clock_wall_ms(),
	                                .expect_version = -1};
	struct pl_err err = {0};
	bool done = false;

	bench_check(config_edit_start(t->live.kv, &opts, on_edited, &done, NULL, &err),
	            &err, "configure");
	while (!done)
		(void)uv_run(&t->live.loop, UV_RUN_ONCE);
}

static bool b0_has_none(const struct takeover *t)
{
	return daemon_fixture_owns(&t->view, "b-0") == 0 && all_owned(t);
}

static void drain_one(struct takeover *t)
{
	unsigned had;
	uint64_t since;

	takeover_settle(t);
	daemon_fixture_view_reset(&t->view);
	had = daemon_fixture_owns(&t->view, "b-0");
	since = pl_clock_ns();
	write_config(t, "{\"drain\":[\"b-0\"]}");
	wait_for(t, b0_has_none, "drain");
	takeover_emit(t, "drain", "drain_gap_ms", (double)t->view.gap_ns_max / 1e6, "ms");
	takeover_emit(t, "drain", "drain_s", (double)(pl_clock_ns() - since) / 1e9, "s");
	takeover_emit(t, "drain", "drain_moves", had, "partitions");
	write_config(t, "{\"drain\":[]}");
}

static void join_one(struct takeover *t)
{
	takeover_settle(t);
	daemon_fixture_view_reset(&t->view);
	takeover_start(t, PROCESSES);
	takeover_settle(t);
	takeover_emit(t, "join", "join_moves", t->view.moves, "partitions");
	takeover_emit(t, "join", "join_fair", (double)t->partitions / (SHARDS + 1),
	              "partitions");
	takeover_emit(t, "join", "join_gap_ms", (double)t->view.gap_ns_max / 1e6, "ms");
	daemon_fixture_signal(&t->process[PROCESSES], SIGTERM);
	if (daemon_fixture_wait(&t->process[PROCESSES]) != 0)
		bench_check(PL_IO, NULL, "graceful stop");
}

/* -- the frame --------------------------------------------------------------------- */

static void takeover_up(struct takeover *t)
{
	struct bench_fields fields = {.len = 0};
	struct pl_err err = {0};

	live_open(&t->live, &(struct live_opts){.dir = t->dir});
	fields_of(t, &fields);
	live_environment(&t->live, fields.at);
	bench_check(daemon_fixture_view_open(&t->view, t->live.kv, t->partitions, &err),
	            &err, "watch");
	for (unsigned i = 0; i < PROCESSES; i++)
		takeover_start(t, i);
}

static void takeover_down(struct takeover *t)
{
	for (unsigned i = 0; i < PROCESSES; i++)
		daemon_fixture_signal(&t->process[i], SIGTERM);
	for (unsigned i = 0; i < PROCESSES; i++)
		if (daemon_fixture_wait(&t->process[i]) != 0)
			bench_check(PL_IO, NULL, "graceful stop");
	live_close(&t->live);
}

int main(int argc, char **argv)
{
	static struct takeover t = {.partitions = 256,
	                            .ttl_s = 5,
	                            .rounds = 3,
	                            .rest_ms = 3000,
	                            .nodes = 1000,
	                            .pods = 4000};
	const struct bench_option options[] = {
		{"ttl", BENCH_COUNT, &t.ttl_s, "SECONDS", "TTL of the leases", .low = 2,
	         .high = 600},
		{"partitions", BENCH_COUNT, &t.partitions, NULL, "partitions",
	         .low = SHARDS, .high = KEYS_PARTITIONS_MAX},
		{"rounds", BENCH_COUNT, &t.rounds, NULL, "rounds of kills and drains",
	         .low = 1},
		{"rest", BENCH_COUNT, &t.rest_ms, "MS",
	         "partitions are stable after so long without a move", .low = 1},
		{"nodes", BENCH_COUNT, &t.nodes, NULL, "nodes of the load", .low = 100,
	         .high = 1000000},
		{"pods", BENCH_COUNT, &t.pods, NULL, "pods of the load, for each kill",
	         .low = 100, .high = 1000000},
		{"dir", BENCH_TEXT, &t.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "takeover",
		.about =
			"8 shards in 3 processes over an etcd of their own: how long partitions have no\n"
			"owner when a process is killed, a shard is drained and a ninth shard joins; how\n"
			"long until pods of a killed process's partitions are bound again.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
	};

	bench_options(&usage, argc, argv);
	takeover_up(&t);
	for (unsigned i = 0; i < t.rounds; i++)
		kill_one(&t, i % PROCESSES);
	for (unsigned i = 0; i < t.rounds; i++)
		drain_one(&t);
	join_one(&t);
	takeover_flow(&t);
	takeover_down(&t);
	return BENCH_OK;
}
