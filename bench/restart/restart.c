/*
 * Everything dies at once, under load: every placetd and the etcd are killed, then all
 * of them are started again.
 *
 *	etcd_up_s          from its start to its first answer
 *	first_placement_s  from that answer to the first new placement, as a watch sees it
 *	placed_s           from that answer to the last one
 *
 * The processes of placetd are started together with the etcd, and wait for it as they
 * do on a machine that boots.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/live/fill.h"
#include "bench/live/fleet.h"
#include "bench/live/observer.h"
#include "bench/live/verify.h"
#include "shardsched/records/pod_state.h"
#include "store/base/clock.h"
#include "store/keys/keys.h"

enum { POLL_US = 2000, UP_MAX_S = 120, SAY_EVERY_S = 5 };

struct restart {
	struct load load;
	struct fleet_opts fleet_opts;
	uint32_t percent; /* bound, when all is killed */
	uint32_t limit_s, idle_s;
	const char *dir;
	struct bench_fields fields;
	struct live live;
	struct fleet fleet;
	struct observer observer;
	uint32_t before; /* bound when all was killed, as far as it was seen */
	double up_s, say_s;
	int64_t up_revision, started_wall_ms;
	uint32_t early; /* bound after the start, before etcd's answer to us */
};

static void fill_store(struct restart *r, enum fill_what what)
{
	const struct fill_opts opts = {.load = r->load, .what = what};
	struct child child;

	fill_run(&r->live, &opts, &child);
	child_done(&child);
}

static void report_progress(struct restart *r)
{
	if (bench_now_s() < r->say_s)
		return;
	r->say_s = bench_now_s() + SAY_EVERY_S;
	bench_say("%u of %u pods are bound", r->before + r->observer.bound, r->load.pods);
}

/* So many, or nothing more came for a while. */
static void until_bound(struct restart *r, uint32_t count)
{
	double since = bench_now_s();

	while (r->observer.bound < count) {
		double now_s = bench_now_s();

		(void)uv_run(&r->live.loop, UV_RUN_ONCE);
		report_progress(r);
		if (now_s - r->observer.moved_s > r->idle_s || now_s - since > r->limit_s)
			return;
	}
}

/* -- down --------------------------------------------------------------------------- */

static void kill_all(struct restart *r)
{
	struct pl_err err = {0};

	bench_say("kill -9 of everything, with %u pods bound", r->observer.bound);
	bench_check(etcd_launch_signal(r->live.launch, 0, SIGKILL, &err), &err,
	            "kill etcd");
	fleet_kill(&r->fleet);
	r->before = r->observer.bound;
	observer_close(&r->observer);
	live_client_close(&r->live.loop, r->live.kv);
}

/* -- and up ------------------------------------------------------------------------- */

/* Something listens there. A client of its own would wait longer and longer between its
 * attempts. */
static bool endpoint_listens(const char *endpoint)
{
	const char *colon = strrchr(endpoint, ':');
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool does;

	if (fd < 0 || colon == NULL)
		bench_fail("look for etcd at %s", endpoint);
	at.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	does = connect(fd, (const struct sockaddr *)&at, sizeof at) == 0;
	(void)close(fd);
	return does;
}

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct restart *r = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "etcd's first answer");
	r->up_s = bench_now_s();
	r->up_revision = result->header.revision;
}

/* etcd's socket is there before etcd can answer: the request waits in the socket. */
static void until_up(struct restart *r, double since)
{
	const struct kv_get get = {.keys = kv_key(PL_SPAN_LIT("/placet/meta"))};
	struct pl_err err = {0};

	while (!endpoint_listens(etcd_launch_endpoint(r->live.launch, 0))) {
		(void)uv_run(&r->live.loop, UV_RUN_NOWAIT);
		(void)usleep(POLL_US);
		if (bench_now_s() - since > UP_MAX_S)
			bench_fail("etcd does not come up again");
	}
	r->live.kv = live_client(&r->live, &r->live.loop);
	bench_check(kv_get(r->live.kv, &get, LIVE_TIMEOUT_MS, on_answer, r, NULL, &err),
	            &err, "look for etcd");
	while (r->up_s <= 0)
		(void)uv_run(&r->live.loop, UV_RUN_ONCE);
	bench_emit(r->fields.at, "etcd_up_s", r->up_s - since, "s");
}

static void start_all(struct restart *r)
{
	double since = bench_now_s();
	struct pl_err err = {0};

	r->started_wall_ms = pl_clock_wall_ms();
	bench_check(etcd_launch_restart(r->live.launch, 0, &err), &err,
	            "start etcd again");
	fleet_start(&r->fleet, &r->live, &r->fleet_opts);
	until_up(r, since);
	observer_open_at(&r->observer, &r->live, r->load.pods, 0, r->up_revision + 1);
}

/* Pods bound in the store when etcd answered: bound before the kill without a note to
 * the observer, or placed by the shards before this read. */
