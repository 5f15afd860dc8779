/* Placement: pods from the queue to nodes (decide.c), nodes into txns (commit.c), and
 * answers (answer.c). */
#ifndef SHARDSCHED_SHARD_TXN_COMMIT_H
#define SHARDSCHED_SHARD_TXN_COMMIT_H

#include "shardsched/shard/inner.h"

/* -- decide.c, commit.c, answer.c -------------------------------------------------- */

/* Decides at most `work` pods. Gives how many it tried. */
unsigned decide_run(struct sched *sched, unsigned work);
bool decide_is_ready(const struct sched *sched);
/* Adds a ready node to the txn, with at most `room` of the pods that wait there. PL_BUSY:
 * the txn is full. */
PL_NODISCARD enum pl_code commit_add(struct sched *sched, struct shard_txn *txn,
                                     struct sched_node *node, uint32_t room);
/* The attempt failed, not the pod: it is tried again. */
void decide_fault(struct sched *sched, struct sched_pod *pod, const struct pl_err *err);
/* Fills err after a cycle that ended with CYCLE_ERROR: which plugin failed or took too
 * long, in the decision about the pod or gang `key`. An overrun is counted. */
void decide_cycle_error(struct sched *sched, const char *what, const uint32_t key[2],
                        const struct cycle_outcome *outcome, struct pl_err *err);
/* The pod, popped from the queue, is to run on the node. */
void decide_assume(struct sched *sched, struct sched_pod *pod, struct sched_node *node);
void commit_run(struct sched *sched);
/* A commit could be begun. */
bool commit_is_ready(const struct sched *sched);
/* Counts of commit_put: all pods that wait at the node; those of the batch. */
#define COMMIT_ALL UINT32_MAX
#define COMMIT_BATCHED (UINT32_MAX - 1)
enum { COMMIT_POD_ENTRIES = 1, COMMIT_NODE_ENTRIES = 2 };
/* Puts so many of the pods that wait at the node, and its alloc. PL_BUSY: they do not
 * fit; some entries may have been added, to be taken back by commit_undo. */
PL_NODISCARD enum pl_code commit_put(struct sched *sched, struct shard_txn *txn,
                                     struct sched_node *node, uint32_t count,
                                     struct pl_err *err);
/* Takes entries back until `entries` are left; the builder is the caller's to restore. */
void commit_undo(struct sched *sched, struct shard_txn *txn, uint32_t entries);
/* The entries from `from` on are complete: their pods and nodes belong to the txn now. */
void commit_seal(struct sched *sched, struct shard_txn *txn, uint32_t from);

#endif
