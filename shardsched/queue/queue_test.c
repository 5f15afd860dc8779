#include <stdio.h>

#include "shardsched/queue/queue.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

enum { FIT, TAINT, VOLUME, NOTHING, PLUGINS };
enum { PODS = 64, CLASSES = 8 };

#define BIT(plugin) (UINT64_C(1) << (plugin))

/* A node's number is the only thing that a hint looks at here: odd ones never help. */
static bool hint_even(void *ctx, const struct queue_class *class,
                      const struct queue_event *event)
{
	(void)class;
	(*(unsigned *)ctx)++;
	return event->object % 2 == 0;
}

static const struct queue_plugin plugins[PLUGINS] = {
	[FIT] = {"fit", QUEUE_ON(NODE_ADDED) | QUEUE_ON(POD_REMOVED), NULL},
	[TAINT] = {"taint", QUEUE_ON(NODE_ADDED) | QUEUE_ON(NODE_TAINTS), hint_even},
	[VOLUME] = {"volume", QUEUE_ON(PVC_ADDED) | QUEUE_ON(PV_ADDED), NULL},
	[NOTHING] = {"nothing", 0, NULL},
};

static unsigned asked;
static struct queue *queue;
static struct queue_class class[CLASSES];
static struct queue_pod pod[PODS];
static uint64_t now;

static struct queue_opts opts_of(enum queue_sort sort)
{
	struct queue_opts opts = queue_opts_for(sort);

	opts.seed = 7;
	opts.jitter_percent = 0;
	opts.plugins = plugins;
	opts.plugins_count = PLUGINS;
	opts.hint_ctx = &asked;
	return opts;
}

static void begin(const struct queue_opts *opts)
{
	T_OK(queue_new(opts, &queue, NULL), NULL);
	now = 100000;
	asked = 0;
}

static void begin_by(enum queue_sort sort)
{
	const struct queue_opts opts = opts_of(sort);

	begin(&opts);
}

static void open_class(unsigned c, enum queue_level level, int32_t priority)
{
	T_OK(queue_class_open(
		     queue, &class [c],
		     &(struct queue_class_opts) {
			     .namespace_id = c + 1, .level = level, .priority = priority
		     },
		     NULL),
	     NULL);
}

static void check(void)
{
	queue_check(queue);
	for (unsigned c = 0; c < CLASSES; c++)
		if (class[c].flow != NULL)
			queue_check_class(queue, &class[c]);
}

static void end(void)
{
	check();
	for (unsigned i = 0; i < PODS; i++)
		queue_remove(queue, &pod[i], now);
	for (unsigned c = 0; c < CLASSES; c++)
		if (class[c].flow != NULL)
			queue_class_close(queue, &class[c]);
	check();
	queue_free(queue);
}

static void add(unsigned i, unsigned c)
{
	queue_add(queue, &pod[i], &class[c], now, now);
}

static void pop(unsigned i)
{
	T_TRUE(queue_pop(queue, now) == &pod[i]);
	check();
}

static void refuse(unsigned i, uint64_t by)
{
	queue_refuse(queue, &pod[i], by, 1, now);
	check();
}

/* Adds, pops and refuses: now it waits. */
static void add_refused(unsigned i, unsigned c, uint64_t by)
{
	add(i, c);
	pop(i);
	refuse(i, by);
	T_EQ(pod[i].place, QUEUE_WAITING);
}

static void run(void)
{
	while (queue_deadline_ms(queue) <= now)
		queue_run(queue, now);
	check();
}

static void tell(enum queue_event_kind kind, uint64_t object)
{
	queue_event(queue, &(struct queue_event){.kind = kind, .object = object});
	check();
	run();
}

T_CASE(priority_then_time)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_GOLD, 5); /* a level means nothing to this order */
	open_class(2, QUEUE_NO_SLA, -5);
	open_class(3, QUEUE_NO_SLA, INT32_MAX);
	add(0, 2);
	add(1, 0);
	now++;
	add(2, 1);
	add(3, 0);
	now++;
	add(4, 3);
	add(5, 1);
	T_EQ(queue_where(queue, &pod[0]).position, 5);
	T_EQ(queue_where(queue, &pod[3]).position, 4);
	T_EQ(queue_where(queue, &pod[3]).of, 6);
	pop(4);
	pop(2);
	pop(5);
	pop(1);
	pop(3);
	pop(0);
	T_TRUE(queue_pop(queue, now) == NULL);
	end();
}

