#include "coord/daemon/worker.h"
#include "coord/metrics/collect.h"

/* The metrics of a worker: filled on its thread, when the hub asks. Without memory for
 * cells its notes are not counted. */

static struct pl_span id_of(const struct worker *worker)
{
	return pl_span_str(worker->id);
}

/* From any thread. */
static void on_asked(void *ctx)
{
	worker_wake(ctx);
}

void worker_metrics_open(struct worker *worker)
{
	(void)!metrics_set_new(&worker->cells, NULL);
	worker->source.wake = on_asked;
	worker->source.ctx = worker;
	metrics_source_join(worker->hub, &worker->source);
}

void worker_metrics_close(struct worker *worker)
{
	metrics_source_leave(&worker->source);
	metric_set_free(PL_STEAL(worker->cells));
}

void worker_metrics_note(struct worker *worker, const struct shard_note *note)
{
	if (worker->cells != NULL)
		collect_note(worker->cells, note);
}

static void fill(struct worker *worker, struct metric_set *set)
{
	struct pl_span client = PL_SPAN_LIT("shard");

	if (worker->cells != NULL)
		metric_set_merge(set, worker->cells);
	loop_lag_collect(&worker->lag, id_of(worker), set);
	if (worker->measured != NULL) {
		struct etcd_stats stats = etcd_stats(worker->etcd);

		collect_kv(set, client, kv_metrics_of(worker->measured));
		collect_etcd(set, client, &stats);
	}
	if (worker->shard != NULL)
		collect_shard(set, id_of(worker), worker->shard, worker->kv);
	if (worker->work != NULL)
		collect_work(set, id_of(worker), worker->work);
}

void worker_metrics_answer(struct worker *worker)
{
	struct metric_set *set = NULL;
	uint64_t question;

	if (!metrics_source_is_asked(&worker->source, &question))
		return;
	if (metrics_set_new(&set, NULL) == PL_OK)
		fill(worker, set);
	metrics_source_answer(&worker->source, question, set);
}
