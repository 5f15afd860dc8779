/*
 * Latency from submission to the node, at a rate that does not follow how fast it goes:
 * an open loop. Pod i is due at start + i / rate, whatever became of the others; its
 * latency begins when it is due, not when it could be sent, so nothing that stands
 * still hides how long others waited meanwhile.
 *
 * What is due goes into one transaction (as a submitting client would do it), so many
 * of them in flight at most. That a pod is bound is seen by a watch of another client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/common/samples.h"
#include "bench/live/fill.h"
#include "bench/live/fleet.h"
#include "bench/live/observer.h"
#include "bench/live/verify.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/clock.h"
#include "store/keys/partition.h"

enum { INFLIGHT = 16, PER_TXN = 64, SETTLED_S = 1, SAY_EVERY_S = 5, TICK_NS = 500000 };

struct latency;

struct submit_slot {
	struct latency *l;
	bool busy;
	uint32_t first, count;
	struct pl_arena arena;
	struct txn_builder builder;
};

struct latency {
	struct load load;
	struct fleet_opts fleet_opts;
	uint32_t rate, seconds, warmup_s, idle_s;
	const char *dir;
	struct bench_fields fields;
	struct live live;
	struct kv *kv; /* the submitting client */
	struct fleet fleet;
	struct observer observer;
	uv_poll_t poll;
	int timer_fd;
	uint64_t start_ns;
	uint32_t next; /* to be sent */
	struct submit_slot slot[INFLIGHT];
	struct samples submitted, late;
	double placetd_cpu_at_s, etcd_cpu_at_s, client_cpu_at_s;
};

/* -- the schedule ------------------------------------------------------------------ */

static uint64_t due_ns(const struct latency *l, uint32_t pod)
{
	return l->start_ns + (uint64_t)pod * 1000000000u / l->rate;
}

static uint32_t count_due(const struct latency *l, uint64_t now_ns)
{
	uint32_t count = 0;

	while (count < PER_TXN && l->next + count < l->load.pods &&
	       due_ns(l, l->next + count) <= now_ns)
		count++;
	return count;
}

static bool is_warm(const struct latency *l, uint32_t pod)
{
	return pod >= l->rate * l->warmup_s;
}

/* -- submission -------------------------------------------------------------------- */

static void send_due(struct latency *l);

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct submit_slot *slot = ctx;
	struct latency *l = slot->l;
	uint64_t now_ns = pl_clock_ns();

	bench_check(err == NULL ? PL_OK : err->code, err, "submit");
	if (!result->txn.succeeded)
		bench_fail("a pod was there before");
	for (uint32_t i = 0; i < slot->count; i++)
		if (is_warm(l, slot->first + i))
			samples_add(&l->submitted, now_ns - due_ns(l, slot->first + i));
	slot->busy = false;
	send_due(l);
}

static bool add_pod(struct submit_slot *slot, uint32_t number)
{
	struct load_object *object = pl_arena_alloc(&slot->arena, sizeof *object);
	struct builder_pod pod;

	if (object == NULL)
		bench_fail("out of memory");
	load_pod(&slot->l->load, number, object);
	pod = (struct builder_pod){.namespace = pl_span_str(object->scope),
	                           .name = pl_span_str(object->name)};
	bench_check(partition_of_pod(pod.namespace, pod.name, slot->l->load.partitions,
	                             &pod.partition, NULL),
	            NULL, "a pod");
	return builder_submit(&slot->builder, &pod, pod.partition, load_json(object));
}

static void send_some(struct submit_slot *slot, uint32_t count)
{
	struct latency *l = slot->l;
	struct kv_req req;
	struct pl_err err = {0};

	pl_arena_reset(&slot->arena);
	builder_begin(&slot->builder, &slot->arena, kv_limits(l->kv));
	slot->first = l->next;
	slot->count = 0;
	while (slot->count < count && add_pod(slot, l->next)) {
		if (is_warm(l, l->next))
			samples_add(&l->late, pl_clock_ns() - due_ns(l, l->next));
		slot->count++;
		l->next++;
	}
	builder_req(&slot->builder, &req);
	slot->busy = true;
	bench_check(kv_start(l->kv, &req, LIVE_TIMEOUT_MS, on_answer, slot, NULL, &err),
	            &err, "submit");
}

static void send_due(struct latency *l)
{
	for (unsigned i = 0; i < INFLIGHT; i++) {
		uint32_t due = count_due(l, pl_clock_ns());

		if (due == 0)
			return;
		if (!l->slot[i].busy)
			send_some(&l->slot[i], due);
	}
}