T_CASE(sla_then_priority_then_age)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, -1);
	open_class(1, QUEUE_SILVER, 1000);
	open_class(2, QUEUE_SILVER, 0);
	open_class(3, QUEUE_BRONZE, 2000);
	open_class(4, QUEUE_NO_SLA, 3000);
	for (unsigned i = 0; i < 5; i++)
		add(i, 4 - i);
	/* Younger in the queue, older in age. */
	queue_add(queue, &pod[5], &class[2], now - 1000, now);
	pop(4);
	pop(3);
	pop(5);
	pop(2);
	pop(1);
	pop(0);
	end();
}

/* Who is tried again stands behind its equals by one order, before them by the other. */
T_CASE(who_comes_back_stands_where)
{
	for (unsigned sort = QUEUE_BY_PRIORITY; sort <= QUEUE_BY_SLA; sort++) {
		begin_by(sort == 0 ? QUEUE_BY_PRIORITY : QUEUE_BY_SLA);
		open_class(0, QUEUE_NO_SLA, 0);
		add_refused(0, 0, BIT(FIT));
		now += 2000;
		add(1, 0);
		now += 1;
		tell(QUEUE_EV_NODE_ADDED, 0);
		T_EQ(pod[0].place, QUEUE_ACTIVE);
		T_EQ(queue_where(queue, &pod[0]).position, 0);
		now += 1;
		add(2, 0);
		pop(0);
		now += 1;
		queue_retry(queue, &pod[0], QUEUE_FAULT, true, 9, now);
		T_EQ(pod[0].place, QUEUE_BACKOFF);
		now = pod[0].until_ms;
		run();
		T_EQ(queue_where(queue, &pod[0]).position, sort == 0 ? 2 : 0);
		T_EQ(pod[0].reason, 9);
		end();
	}
}

T_CASE(backoff_doubles_up_to_the_longest)
{
	static const uint64_t want[] = {1000, 2000, 4000, 8000, 10000, 10000};

	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	add(0, 0);
	for (unsigned i = 0; i < 6; i++) {
		pop(0);
		queue_retry(queue, &pod[0], QUEUE_FAULT, true, 0, now);
		T_EQ(pod[0].until_ms - now, want[i]);
		T_EQ(queue_deadline_ms(queue), pod[0].until_ms);
		now = pod[0].until_ms - 1;
		queue_run(queue, now);
		T_EQ(pod[0].place, QUEUE_BACKOFF);
		now++;
		run();
	}
	T_EQ(pod[0].infeasible, 0);
	end();
}

T_CASE(jitter_is_bounded_and_repeats)
{
	struct queue_opts opts = opts_of(QUEUE_BY_PRIORITY);
	uint64_t first[PODS];
	bool differ = false;

	opts.jitter_percent = 20;
	for (unsigned round = 0; round < 2; round++) {
		begin(&opts);
		open_class(0, QUEUE_NO_SLA, 0);
		for (unsigned i = 0; i < PODS; i++) {
			uint64_t rest;

			add(i, 0);
			pop(i);
			queue_retry(queue, &pod[i], QUEUE_FAULT, true, 0, now);
			rest = pod[i].until_ms - now;
			T_TRUE(rest >= 800 && rest <= 1000);
			if (round == 1)
				T_EQ(rest, first[i]);
			first[i] = rest;
			differ = differ || rest != first[0];
		}
		T_TRUE(differ);
		end();
	}
}

T_CASE(moved_by_what_can_help_and_nothing_else)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_NO_SLA, 0);
	open_class(2, QUEUE_NO_SLA, 0);
	open_class(3, QUEUE_NO_SLA, 0);
	add_refused(0, 0, BIT(FIT));
	add_refused(1, 1, BIT(TAINT));
	add_refused(2, 2, BIT(VOLUME) | BIT(TAINT));
	add_refused(3, 3, BIT(NOTHING));
	now += 2000;
	for (unsigned kind = QUEUE_EV_ANY + 1; kind < QUEUE_EVENT_KINDS; kind++)
		if (kind != QUEUE_EV_NODE_ADDED && kind != QUEUE_EV_POD_REMOVED &&
		    kind != QUEUE_EV_PVC_ADDED && kind != QUEUE_EV_PV_ADDED)
			tell((enum queue_event_kind)kind, 1);
	T_EQ(asked, 2); /* about taints, once a class */
	for (unsigned i = 0; i < 4; i++)
		T_EQ(pod[i].place, QUEUE_WAITING);
	tell(QUEUE_EV_NODE_TAINTS, 2);
	T_EQ(pod[0].place, QUEUE_WAITING);
	T_EQ(pod[1].place, QUEUE_ACTIVE);
	T_EQ(pod[2].place, QUEUE_ACTIVE);
	tell(QUEUE_EV_POD_REMOVED, 1);
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	T_EQ(pod[3].place, QUEUE_WAITING);
	tell(QUEUE_EV_ANY, 0);
	T_EQ(pod[3].place, QUEUE_ACTIVE);
	end();
}

