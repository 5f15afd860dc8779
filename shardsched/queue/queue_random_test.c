/*
 * Random steps agree with naive answers, over a small cluster that is really full or not.
 *
 * The cluster has amounts of four things in two colours. A class wants one colour and
 * some amount of each thing; the plugin for a thing refuses the class when there is less.
 * A decision is made when the pod is popped and reported later, so events in between have
 * to be remembered. The naive answers are searches over all pods and the whole history.
 */
#include "shardsched/queue/queue.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

enum {
	THINGS = 4,
	COLOURS = 2,
	CLASSES = 12,
	PODS = 150,
	HISTORY = 200000,
	STEPS = 30000,
};

static const enum queue_event_kind kind_of[THINGS] = {
	QUEUE_EV_NODE_ADDED, QUEUE_EV_POD_REMOVED, QUEUE_EV_PV_ADDED,
	QUEUE_EV_NODE_TAINTS};

struct kind_of_pod {
	struct queue_class class;
	struct queue_class_opts opts;
	unsigned colour;
	unsigned wants[THINGS];
};

struct queued_pod {
	struct queue_pod pod;
	struct kind_of_pod *kind;
	/* decided when the pod was popped; 0: the pod fits, and its amounts are taken */
	uint64_t refused_by;
	bool active;       /* as far as the naive model knows */
	unsigned position; /* as reported; with fair bands the model relies on it */
};

static struct {
	struct queue *queue;
	struct pl_rng rng;
	uint64_t now;
	unsigned room[COLOURS][THINGS];
	struct kind_of_pod kind[CLASSES];
	struct queued_pod one[PODS];
	struct queue_event history[HISTORY];
	uint64_t events;
	bool detail; /* enough events are recorded to be exact */
	bool fair;   /* the model takes the order from positions */
	unsigned shut;
	unsigned placed, moved;
} w;

static unsigned any(unsigned below)
{
	return (unsigned)pl_rng_below(&w.rng, below);
}

static const struct kind_of_pod *kind_by(const struct queue_class *class)
{
	return PL_CONTAINER_OF_CONST(class, struct kind_of_pod, class);
}

static bool hint_colour(void *ctx, const struct queue_class *class,
                        const struct queue_event *event)
{
	(void)ctx;
	return kind_by(class)->colour == event->detail;
}

static struct queue_plugin plugins[THINGS] = {
	{"nodes", QUEUE_ON(NODE_ADDED), hint_colour},
	{"pods", QUEUE_ON(POD_REMOVED), hint_colour},
	{"volumes", QUEUE_ON(PV_ADDED), hint_colour},
	{"taints", QUEUE_ON(NODE_TAINTS) | QUEUE_ON(NODE_ADDED), hint_colour},
};

static struct queued_pod *one_of(struct queue_pod *pod)
{
	return pod == NULL ? NULL : PL_CONTAINER_OF(pod, struct queued_pod, pod);
}

static uint64_t lacks(const struct kind_of_pod *kind)
{
	uint64_t lacking = 0;

	for (unsigned t = 0; t < THINGS; t++)
		if (kind->wants[t] > w.room[kind->colour][t])
			lacking |= UINT64_C(1) << t;
	return lacking;
}

static void send_event(enum queue_event_kind kind, unsigned colour)
{
	const struct queue_event event = {.kind = kind, .detail = colour};

	queue_event(w.queue, &event);
	T_TRUE(w.events + 1 < HISTORY);
	w.history[++w.events] = event;
}

static void give_back(const struct kind_of_pod *kind)
{
	for (unsigned t = 0; t < THINGS; t++) {
		w.room[kind->colour][t] += kind->wants[t];
		if (kind->wants[t] > 0)
			send_event(kind_of[t], kind->colour);
	}
}

/* -- naive answers ----------------------------------------------------------------------- */

static bool naive_before(const struct queued_pod *a, const struct queued_pod *b)
{
	const struct queue_class_opts *x = &a->kind->opts, *y = &b->kind->opts;

	if (w.fair)
		return a->position < b->position;
	if (x->level != y->level)
		return x->level > y->level;
	if (x->priority != y->priority)
		return x->priority > y->priority;
	if (a->pod.order_ms != b->pod.order_ms)
		return a->pod.order_ms < b->pod.order_ms;
	return a->pod.seq < b->pod.seq;
}

static struct queued_pod *naive_first(void)
{
	struct queued_pod *first = NULL;

