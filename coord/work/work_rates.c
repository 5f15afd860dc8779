#include "coord/work/work_int.h"

/*
 * How the work goes, for the shard's record.
 *
 * The lag of the watches is measured with our own commits: how long after its answer a
 * watch shows one. One commit at a time is waited for; that it was not shown yet counts
 * as well.
 */

void rates_answered(struct work *work, const struct kv_result *result)
{
	struct work_rates *rates = &work->rates;

	if (rates->sent_rev != 0 || result->op != KV_TXN || !result->txn.succeeded ||
	    result->txn.count == 0 || result->txn.results[0].op != KV_PUT)
		return;
	/* The watch may be faster than the answer. */
	if (result->header.revision <= rates->seen_rev)
		return;
	rates->sent_rev = result->header.revision;
	rates->sent_ms = kv_now_ms(work->kv);
}

static void lag(struct work *work)
{
	uint64_t took_ms = kv_now_ms(work->kv) - work->rates.sent_ms;

	if (took_ms > work->rates.lag_ms)
		work->rates.lag_ms = took_ms;
}

void rates_seen(struct work *work, int64_t revision)
{
	if (revision > work->rates.seen_rev)
		work->rates.seen_rev = revision;
	if (work->rates.sent_rev == 0 || revision < work->rates.sent_rev)
		return;
	lag(work);
	work->rates.sent_rev = 0;
}

/* Revisions mean nothing any more. */
void rates_rewound(struct work *work)
{
	work->rates.seen_rev = work->rates.sent_rev = 0;
}

static int64_t wall_ms(const struct work *work)
{
	return work->opts.wall_ms == NULL ? 0 : work->opts.wall_ms(work->ctx);
}

struct tables {
	struct member_cause cause[CONFLICT_CAUSES];
	struct member_node node[CONFLICT_TOLD_MAX], aside[CONFLICT_TOLD_MAX];
};

_Static_assert((int)CONFLICT_CAUSES <= (int)MEMBER_CAUSES_MAX &&
                       (int)CONFLICT_TOLD_MAX <= (int)MEMBER_NODES_MAX,
               "a record has room for them");

static struct member_node node_of(const struct conflict_node *from, int64_t at_ms)
{
	return (struct member_node){.cluster = from->cluster,
	                            .name = from->name,
	                            .cause = pl_span_str(conflict_word(from->cause)),
	                            .count = from->count,
	                            .over = from->over,
	                            .at_ms = at_ms};
}

static void fill(const struct work *work, const struct conflict_summary *from,
                 struct tables *tables, struct member_work *out)
{
	int64_t now = wall_ms(work);

	for (unsigned i = 0; i < CONFLICT_CAUSES; i++)
		if (from->placements[i] != 0 || from->txns[i] != 0)
			tables->cause[out->cause_count++] =
				(struct member_cause){.word = pl_span_str(conflict_word(
							      (enum conflict_cause)i)),
			                              .placements = from->placements[i],
			                              .txns = from->txns[i]};
	for (; out->node_count < from->nodes; out->node_count++)
		tables->node[out->node_count] =
			node_of(&from->node[out->node_count],
		                now - (int64_t)from->node[out->node_count].ago_ms);
	for (; out->aside_count < from->asides; out->aside_count++)
		tables->aside[out->aside_count] =
			node_of(&from->aside[out->aside_count],
		                now + (int64_t)from->aside[out->aside_count].left_ms);
	out->causes = tables->cause;
	out->nodes = tables->node;
	out->asides = tables->aside;
}

static uint64_t pending(const struct work *work)
{
	struct queue_stats stats;
	uint64_t pods = 0;

	sched_queue_stats(work->sched, &stats);
	for (unsigned i = 0; i < QUEUE_PLACES; i++)
		pods += i == QUEUE_OUT ? 0 : stats.pods[i];
	return pods;
}

/* Tenths will do. */
static double rate(uint64_t now, uint64_t before, uint64_t took_ms)
{
	uint64_t tenths = took_ms == 0 ? 0 : (now - before) * 10000 / took_ms;

	return (double)tenths / 10;
}

void rates_tell(struct work *work)
{
	struct work_rates *rates = &work->rates;
	uint64_t now_ms = kv_now_ms(work->kv), took_ms = now_ms - rates->told_ms;
	struct conflict_summary summary;
	struct tables tables;
	struct sched_figures now;
	struct member_work told = {.known = true};

	if (work->sched == NULL || work->shard == NULL)
		return;
	sched_figures(work->sched, &now);
	sched_conflicts(work->sched, &summary);
	if (rates->sent_rev != 0)
		lag(work);
	told.placed = now.placed;
	told.conflicts = now.conflicts;
	told.txns = now.txns;
	told.txns_failed = now.txns_failed;
	told.pending = pending(work);
	told.placed_per_s = rate(now.placed, rates->told.placed, took_ms);
	told.conflicts_per_s = rate(now.conflicts, rates->told.conflicts, took_ms);
	told.lag_ms = rates->lag_ms;
	fill(work, &summary, &tables, &told);
	shard_work(work->shard, &told);
	rates->told = now;
	rates->told_ms = now_ms;
	rates->lag_ms = 0;
}