/* An event that comes soon after the refusal moves the pod, but not before it rested. */
T_CASE(rests_before_it_is_woken)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	add_refused(0, 0, BIT(FIT));
	now += 300;
	tell(QUEUE_EV_NODE_ADDED, 0);
	T_EQ(pod[0].place, QUEUE_BACKOFF);
	T_EQ(pod[0].until_ms, now + 700);
	now += 700;
	run();
	pop(0);
	refuse(0, BIT(FIT));
	T_EQ(pod[0].place, QUEUE_WAITING);
	tell(QUEUE_EV_NODE_ADDED, 0);
	T_EQ(pod[0].until_ms, now + 2000);
	end();
}

T_CASE(events_in_flight_are_not_lost)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	add(0, 0);
	pop(0);
	tell(QUEUE_EV_PV_ADDED, 0);
	tell(QUEUE_EV_NODE_TAINTS, 1);
	refuse(0, BIT(TAINT) | BIT(FIT));
	T_EQ(pod[0].place, QUEUE_WAITING);
	now += 1000;
	tell(QUEUE_EV_ANY, 0);
	pop(0);
	tell(QUEUE_EV_NODE_TAINTS, 4);
	refuse(0, BIT(TAINT));
	T_EQ(pod[0].place, QUEUE_BACKOFF);
	T_TRUE(pod[0].scout);
	end();
}

/* What is too long ago to be known in detail helps whoever waits for its kind. */
T_CASE(events_beyond_the_record)
{
	struct queue_opts opts = opts_of(QUEUE_BY_PRIORITY);

	opts.events_max = 4;
	begin(&opts);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_NO_SLA, 0);
	add(0, 0);
	add(1, 1);
	pop(0);
	pop(1);
	tell(QUEUE_EV_NODE_TAINTS, 1);
	for (unsigned i = 0; i < 4; i++)
		tell(QUEUE_EV_PVC_ADDED, 0);
	refuse(0, BIT(TAINT));
	refuse(1, BIT(FIT));
	T_EQ(pod[0].place, QUEUE_BACKOFF);
	T_EQ(pod[1].place, QUEUE_WAITING);
	T_EQ(asked, 0);
	end();
}

/* gold 0, silver 1, bronze 3, and only verdicts count. */
T_CASE(budgets)
{
	static const enum queue_level level[] = {QUEUE_GOLD, QUEUE_SILVER, QUEUE_BRONZE};
	static const unsigned retries[] = {0, 1, 3};

	begin_by(QUEUE_BY_SLA);
	for (unsigned c = 0; c < 3; c++) {
		open_class(c, level[c], 0);
		add(c, c);
		for (unsigned i = 0; i < retries[c]; i++) {
			pop(c);
			queue_retry(queue, &pod[c], QUEUE_CONFLICT, false, 0, now);
			pop(c);
			refuse(c, BIT(FIT));
			T_EQ(pod[c].place, QUEUE_BACKOFF);
			now = pod[c].until_ms;
			run();
		}
		pop(c);
		refuse(c, BIT(FIT));
		T_EQ(pod[c].place, QUEUE_WAITING);
		T_TRUE(queue_where(queue, &pod[c]).parked);
		T_EQ(pod[c].infeasible, retries[c] + 1);
	}
	/* Parked: time does not move them, a change does, and then there is no budget. */
	T_TRUE(queue_deadline_ms(queue) == UINT64_MAX);
	now += 1000000;
	tell(QUEUE_EV_POD_REMOVED, 0);
	pop(0);
	pop(1);
	pop(2);
	refuse(2, BIT(FIT));
	T_EQ(pod[2].place, QUEUE_WAITING);
	/* Edited, it starts anew. */
	queue_edit(queue, &pod[2], &class[2], false, now);
	pop(2);
	refuse(2, BIT(FIT));
	T_EQ(pod[2].place, QUEUE_BACKOFF);
	end();
}

