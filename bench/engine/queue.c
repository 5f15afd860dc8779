/*
 * The queue with many pods pending: what each move of a pod costs, and what an event
 * costs while all pods wait. Pods are of CLASSES classes in SPACES namespaces, drawn
 * at random, and their ages are too.
 */
#include "shardsched/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/engine/bench.h"
#include "store/base/clock.h"
#include "store/base/rng.h"

enum {
	CLASSES = 1000,
	SPACES = 100,
	EVENTS = 100000,
	ROUNDS = 1000,
	QUESTIONS = 100000,
	AGES_MS = 1u << 20
};

struct queue_bench {
	const struct engine_bench_opts *opts;
	const char *label;
	struct queue *queue;
	struct queue_class class[CLASSES];
	unsigned classes;
	struct queue_pod *pod;
	struct pl_rng rng;
	uint64_t now_ms, started_ns;
};

static bool hint_none(void *ctx, const struct queue_class *class,
                      const struct queue_event *event)
{
	(void)ctx;
	(void)class;
	(void)event;
	return false;
}

static const struct queue_plugin plugins[] = {
	{"fit", QUEUE_ON(NODE_ADDED) | QUEUE_ON(POD_REMOVED), NULL},
	{"taint", QUEUE_ON(NODE_TAINTS), hint_none},
};

static void start_clock(struct queue_bench *b)
{
	b->started_ns = pl_clock_cpu_ns();
}

static void report_op(const struct queue_bench *b, const char *op, double count,
                      const char *metric)
{
	double us = (double)(pl_clock_cpu_ns() - b->started_ns) / 1e3;
	char fields[160];

	(void)snprintf(
		fields, sizeof fields,
		"\"op\":\"queue_%s\",\"pods\":%u,\"classes\":%u,\"profile\":\"%s\"", op,
		b->opts->pods, b->classes, b->label);
	bench_emit(fields, metric, us / count, "us");
}

static void open_queue(struct queue_bench *b, bool fair)
{
	struct queue_opts opts = queue_opts_for(QUEUE_BY_SLA);
	struct pl_err err = {0};

	opts.seed = b->opts->seed;
	opts.fair = fair;
	opts.budget[QUEUE_BRONZE] = 0;
	opts.plugins = plugins;
	opts.plugins_count = 2;
	pl_rng_init(&b->rng, b->opts->seed);
	b->now_ms = UINT64_C(2) * AGES_MS;
	bench_check(queue_new(&opts, &b->queue, &err), &err, "queue");
	for (unsigned c = 0; c < b->classes; c++) {
		const struct queue_class_opts class = {.namespace_id = c % SPACES + 1,
		                                       .level = QUEUE_BRONZE};

		bench_check(queue_class_open(b->queue, &b->class[c], &class, &err), &err,
		            "class");
	}
}

static void close_queue(struct queue_bench *b)
{
	for (unsigned i = 0; i < b->opts->pods; i++)
		queue_remove(b->queue, &b->pod[i], b->now_ms);
	for (unsigned c = 0; c < b->classes; c++)
		queue_class_close(b->queue, &b->class[c]);
	queue_free(b->queue);
}

static void push_all(struct queue_bench *b)
{
	for (unsigned i = 0; i < b->opts->pods; i++) {
		uint64_t draw = pl_rng_next(&b->rng);

		queue_add(b->queue, &b->pod[i], &b->class[draw % b->classes],
		          AGES_MS + (draw >> 32) % AGES_MS, b->now_ms);
	}
}

static void ask_positions(struct queue_bench *b)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < QUESTIONS; i++)
		sum += queue_where(b->queue,
		                   &b->pod[pl_rng_below(&b->rng, b->opts->pods)])
		               .position;
	if (sum == 0)
		bench_check(PL_CORRUPT, NULL, "positions");
}

static void refuse_all(struct queue_bench *b, uint64_t plugin)
{
	struct queue_pod *pod;

	while ((pod = queue_pop(b->queue, b->now_ms)) != NULL)
		queue_refuse(b->queue, pod, plugin, 0, b->now_ms);
}