static void on_timer(uv_poll_t *poll, int status, int events)
{
	struct latency *l = poll->data;
	uint64_t times;

	(void)status;
	(void)events;
	if (read(l->timer_fd, &times, sizeof times) > 0)
		send_due(l);
}

/* libuv counts in milliseconds, which is as long as what is measured. */
static void timer_start(struct latency *l)
{
	const struct itimerspec every = {.it_interval = {.tv_nsec = TICK_NS},
	                                 .it_value = {.tv_nsec = TICK_NS}};

	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	l->poll.data = l;
	if (l->timer_fd < 0 || timerfd_settime(l->timer_fd, 0, &every, NULL) != 0 ||
	    uv_poll_init(&l->live.loop, &l->poll, l->timer_fd) != 0 ||
	    uv_poll_start(&l->poll, UV_READABLE, on_timer) != 0)
		bench_fail("timer");
}

static void on_closed(uv_handle_t *handle)
{
	*(bool *)handle->data = true;
}

static void timer_stop(struct latency *l)
{
	bool closed = false;

	l->poll.data = &closed;
	uv_close((uv_handle_t *)&l->poll, on_closed);
	while (!closed)
		(void)uv_run(&l->live.loop, UV_RUN_ONCE);
	(void)close(l->timer_fd);
}

/* -- the run ------------------------------------------------------------------------ */

static void latency_up(struct latency *l)
{
	const struct fill_opts nodes = {.load = l->load, .what = FILL_NODES};
	struct child child;

	live_open(&l->live, &(struct live_opts){.dir = l->dir});
	live_environment(&l->live, NULL);
	fill_run(&l->live, &nodes, &child);
	child_done(&child);
	observer_open(&l->observer, &l->live, l->load.pods, OBSERVER_TIMES);
	l->kv = live_client(&l->live, &l->live.loop);
	samples_init(&l->submitted, l->load.pods);
	samples_init(&l->late, l->load.pods);
	for (unsigned i = 0; i < INFLIGHT; i++) {
		l->slot[i].l = l;
		pl_arena_init(&l->slot[i].arena, 1 << 18, 0);
	}
	fleet_start(&l->fleet, &l->live, &l->fleet_opts);
}

static void until_settled(struct latency *l)
{
	double since = bench_now_s();

	while (l->observer.owned < l->load.partitions ||
	       bench_now_s() - l->observer.moved_s < SETTLED_S) {
		(void)uv_run(&l->live.loop, UV_RUN_ONCE);
		if (bench_now_s() - since > LIVE_TIMEOUT_MS / 1e3)
			bench_fail("the partitions were not shared out");
	}
}

static bool any_busy(const struct latency *l)
{
	for (unsigned i = 0; i < INFLIGHT; i++)
		if (l->slot[i].busy)
			return true;
	return false;
}

static void latency_run(struct latency *l)
{
	double say_s = bench_now_s() + SAY_EVERY_S;

	l->placetd_cpu_at_s = fleet_look(&l->fleet);
	l->etcd_cpu_at_s = bench_cpu_s(etcd_launch_pid(l->live.launch, 0));
	l->client_cpu_at_s = bench_cpu_s(0);
	l->start_ns = pl_clock_ns();
	while (l->next < l->load.pods || any_busy(l) ||
	       (l->observer.bound < l->load.pods &&
	        bench_now_s() - l->observer.moved_s < l->idle_s)) {
		(void)uv_run(&l->live.loop, UV_RUN_ONCE);
		if (bench_now_s() < say_s)
			continue;
		say_s = bench_now_s() + SAY_EVERY_S;
		bench_say("%u of %u pods submitted, %u bound", l->next, l->load.pods,
		          l->observer.bound);
	}
}

static void emit_latency(struct latency *l)
{
	const char *fields = l->fields.at;
	struct samples bound;
	double last_s = 0;

	samples_init(&bound, l->load.pods);
	for (uint32_t i = 0; i < l->load.pods; i++)
		if (is_warm(l, i) && l->observer.bound_ns[i] != 0)
			samples_add(&bound, l->observer.bound_ns[i] - due_ns(l, i));
	last_s = l->observer.bound_s - (double)l->start_ns / 1e9;
	bench_emit(fields, "placed", l->observer.bound, "pods");
	bench_emit(fields, "placements_per_s",
	           last_s > 0 ? l->observer.bound / last_s : 0, "1/s");
	samples_emit(&bound, fields, "");
	samples_emit(&l->submitted, fields, "submitted_");
	samples_emit(&l->late, fields, "late_");
	samples_done(&bound);
	bench_emit(fields, "placetd_cpu_s", fleet_look(&l->fleet) - l->placetd_cpu_at_s,
	           "s");
	bench_emit(fields, "etcd_cpu_s",
	           bench_cpu_s(etcd_launch_pid(l->live.launch, 0)) - l->etcd_cpu_at_s,
	           "s");
	bench_emit(fields, "client_cpu_s", bench_cpu_s(0) - l->client_cpu_at_s, "s");
}

