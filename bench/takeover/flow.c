/*
 * Pods flow again: a process is killed while pods come in. Those that are submitted
 * after the kill, in partitions that it owned, wait for the next owners; of each such
 * partition the first that is bound counts, and of these the last.
 */
#include <signal.h>
#include <stdlib.h>

#include "bench/live/fill.h"
#include "bench/live/observer.h"
#include "bench/live/verify.h"
#include "bench/takeover/takeover.h"
#include "store/base/clock.h"
#include "store/keys/partition.h"

enum { SINCE_NEVER = 0 };

struct flow {
	struct takeover *t;
	struct load load;
	struct observer observer;
	bool lost[KEYS_PARTITIONS_MAX];
	uint64_t
		first_ns[KEYS_PARTITIONS_MAX]; /* a pod of it was bound, after the kill */
};

static void turn_or_fail(struct flow *flow, uint64_t since_ns, const char *what)
{
	if (pl_clock_ns() - since_ns > (uint64_t)TAKEOVER_WAIT_MAX_MS * 1000000)
		bench_check(PL_TIMEOUT, NULL, what);
	(void)uv_run(&flow->t->live.loop, UV_RUN_ONCE);
}

static void start_fill(struct flow *flow, struct child *child, uint32_t first)
{
	static struct fill_opts opts; /* lasts longer than the child */

	opts = (struct fill_opts){.load = flow->load,
	                          .what = FILL_PODS,
	                          .first = first,
	                          .count = flow->t->pods};
	fill_start(child, &flow->t->live, &opts);
}

static uint32_t partition_of(const struct flow *flow, uint32_t pod)
{
	struct load_object object;
	struct pl_err err = {0};
	uint32_t out = 0;

	load_pod(&flow->load, pod, &object);
	bench_check(partition_of_pod(pl_span_str(object.scope), pl_span_str(object.name),
	                             flow->load.partitions, &out, &err),
	            &err, "a pod's partition");
	return out;
}

static void until_bound(struct flow *flow, uint32_t count, const char *what)
{
	uint64_t since_ns = pl_clock_ns();

	while (flow->observer.placed < count)
		turn_or_fail(flow, since_ns, what);
}

/* The partitions that the process owns now are lost when it is killed. */
static uint32_t note_lost(struct flow *flow, unsigned which)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < flow->load.partitions; p++) {
		flow->lost[p] =
			flow->t->view.owner[p].shard[0] == takeover_names[which][0];
		flow->first_ns[p] = SINCE_NEVER;
		count += flow->lost[p];
	}
	return count;
}

/* The longest that a partition waited for its first pod; those with pods, counted. */
static double longest_wait(struct flow *flow, uint32_t first, uint64_t killed_ns,
                           uint32_t *count)
{
	uint64_t longest_ns = 0;

	for (uint32_t i = first; i < first + flow->t->pods; i++) {
		uint32_t p = partition_of(flow, i);
		uint64_t at_ns = flow->observer.bound_ns[i];

		if (flow->lost[p] &&
		    (flow->first_ns[p] == SINCE_NEVER || at_ns < flow->first_ns[p]))
			flow->first_ns[p] = at_ns;
	}
	*count = 0;
	for (uint32_t p = 0; p < flow->load.partitions; p++) {
		if (!flow->lost[p] || flow->first_ns[p] == SINCE_NEVER)
			continue;
		++*count;
		if (flow->first_ns[p] - killed_ns > longest_ns)
			longest_ns = flow->first_ns[p] - killed_ns;
	}
	return (double)longest_ns / 1e9;
}

static void flow_one(struct flow *flow, unsigned which, uint32_t first)
{
	struct takeover *t = flow->t;
	struct child before, after;
	uint64_t killed_ns;
	uint32_t lost, with_pods;
	double flow_s;

	takeover_settle(t);
	start_fill(flow, &before, first);
	until_bound(flow, first + t->pods / 2, "load");
	lost = note_lost(flow, which);
	killed_ns = pl_clock_ns();
	daemon_fixture_signal(&t->process[which], SIGKILL);
	(void)daemon_fixture_wait(&t->process[which]);
	child_wait(&before);
	start_fill(flow, &after, first + t->pods);
	child_wait(&after);
	until_bound(flow, first + 2 * t->pods, "all pods bound");
	flow_s = longest_wait(flow, first + t->pods, killed_ns, &with_pods);
	takeover_emit(t, "flow", "flow_s", flow_s, "s");
	takeover_emit(t, "flow", "flow_all_s", (double)(pl_clock_ns() - killed_ns) / 1e9,
	              "s");
	takeover_emit(t, "flow", "partitions_lost", lost, "partitions");
	takeover_emit(t, "flow", "partitions_with_pods", with_pods, "partitions");
	child_done(&before);
	child_done(&after);
	takeover_start(t, which);
}

void takeover_flow(struct takeover *t)
{
	static struct flow flow; /* large */
	struct fill_opts nodes;
	struct child child;

	flow.t = t;
	flow.load = (struct load){.profile = LOAD_BASIC,
	                          .partitions = t->partitions,
	                          .nodes = t->nodes,
	                          .pods = 2 * t->pods * t->rounds,
	                          .shards = TAKEOVER_SHARDS};
	nodes = (struct fill_opts){.load = flow.load, .what = FILL_NODES};
	fill_run(&t->live, &nodes, &child);
	child_done(&child);
	observer_open(&flow.observer, &t->live, flow.load.pods, OBSERVER_TIMES);
	for (unsigned i = 0; i < t->rounds; i++)
		flow_one(&flow, i % TAKEOVER_PROCESSES, 2 * t->pods * i);
	if (verify_fsck(&t->live, t->partitions, "\"op\":\"flow\"") > 0)
		bench_check(PL_PROTO, NULL, "fsck finds violations");
	observer_close(&flow.observer);
}
