/*
 * Other settings, live.
 *
 * Profiles are immutable, classes are opened by them, and the queue's order is made of
 * classes. So nothing of the old is mended: all pods are taken out of the queue, every
 * class is closed, and they come back by the new profiles, in the order in which they
 * were. What may fail comes first; a pod for which there is no memory on its way back is
 * tried again like any other that could not be queued (tell_repair).
 *
 *	in the queue       taken out, and back in, to be tried at once
 *	waits at its node  given back: it was decided by the old profiles, and is in no
 *call in a call          stays there, loose; when it is not committed it starts anew no
 *profile for it  asked again: there may be one now
 */
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum { CACHE_BYTES = 256 << 20 };

struct turn {
	struct sched_pod *pod;
	uint64_t order_ms, seq;
};

struct change {
	struct regime regime;
	struct profiles profiles;
	struct queue *queue;
	struct turn *turn;
	uint32_t turns;
};

/* -- what is to be ----------------------------------------------------------------------
 */

void regime_done(struct sched *sched, struct regime *regime)
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

uint32_t regime_weight(const struct sched *sched, uint32_t space)
{
	const struct regime *regime = &sched->regime;
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

	*out = (struct regime){.sort = settings->sort,
	                       .fair = settings->fair,
	                       .backoff_first_ms = settings->backoff_first_ms,
	                       .backoff_max_ms = settings->backoff_max_ms};
	pl_buf_init(&out->profiles, sched->regime.profiles.max);
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

static void change_done(struct sched *sched, struct change *change)
{
	regime_done(sched, &change->regime);
	profiles_drop(&change->profiles);
	queue_free(change->queue);
	free(change->turn);
}

static enum pl_code change_make(struct sched *sched, struct change *change,
                                struct pl_err *err)
{
	enum pl_code code = profiles_parse(&sched->model, &plugins,
	                                   pl_buf_span(&change->regime.profiles),
	                                   &change->profiles, err);

	if (code != PL_OK)
		return code;
	code = sched_queue_make(sched, &change->regime, &change->queue, err);
	if (code != PL_OK)
		return code;
	change->turn = pl_calloc(sched->pods.count + 1, sizeof *change->turn);
	if (change->turn == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the order of the pods");
	return PL_OK;
}

/* -- and from what is
 * ---------------------------------------------------------------------- */

static int by_turn(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->order_ms != y->order_ms)
		return x->order_ms < y->order_ms ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void take_out(struct sched *sched, struct change *change, struct sched_pod *pod)
{
	if (pod->queue.class == NULL)
		return;
	if (pod->place == POD_SENT) {
		pod_dequeue(sched, pod);
		return;
	}
	change->turn[change->turns++] = (struct turn){
		.pod = pod, .order_ms = pod->queue.order_ms, .seq = pod->queue.seq};
	pod->attempts += pod->queue.attempts;
	pod_withdraw(sched, pod);
}

static void swap(struct sched *sched, struct change *change)
{
	struct regime regime = sched->regime;
	struct profiles profiles = sched->profiles;
	struct queue *queue = sched->queue;

	pool_done(&sched->pool);
	queue_shut_lanes(change->queue, queue_lanes_shut(queue));
	sched->regime = change->regime;
	sched->profiles = change->profiles;
	sched->queue = change->queue;
	change->regime = regime;
	change->profiles = profiles;
	change->queue = queue;
	sched_pool_init(sched);
}

/* Those that wait first, as they waited; then those for which there was no profile. */
static void put_back(struct sched *sched, struct change *change)
{
	if (change->turns > 1)
		qsort(change->turn, change->turns, sizeof *change->turn, by_turn);
	for (uint32_t i = 0; i < change->turns; i++)
		pod_settle(sched, change->turn[i].pod);
	PL_MAP_EACH (at, &sched->pods) {
		struct sched_pod *pod = PL_CONTAINER_OF(at, struct sched_pod, by_name);

		if ((pod->flags & POD_REFUSED) == 0 || pod->place != POD_IDLE)
			continue;
		pod->flags &= (uint16_t)~POD_REFUSED;
		pod_settle(sched, pod);
	}
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
	struct change change = {.profiles = {.model = &sched->model}};
	enum pl_code code = make_regime(sched, settings, &change.regime, err);
	bool same = code == PL_OK && is_same(&change.regime, &sched->regime);

	if (code == PL_OK && !same)
		code = change_make(sched, &change, err);
	if (code == PL_OK)
		tune(sched, settings);
	if (code == PL_OK && !same) {
		PL_MAP_EACH (at, &sched->pods)
			take_out(sched, &change,
			         PL_CONTAINER_OF(at, struct sched_pod, by_name));
		gangs_close(sched);
		swap(sched, &change);
		put_back(sched, &change);
	}
	change_done(sched, &change);
	return code;
}
