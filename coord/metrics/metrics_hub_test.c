/* Threads that hand over their metrics, and threads that do not. */
#include <stdatomic.h>

#include "coord/metrics/metrics_hub.h"
#include "tests/harness/t.h"

static struct metrics_hub hub;

struct fake_source {
	struct metrics_source source;
	unsigned woken;
};

static void on_wake(void *ctx)
{
	struct fake_source *fake = ctx;

	fake->woken++;
}

static void on_ready(void *ctx)
{
	unsigned *told = ctx;

	(*told)++;
}

static void join(struct fake_source *fake)
{
	fake->source.wake = on_wake;
	fake->source.ctx = fake;
	metrics_source_join(&hub, &fake->source);
}

static void answer(struct fake_source *fake, double bound)
{
	struct metric_set *set;
	uint64_t question;

	T_TRUE(metrics_source_is_asked(&fake->source, &question));
	T_EQ(metrics_set_new(&set, NULL), PL_OK);
	metric_add(set, M_PODS_BOUND, NULL, bound);
	metrics_source_answer(&fake->source, question, set);
}

static struct metrics_hub_count merge(uint64_t question, double *bound)
{
	struct metrics_hub_count count;
	struct metric_set *set;
	const struct metric_cell *cell;

	T_EQ(metrics_set_new(&set, NULL), PL_OK);
	count = metrics_hub_merge(&hub, question, set);
	cell = metric_set_next(set, M_PODS_BOUND, NULL);
	*bound = cell == NULL ? -1 : cell->value;
	metric_set_free(set);
	return count;
}

T_CASE(answers_of_all_sources_are_merged)
{
	struct fake_source a = {0}, b = {0};
	struct metrics_hub_count count;
	uint64_t question;
	double bound;

	T_EQ(metrics_hub_init(&hub, NULL), PL_OK);
	join(&a);
	join(&b);
	T_TRUE(!metrics_source_is_asked(&a.source, &question));
	question = metrics_hub_ask(&hub);
	T_EQ(a.woken, 1);
	T_EQ(b.woken, 1);
	answer(&a, 3);
	T_TRUE(!metrics_hub_is_answered(&hub, question));
	answer(&b, 4);
	T_TRUE(metrics_hub_is_answered(&hub, question));
	count = merge(question, &bound);
	T_EQ(count.answered, 2);
	T_EQ(count.missing, 0);
	T_NEAR(bound, 7, 0);
	metrics_source_leave(&a.source);
	metrics_source_leave(&b.source);
	metrics_hub_done(&hub);
}

T_CASE(a_thread_that_is_stuck_is_left_out_and_counted)
{
	struct fake_source a = {0}, stuck = {0};
	struct metrics_hub_count count;
	uint64_t question;
	double bound;

	T_EQ(metrics_hub_init(&hub, NULL), PL_OK);
	join(&a);
	join(&stuck);
	(void)metrics_hub_ask(&hub);
	answer(&a, 3);
	answer(&stuck, 4);
	/* An answer to an older question is not taken for the present. */
	question = metrics_hub_ask(&hub);
	answer(&a, 5);
	count = merge(question, &bound);
	T_EQ(count.answered, 1);
	T_EQ(count.missing, 1);
	T_NEAR(bound, 5, 0);
	metrics_source_leave(&a.source);
	metrics_source_leave(&stuck.source);
	metrics_hub_done(&hub);
}

