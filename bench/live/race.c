#include "bench/live/race.h"

#include <stdlib.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/live/fill.h"
#include "bench/live/member.h"
#include "bench/live/verify.h"
#include "store/base/timers.h"

enum { TICK_MS = 100, SAY_EVERY_S = 5, SETTLED_S = 1, FOLLOW_S = 20 };

struct race {
	const struct race_opts *opts;
	struct race_result *out;
	struct live live;
	struct observer observer;
	struct history_pin *pin;
	struct child submitter, member, followers;
	struct followers_opts follow;
	struct pl_timer tick;
	double started_s, submitted_s, say_s;
	double placetd_cpu_at_s, etcd_cpu_at_s, watcher_cpu_at_s;
	int64_t from_revision;
};

void race_check(const struct race_opts *opts)
{
	const struct load *load = &opts->load;

	fleet_check(&opts->fleet);
	if (load->pods > load_pods_most(load))
		bench_refuse("%u pods do not fit on %u nodes (at most %u)", load->pods,
		             load->nodes, load_pods_most(load));
}

/* -- before ------------------------------------------------------------------------ */

static void fill_store(struct race *race, enum fill_what what, double *wall_s)
{
	const struct fill_opts opts = {.load = race->opts->load, .what = what};
	const struct fill_result *result;
	struct child child;

	fill_run(&race->live, &opts, &child);
	result = child_result(&child);
	*wall_s = result->wall_s;
	race->out->submitter_cpu_s = child.cpu_s;
	race->out->submitter_rss_max = child.rss_max;
	child_done(&child);
}

static void prepare_race(struct race *race, const char *fields)
{
	const struct race_opts *opts = race->opts;
	static bool told;
	unsigned wants = opts->regret_samples > 0 ? (unsigned)OBSERVER_PLACEMENTS : 0;

	live_open(&race->live, &(struct live_opts){.dir = opts->dir});
	if (!told)
		live_environment(&race->live, NULL);
	told = true;
	bench_say("%s", fields);
	fill_store(race, FILL_NODES, &race->out->nodes_s);
	if (!opts->submitting)
		fill_store(race, FILL_PODS, &race->out->submit_s);
	if (opts->history)
		race->pin = history_keep(&race->live);
	race->from_revision = live_revision(&race->live) + 1;
	observer_open(&race->observer, &race->live, opts->load.pods, wants);
}

/* -- meanwhile --------------------------------------------------------------------- */

static void on_tick(void *ctx)
{
	struct race *race = ctx;

	pl_timer_set(&race->tick, kv_now_ms(race->live.kv) + TICK_MS);
	if (bench_now_s() < race->say_s)
		return;
	race->say_s = bench_now_s() + SAY_EVERY_S;
	bench_say("%.0f s: %u of %u pods are bound, %llu times one was told why not",
	          bench_now_s() - race->started_s, race->observer.bound,
	          race->opts->load.pods, (unsigned long long)race->observer.pending_puts);
}

static bool is_late(const struct race *race)
{
	double now_s = bench_now_s();

	return now_s - race->started_s > race->opts->limit_s ||
	       now_s - race->observer.moved_s > race->opts->idle_s;
}

/* Every partition has an owner, and none has moved for a while. */
static void until_settled(struct race *race)
{
	const struct observer *observer = &race->observer;

	while (observer->owned < race->opts->load.partitions ||
	       bench_now_s() - observer->moved_s < SETTLED_S) {
		(void)uv_run(&race->live.loop, UV_RUN_ONCE);
		if (bench_now_s() - race->started_s > race->opts->limit_s)
			bench_fail("the partitions were not shared out in %u s",
			           race->opts->limit_s);
	}
}

static void use_from_now(struct race *race)
{
	race->placetd_cpu_at_s = fleet_look(&race->out->fleet);
	race->etcd_cpu_at_s = bench_cpu_s(etcd_launch_pid(race->live.launch, 0));
	race->watcher_cpu_at_s = bench_cpu_s(0);
}

