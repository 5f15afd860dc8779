#include "coord/work/work_int.h"

/*
 * The state of the work, for the shard's record.
 *
 * The lag of the watches is measured with the shard's own commits: the time from the
 * answer until a watch shows the commit. One commit at a time is waited for; a commit
 * that has not been shown yet counts too.
 */

/* The newest revision that an answer has shown, and the newest that a watch has. */
static void note_revision(struct work *work, int64_t revision)
{
	if (revision > work->rates.newest_rev)
		work->rates.newest_rev = revision;
}

void work_metrics(const struct work *work, struct work_metrics *out)
{
	const struct work_rates *rates = &work->rates;

	*out = rates->metrics;
	out->lag_revisions = (uint64_t)(rates->newest_rev - rates->progress_rev);
}

void rates_progress(struct work *work, int64_t revision)
{
	if (revision > work->rates.progress_rev)
		work->rates.progress_rev = revision;
	note_revision(work, revision);
}

void rates_answered(struct work *work, const struct kv_result *result)
{
	struct work_rates *rates = &work->rates;

	note_revision(work, result->header.revision);
	if (rates->sent_rev != 0 || result->op != KV_TXN || !result->txn.succeeded ||
	    result->txn.count == 0 || result->txn.results[0].op != KV_PUT)
		return;
	/* The watch may be faster than the answer. */
	if (result->header.revision <= rates->seen_rev)
		return;
	rates->sent_rev = result->header.revision;
	rates->sent_ms = kv_now_ms(work->kv);
}

static void note_lag(struct work *work)
{
	uint64_t took_ms = kv_now_ms(work->kv) - work->rates.sent_ms;

	if (took_ms > work->rates.lag_ms)
		work->rates.lag_ms = took_ms;
}

void rates_seen(struct work *work, int64_t revision)
{
	if (revision > work->rates.seen_rev)
		work->rates.seen_rev = revision;
	rates_progress(work, revision);
	if (work->rates.sent_rev == 0 || revision < work->rates.sent_rev)
		return;
	note_lag(work);
	histogram_add(&work->rates.metrics.lag_ms,
	              kv_now_ms(work->kv) - work->rates.sent_ms);
	work->rates.sent_rev = 0;
}

/* Revisions start again. */
void rates_rewound(struct work *work)
{
	work->rates.seen_rev = work->rates.sent_rev = 0;
	work->rates.progress_rev = work->rates.newest_rev = 0;
}

static int64_t wall_ms(const struct work *work)
{
	return work->opts.wall_ms == NULL ? 0 : work->opts.wall_ms(work->ctx);
}

struct record_arrays {
	struct membership_cause cause[CONFLICT_CAUSES];
	struct membership_node node[CONFLICT_SUMMARY_MAX], aside[CONFLICT_SUMMARY_MAX];
};

_Static_assert((int)CONFLICT_CAUSES <= (int)MEMBERSHIP_CAUSES_MAX &&
                       (int)CONFLICT_SUMMARY_MAX <= (int)MEMBERSHIP_NODES_MAX,
               "a record has room for them");

static struct membership_node node_of(const struct conflict_node *from, int64_t at_ms)
{
	return (struct membership_node){
		.cluster = from->cluster,
		.name = from->name,
		.cause = pl_span_str(conflict_cause_name(from->cause)),
		.count = from->count,
		.over = from->over,
		.at_ms = at_ms};
}

static void fill_record(const struct work *work, const struct conflict_summary *from,
                        struct record_arrays *arrays, struct membership_work *out)
{
	int64_t now = wall_ms(work);

	for (unsigned i = 0; i < CONFLICT_CAUSES; i++)
		if (from->placements[i] != 0 || from->txns[i] != 0)
			arrays->cause[out->cause_count++] = (struct membership_cause){
				.word = pl_span_str(
					conflict_cause_name((enum conflict_cause)i)),
				.placements = from->placements[i],
				.txns = from->txns[i]};
	for (; out->node_count < from->nodes; out->node_count++)
		arrays->node[out->node_count] =
			node_of(&from->node[out->node_count],
		                now - (int64_t)from->node[out->node_count].ago_ms);
	for (; out->aside_count < from->excluded_count; out->aside_count++)
		arrays->aside[out->aside_count] =
			node_of(&from->excluded[out->aside_count],
		                now + (int64_t)from->excluded[out->aside_count].left_ms);
	out->causes = arrays->cause;
	out->nodes = arrays->node;
	out->asides = arrays->aside;
}

static uint64_t pending_pods(const struct work *work)
{
	struct queue_stats stats;
	uint64_t pods = 0;

	sched_queue_stats(work->sched, &stats);
	for (unsigned i = 0; i < QUEUE_PLACES; i++)
		pods += i == QUEUE_OUT ? 0 : stats.pods[i];
	return pods;
}

/* Rounded to tenths. */
static double rate_per_s(uint64_t now, uint64_t before, uint64_t took_ms)
{
	uint64_t tenths = took_ms == 0 ? 0 : (now - before) * 10000 / took_ms;

	return (double)tenths / 10;
}

void rates_report(struct work *work)
{
	struct work_rates *rates = &work->rates;
	uint64_t now_ms = kv_now_ms(work->kv), took_ms = now_ms - rates->reported_ms;
	struct conflict_summary summary;
	struct record_arrays arrays;
	struct sched_figures now;
	struct membership_work reported = {.known = true};

	if (work->sched == NULL || work->shard == NULL)
		return;
	sched_figures(work->sched, &now);
	sched_conflicts(work->sched, &summary);
	if (rates->sent_rev != 0)
		note_lag(work);
	reported.placed = now.placed;
	reported.conflicts = now.conflicts;
	reported.txns = now.txns;
	reported.txns_failed = now.txns_failed;
	reported.pending = pending_pods(work);
	reported.placed_per_s = rate_per_s(now.placed, rates->reported.placed, took_ms);
	reported.conflicts_per_s =
		rate_per_s(now.conflicts, rates->reported.conflicts, took_ms);
	reported.lag_ms = rates->lag_ms;
	fill_record(work, &summary, &arrays, &reported);
	shard_work(work->shard, &reported);
	rates->reported = now;
	rates->reported_ms = now_ms;
	rates->lag_ms = 0;
}
