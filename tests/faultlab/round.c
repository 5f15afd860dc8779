#include "tests/faultlab/round.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/base/clock.h"
#include "tests/faultlab/check.h"
#include "tests/faultlab/report.h"

/* Workers are few and slow enough for three members, a judge's watchers and the
 * sanitizers to share two cores. */
enum {
	WORKERS = 5,
	SLOTS = 2,
	THINK_MS = 25,
	TIMEOUT_MIN_MS = 400,
	TIMEOUT_MAX_MS = 2500,
	END_STEP_MS = 30000,
	SHOW_MS = 5000,
	END_MS = 300000, /* when even the settling does not end */
	PATH_SIZE = 256,
	LOG_SIZE = 1 << 20,
};

struct round {
	struct round_opts opts;
	uv_loop_t loop;
	uv_timer_t clock;
	struct cluster *cluster;
	struct nemesis *nemesis;
	struct load *load;
	struct hist hist;
	struct check_report report;
	uint64_t start_ms;
	uint64_t shown_ms;
	bool done;
	bool stopped;
};

static void print_progress(const struct round *round, uint64_t now_ms)
{
	struct load_stats stats = load_stats(round->load);
	int leader = cluster_leader(round->cluster);

	(void)printf("  [%3" PRIu64 " s] ok %" PRIu64 ", refused %" PRIu64
	             ", failed %" PRIu64 ", unknown %" PRIu64 ", events %" PRIu64
	             ", listings %" PRIu64 ", leader %s%.*d; %s\n",
	             (now_ms - round->start_ms) / 1000, stats.ok, stats.refused,
	             stats.failed, stats.unknown, stats.events, stats.relists,
	             leader < 0 ? "unknown" : "m", leader < 0 ? 0 : 1,
	             leader < 0 ? 0 : leader + 1, stats.phase);
	(void)fflush(stdout);
}

static void on_clock(uv_timer_t *timer)
{
	struct round *round = timer->data;
	uint64_t now_ms = pl_clock_ms(), past_ms = now_ms - round->start_ms;

	if (round->done)
		return;
	if (!round->stopped && past_ms >= round->opts.faults_ms) {
		round->stopped = true;
		nemesis_heal(round->nemesis);
		load_stop(round->load);
	}
	if (now_ms >= round->shown_ms + SHOW_MS) {
		round->shown_ms = now_ms;
		print_progress(round, now_ms);
	}
	if (past_ms > round->opts.faults_ms + END_MS) {
		(void)printf("  does not end: %s\n", load_stats(round->load).phase);
		(void)fflush(stdout);
		abort();
	}
}

static void on_exit_of_member(void *ctx, unsigned member, int exit_status, int signal)
{
	struct round *round = ctx;

	hist_complain(&round->hist, pl_clock_ms(),
	              "member %u ended by itself: status %d, signal %d", member + 1,
	              exit_status, signal);
}

static enum pl_code open_client(void *ctx, enum load_role role, unsigned index,
                                struct kv **out, struct pl_err *err)
{
	struct round *round = ctx;

	return cluster_client(round->cluster, role == LOAD_SLEEPER, index, out, err);
}

static void on_done(void *ctx)
{
	struct round *round = ctx;

	round->done = true;
}

static void start_round(struct round *round)
{
	struct load_opts load = {.hist = &round->hist,
	                         .seed = round->opts.seed,
	                         .workers = WORKERS,
	                         .slots = SLOTS,
	                         .think_ms = THINK_MS,
	                         .timeout_min_ms = TIMEOUT_MIN_MS,
	                         .timeout_max_ms = TIMEOUT_MAX_MS,
	                         .end_step_ms = END_STEP_MS,
	                         .open = open_client,
	                         .ctx = round,
	                         .done = on_done};
	struct nemesis_opts nemesis = {.loop = &round->loop,
	                               .seed = round->opts.seed,
	                               .wire = round->opts.wire,
	                               .cluster = round->cluster,
	                               .hist = &round->hist,
	                               .only = round->opts.only};

	round->start_ms = round->shown_ms = pl_clock_ms();
	round->load = load_start(&load);
	nemesis.load = round->load;
	round->nemesis = nemesis_start(&nemesis);
	(void)uv_timer_init(&round->loop, &round->clock);
	round->clock.data = round;
	(void)uv_timer_start(&round->clock, on_clock, 100, 100);
}