static void start_followers(struct race *race)
{
	race->follow = (struct followers_opts){.port = race->opts->fleet.api_port,
	                                       .count = race->opts->followers};
	if (race->follow.count > 0)
		followers_start(&race->followers, &race->live.loop, &race->follow);
}

static void run_race(struct race *race)
{
	const struct race_opts *opts = race->opts;
	const struct fill_opts pods = {.load = opts->load, .what = FILL_PODS};
	bool submitted = !opts->submitting;

	race->started_s = bench_now_s();
	race->say_s = race->started_s + SAY_EVERY_S;
	if (load_before_each(&opts->load) > 0) /* pods may be preempted */
		member_start(&race->member, &race->live);
	use_from_now(race);
	fleet_start(&race->out->fleet, &race->live, &opts->fleet);
	bench_check(pl_timer_init(&race->tick, kv_timers(race->live.kv), on_tick, race),
	            NULL, "timer");
	on_tick(race);
	if (opts->submitting) {
		until_settled(race);
		start_followers(race);
		use_from_now(race);
		race->submitted_s = bench_now_s();
		fill_start(&race->submitter, &race->live, &pods);
	}
	while (!submitted || race->observer.bound < opts->load.pods) {
		(void)uv_run(&race->live.loop, UV_RUN_ONCE);
		submitted = submitted || child_over(&race->submitter);
		if (submitted && is_late(race))
			break;
	}
	pl_timer_done(&race->tick);
}

/* -- after ------------------------------------------------------------------------- */

static void take_times(struct race *race)
{
	struct race_result *out = race->out;
	const struct observer *observer = &race->observer;
	double since = race->opts->submitting ? race->submitted_s : observer->owned_s;
	double until = observer->placed == 0 ? since : observer->bound_s;

	out->placed = observer->bound;
	out->pending_puts = observer->pending_puts;
	out->evicted = observer->evicted;
	out->place_s = until - since;
	out->from_start_s = observer->placed == 0 ? 0 : until - race->started_s;
	out->first_owner_s =
		observer->owned == 0 ? 0 : observer->owned_s - race->started_s;
	out->first_bound_s =
		observer->placed == 0 ? 0 : observer->first_bound_s - race->started_s;
	out->placements_per_s = out->place_s > 0 ? out->placed / out->place_s : 0;
}

static void take_use(struct race *race)
{
	struct race_result *out = race->out;
	pid_t etcd = etcd_launch_pid(race->live.launch, 0);

	out->placetd_cpu_s = fleet_look(&out->fleet) - race->placetd_cpu_at_s;
	out->etcd_cpu_s = bench_cpu_s(etcd) - race->etcd_cpu_at_s;
	out->watcher_cpu_s = bench_cpu_s(0) - race->watcher_cpu_at_s;
	out->etcd_rss_max = bench_rss_max(etcd);
	out->db_bytes = live_db_bytes(&race->live);
	if (!race->opts->submitting)
		return;
	out->submit_s =
		((const struct fill_result *)child_result(&race->submitter))->wall_s;
	out->submitter_cpu_s = race->submitter.cpu_s;
	out->submitter_rss_max = race->submitter.rss_max;
	child_done(&race->submitter);
}

static void finish_race(struct race *race, const char *fields)
{
	const struct race_opts *opts = race->opts;
	struct race_result *out = race->out;
	int64_t until = live_revision(&race->live);

	take_times(race);
	take_use(race);
	if (opts->followers > 0) { /* each pod is at least added and bound */
		followers_stop(&race->followers, 2 * (uint64_t)out->placed, FOLLOW_S,
		               &out->followed);
		out->followers_cpu_s = race->followers.cpu_s;
		child_done(&race->followers);
	}
	fleet_stop(&out->fleet, &out->work);
	child_done(&race->member);
	if (out->placed < opts->load.pods)
		(void)verify_unplaced(&race->live, &opts->load, fields);
	out->violations = verify_fsck(&race->live, opts->load.partitions, fields);
	if (opts->history) {
		history_read(&race->live, race->from_revision, until, &out->history);
		history_release(&race->live, race->pin);
	}
	if (opts->regret_samples > 0)
		regret_compute(&opts->load, &race->observer, opts->regret_samples,
		               &out->regret);
	observer_close(&race->observer);
	live_close(&race->live);
}