	for (unsigned i = 0; i < PODS; i++)
		if (w.one[i].active && (first == NULL || naive_before(&w.one[i], first)))
			first = &w.one[i];
	return first;
}

static struct queued_pod *naive_first_of_now(void)
{
	for (unsigned i = 0; i < PODS; i++) {
		struct queued_pod *one = &w.one[i];

		one->active = one->pod.place == QUEUE_ACTIVE &&
		              (w.shut >> one->kind->class.lane & 1) == 0;
		if (one->active)
			one->position = queue_where(w.queue, &one->pod).position;
	}
	return naive_first();
}

static unsigned naive_position(const struct queued_pod *one)
{
	unsigned before = 0;

	for (unsigned i = 0; i < PODS; i++)
		before += w.one[i].pod.place == QUEUE_ACTIVE &&
		          w.one[i].kind->class.lane == one->kind->class.lane &&
		          naive_before(&w.one[i], one);
	return before;
}

/* Whether any event since the class was last judged may help it. */
static bool naive_helped(const struct queue_class *class)
{
	for (uint64_t n = class->judged_event + 1; n <= w.events; n++)
		for (unsigned t = 0; t < THINGS; t++)
			if ((class->refused_by >> t & 1) != 0 &&
			    (plugins[t].events >> w.history[n].kind & 1) != 0 &&
			    w.history[n].detail == kind_by(class)->colour)
				return true;
	return false;
}

static void check_counts(void)
{
	unsigned count[QUEUE_PLACES] = {0};
	struct queue_stats stats;

	for (unsigned i = 0; i < PODS; i++)
		count[w.one[i].pod.place]++;
	queue_stats(w.queue, &stats);
	for (unsigned p = QUEUE_ACTIVE; p < QUEUE_PLACES; p++)
		T_EQ(stats.pods[p], count[p]);
}

static void check_class(const struct kind_of_pod *kind)
{
	unsigned pods = 0, probes = 0, waiting = 0;

	for (unsigned i = 0; i < PODS; i++) {
		const struct queued_pod *one = &w.one[i];

		if (one->pod.place == QUEUE_OUT || one->kind != kind)
			continue;
		pods++;
		probes += one->pod.probe;
		waiting += one->pod.place == QUEUE_WAITING;
		T_TRUE(!one->pod.probe || one->pod.place != QUEUE_WAITING);
	}
	T_EQ(kind->class.pods, pods);
	T_EQ(kind->class.probes, probes);
	T_EQ(rank_sum(&kind->class.waiting), waiting);
	queue_check_class(w.queue, &kind->class);
}

/* The main invariant: a waiting pod with no probe of its class out and no event left to
 * be judged does not fit. */
static void check_none_forgotten(const struct kind_of_pod *kind)
{
	if (kind->class.waiting.root != NULL && kind->class.probes == 0 &&
	    queue_deadline_ms(w.queue) > w.now)
		T_TRUE(lacks(kind) != 0);
}

/* Every position is taken by one pod. */
static void check_positions(void)
{
	unsigned next = 0;

	for (struct queued_pod *one = naive_first_of_now(); one != NULL;
	     one = naive_first()) {
		T_EQ(one->position, next++);
		one->active = false;
	}
}

static void check(void)
{
	const struct queued_pod *first;

	queue_check(w.queue);
	check_counts();
	if (w.fair)
		check_positions();
	for (unsigned c = 0; c < CLASSES; c++) {
		check_class(&w.kind[c]);
		check_none_forgotten(&w.kind[c]);
	}
	first = naive_first_of_now();
	T_TRUE(queue_peek(w.queue) == (first == NULL ? NULL : &first->pod));
}

/* -- steps ------------------------------------------------------------------------------- */

static void run(void)
{
	bool helped[CLASSES], closed[CLASSES];

	for (unsigned c = 0; c < CLASSES; c++) {
		closed[c] = w.kind[c].class.bucket != 0;
		helped[c] = closed[c] && naive_helped(&w.kind[c].class);
	}
	while (queue_deadline_ms(w.queue) <= w.now)
		queue_run(w.queue, w.now);
	for (unsigned c = 0; c < CLASSES; c++) {
		bool moved = closed[c] && w.kind[c].class.bucket == 0;

		w.moved += moved;
		T_TRUE(!helped[c] || moved);
		/* A class must not be woken by anything else. */
		T_TRUE(!w.detail || !moved || helped[c]);
	}
}

