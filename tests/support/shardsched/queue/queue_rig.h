/* Fixture of the queue's tests: four plugins, a clock, and short helpers. */
#ifndef TESTS_SUPPORT_SHARDSCHED_QUEUE_QUEUE_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_QUEUE_QUEUE_RIG_H

#include <stdio.h>

#include "shardsched/queue/queue.h"
#include "tests/harness/t.h"

enum { FIT, TAINT, VOLUME, NOTHING, PLUGINS };
enum { PODS = 64, CLASSES = 8 };

#define BIT(plugin) (UINT64_C(1) << (plugin))

/* This hint only looks at the object: odd numbers never help. */
static inline bool hint_even(void *ctx, const struct queue_class *class,
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
static struct queue_class classes[CLASSES];
static struct queue_pod pod[PODS];
static uint64_t now;

static inline struct queue_opts opts_of(enum queue_sort sort)
{
	struct queue_opts opts = queue_opts_for(sort);

	opts.seed = 7;
	opts.jitter_percent = 0;
	opts.plugins = plugins;
	opts.plugins_count = PLUGINS;
	opts.hint_ctx = &asked;
	return opts;
}

static inline void begin(const struct queue_opts *opts)
{
	T_OK(queue_new(opts, &queue, NULL), NULL);
	now = 100000;
	asked = 0;
}

static inline void begin_by(enum queue_sort sort)
{
	const struct queue_opts opts = opts_of(sort);

	begin(&opts);
}

static inline void open_class(unsigned c, enum queue_level level, int32_t priority)
{
	T_OK(queue_class_open(queue, &classes[c],
	                      &(struct queue_class_opts){.namespace_id = c + 1,
	                                                 .level = level,
	                                                 .priority = priority},
	                      NULL),
	     NULL);
}

static inline void check(void)
{
	queue_check(queue);
	for (unsigned c = 0; c < CLASSES; c++)
		if (classes[c].flow != NULL)
			queue_check_class(queue, &classes[c]);
}

static inline void end(void)
{
	check();
	for (unsigned i = 0; i < PODS; i++)
		queue_remove(queue, &pod[i], now);
	for (unsigned c = 0; c < CLASSES; c++)
		if (classes[c].flow != NULL)
			queue_class_close(queue, &classes[c]);
	check();
	queue_free(queue);
}

static inline void add(unsigned i, unsigned c)
{
	queue_add(queue, &pod[i], &classes[c], now, now);
}

static inline void pop(unsigned i)
{
	T_TRUE(queue_pop(queue, now) == &pod[i]);
	check();
}

static inline void refuse(unsigned i, uint64_t by)
{
	queue_refuse(queue, &pod[i], by, 1, now);
	check();
}

/* Adds the pod, pops it and refuses it: then it waits. */
static inline void add_refused(unsigned i, unsigned c, uint64_t by)
{
	add(i, c);
	pop(i);
	refuse(i, by);
	T_EQ(pod[i].place, QUEUE_WAITING);
}

static inline void catch_up(void)
{
	while (queue_deadline_ms(queue) <= now)
		queue_run(queue, now);
	check();
}

static inline void send_event(enum queue_event_kind kind, uint64_t object)
{
	queue_event(queue, &(struct queue_event){.kind = kind, .object = object});
	check();
	catch_up();
}

#endif