T_CASE(flushed_after_five_minutes)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_NO_SLA, 0);
	add_refused(0, 0, BIT(NOTHING));
	now += 1000;
	add_refused(1, 1, BIT(FIT));
	T_EQ(queue_deadline_ms(queue), pod[0].since_ms + 300000);
	now = queue_deadline_ms(queue);
	run();
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	T_EQ(pod[1].place, QUEUE_WAITING);
	now += 1000;
	run();
	T_EQ(pod[1].place, QUEUE_ACTIVE);
	T_EQ(queue_deadline_ms(queue), UINT64_MAX);
	end();
}

static unsigned in_place(unsigned from, unsigned to, enum queue_place place)
{
	unsigned count = 0;

	for (unsigned i = from; i < to; i++)
		count += pod[i].place == place;
	return count;
}

/* Room for five among forty of a class: found with few attempts. */
T_CASE(a_class_is_woken_in_waves)
{
	unsigned room = 5, attempts = 0;
	struct queue_pod *next;

	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 40; i++)
		add_refused(i, 0, BIT(FIT));
	now += 5000;
	tell(QUEUE_EV_NODE_ADDED, 0);
	T_EQ(in_place(0, 40, QUEUE_ACTIVE), 1);
	while ((next = queue_pop(queue, now)) != NULL) {
		attempts++;
		if (room > 0) {
			room--;
			queue_placed(queue, next, now);
			queue_remove(queue, next, now);
		} else {
			queue_refuse(queue, next, BIT(FIT), 1, now);
		}
		check();
	}
	T_EQ(in_place(0, 5, QUEUE_OUT), 5); /* the oldest */
	T_EQ(in_place(5, 40, QUEUE_WAITING), 35);
	T_EQ(attempts, 5 + 6);
	/* It was seen to fit, so the next event need not wait. */
	tell(QUEUE_EV_POD_REMOVED, 0);
	T_EQ(in_place(5, 40, QUEUE_ACTIVE), 1);
	end();
}

/* Whatever becomes of a scout, somebody of its class is on the way. */
T_CASE(a_scout_that_does_not_report)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 8; i++)
		add_refused(i, 0, BIT(FIT));
	now += 5000;
	tell(QUEUE_EV_NODE_ADDED, 0);
	T_TRUE(pod[0].scout);
	queue_remove(queue, &pod[0], now);
	T_TRUE(pod[1].scout && pod[1].place == QUEUE_ACTIVE);
	pop(1);
	queue_retry(queue, &pod[1], QUEUE_FAULT, true, 0, now);
	check();
	T_TRUE(pod[2].scout && !pod[1].scout);
	queue_edit(queue, &pod[2], &class[0], true, now);
	check();
	T_TRUE(pod[3].scout);
	T_EQ(pod[2].place, QUEUE_GATED);
	pop(3);
	queue_remove(queue, &pod[3], now);
	T_TRUE(pod[4].scout);
	pop(4);
	refuse(4, BIT(FIT));
	T_EQ(in_place(4, 8, QUEUE_WAITING), 4);
	end();
}

/* A pod of the class is placed although nothing said that it might: those who wait
 * hear of it. */
T_CASE(placed_opens_its_class)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 3; i++)
		add_refused(i, 0, BIT(NOTHING));
	add(3, 0);
	pop(3);
	queue_placed(queue, &pod[3], now);
	check();
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	T_EQ(pod[1].place, QUEUE_WAITING);
	/* Its commit met a conflict: it is tried again, and nobody hears of it. */
	queue_retry(queue, &pod[3], QUEUE_CONFLICT, false, 0, now);
	check();
	T_EQ(pod[1].place, QUEUE_WAITING);
	T_EQ(pod[3].place, QUEUE_ACTIVE);
	end();
}

/* A verdict of who had seen less does not hide what happened since the other's. */
T_CASE(verdicts_out_of_order)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	add(0, 0);
	pop(0);
	tell(QUEUE_EV_NODE_TAINTS, 1);
	add(1, 0);
	pop(1);
	refuse(1, BIT(FIT));
	queue_event(queue, &(struct queue_event){.kind = QUEUE_EV_POD_REMOVED});
	refuse(0, BIT(VOLUME));
	T_EQ(pod[1].place, QUEUE_WAITING);
	now += 5000;
	run();
	T_EQ(in_place(0, 2, QUEUE_ACTIVE), 1);
	end();
}

/* A scout of an earlier wave comes back with old news, after the class was closed and
 * opened again: another one has to go. */