static void add_pod(struct queued_pod *one)
{
	uint64_t created = w.now - any(5000);

	one->kind = &w.kind[any(CLASSES)];
	if (any(10) == 0)
		queue_add_gated(w.queue, &one->pod, &one->kind->class, created, w.now);
	else
		queue_add(w.queue, &one->pod, &one->kind->class, created, w.now);
}

/* Returns what an assumed or placed pod had taken. */
static void release(struct queued_pod *one)
{
	if (one->pod.place == QUEUE_IN_FLIGHT && one->refused_by == 0)
		give_back(one->kind);
}

static void edit_pod(struct queued_pod *one)
{
	release(one);
	one->kind = &w.kind[any(CLASSES)];
	queue_edit(w.queue, &one->pod, &one->kind->class, any(4) == 0, w.now);
}

/* Pods come in order; a pod that is passed over waits again, and really does not fit. */
static void pop_pod(void)
{
	struct queued_pod *want = naive_first_of_now();
	struct queue_pod *pod = queue_pop(w.queue, w.now);
	const struct kind_of_pod *kind;

	while (want != NULL && want->pod.place == QUEUE_WAITING) {
		T_TRUE(lacks(want->kind) != 0);
		want->active = false;
		/* An unused turn goes to the next pod of the same namespace. */
		want = w.fair ? one_of(pod) : naive_first();
	}
	T_TRUE(pod == (want == NULL ? NULL : &want->pod));
	if (want == NULL)
		return;
	kind = want->kind;
	want->refused_by = lacks(kind);
	for (unsigned t = 0; t < THINGS && want->refused_by == 0; t++)
		w.room[kind->colour][t] -= kind->wants[t];
	if (any(16) == 0) {
		if (want->refused_by == 0)
			give_back(kind);
		if (any(2) == 0)
			queue_put_back(w.queue, pod, w.now);
		else
			queue_defer(w.queue, pod, 1 + any(3000), w.now);
	}
}

static void decide(struct queued_pod *one)
{
	if (one->refused_by != 0) {
		if (any(10) == 0)
			queue_retry(w.queue, &one->pod, QUEUE_FAULT, true, 0, w.now);
		else
			queue_refuse(w.queue, &one->pod, one->refused_by, 7, w.now);
	} else if (!one->pod.placed && any(2) == 0) {
		queue_placed(w.queue, &one->pod, w.now);
	} else if (any(4) == 0) {
		give_back(one->kind);
		queue_retry(w.queue, &one->pod, QUEUE_CONFLICT, any(3) == 0, 0, w.now);
	} else {
		/* The pod is bound: its amounts stay taken. */
		w.placed++;
		queue_remove(w.queue, &one->pod, w.now);
	}
}

static void touch_pod(struct queued_pod *one)
{
	switch ((enum queue_place)one->pod.place) {
	case QUEUE_OUT:
		add_pod(one);
		break;
	case QUEUE_IN_FLIGHT:
		if (any(8) == 0)
			edit_pod(one);
		else
			decide(one);
		break;
	case QUEUE_ACTIVE:
		if (!w.fair)
			T_EQ(queue_where(w.queue, &one->pod).position,
			     naive_position(one));
		break;
	case QUEUE_BACKOFF:
	case QUEUE_WAITING:
	case QUEUE_GATED:
		if (any(10) == 0)
			queue_remove(w.queue, &one->pod, w.now);
		else if (any(20) == 0)
			edit_pod(one);
		else if (one->pod.place != QUEUE_GATED && any(40) == 0)
			queue_activate(w.queue, &one->pod, w.now);
		break;
	case QUEUE_PLACES:
		T_TRUE(false);
	}
}

/* Ends some attempt that is in flight. */
static void end_attempt(void)
{
	unsigned from = any(PODS);

	for (unsigned i = 0; i < PODS; i++) {
		struct queued_pod *one = &w.one[(from + i) % PODS];

		if (one->pod.place == QUEUE_IN_FLIGHT) {
			decide(one);
			return;
		}
	}
}

/* Turns of different lanes can not be compared. */
static void lanes_change(void)
{
	if (w.fair)
		return;
	T_OK(queue_class_move(w.queue, &w.kind[any(CLASSES)].class, any(QUEUE_LANES),
	                      NULL),
	     NULL);
	w.shut = any(2) == 0 ? 0 : any(1u << QUEUE_LANES);
	queue_shut_lanes(w.queue, w.shut);
}

