/* Termination: pods that leave their nodes, or go without having one. What becomes of a
 * pod follows from its state alone (pod_state.h) and is derived whenever the pod changes,
 * so a shard that takes a partition over finds what is half done.
 *
 * Invariants: a terminating pod is on one list: of its node (ending), of the core
 * (ending_unplaced, ending_later), or in a txn. Its room is free only when a committed
 * alloc says so. */
#ifndef SHARDSCHED_SHARD_TERMINATION_TERMINATION_H
#define SHARDSCHED_SHARD_TERMINATION_TERMINATION_H

#include "shardsched/shard/inner.h"

/* -- termination.c, termination_txn.c ---------------------------------------------- */

/* The pod is to go, and not to be placed. */
bool termination_is_wanted(const struct sched_pod *pod);
/* The next transition of the pod as things stand. */
enum state_transition termination_of(const struct sched *sched,
                                     const struct sched_pod *pod);
/* The pod is to end, and no node lists it. Whether its node is gone may change until the
 * txn is sent. */
bool termination_is_unplaced(const struct sched *sched, const struct sched_pod *pod);
/* Puts the pod on the list of terminating pods that it belongs to, or takes it off. */
void termination_reconcile(struct sched *sched, struct sched_pod *pod);
/* The node's Node was set, or changed. */
void taint_eviction_reconcile(struct sched *sched, struct sched_node *node);
/* The node's taints have changed, or when they were added. */
void taint_eviction_node_changed(struct sched *sched, struct sched_node *node,
                                 const struct node *was);
/* Marks pods that may not stay on tainted nodes any longer. */
void taint_eviction_run(struct sched *sched);
uint64_t taint_eviction_deadline_ms(const struct sched *sched);
/* Looks again at orphans, and at pods that waited for ending_ms. */
void termination_retry(struct sched *sched);
uint64_t termination_retry_ms(const struct sched *sched);
/* -- departure.c ------------------------------------------------------------------- */

/* A pod is to leave the node: after pods of other shards that leave it, too. */
void departure_enqueue(struct sched *sched, struct sched_node *node);
static inline bool departure_is_due(const struct sched_node *node)
{
	return pl_list_empty(&node->departure);
}
void departures_run(struct sched *sched);
uint64_t departures_deadline_ms(const struct sched *sched);

/* Sends txns for terminating pods that no node lists. */
void termination_run(struct sched *sched);
uint64_t termination_deadline_ms(const struct sched *sched);
/* Puts terminating pods of the node, at most *left; *left falls by their number. */
PL_NODISCARD enum pl_code termination_put(struct sched *sched, struct shard_txn *txn,
                                          struct sched_node *node, uint32_t *left,
                                          struct pl_err *err);
uint32_t termination_count(const struct sched_node *node);
/* Puts that pod, on whatever list it is. */
PL_NODISCARD enum pl_code termination_put_one(struct sched *sched, struct shard_txn *txn,
                                              struct sched_pod *pod,
                                              struct sched_node *node,
                                              struct pl_err *err);
/* An entry of a terminating pod: it is taken back; it belongs to the txn; it was applied;
 * it was not. */
void termination_undo(const struct txn_entry *entry);
void termination_sealed(struct sched *sched, struct shard_txn *txn,
                        const struct txn_entry *entry);
void termination_stands(struct sched *sched, const struct txn_entry *entry,
                        int64_t revision);
void termination_unsent(const struct sched *sched, const struct txn_entry *entry);
/* No termination is sent for a while. */
void termination_pause(struct sched *sched);

#endif
