/*
 * Collectors: each puts what one part counts into a set of the table's metrics. They run
 * on the thread that owns the part, when a scrape comes, and change nothing.
 */
#ifndef COORD_METRICS_COLLECT_H
#define COORD_METRICS_COLLECT_H

#include "coord/metrics/metrics_table.h"
#include "coord/work/work.h"
#include "store/etcd/etcd.h"
#include "store/kv/metrics.h"

/* collect_sched.c: decisions, commits, the queue, the fleet. */
void collect_sched(struct metric_set *set, struct pl_span shard,
                   const struct sched *sched);

/* collect_shard.c */
void collect_work(struct metric_set *set, struct pl_span shard, const struct work *work);
/* kv: the one that the shard was opened over. */
void collect_shard(struct metric_set *set, struct pl_span id, struct shard *shard,
                   struct kv *kv);
/* A note of the shard, to be counted in a set that lives as long as the shard. */
void collect_note(struct metric_set *set, const struct shard_note *note);

/* collect_kv.c; client: who calls, "shard" or "api". */
void collect_kv(struct metric_set *set, struct pl_span client,
                const struct kv_metrics *metrics);
void collect_etcd(struct metric_set *set, struct pl_span client,
                  const struct etcd_stats *stats);

/* collect_process.c: of the whole process; from any thread. */
void collect_process(struct metric_set *set, const char *version);

#endif