static int latency_down(struct latency *l)
{
	uint32_t left = l->load.pods - l->observer.bound;
	uint64_t violations;

	fleet_stop(&l->fleet, NULL);
	if (left > 0)
		(void)verify_unplaced(&l->live, &l->load, l->fields.at);
	violations = verify_fsck(&l->live, l->load.partitions, l->fields.at);
	timer_stop(l);
	live_client_close(&l->live.loop, l->kv);
	observer_close(&l->observer);
	live_close(&l->live);
	for (unsigned i = 0; i < INFLIGHT; i++)
		pl_arena_done(&l->slot[i].arena);
	samples_done(&l->submitted);
	samples_done(&l->late);
	if (violations > 0)
		return BENCH_FAILED;
	return left > 0 ? BENCH_INCOMPLETE : BENCH_OK;
}

static void check_options(struct latency *l)
{
	l->load.pods = l->rate * (l->warmup_s + l->seconds);
	l->fleet_opts.partitions = l->load.partitions;
	fleet_check(&l->fleet_opts);
	if (l->load.pods > load_pods_most(&l->load))
		bench_refuse("%u pods do not fit on %u nodes (at most %u)", l->load.pods,
		             l->load.nodes, load_pods_most(&l->load));
	bench_field(&l->fields,
	            "\"rate\":%u,\"nodes\":%u,\"pods\":%u,\"shards\":%u,"
	            "\"processes\":%u,\"partitions\":%u,\"profile\":\"%s\"",
	            l->rate, l->load.nodes, l->load.pods, l->fleet_opts.shards,
	            l->fleet_opts.processes, l->load.partitions,
	            load_profile_names[l->load.profile]);
}

int main(int argc, char **argv)
{
	static struct latency l = {.load = {.partitions = 64, .nodes = 5000},
	                           .fleet_opts = {.shards = 4, .processes = 1},
	                           .rate = 1000,
	                           .seconds = 30,
	                           .warmup_s = 2,
	                           .idle_s = 10};
	const struct bench_option options[] = {
		{"rate", BENCH_COUNT, &l.rate, NULL, "pods a second", .low = 1,
	         .high = 100000},
		{"seconds", BENCH_COUNT, &l.seconds, "S", "measured time", .low = 1,
	         .high = 3600},
		{"warmup", BENCH_COUNT, &l.warmup_s, "S",
	         "time before that is not counted", .low = 0, .high = 600},
		{"nodes", BENCH_COUNT, &l.load.nodes, NULL, "nodes", .low = 16,
	         .high = 1000000},
		{"shards", BENCH_COUNT, &l.fleet_opts.shards, NULL, "shards", .low = 1,
	         .high = FLEET_SHARDS_MAX},
		{"processes", BENCH_COUNT, &l.fleet_opts.processes, NULL,
	         "processes of placetd, which share the shards", .low = 1,
	         .high = FLEET_PROCESSES_MAX},
		{"partitions", BENCH_COUNT, &l.load.partitions, NULL, "partitions",
	         .low = 1, .high = KEYS_PARTITIONS_MAX},
		{"idle", BENCH_COUNT, &l.idle_s, "S",
	         "end after so long without a newly bound pod", .low = 1},
		{"dir", BENCH_TEXT, &l.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "latency",
		.about =
			"Submits pods at a constant rate to an etcd of its own with fsync, without\n"
			"waiting for answers: the time from when a pod is due to be submitted until\n"
			"a watch of another client sees it bound.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
		.more = "p50_ms, p99_ms, p999_ms: until the pod is bound; submitted_: until it is in\n"
			"the store; late_: until it was sent, which is the bench's own delay.\n\n"
			"The exit status is that of e2e.\n",
	};

	bench_options(&usage, argc, argv);
	check_options(&l);
	latency_up(&l);
	until_settled(&l);
	timer_start(&l);
	latency_run(&l);
	emit_latency(&l);
	return latency_down(&l);
}
