/* Golden story: a day of a queue, readable by a person. */
#include <stdio.h>

#include "shardsched/queue/queue.h"
#include "tests/harness/t.h"

enum { FIT, TAINT, PODS = 7, CLASSES = 4 };

static const struct queue_plugin plugins[] = {
	[FIT] = {"NodeResourcesFit", QUEUE_ON(NODE_ADDED) | QUEUE_ON(POD_REMOVED), NULL},
	[TAINT] = {"TaintToleration", QUEUE_ON(NODE_ADDED) | QUEUE_ON(NODE_TAINTS), NULL},
};

static const char *const names[PODS] = {"web-1",   "web-2", "web-3", "batch-1",
                                        "batch-2", "gpu",   "late"};
enum { WEB1, WEB2, WEB3, BATCH1, BATCH2, GPU, LATE };

static char story[16384];
static size_t story_len;
static struct queue *queue;
static struct queue_class class[CLASSES];
static struct queue_pod pod[PODS];
static uint64_t now, next_ms = UINT64_MAX;

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static size_t describe(const struct queue_pod *p, char *out, size_t cap)
{
	struct queue_where where = queue_where(queue, p);
	size_t at = (size_t)snprintf(out, cap, "%s", queue_place_name(where.place));

	if (where.place != QUEUE_IN_FLIGHT && where.place != QUEUE_OUT)
		at += (size_t)snprintf(out + at, cap - at, " %" PRIu32 " of %" PRIu32,
		                       where.position + 1, where.of);
	if (where.place == QUEUE_BACKOFF)
		at += (size_t)snprintf(out + at, cap - at, " until %" PRIu64,
		                       queue_pod_until_ms(p));
	if (p->cause != QUEUE_NEW)
		at += (size_t)snprintf(out + at, cap - at, ", %s, attempt %" PRIu32,
		                       queue_cause_name((enum queue_cause)p->cause),
		                       p->attempts);
	return at + (size_t)snprintf(out + at, cap - at, "%s%s",
	                             where.parked ? ", parked" : "",
	                             p->probe ? ", for its class" : "");
}

/* Prints only what has changed. */
static void print_pod(unsigned i)
{
	static char before[PODS][128];
	char line[128];

	T_TRUE(describe(&pod[i], line, sizeof line) < sizeof line);
	if (strcmp(line, before[i]) != 0)
		SAY("          %-8s %s\n", names[i], line);
	memcpy(before[i], line, sizeof line);
}

static void print_state(const char *what)
{
	SAY("[%6" PRIu64 "] %s\n", now, what);
	for (unsigned i = 0; i < PODS; i++)
		print_pod(i);
	if (queue_deadline_ms(queue) != next_ms)
		SAY("          next at %" PRIu64 "\n", queue_deadline_ms(queue));
	next_ms = queue_deadline_ms(queue);
	queue_check(queue);
	for (unsigned c = 0; c < CLASSES; c++)
		queue_check_class(queue, &class[c]);
}

static void pop(void)
{
	struct queue_pod *next = queue_pop(queue, now);
	char what[64];

	T_TRUE(next != NULL);
	(void)snprintf(what, sizeof what, "%s is popped", names[next - pod]);
	print_state(what);
}

static void refuse(unsigned i, unsigned plugin)
{
	char what[64];

	queue_refuse(queue, &pod[i], UINT64_C(1) << plugin, 0, now);
	(void)snprintf(what, sizeof what, "%s is refused by %s", names[i],
	               plugins[plugin].name);
	print_state(what);
}

static void send_event(enum queue_event_kind kind)
{
	queue_event(queue, &(struct queue_event){.kind = kind});
	print_state(queue_event_name(kind));
	queue_run(queue, now);
	print_state("judged");
}

static void due(void)
{
	now = queue_deadline_ms(queue);
	queue_run(queue, now);
	print_state("time passes");
}

static void open_class(unsigned c, enum queue_level level)
{
	const struct queue_class_opts opts = {.namespace_id = c + 1, .level = level};

	T_OK(queue_class_open(queue, &class[c], &opts, NULL), NULL);
}

T_CASE(a_day)
{
	struct queue_opts opts = queue_opts_for(QUEUE_BY_SLA);

	opts.seed = 11;
	opts.plugins = plugins;
	opts.plugins_count = 2;
	T_OK(queue_new(&opts, &queue, NULL), NULL);
	open_class(0, QUEUE_GOLD);
	open_class(1, QUEUE_BRONZE);
	open_class(2, QUEUE_SILVER);
	open_class(3, QUEUE_NO_SLA);
	now = 1000;
	for (unsigned i = WEB1; i <= WEB3; i++)
		queue_add(queue, &pod[i], &class[0], now, now);
	queue_add(queue, &pod[BATCH1], &class[1], now, now);
	queue_add_gated(queue, &pod[BATCH2], &class[1], now, now);
	queue_add(queue, &pod[GPU], &class[2], now, now);
	queue_add(queue, &pod[LATE], &class[3], now, now);
	print_state(
		"seven pods: three gold, two bronze and one of them gated, a silver, one "
		"without SLA");

	pop();
	pop();
	pop();
	queue_placed(queue, &pod[WEB1], now);
	queue_remove(queue, &pod[WEB1], now);
	print_state("web-1 is bound; the node is full");
	refuse(WEB2, FIT);
	refuse(WEB3, FIT);
	pop();
	send_event(QUEUE_EV_NODE_TAINTS);
	now = 1100;
	refuse(GPU, TAINT);
	pop();
	refuse(BATCH1, FIT);
	pop();
	refuse(LATE, FIT);

	now = 1500;
	send_event(QUEUE_EV_POD_REMOVED);
	pop();
	queue_placed(queue, &pod[WEB2], now);
	print_state("web-2 has a node");
	pop();
	queue_retry(queue, &pod[WEB2], QUEUE_CONFLICT, false, 0, now);
	print_state("web-2 met a conflict");
	refuse(WEB3, FIT);
	pop();
	queue_placed(queue, &pod[WEB2], now);
	queue_remove(queue, &pod[WEB2], now);
	print_state("web-2 is bound");
	queue_edit(queue, &pod[BATCH2], &class[1], false, now);
	print_state("batch-2 has no gate any more");
	pop();
	pop();
	refuse(WEB3, FIT);
	refuse(BATCH2, FIT);
	due();
	due();
	due();
	for (unsigned i = 0; i < PODS; i++)
		queue_remove(queue, &pod[i], now);
	for (unsigned c = 0; c < CLASSES; c++)
		queue_class_close(queue, &class[c]);
	queue_free(queue);
	t_golden("queue/a_day.txt", story);
}
