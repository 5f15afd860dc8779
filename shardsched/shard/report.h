/* What the driver is to be told (tell.c). */
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
/* Something failed that is tried again after a while, wherever it was. */
void report_repair(struct sched *sched, const struct pl_err *err);
/* Likewise, and nobody has to know. */
void schedule_repair(struct sched *sched);
bool report_next(struct sched *sched, struct sched_action *out);
void emit_queue_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot);

#endif
