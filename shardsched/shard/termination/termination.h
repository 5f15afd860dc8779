/* Pods that leave their nodes. */
#ifndef SHARDSCHED_SHARD_TERMINATION_TERMINATION_H
#define SHARDSCHED_SHARD_TERMINATION_TERMINATION_H

#include "shardsched/shard/inner.h"

/* -- ends.c, termination_commit.c ----------------------------------------------- */

/* It is not to be placed: it goes. */
bool termination_is_wanted(const struct sched *sched, const struct sched_pod *pod);
/* What is to become of it as things stand. */
enum state_transition termination_of(const struct sched *sched,
                                     const struct sched_pod *pod);
/* It is to end, and no node has to be told. That its node is gone may not be so any more,
 * or not be known. */
bool termination_is_unplaced(const struct sched *sched, const struct sched_pod *pod);
/* Into the lists of those that are to end, or out of them. */
void termination_reconcile(struct sched *sched, struct sched_pod *pod);
/* Its Node is known, or is another one. */
void taint_eviction_reconcile(struct sched *sched, struct sched_node *node);
/* Its taints are others than it had, or others say since when. */
void taint_eviction_node_changed(struct sched *sched, struct sched_node *node,
                                 const struct node *was);
/* Who may not stay on a tainted node any more is to leave it. */
void taint_eviction_run(struct sched *sched);
uint64_t taint_eviction_deadline_ms(const struct sched *sched);
/* Those that could not for a while. */
void termination_retry(struct sched *sched);
uint64_t termination_retry_ms(const struct sched *sched);
/* -- termination_turn.c --------------------------------------------------------- */

/* Somebody is to end there: not before those of others, who leave it, too. */
void departure_enqueue(struct sched *sched, struct sched_node *node);
static inline bool departure_is_due(const struct sched_node *node)
{
	return pl_list_empty(&node->departure);
}
void departures_run(struct sched *sched);
uint64_t departures_deadline_ms(const struct sched *sched);

/* Those that end without a node. */
void termination_run(struct sched *sched);
uint64_t termination_deadline_ms(const struct sched *sched);
/* Of those that wait at the node, as many as left says; takes them off it. */
PL_NODISCARD enum pl_code termination_put(struct sched *sched, struct shard_txn *txn,
                                          struct sched_node *node, uint32_t *left,
                                          struct pl_err *err);
uint32_t termination_count(const struct sched_node *node);
/* An entry of theirs: it is not in the call after all; it is; it stands; it does not. */
/* That one, whatever it is linked to. */
PL_NODISCARD enum pl_code termination_put_one(struct sched *sched, struct shard_txn *txn,
                                              struct sched_pod *pod,
                                              struct sched_node *node,
                                              struct pl_err *err);
void termination_undo(const struct txn_entry *entry);
void termination_sealed(struct sched *sched, struct shard_txn *txn,
                        const struct txn_entry *entry);
void termination_stands(struct sched *sched, const struct txn_entry *entry,
                        int64_t revision);
void termination_unsent(const struct sched *sched, const struct txn_entry *entry);
/* Not at once again. */
void termination_pause(struct sched *sched);

#endif
