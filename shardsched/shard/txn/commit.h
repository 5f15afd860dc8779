/* Pods from the queue to nodes (decide.c), nodes into calls, what became of them. */
#ifndef SHARDSCHED_SHARD_TXN_COMMIT_H
#define SHARDSCHED_SHARD_TXN_COMMIT_H

#include "shardsched/shard/inner.h"

/* -- decide.c, commit.c, answer.c ---------------------------------------- */

/* At most so many; how many it tried. */
unsigned decide_run(struct sched *sched, unsigned work);
bool decide_is_ready(const struct sched *sched);
/* A node that is ready, with at most so many that wait there. PL_BUSY: there is no room.
 */
PL_NODISCARD enum pl_code commit_add(struct sched *sched, struct shard_txn *txn,
                                     struct sched_node *node, uint32_t room);
/* The attempt failed, not the pod. */
void decide_fault(struct sched *sched, struct sched_pod *pod, const struct pl_err *err);
/* Fills err after a cycle that ended with CYCLE_ERROR: which plugin failed or took too
 * long, in the decision about that pod or gang. The overrun is counted. */
void decide_cycle_error(struct sched *sched, const char *what, const uint32_t key[2],
                        const struct cycle_outcome *outcome, struct pl_err *err);
/* The pod, popped, is to run on that node. */
void decide_assume(struct sched *sched, struct sched_pod *pod, struct sched_node *node);
void commit_run(struct sched *sched);
/* A commit could be begun. */
bool commit_is_ready(const struct sched *sched);
/* Rather than a number: all that wait there, or those of the bundle. */
#define COMMIT_ALL UINT32_MAX
#define COMMIT_BATCHED (UINT32_MAX - 1)
enum { COMMIT_POD_ENTRIES = 1, COMMIT_NODE_ENTRIES = 2 };
/* As many of those that wait there as are wanted, and the alloc. PL_BUSY: they do not fit
 * any more; some may be in it. */
PL_NODISCARD enum pl_code commit_put(struct sched *sched, struct shard_txn *txn,
                                     struct sched_node *node, uint32_t count,
                                     struct pl_err *err);
/* Back to so many items; the book is the caller's. */
void commit_undo(struct sched *sched, struct shard_txn *txn, uint32_t entries);
/* Those from there on are in the call as a whole. */
void commit_seal(struct sched *sched, struct shard_txn *txn, uint32_t from);

#endif
