/* What the driver is to be told (tell.c). */
#ifndef SHARDSCHED_SHARD_TELL_H
#define SHARDSCHED_SHARD_TELL_H

#include "shardsched/queue/queue.h"
#include "shardsched/shard/sched.h"

struct keys_id;

void tell_garbled(struct sched *sched, const struct keys_id *id,
                  const struct pl_err *err);
void tell_trouble(struct sched *sched, const struct pl_err *err);
void tell_relist(struct sched *sched, uint32_t partition, enum sched_part part);
void tell_anew(struct sched *sched, enum sched_view view);
/* Something failed that is tried again after a while, wherever it was. */
void tell_repair(struct sched *sched, const struct pl_err *err);
/* Likewise, and nobody has to know. */
void repair_later(struct sched *sched);
bool tell_next(struct sched *sched, struct sched_action *out);
void tell_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot);

#endif
