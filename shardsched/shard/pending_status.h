/* Why pods are pending, and when their states are to say so (unsched.c). */
#ifndef SHARDSCHED_SHARD_PENDING_STATUS_H
#define SHARDSCHED_SHARD_PENDING_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"

struct cycle_outcome;
struct pod_state;
struct sched;
struct sched_pod;

PL_NODISCARD enum pl_code pending_status_new(struct sched *sched, struct pl_err *err);
void pending_status_free(struct sched *sched);
/* False: it is to be tried again later, when it can be told why it waits. */
bool pending_status_has_room(const struct sched *sched, const struct sched_pod *pod);
/* Its state is to say that. False: not now. */
bool pending_status_set(struct sched *sched, struct sched_pod *pod, uint32_t reason,
                        const char *message);
/* In words, what the last cycle said. Its reason. */
uint32_t pending_status_explain(struct sched *sched, const struct cycle_outcome *outcome,
                                char *out, size_t size);
/* The cycle has found nothing for it: its reason, and, if it is time, its state. */
uint32_t pending_status_add(struct sched *sched, struct sched_pod *pod,
                            const struct cycle_outcome *outcome);
void pending_status_forget(struct sched *sched, struct sched_pod *pod);
/* No room is held for it where its state says so: if that is ours to say, it is to say it
 * no more. */
void pending_status_owe(struct sched *sched, struct sched_pod *pod);
/* What a node holds, or that it is not there, is known that was not before: somebody may
 * be owed a word for whom that could not be said. */
void pending_status_recheck(struct sched *sched);
/* What was to be told of it, if anything was: it is by whoever asks. Borrowed until
 * anything else is noted. */
void pending_status_lend(struct sched *sched, struct sched_pod *pod,
                         struct pod_state *out);
void pending_status_run(struct sched *sched);
uint64_t pending_status_deadline_ms(const struct sched *sched);

#endif
