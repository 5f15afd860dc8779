/* The status of pending pods: why a pod waits, written into its state for people to read
 * (pending_status.c).
 *
 * Invariant: a pod has at most one status that waits to be written, and it is dropped
 * when the pod is forgotten or when another txn writes the pod's state. */
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
/* False: no status can be added for the pod now, and it has none yet: it is tried again
 * later. */
bool pending_status_has_room(const struct sched *sched, const struct sched_pod *pod);
/* The pod's state is to say that. False: not now. */
bool pending_status_set(struct sched *sched, struct sched_pod *pod, uint32_t reason,
                        const char *message);
/* Prints what the last cycle said of all nodes. Gives its first reason. */
uint32_t pending_status_explain(struct sched *sched, const struct cycle_outcome *outcome,
                                char *out, size_t size);
/* The cycle found no node for the pod. Gives the reason; the state will say it if it is
 * time. */
uint32_t pending_status_add(struct sched *sched, struct sched_pod *pod,
                            const struct cycle_outcome *outcome);
void pending_status_forget(struct sched *sched, struct sched_pod *pod);
/* The pod's state says that room is reserved for it, and none is: if the shard owns the
 * pod, its state is to be written without. */
void pending_status_owe(struct sched *sched, struct sched_pod *pod);
/* The reservations of a node became known, or that a node is gone: pods for which that was
 * not known are looked at again. */
void pending_status_recheck(struct sched *sched);
/* Adds the pod's waiting status to a state that another txn writes. Borrowed until any
 * status is added. */
void pending_status_lend(struct sched *sched, struct sched_pod *pod,
                         struct pod_state *out);
void pending_status_run(struct sched *sched);
uint64_t pending_status_deadline_ms(const struct sched *sched);

#endif