static void on_key(void *ctx, const struct kv_record *record)
{
	struct restart *r = ctx;
	struct pod_state state;
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_STATE ||
	    record->mod_revision > r->up_revision)
		return;
	pl_arena_reset(&r->live.arena);
	if (state_parse(record->value, &r->live.arena, &state, NULL) != PL_OK ||
	    state.phase != STATE_BOUND)
		return;
	r->before++;
	r->early += state.since_ms > r->started_wall_ms;
}

static void take_before(struct restart *r)
{
	r->before = r->early = 0;
	live_each(&r->live, "/schedules/", false, on_key, r);
	bench_emit(r->fields.at, "bound_before", r->before - r->early, "pods");
	bench_emit(r->fields.at, "bound_early", r->early, "pods");
}

static int run_restart(struct restart *r)
{
	uint32_t left = 0;
	uint64_t violations;

	live_open(&r->live, &(struct live_opts){.dir = r->dir});
	live_environment(&r->live, NULL);
	fill_store(r, FILL_NODES);
	fill_store(r, FILL_PODS);
	observer_open(&r->observer, &r->live, r->load.pods, 0);
	fleet_start(&r->fleet, &r->live, &r->fleet_opts);
	until_bound(r, (uint32_t)((uint64_t)r->load.pods * r->percent / 100));
	kill_all(r);
	start_all(r);
	until_bound(r, 1);
	if (r->observer.bound == 0)
		bench_say("nothing was placed again within %u s", r->idle_s);
	else
		bench_emit(r->fields.at, "first_placement_s",
		           r->observer.first_bound_s - r->up_s, "s");
	take_before(r);
	until_bound(r, r->load.pods - r->before);
	if (r->observer.bound > 0)
		bench_emit(r->fields.at, "placed_s", r->observer.bound_s - r->up_s, "s");
	bench_emit(r->fields.at, "bound_after", r->observer.bound, "pods");
	fleet_stop(&r->fleet, NULL);
	left = verify_unplaced(&r->live, &r->load, r->fields.at);
	bench_emit(r->fields.at, "placed", r->load.pods - left, "pods");
	violations = verify_fsck(&r->live, r->load.partitions, r->fields.at);
	observer_close(&r->observer);
	live_close(&r->live);
	if (violations > 0)
		return BENCH_FAILED;
	return left > 0 ? BENCH_INCOMPLETE : BENCH_OK;
}

int main(int argc, char **argv)
{
	static struct restart r = {
		.load = {.partitions = 64, .nodes = 10000, .pods = 100000},
		.fleet_opts = {.shards = 4, .processes = 2},
		.percent = 50,
		.limit_s = 300,
		.idle_s = 30,
	};
	const struct bench_option options[] = {
		{"nodes", BENCH_COUNT, &r.load.nodes, NULL, "nodes", .low = 16,
	         .high = 1000000},
		{"pods", BENCH_COUNT, &r.load.pods, NULL, "pods", .low = 2},
		{"shards", BENCH_COUNT, &r.fleet_opts.shards, NULL, "shards", .low = 1,
	         .high = FLEET_SHARDS_MAX},
		{"processes", BENCH_COUNT, &r.fleet_opts.processes, NULL,
	         "processes of placetd, which share the shards", .low = 1,
	         .high = FLEET_PROCESSES_MAX},
		{"partitions", BENCH_COUNT, &r.load.partitions, NULL, "partitions",
	         .low = 1, .high = KEYS_PARTITIONS_MAX},
		{"percent", BENCH_COUNT, &r.percent, NULL,
	         "share of pods that are bound at the kill", .low = 1, .high = 99},
		{"timeout", BENCH_COUNT, &r.limit_s, "S", "limit of each half", .low = 1},
		{"idle", BENCH_COUNT, &r.idle_s, "S",
	         "end after so long without a newly bound pod", .low = 1},
		{"dir", BENCH_TEXT, &r.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "restart",
		.about =
			"Kills every placetd and the etcd with kill -9 under load, and starts all again:\n"
			"the time from the etcd's first answer to the first new placement.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
		.more = "The exit status is that of e2e.\n",
	};

	bench_options(&usage, argc, argv);
	r.fleet_opts.partitions = r.load.partitions;
	fleet_check(&r.fleet_opts);
	if (r.load.pods > load_pods_most(&r.load))
		bench_refuse("%u pods do not fit on %u nodes (at most %u)", r.load.pods,
		             r.load.nodes, load_pods_most(&r.load));
	bench_field(&r.fields,
	            "\"nodes\":%u,\"pods\":%u,\"shards\":%u,\"processes\":%u,"
	            "\"partitions\":%u",
	            r.load.nodes, r.load.pods, r.fleet_opts.shards,
	            r.fleet_opts.processes, r.load.partitions);
	return run_restart(&r);
}
