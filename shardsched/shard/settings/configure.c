/*
 * Other settings, live.
 *
 * Profiles are immutable, classes are opened by them, and the queue's order is made of
 * classes. So nothing of the old is mended: there is another *reign*, with profiles, a
 * queue and classes of its own, and the pods go over to it one by one, so many a turn,
 * each with its turn in the queue. Nothing is decided and nothing new is sent before all
 * have. What may fail comes first; a pod for which there is no memory on its way is tried
 * again like any other that could not be queued (tell_repair).
 *
 *	in the queue        taken out, and into the other, to be tried at once
 *	waits at its node   likewise: it was decided by the old profiles, and is in no
 *call in a call           stays there, loose; when it is not committed it starts anew no
 *profile for it   asked again: there may be one now
 *
 * Whoever comes meanwhile is by the last reign, and behind those who waited.
 */
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum { CACHE_BYTES = 256 << 20, REGIME_TEXT_MAX = 2 << 20 };

/* -- what is to be ----------------------------------------------------------------------
 */

static void regime_done(struct sched *sched, struct regime *regime)
{
	for (uint32_t i = 0; i < regime->weights; i++)
		strings_unref(&sched->model.strings, regime->weight[i].space);
	free(regime->weight);
	pl_buf_done(&regime->profiles);
	*regime = (struct regime){0};
}

static int by_space(const void *a, const void *b)
{
	const struct regime_weight *x = a, *y = b;

	return x->space < y->space ? -1 : x->space > y->space;
}

uint32_t regime_weight(const struct regime *regime, uint32_t space)
{
	const struct regime_weight key = {.space = space}, *at = NULL;

	if (regime->weights > 0)
		at = bsearch(&key, regime->weight, regime->weights, sizeof key, by_space);
	return at == NULL ? 0 : at->weight;
}

static enum pl_code make_weights(struct sched *sched,
                                 const struct sched_settings *settings,
                                 struct regime *out)
{
	if (settings->weights == 0)
		return PL_OK;
	out->weight = pl_calloc(settings->weights, sizeof *out->weight);
	if (out->weight == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < settings->weights; i++) {
		struct regime_weight *weight = &out->weight[i];
		enum pl_code code = strings_add(
			&sched->model.strings, settings->weight[i].space, &weight->space);

		if (code != PL_OK)
			return code;
		weight->weight = settings->weight[i].weight;
		out->weights++;
	}
	qsort(out->weight, out->weights, sizeof *out->weight, by_space);
	return PL_OK;
}

static enum pl_code make_regime(struct sched *sched,
                                const struct sched_settings *settings, struct regime *out,
                                struct pl_err *err)
{
	enum pl_code code;

	out->sort = settings->sort;
	out->fair = settings->fair;
	out->backoff_first_ms = settings->backoff_first_ms;
	out->backoff_max_ms = settings->backoff_max_ms;
	code = pl_buf_add(&out->profiles, settings->profiles);
	if (code == PL_OK)
		code = make_weights(sched, settings, out);
	return code == PL_OK ? code : pl_err_set(err, code, "keep the settings");
}

static bool is_same(const struct regime *a, const struct regime *b)
{
	if (a->sort != b->sort || a->fair != b->fair || a->weights != b->weights ||
	    a->backoff_first_ms != b->backoff_first_ms ||
	    a->backoff_max_ms != b->backoff_max_ms)
		return false;
	for (uint32_t i = 0; i < a->weights; i++)
		if (a->weight[i].space != b->weight[i].space ||
		    a->weight[i].weight != b->weight[i].weight)
			return false;
	return pl_span_eq(pl_buf_span(&a->profiles), pl_buf_span(&b->profiles));
}

static uint32_t ready_max(const struct sched *sched)
{
	return sched->opts.ready_classes == 0 ? SCHED_READY_CLASSES
	                                      : sched->opts.ready_classes;
}

struct reign *reign_new(struct sched *sched)
{
	struct reign *reign = pl_calloc(1, sizeof *reign);
	struct pool_opts pool = {.snapshot = &sched->snapshot,
	                         .classes = sched->classes,
	                         .ready_max = ready_max(sched),
	                         .extra_size = sizeof(struct class_more),
	                         .home = true,
	                         .opened = class_opened,
	                         .closing = class_closing};