T_CASE(a_thread_that_ends_is_not_waited_for)
{
	struct fake_source a = {0}, b = {0}, late = {0};
	struct metrics_listener listener = {.ready = on_ready};
	unsigned told = 0;
	uint64_t question;
	double bound;

	T_EQ(metrics_hub_init(&hub, NULL), PL_OK);
	listener.ctx = &told;
	metrics_hub_listen(&hub, &listener);
	join(&a);
	join(&b);
	question = metrics_hub_ask(&hub);
	answer(&a, 3);
	T_EQ(told, 1);
	metrics_source_leave(&b.source);
	T_EQ(told, 2);
	join(&late); /* the source was not asked */
	T_TRUE(metrics_hub_is_answered(&hub, question));
	T_EQ(merge(question, &bound).answered, 1);
	metrics_source_leave(&a.source);
	metrics_source_leave(&late.source);
	metrics_source_leave(&b.source); /* twice */
	metrics_hub_unlisten(&hub, &listener);
	metrics_hub_done(&hub);
}

/* -- real threads ------------------------------------------------------------------------ */

enum { THREADS = 4, QUESTIONS = 300 };

struct real_source {
	struct metrics_source source;
	uv_thread_t thread;
	uv_sem_t woken;
	_Atomic bool stop;
	uint64_t answers;
};

static void on_real_wake(void *ctx)
{
	uv_sem_post(&((struct real_source *)ctx)->woken);
}

static void answer_all(void *ctx)
{
	struct real_source *real = ctx;

	while (!atomic_load(&real->stop)) {
		struct metric_set *set;
		uint64_t question;

		uv_sem_wait(&real->woken);
		if (!metrics_source_is_asked(&real->source, &question))
			continue;
		T_EQ(metrics_set_new(&set, NULL), PL_OK);
		real->answers++;
		metric_add(set, M_PODS_BOUND, NULL, (double)real->answers);
		metrics_source_answer(&real->source, question, set);
	}
	metrics_source_leave(&real->source);
}

static void on_told(void *ctx)
{
	uv_sem_post(ctx);
}

/* Threads answer, and end one after the other, while others are merged. */
T_CASE(threads_answer_and_end_at_any_time)
{
	static struct real_source real[THREADS];
	struct metrics_listener listener = {.ready = on_told};
	unsigned left = THREADS;
	uv_sem_t told;
	double bound;

	T_EQ(metrics_hub_init(&hub, NULL), PL_OK);
	T_EQ(uv_sem_init(&told, 0), 0);
	listener.ctx = &told;
	metrics_hub_listen(&hub, &listener);
	for (unsigned i = 0; i < THREADS; i++) {
		real[i].source.wake = on_real_wake;
		real[i].source.ctx = &real[i];
		T_EQ(uv_sem_init(&real[i].woken, 0), 0);
		metrics_source_join(&hub, &real[i].source);
		T_EQ(uv_thread_create(&real[i].thread, answer_all, &real[i]), 0);
	}
	for (unsigned i = 1; i <= QUESTIONS; i++) {
		uint64_t question = metrics_hub_ask(&hub);

		while (!metrics_hub_is_answered(&hub, question))
			uv_sem_wait(&told);
		T_EQ(merge(question, &bound).missing, 0);
		if (i % (QUESTIONS / THREADS) == 0) {
			struct real_source *ends = &real[--left];

			atomic_store(&ends->stop, true);
			uv_sem_post(&ends->woken);
		}
	}
	for (unsigned i = 0; i < THREADS; i++) {
		T_EQ(uv_thread_join(&real[i].thread), 0);
		T_TRUE(real[i].answers > 0);
		uv_sem_destroy(&real[i].woken);
	}
	metrics_hub_unlisten(&hub, &listener);
	uv_sem_destroy(&told);
	metrics_hub_done(&hub);
}

T_CASE(a_source_without_memory_is_missing)
{
	struct fake_source a = {0};
	uint64_t question;
	double bound;

	T_EQ(metrics_hub_init(&hub, NULL), PL_OK);
	join(&a);
	question = metrics_hub_ask(&hub);
	metrics_source_answer(&a.source, question, NULL);
	T_TRUE(metrics_hub_is_answered(&hub, question));
	T_EQ(merge(question, &bound).missing, 1);
	metrics_source_leave(&a.source);
	metrics_hub_done(&hub);
}