T_CASE(a_scout_with_old_news)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 6; i++)
		add_refused(i, 0, BIT(FIT));
	now += 5000;
	tell(QUEUE_EV_NODE_ADDED, 0);
	pop(0);
	queue_placed(queue, &pod[0], now);
	pop(1);
	tell(QUEUE_EV_CSI_NODE, 0);
	pop(2);
	refuse(2, BIT(FIT));
	T_TRUE(!class[0].open);
	tell(QUEUE_EV_POD_REMOVED, 0);
	T_EQ(in_place(0, 6, QUEUE_ACTIVE), 0);
	refuse(1, BIT(NOTHING));
	T_EQ(class[0].scouts, 1);
	T_EQ(in_place(0, 6, QUEUE_ACTIVE), 1);
	end();
}

T_CASE(gated)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	open_class(1, QUEUE_GOLD, 0);
	queue_add_gated(queue, &pod[0], &class[0], now - 50, now);
	queue_add_gated(queue, &pod[1], &class[0], now, now);
	add(2, 1);
	tell(QUEUE_EV_ANY, 0);
	T_EQ(pod[0].place, QUEUE_GATED);
	T_EQ(queue_where(queue, &pod[1]).position, 1);
	T_EQ(queue_where(queue, &pod[1]).of, 2);
	queue_edit(queue, &pod[0], &class[1], false, now);
	T_EQ(class[0].pods, 1);
	pop(0); /* it kept its age */
	pop(2);
	end();
}

T_CASE(activated)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	add_refused(0, 0, BIT(NOTHING));
	queue_activate(queue, &pod[0], now);
	pop(0);
	queue_retry(queue, &pod[0], QUEUE_FAULT, true, 0, now);
	queue_activate(queue, &pod[0], now);
	pop(0);
	end();
}

/* More kinds of verdicts than buckets: the rest share one, and nothing is missed. */
T_CASE(more_verdicts_than_buckets)
{
	enum { MANY = 200 };
	static struct queue_class many[MANY];
	static struct queue_pod one[MANY];
	static struct queue_plugin single[20];
	struct queue_opts opts = opts_of(QUEUE_BY_SLA);

	for (unsigned i = 0; i < 20; i++)
		single[i] = (struct queue_plugin){"one", UINT64_C(2) << i, NULL};
	opts.plugins = single;
	opts.plugins_count = 20;
	begin(&opts);
	for (unsigned i = 0; i < MANY; i++) {
		T_OK(queue_class_open(queue, &many[i],
		                      &(struct queue_class_opts){.level = QUEUE_GOLD},
		                      NULL),
		     NULL);
		queue_add(queue, &one[i], &many[i], now, now);
		T_TRUE(queue_pop(queue, now) == &one[i]);
		queue_refuse(queue, &one[i], (i * 7 + 1) % (1u << 20), 1, now);
	}
	now += 5000;
	tell((enum queue_event_kind)4, 0);
	for (unsigned i = 0; i < MANY; i++) {
		bool waits_for = ((i * 7 + 1) >> 3 & 1) != 0;

		T_EQ(one[i].place, waits_for ? QUEUE_ACTIVE : QUEUE_WAITING);
	}
	for (unsigned i = 0; i < MANY; i++)
		queue_remove(queue, &one[i], now);
	for (unsigned i = 0; i < MANY; i++)
		queue_class_close(queue, &many[i]);
	queue_free(queue);
}

T_CASE(options_are_judged)
{
	struct queue_opts opts = opts_of(QUEUE_BY_SLA);
	struct pl_err err = {0};

	opts.jitter_percent = 91;
	T_CODE(queue_new(&opts, &queue, &err), PL_INVALID, &err);
	opts = opts_of(QUEUE_BY_SLA);
	opts.backoff_first_ms = 20000;
	T_CODE(queue_new(&opts, &queue, &err), PL_INVALID, &err);
	opts = opts_of(QUEUE_BY_SLA);
	opts.budget[QUEUE_GOLD] = -2;
	T_CODE(queue_new(&opts, &queue, &err), PL_INVALID, &err);
	opts = opts_of(QUEUE_BY_SLA);
	opts.plugins_count = 65;
	T_CODE(queue_new(&opts, &queue, &err), PL_LIMIT, &err);
}

static enum pl_code live(void)
{
	const struct queue_opts opts = opts_of(QUEUE_BY_SLA);
	const struct queue_class_opts gold = {.level = QUEUE_GOLD};
	struct queue_class a;
	struct queue *q = NULL;
	enum pl_code code = queue_new(&opts, &q, NULL);

	if (code != PL_OK)
		return code;
	code = queue_class_open(q, &a, &gold, NULL);
	if (code == PL_OK)
		queue_class_close(q, &a);
	queue_check(q);
	queue_free(q);
	return code;
}

T_CASE(want_of_memory)
{
	t_torture(live, false);
}