/* The members' logs and the whole history, to find the cause. */
static void keep_evidence(const struct round *round)
{
	static char text[LOG_SIZE];
	char dir[PATH_SIZE], path[PATH_SIZE + 32];
	const char *tmp = getenv("TMPDIR");
	FILE *file;

	(void)snprintf(dir, sizeof dir, "%s/placet-faults-%" PRIu64,
	               tmp == NULL ? "/tmp" : tmp, round->opts.seed);
	(void)mkdir(dir, 0700);
	(void)snprintf(path, sizeof path, "%s/history.txt", dir);
	file = fopen(path, "we");
	if (file != NULL) {
		report_history(file, &round->hist, round->start_ms);
		(void)fclose(file);
	}
	for (unsigned i = 0; i < CLUSTER_MEMBERS; i++) {
		(void)snprintf(path, sizeof path, "%s/member-%u.log", dir, i + 1);
		file = fopen(path, "we");
		if (file == NULL)
			continue;
		(void)fputs(etcd_launch_log_tail(cluster_launch(round->cluster), i, text,
		                                 sizeof text),
		            file);
		(void)fclose(file);
	}
	(void)printf("  kept in %s: history.txt and the members' logs\n", dir);
	(void)printf("  repeat with: tests/faults --seed %" PRIu64 " --round %" PRIu64
	             " --seconds %" PRIu64 "%s%s%s\n",
	             round->opts.seed, round->opts.faults_ms / 1000,
	             round->opts.faults_ms / 1000, round->opts.strict ? " --strict" : "",
	             round->opts.only == NEMESIS_COUNT ? "" : " --only ",
	             round->opts.only == NEMESIS_COUNT ? ""
	                                               : nemesis_name(round->opts.only));
}

/* Fixed in etcd 3.4.31 and 3.5.13. */
static bool pauses_revoke(const char *version)
{
	long minor, patch = 0;
	char *end;

	if (strncmp(version, "3.", 2) != 0)
		return false;
	minor = strtol(version + 2, &end, 10);
	if (*end == '.')
		patch = strtol(end + 1, NULL, 10);
	return minor < 4 || (minor == 4 && patch < 31) || (minor == 5 && patch < 13);
}

static void judge_round(struct round *round)
{
	round->hist.pauses_revoke =
		!round->opts.strict && pauses_revoke(cluster_version(round->cluster));
	if (check_hist(&round->hist, &round->report) != PL_OK) {
		check_add(&round->report, CHECK_STUCK, 0, 0, "no memory to judge");
		return;
	}
	report_numbers(stdout, &round->report);
	if (round->report.count == 0) {
		if (round->opts.keep)
			keep_evidence(round);
		return;
	}
	(void)printf("  seed %" PRIu64 ": %u violations\n", round->opts.seed,
	             round->report.count);
	report_findings(stdout, &round->hist, &round->report, round->start_ms);
	keep_evidence(round);
}

static void add_up(struct round *round, struct round_totals *totals)
{
	for (unsigned i = 0; i < NEMESIS_COUNT; i++)
		totals->action[i] += nemesis_count(round->nemesis, (enum nemesis_what)i);
	totals->left_out += nemesis_left_out(round->nemesis);
	for (size_t i = 0; i < round->hist.op_count; i++) {
		enum hist_outcome outcome = round->hist.op[i].outcome;

		totals->ok += outcome == HIST_OK;
		totals->refused += outcome == HIST_REFUSED;
		totals->failed += outcome == HIST_FAILED;
		totals->unknown += outcome == HIST_UNKNOWN;
	}
	for (unsigned i = 0; i < round->hist.stream_count; i++)
		totals->events += round->hist.stream[i].event_count;
}

static void print_actions(const struct round *round)
{
	(void)printf("  actions:");
	for (unsigned i = 0; i < NEMESIS_COUNT; i++) {
		unsigned count = nemesis_count(round->nemesis, (enum nemesis_what)i);

		if (count > 0)
			(void)printf(" %s %u", nemesis_name((enum nemesis_what)i), count);
	}
	(void)printf("\n");
}

bool round_run(const struct round_opts *opts, struct round_totals *totals)
{
	static struct round round; /* large: the history's streams */
	struct cluster_opts cluster = {.wire = opts->wire,
	                               .secure = opts->secure,
	                               .on_exit = on_exit_of_member,
	                               .ctx = &round};
	struct pl_err err = {0};

	memset(&round, 0, sizeof round);
	round.opts = *opts;
	hist_init(&round.hist);
	round.hist.base_revision = 1; /* revision of a fresh etcd */
	(void)uv_loop_init(&round.loop);
	if (opts->wire != NULL)
		wire_heal(opts->wire);
	if (cluster_open(&round.loop, &cluster, &round.cluster, &err) != PL_OK) {
		(void)printf("  the cluster did not start: %s\n", err.msg);
		hist_done(&round.hist);
		return false;
	}
	start_round(&round);
	while (!round.done)
		(void)uv_run(&round.loop, UV_RUN_ONCE);
	print_actions(&round);
	judge_round(&round);
	add_up(&round, totals);
	nemesis_close(round.nemesis);
	uv_close((uv_handle_t *)&round.clock, NULL);
	cluster_close(round.cluster);
	(void)uv_run(&round.loop, UV_RUN_DEFAULT);
	PL_ASSERT(uv_loop_close(&round.loop) == 0);
	hist_done(&round.hist);
	return round.report.count == 0;
}