void race_run(const struct race_opts *opts, const char *fields, struct race_result *out)
{
	struct race *race = bench_alloc(1, sizeof *race);

	*out = (struct race_result){0};
	race->opts = opts;
	race->out = out;
	prepare_race(race, fields);
	run_race(race);
	finish_race(race, fields);
	free(race);
}

/* -- figures ------------------------------------------------------------------------ */

static double ratio(double what, double of)
{
	return of > 0 ? what / of : 0;
}

static void emit_use(const struct race_result *r, const char *fields)
{
	bench_emit(fields, "placetd_cpu_s", r->placetd_cpu_s, "s");
	bench_emit(fields, "etcd_cpu_s", r->etcd_cpu_s, "s");
	bench_emit(fields, "submitter_cpu_s", r->submitter_cpu_s, "s");
	bench_emit(fields, "watcher_cpu_s", r->watcher_cpu_s, "s");
	bench_emit(fields, "cpu_us_per_placement",
	           ratio(r->placetd_cpu_s * 1e6, r->placed), "us");
	bench_emit(fields, "etcd_cpu_us_per_placement",
	           ratio(r->etcd_cpu_s * 1e6, r->placed), "us");
	fleet_emit(&r->fleet, fields);
	bench_emit(fields, "etcd_rss_max", r->etcd_rss_max, "B");
	bench_emit(fields, "submitter_rss_max", r->submitter_rss_max, "B");
	bench_emit(fields, "db_bytes", r->db_bytes, "B");
}

static void emit_work(const struct race_result *r, const char *fields)
{
	const struct fleet_work *work = &r->work;

	bench_emit(fields, "txns", work->txns, "transactions");
	bench_emit(fields, "txns_failed", work->txns_failed, "transactions");
	bench_emit(fields, "txns_unknown", work->txns_unknown, "transactions");
	bench_emit(fields, "conflicts", work->conflicts, "placements");
	bench_emit(fields, "taken_back", work->taken_back, "placements");
	bench_emit(fields, "conflict_ratio", ratio(work->conflicts, work->placed), "");
	bench_emit(fields, "conflicts_per_txn", ratio(work->conflicts, work->txns), "");
	bench_emit(fields, "txns_failed_ratio", ratio(work->txns_failed, work->txns), "");
	bench_emit(fields, "pending_puts", (double)r->pending_puts, "puts");
	bench_emit(fields, "evicted", (double)r->evicted, "pods");
}

void race_emit(const struct race_opts *opts, const struct race_result *r,
               const char *fields)
{
	bench_emit(fields, "placed", r->placed, "pods");
	bench_emit(fields, "placements_per_s", r->placements_per_s, "1/s");
	bench_emit(fields, "place_s", r->place_s, "s");
	bench_emit(fields, "place_from_start_s", r->from_start_s, "s");
	bench_emit(fields, "first_owner_s", r->first_owner_s, "s");
	bench_emit(fields, "first_bound_s", r->first_bound_s, "s");
	bench_emit(fields, "nodes_s", r->nodes_s, "s");
	bench_emit(fields, "submit_s", r->submit_s, "s");
	bench_emit(fields, "submitted_per_s", ratio(opts->load.pods, r->submit_s), "1/s");
	emit_use(r, fields);
	emit_work(r, fields);
	if (opts->followers > 0) {
		bench_emit(fields, "watch_events", (double)r->followed.events, "");
		bench_emit(fields, "watch_bytes", (double)r->followed.bytes, "B");
		bench_emit(fields, "ended_watches", r->followed.ended, "");
		bench_emit(fields, "watchers_cpu_s", r->followers_cpu_s, "s");
	}
	if (opts->history)
		history_emit(&r->history, fields);
	if (opts->regret_samples > 0)
		regret_emit(&r->regret, fields);
}

int race_exit(const struct race_opts *opts, const struct race_result *result)
{
	if (result->violations > 0)
		return BENCH_FAILED;
	return result->placed < opts->load.pods ? BENCH_INCOMPLETE : BENCH_OK;
}