static void step(void)
{
	unsigned what = any(100), t = any(THINGS), colour = any(COLOURS);

	w.now += any(3) == 0 ? any(400) : 0;
	if (what < 35) {
		touch_pod(&w.one[any(PODS)]);
	} else if (what < 55) {
		pop_pod();
	} else if (what < 80) {
		end_attempt();
	} else if (what < 83) {
		w.room[colour][t] += any(6);
		send_event(kind_of[t], colour);
	} else if (what < 84) {
		w.room[colour][t] /= 2;
	} else if (what < 85) {
		lanes_change();
	} else if (what < 88) {
		send_event(QUEUE_EV_CSI_NODE, colour);
	} else {
		run();
	}
}

static void begin(enum queue_sort sort, uint32_t events_max, bool fair)
{
	struct queue_opts opts = queue_opts_for(sort);

	pl_rng_init(&w.rng, t_seed() + (uint64_t)sort * 31 + events_max);
	opts.seed = pl_rng_next(&w.rng);
	opts.events_max = events_max;
	opts.fair = fair;
	w.fair = fair;
	opts.flush_ms = UINT64_MAX / 2; /* no flush may hide a lost event */
	opts.plugins = plugins;
	opts.plugins_count = THINGS;
	w.now = 1000000;
	w.detail = events_max >= HISTORY;
	T_OK(queue_new(&opts, &w.queue, NULL), NULL);
	for (unsigned c = 0; c < CLASSES; c++) {
		struct kind_of_pod *kind = &w.kind[c];

		kind->opts = (struct queue_class_opts){
			.namespace_id = c % 3 + 1,
			.weight = c % 3 * 4 + 1,
			.priority = (int32_t)any(3),
			.level = sort == QUEUE_BY_SLA
		                         ? (enum queue_level)any(QUEUE_LEVELS)
		                         : QUEUE_NO_SLA};
		kind->colour = any(COLOURS);
		for (unsigned t = 0; t < THINGS; t++)
			kind->wants[t] = any(3);
		T_OK(queue_class_open(w.queue, &kind->class, &kind->opts, NULL), NULL);
	}
}

/* No more events, but attempts in flight end: afterwards no pod that fits waits. */
static void settle(void)
{
	w.shut = 0;
	queue_shut_lanes(w.queue, 0);
	for (;;) {
		struct queue_stats stats;

		run();
		pop_pod();
		for (unsigned i = 0; i < PODS; i++)
			if (w.one[i].pod.place == QUEUE_IN_FLIGHT)
				decide(&w.one[i]);
		queue_stats(w.queue, &stats);
		if (stats.pods[QUEUE_ACTIVE] + stats.pods[QUEUE_BACKOFF] +
		            stats.pods[QUEUE_IN_FLIGHT] ==
		    0)
			break;
		w.now += 50;
	}
	run();
	for (unsigned i = 0; i < PODS; i++)
		T_TRUE(w.one[i].pod.place != QUEUE_WAITING || lacks(w.one[i].kind) != 0);
}

static void end(void)
{
	struct queue_stats stats;

	queue_stats(w.queue, &stats);
	T_REACHED(w.placed > 200 && w.moved > 500 && stats.helped_in_flight > 50 &&
	          stats.recalled > 20);
	for (unsigned i = 0; i < PODS; i++)
		queue_remove(w.queue, &w.one[i].pod, w.now);
	for (unsigned c = 0; c < CLASSES; c++)
		queue_class_close(w.queue, &w.kind[c].class);
	queue_free(w.queue);
}

static void story(enum queue_sort sort, uint32_t events_max, bool fair)
{
	begin(sort, events_max, fair);
	for (unsigned i = 0; i < STEPS; i++) {
		step();
		check();
		if (i % 5000 == 4999)
			settle();
	}
	end();
}

T_CASE_SECONDS(random_steps_by_priority, 60)
{
	story(QUEUE_BY_PRIORITY, HISTORY, false);
}

T_CASE_SECONDS(random_steps_by_sla, 60)
{
	story(QUEUE_BY_SLA, HISTORY, false);
}

T_CASE_SECONDS(random_steps_with_few_recorded_events, 60)
{
	story(QUEUE_BY_SLA, 8, false);
}

T_CASE_SECONDS(random_steps_with_fair_bands, 60)
{
	story(QUEUE_BY_SLA, HISTORY, true);
}