	if (reign == NULL)
		return NULL;
	reign->sched = sched;
	reign->profiles.model = &sched->model;
	pl_list_init(&reign->link);
	pl_buf_init(&reign->regime.profiles, REGIME_TEXT_MAX);
	pool.profiles = &reign->profiles;
	pool.ctx = reign;
	pool_init(&reign->pool, &pool);
	return reign;
}

void reign_free(struct reign *reign)
{
	if (reign == NULL)
		return;
	pl_list_del(&reign->link);
	pool_done(&reign->pool);
	if (reign->queue != NULL)
		queue_free(reign->queue);
	profiles_drop(&reign->profiles);
	regime_done(reign->sched, &reign->regime);
	free(reign);
}

enum pl_code reign_fill(struct reign *reign, struct pl_err *err)
{
	struct sched *sched = reign->sched;
	enum pl_code code = profiles_parse(&sched->model, &plugins,
	                                   pl_buf_span(&reign->regime.profiles),
	                                   &reign->profiles, err);

	return code == PL_OK ? sched_queue_make(sched, reign, &reign->queue, err) : code;
}

/* -- from what is ------------------------------------------------------------------ */

static void begin(struct sched *sched, struct reign *next)
{
	gangs_close(sched);
	queue_follow(next->queue, sched->queue);
	pl_list_add_tail(&sched->past, &sched->reign->link);
	sched->reign = next;
	sched->queue = next->queue;
	sched->pool = &next->pool;
	sched->moving = pods_all(sched);
}

/* One that was refused for want of a profile is in no queue, like most. */
static void move_unqueued(struct sched *sched, struct sched_pod *pod)
{
	if ((pod->flags & POD_REFUSED) == 0 || pod->place != POD_IDLE)
		return;
	pod->flags &= (uint16_t)~POD_REFUSED;
	pod_settle(sched, pod);
}

static void move(struct sched *sched, struct sched_pod *pod)
{
	struct queue_turn turn = queue_turn_of(&pod->queue);

	if (pod->queue.class == NULL) {
		move_unqueued(sched, pod);
		return;
	}
	if (reign_of(pool_class_of(pod->queue.class)) == sched->reign)
		return;
	if (pod->place == POD_SENT) {
		pod_dequeue(sched, pod);
		return;
	}
	pod->attempts += pod->queue.attempts;
	pod_withdraw(sched, pod);
	sched->turn = &turn;
	pod_settle(sched, pod);
	sched->turn = NULL;
}

void configure_run(struct sched *sched)
{
	for (uint32_t i = 0; i < sched->moves && sched->moving != NULL; i++) {
		struct sched_pod *pod = sched->moving;

		sched->moving = pods_after(sched, pod);
		move(sched, pod);
	}
	if (sched->moving != NULL)
		return;
	PL_LIST_EACH (link, &sched->past)
		reign_free(PL_LIST_ITEM(link, struct reign, link));
}

void configure_forget(struct sched *sched, const struct sched_pod *pod)
{
	if (sched->moving == pod)
		sched->moving = pods_after(sched, pod);
}

static void tune(struct sched *sched, const struct sched_settings *settings)
{
	const struct sched_opts *first = &sched->first;
	size_t bytes = settings->cache_bytes != 0 ? (size_t)settings->cache_bytes
	                                          : first->cache_bytes;

	sched->opts.batch = settings->batch != 0 ? settings->batch : first->batch;
	sched->opts.inflight =
		settings->inflight != 0 ? settings->inflight : first->inflight;
	PL_ASSERT(sched->opts.batch <= SCHED_BATCH_MAX);
	PL_ASSERT(sched->opts.inflight <= SCHED_INFLIGHT_MAX);
	sched->batch = sched->opts.batch;
	classes_bound(sched->classes, bytes == 0 ? CACHE_BYTES : bytes);
}

enum pl_code sched_configure(struct sched *sched, const struct sched_settings *settings,
                             struct pl_err *err)
{
	struct reign *next = reign_new(sched);
	enum pl_code code = PL_NOMEM;
	bool same;

	if (next == NULL)
		return pl_err_set(err, code, "keep the settings");
	code = make_regime(sched, settings, &next->regime, err);
	same = code == PL_OK && is_same(&next->regime, &sched->reign->regime);
	if (code == PL_OK && !same)
		code = reign_fill(next, err);
	if (code == PL_OK)
		tune(sched, settings);
	if (code == PL_OK && !same)
		begin(sched, next);
	else
		reign_free(next);
	return code;
}