static void run_due(struct queue_bench *b)
{
	while (queue_deadline_ms(b->queue) <= b->now_ms)
		queue_run(b->queue, b->now_ms);
}

static void tell_event(struct queue_bench *b, enum queue_event_kind kind)
{
	queue_event(b->queue, &(struct queue_event){.kind = kind});
	run_due(b);
}

/* Each pod once through each place. */
static void run_pod_lives(struct queue_bench *b, bool fair)
{
	double pods = b->opts->pods;
	struct queue_pod *pod;

	open_queue(b, fair);
	start_clock(b);
	push_all(b);
	report_op(b, "push", pods, "us_per_pod");
	start_clock(b);
	ask_positions(b);
	report_op(b, "position", QUESTIONS, "us_per_position");
	start_clock(b);
	while ((pod = queue_pop(b->queue, b->now_ms)) != NULL)
		queue_retry(b->queue, pod, QUEUE_FAULT, true, 0, b->now_ms);
	report_op(b, "pop_to_backoff", pods, "us_per_pod");
	b->now_ms += 10000;
	start_clock(b);
	run_due(b);
	report_op(b, "backoff_to_active", pods, "us_per_pod");
	start_clock(b);
	refuse_all(b, 1);
	report_op(b, "pop_to_waiting", pods, "us_per_pod");
	start_clock(b);
	for (unsigned i = 0; i < EVENTS; i++)
		tell_event(b, QUEUE_EV_PVC_ADDED);
	report_op(b, "event_for_no_class", EVENTS, "us_per_event");
	close_queue(b);
}

/* All pods wait, and an event makes room for a few. */
static void wake_few(struct queue_bench *b, unsigned room)
{
	struct queue_stats before, after;
	struct queue_pod *pod;
	char fields[160];

	b->now_ms += 60000;
	queue_stats(b->queue, &before);
	start_clock(b);
	tell_event(b, QUEUE_EV_POD_REMOVED);
	for (unsigned left = room; (pod = queue_pop(b->queue, b->now_ms)) != NULL;) {
		if (left > 0) {
			left--;
			queue_placed(b->queue, pod, b->now_ms);
			queue_remove(b->queue, pod, b->now_ms);
		} else {
			queue_refuse(b->queue, pod, 1, 0, b->now_ms);
		}
	}
	report_op(b, "wake", room, "us_per_placed");
	queue_stats(b->queue, &after);
	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"queue_wake\",\"pods\":%u,\"classes\":%u,\"room\":%u",
	               b->opts->pods, b->classes, room);
	bench_emit(fields, "attempts_per_placed",
	           (double)(after.attempts - before.attempts) / room, "");
}

static void run_wakes(struct queue_bench *b)
{
	open_queue(b, false);
	push_all(b);
	refuse_all(b, 1);
	wake_few(b, 10);
	wake_few(b, 500);
	close_queue(b);
}

/* Hints are asked once a class, and each says no. */
static void run_hints(struct queue_bench *b)
{
	open_queue(b, false);
	push_all(b);
	refuse_all(b, 2);
	b->now_ms += 60000;
	start_clock(b);
	for (unsigned i = 0; i < ROUNDS; i++)
		tell_event(b, QUEUE_EV_NODE_TAINTS);
	report_op(b, "hint_says_no", ROUNDS, "us_per_event");
	close_queue(b);
}

void bench_queue(const struct engine_bench_opts *opts)
{
	struct queue_bench *b = bench_alloc(1, sizeof *b);
	char fields[64];

	b->opts = opts;
	b->pod = bench_alloc(opts->pods, sizeof *b->pod);
	(void)snprintf(fields, sizeof fields, "\"op\":\"queue\",\"pods\":%u", opts->pods);
	bench_emit(fields, "bytes_per_pod", sizeof *b->pod, "B");
	bench_emit(fields, "bytes_per_class", sizeof(struct queue_class), "B");
	b->classes = CLASSES;
	b->label = "sla";
	run_pod_lives(b, false);
	b->label = "fair";
	run_pod_lives(b, true);
	b->label = "sla";
	run_wakes(b);
	run_hints(b);
	b->classes = 1;
	run_wakes(b);
	free(b->pod);
	free(b);
}
