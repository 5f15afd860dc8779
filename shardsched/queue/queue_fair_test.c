/* Namespaces take turns by weight, whichever of them fills the queue. */
#include "shardsched/queue/queue.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

enum { SPACES = 6, PODS = 6000 };

static struct queue *queue;
static struct queue_class class[SPACES];
static struct queue_pod pod[PODS];
static unsigned added;
static uint64_t now;

static void begin(const uint32_t weight[SPACES])
{
	struct queue_opts opts = queue_opts_for(QUEUE_BY_SLA);

	opts.fair = true;
	T_OK(queue_new(&opts, &queue, NULL), NULL);
	for (uint32_t s = 0; s < SPACES; s++)
		T_OK(queue_class_open(
			     queue, &class [s],
			     &(struct queue_class_opts) {
				     .namespace_id = s + 1, .level = QUEUE_GOLD,
				     .weight = weight[s]
			     },
			     NULL),
		     NULL);
}

static void end(void)
{
	queue_check(queue);
	for (unsigned i = 0; i < added; i++)
		queue_remove(queue, &pod[i], now);
	for (unsigned s = 0; s < SPACES; s++)
		queue_class_close(queue, &class[s]);
	queue_free(queue);
}

static void add(unsigned namespace, unsigned count)
{
	for (unsigned i = 0; i < count; i++, added++)
		queue_add(queue, &pod[added], &class[namespace], now, now);
}

static unsigned pop(void)
{
	struct queue_pod *next = queue_pop(queue, now);
	unsigned namespace;

	T_TRUE(next != NULL);
	namespace = (unsigned)(next->class - class);
	queue_placed(queue, next, now);
	queue_remove(queue, next, now);
	return namespace;
}

/* A namespace with a thousand pods does not delay one with ten. */
T_CASE(large_namespace_delays_no_other)
{
	begin((const uint32_t[SPACES]){1, 1, 1, 1, 1, 1});
	add(0, 1000);
	for (unsigned i = 0; i < 100; i++)
		T_EQ(pop(), 0);
	add(1, 10);
	for (unsigned i = 0; i < 20; i++)
		(void)pop();
	T_EQ(class[1].pods, 0);
	end();
}

T_CASE(turns_follow_weights)
{
	static const uint32_t weight[SPACES] = {1, 2, 3, 10, 100, 4};
	unsigned served[SPACES] = {0};

	begin(weight);
	for (unsigned s = 0; s < SPACES; s++)
		add(s, 1000);
	for (unsigned i = 0; i < 1200; i++) {
		served[pop()]++;
		for (unsigned s = 0; s < SPACES && i < 1100; s++)
			T_NEAR(served[s], (double)i * weight[s] / 120, 4);
	}
	end();
}

/* A namespace that had nothing to try saves up no turns, and deleted pods are not
 * charged. */
T_CASE(idle_namespace_saves_no_turns)
{
	unsigned first = 0;

	begin((const uint32_t[SPACES]){1, 1, 1, 1, 1, 1});
	add(0, 500);
	for (unsigned i = 0; i < 300; i++)
		(void)pop();
	add(1, 1000);
	first = added - 1000;
	for (unsigned i = 0; i < 100; i++)
		T_EQ(pop() == 1, i % 2 == 0);
	for (unsigned i = first + 50; i < first + 990; i++)
		queue_remove(queue, &pod[i], now);
	for (unsigned i = 0; i < 20; i++)
		(void)pop();
	T_EQ(class[1].pods, 0);
	end();
}

/* A namespace with active pods is served at least once in as many pops as the weights
 * say. */
T_CASE(no_namespace_starves)
{
	static const uint32_t weight[SPACES] = {1, 5, 5, 5, 5, 10};
	unsigned waited[SPACES] = {0}, left[SPACES] = {0};
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	begin(weight);
	for (unsigned i = 0; i < 5000; i++) {
		unsigned namespace = (unsigned)pl_rng_below(&rng, SPACES), served;

		if (added < PODS - 8) {
			unsigned more = (unsigned)pl_rng_below(&rng, 8);

			if (left[namespace] == 0)
				waited[namespace] = 0;
			left[namespace] += more;
			add(namespace, more);
		}
		if (queue_peek(queue) == NULL)
			continue;
		served = pop();
		left[served]--;
		waited[served] = 0;
		for (unsigned s = 0; s < SPACES; s++)
			T_TRUE(left[s] == 0 ||
			       ++waited[s] <= 31 / weight[s] + 2 * SPACES);
	}
	end();
}

/* A position is exactly the number of pops before the pod's own. */
T_CASE(positions_are_exact)
{
	static const uint32_t weight[SPACES] = {1, 2, 3, 7, 50, 4};
	static unsigned want[PODS];
	struct queue_pod *next;
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	begin(weight);
	for (unsigned i = 0; i < 300; i++) {
		add((unsigned)pl_rng_below(&rng, SPACES), 1);
		if (pl_rng_chance(&rng, 1, 3))
			(void)pop();
	}
	queue_weigh(queue, 3, 20);
	for (unsigned i = 0; i < added; i++)
		want[i] = queue_where(queue, &pod[i]).position;
	for (unsigned i = 0; (next = queue_peek(queue)) != NULL; i++) {
		T_EQ(want[next - pod], i);
		T_EQ(queue_where(queue, next).position, 0);
		(void)pop();
	}
	end();
}

/* Turns are fair inside a band only. */
T_CASE(bands_come_before_fairness)
{
	struct queue_class silver, urgent;

	begin((const uint32_t[SPACES]){1, 1, 1, 1, 1, 1});
	T_OK(queue_class_open(queue, &silver,
	                      &(struct queue_class_opts){.namespace_id = 9,
	                                                 .level = QUEUE_SILVER,
	                                                 .priority = 99},
	                      NULL),
	     NULL);
	T_OK(queue_class_open(queue, &urgent,
	                      &(struct queue_class_opts){.namespace_id = 1,
	                                                 .level = QUEUE_GOLD,
	                                                 .priority = 1},
	                      NULL),
	     NULL);
	queue_add(queue, &pod[added++], &silver, now, now);
	add(1, 5);
	for (unsigned i = 0; i < 5; i++)
		queue_add(queue, &pod[added++], &urgent, now, now);
	T_EQ(queue_where(queue, &pod[0]).position, 10);
	for (unsigned i = 0; i < 5; i++)
		T_TRUE(queue_pop(queue, now)->class == &urgent);
	for (unsigned i = 0; i < 5; i++)
		T_TRUE(queue_pop(queue, now)->class == &class[1]);
	T_TRUE(queue_pop(queue, now) == &pod[0]);
	for (unsigned i = 0; i < added; i++)
		queue_remove(queue, &pod[i], now);
	queue_class_close(queue, &silver);
	queue_class_close(queue, &urgent);
	end();
}
