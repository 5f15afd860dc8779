#include "coord/api/verbs/pod_change_queue.h"

#include <stdlib.h>

#include "store/base/alloc.h"

struct pod_change_run {
	struct pod_change_queue *queue;
	bool busy;
	struct pod_changes *changes;
	uint32_t count;
	struct pod_change change[POD_BATCH_MAX];
	struct pending_change *pending[POD_BATCH_MAX]; /* NULL: reported */
};

struct pod_change_queue {
	struct pod_change_queue_opts opts;
	struct pl_list waiting;
	struct pl_timer kick;
	struct pod_change_run run[POD_CHANGE_RUNS];
};

static void kick(struct pod_change_queue *queue)
{
	if (!pl_timer_is_set(&queue->kick))
		pl_timer_set(&queue->kick, kv_now_ms(queue->opts.service->kv));
}

static bool is_same_pod(const struct pod_change *a, const struct pod_change *b)
{
	return pl_span_eq(a->pod.name, b->pod.name) &&
	       pl_span_eq(a->pod.namespace, b->pod.namespace);
}

/* Whether a change of the pod is under way. */
static bool is_under_way(const struct pod_change_queue *queue,
                         const struct pod_change *change)
{
	for (unsigned i = 0; i < POD_CHANGE_RUNS; i++) {
		const struct pod_change_run *run = &queue->run[i];

		for (uint32_t n = 0; n < run->count; n++)
			if (run->pending[n] != NULL &&
			    is_same_pod(&run->change[n], change))
				return true;
	}
	return false;
}

static void on_report(void *ctx, uint32_t at, const struct pod_change_result *result)
{
	struct pod_change_run *run = ctx;
	struct pending_change *pending = run->pending[at];

	PL_ASSERT(at < run->count && pending != NULL);
	run->pending[at] = NULL;
	pending->done(pending, result, NULL);
}

static bool on_know(void *ctx, struct pl_span cluster, struct pl_span name,
                    struct pod_value *node)
{
	const struct pod_change_run *run = ctx;
	const struct pod_change_queue_opts *opts = &run->queue->opts;

	return opts->know(opts->ctx, cluster, name, node);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct pod_change_run *run = ctx;
	struct pod_change_queue *queue = run->queue;
	struct pl_err lost = {0};

	if (err == NULL)
		(void)pl_err_set(&lost, PL_UNKNOWN, "the change was not reported");
	for (uint32_t i = 0; i < run->count; i++)
		if (run->pending[i] != NULL)
			run->pending[i]->done(run->pending[i], NULL,
			                      err != NULL ? err : &lost);
	run->count = 0;
	run->busy = false;
	kick(queue);
}

static void fill_run(struct pod_change_run *run)
{
	struct pod_change_queue *queue = run->queue;

	PL_LIST_EACH (link, &queue->waiting) {
		struct pending_change *pending =
			PL_LIST_ITEM(link, struct pending_change, link);

		if (run->count == POD_BATCH_MAX)
			return;
		if (is_under_way(queue, &pending->change))
			continue;
		pl_list_del(&pending->link);
		run->change[run->count] = pending->change;
		run->pending[run->count++] = pending;
	}
}

static void start_run(struct pod_change_run *run)
{
	struct pod_change_queue *queue = run->queue;
	struct pod_changes_opts opts = {.change = run->change,
	                                .count = run->count,
	                                .who = queue->opts.service->user,
	                                .wall_ms = queue->opts.wall_ms(queue->opts.ctx),
	                                .know = on_know,
	                                .report = on_report,
	                                .done = on_done,
	                                .ctx = run};
	struct pl_err err = {0};

	run->busy = true;
	if (pod_changes_start(queue->opts.service, &opts, &run->changes, &err) != PL_OK)
		on_done(run, &err);
}

static void on_kick(void *ctx)
{
	struct pod_change_queue *queue = ctx;

	for (unsigned i = 0; i < POD_CHANGE_RUNS; i++) {
		struct pod_change_run *run = &queue->run[i];

		if (run->busy)
			continue;
		fill_run(run);
		if (run->count == 0)
			return;
		start_run(run);
	}
}

enum pl_code pod_change_queue_open(const struct pod_change_queue_opts *opts,
                                   struct pod_change_queue **out, struct pl_err *err)
{
	struct pod_change_queue *queue = pl_calloc(1, sizeof *queue);

	if (queue == NULL)
		return pl_err_set(err, PL_NOMEM, "a queue of pod changes");
	queue->opts = *opts;
	pl_list_init(&queue->waiting);
	for (unsigned i = 0; i < POD_CHANGE_RUNS; i++)
		queue->run[i].queue = queue;
	if (pl_timer_init(&queue->kick, kv_timers(opts->service->kv), on_kick, queue) !=
	    PL_OK) {
		free(queue);
		return pl_err_set(err, PL_NOMEM, "a queue of pod changes");
	}
	*out = queue;
	return PL_OK;
}

void pod_change_queue_free(struct pod_change_queue *queue)
{
	if (queue == NULL)
		return;
	PL_ASSERT(pl_list_empty(&queue->waiting));
	pl_timer_done(&queue->kick);
	free(queue);
}

void pod_change_queue_add(struct pod_change_queue *queue, struct pending_change *pending)
{
	pl_list_init(&pending->link);
	pl_list_add_tail(&queue->waiting, &pending->link);
	kick(queue);
}
