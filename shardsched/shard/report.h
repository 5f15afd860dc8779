/* Reports to the driver, beside txns (report.c): malformed keys, troubles, lists that
 * have to begin again; and events for the queue.
 *
 * Invariant: a report never fails. What does not fit is counted only; lists that have to
 * begin again are flags and always fit. */
#ifndef SHARDSCHED_SHARD_REPORT_H
#define SHARDSCHED_SHARD_REPORT_H

#include "shardsched/queue/queue.h"
#include "shardsched/shard/sched.h"

struct keys_id;

void report_malformed(struct sched *sched, const struct keys_id *id,
                      const struct pl_err *err);
void report_trouble(struct sched *sched, const struct pl_err *err);
void report_relist(struct sched *sched, uint32_t partition, enum sched_part part);
void report_relist_view(struct sched *sched, enum sched_view view);
/* Reports the trouble; what failed is tried again by the repair, wherever it was. */
void report_repair(struct sched *sched, const struct pl_err *err);
/* Schedules the repair without a report. */
void schedule_repair(struct sched *sched);
bool report_next(struct sched *sched, struct sched_action *out);
void emit_queue_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot);

#endif
