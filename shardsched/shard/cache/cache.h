/*
 * The cache: facts that stand at keys are applied (apply.c), and what follows from them
 * for pods (pods.c) and nodes (nodes.c, alloc_entry.c) is reconciled.
 *
 * A fact is applied once per mod_revision, wherever it comes from: a list, a watch, an
 * answer. Reconciling a pod or a node does nothing when everything follows already, so it
 * may be called at any time. Functions that reconcile may free the pod (pod_tidy) or the
 * node (node_tidy) unless something refers to it.
 */
#ifndef SHARDSCHED_SHARD_CACHE_CACHE_H
#define SHARDSCHED_SHARD_CACHE_CACHE_H

#include "shardsched/shard/inner.h"

/* -- pods.c ------------------------------------------------------------------ */

struct sched_pod *pod_find(const struct sched *sched, uint32_t partition,
                           struct pl_span namespace, struct pl_span name);
/* Finds or makes the pod. NULL: no memory. */
struct sched_pod *pod_get(struct sched *sched, uint32_t partition,
                          struct pl_span namespace, struct pl_span name);
void pod_reconcile(struct sched *sched, struct sched_pod *pod);
/* Takes back what was assumed: an ASSUMED pod becomes QUEUED, as if just popped. */
void pod_unassume(struct sched *sched, struct sched_pod *pod);
/* Unassumes a pod that lost against another writer: the pod is decided again, and after
 * several conflicts in a row it backs off first. */
void pod_conflicted(struct sched *sched, struct sched_pod *pod);
/* Unassumes a pod whose decision relied on something that did not come true. The pod is
 * decided again at once. */
void pod_redecide(struct sched *sched, struct sched_pod *pod);
/* An unassumed pod, or its gang, goes back into the queue. */
void pod_retry(struct sched *sched, struct sched_pod *pod, enum queue_cause cause,
               bool after_backoff);
/* Takes a QUEUED or ASSUMED pod out of the queue; it becomes IDLE. */
void pod_withdraw(struct sched *sched, struct sched_pod *pod);
/* Takes the pod out of the queue if it is there; its stage stays. A COMMITTING pod
 * becomes loose. */
void pod_dequeue(struct sched *sched, struct sched_pod *pod);
/* Frees the pod when nothing is known of it and nothing refers to it. */
void pod_tidy(struct sched *sched, struct sched_pod *pod);
void pod_unlink(struct sched *sched, struct sched_pod *pod);
/* Takes over what from holds. */
void pod_set_spec(struct sched *sched, struct sched_pod *pod, struct pod *from);
/* Takes over the reference to spec. */
void pod_change_spec(struct sched *sched, struct sched_pod *pod, const struct spec *spec);
/* The number of the string that is the pod's uid; 0: the uid is unknown, or no string has
 * it, so that no other object can bear it. */
uint32_t pod_uid(const struct sched *sched, const struct sched_pod *pod);
/* The number of that string, held until the caller gives it back; 0: the uid is unknown.
 * PL_NOMEM. */
PL_NODISCARD enum pl_code pod_uid_take(struct sched *sched, const struct sched_pod *pod,
                                       uint32_t *out, struct pl_err *err);
/* The span lies in room or in the model. */
struct pl_span pod_uid_text(const struct sched *sched, const struct sched_pod *pod,
                            char room[UUID_TEXT_LEN]);
/* Adds the pod to a node of the snapshot; flags are PLACED_*. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_add_to_snapshot(struct sched *sched,
                                              const struct sched_pod *pod, uint32_t slot,
                                              uint32_t flags, uint32_t *placed,
                                              struct pl_err *err);
void pod_set_identity(struct sched *sched, struct sched_pod *pod, uint32_t index,
                      uint32_t keys);
void pod_set_at(struct sched *sched, struct sched_pod *pod, uint32_t cluster,
                uint32_t node);
void pod_set_reason(struct sched *sched, struct sched_pod *pod, uint32_t why);
void pod_forget(struct sched *sched, struct sched_pod *pod);
void pods_init(struct sched *sched);
void pods_done(struct sched *sched);
/* The pods of a partition in the order in which they became known; NULL: no more. */
struct sched_pod *pods_first(const struct sched *sched, uint32_t partition);
struct sched_pod *pods_next(const struct sched *sched, const struct sched_pod *pod);
/* The pods of all partitions, partition by partition. */
struct sched_pod *pods_all(const struct sched *sched);
struct sched_pod *pods_after(const struct sched *sched, const struct sched_pod *pod);

/* NOLINTBEGIN(bugprone-macro-parentheses): pod is a name */
/* The body may free the current pod, no other. */
#define PODS_OF_EACH(pod, sched, partition)                                             \
	for (struct sched_pod *pod = pods_first(sched, partition),                      \
	                      *pod##_next = pod == NULL ? NULL : pods_next(sched, pod); \
	     pod != NULL;                                                               \
	     pod = pod##_next, pod##_next = pod == NULL ? NULL : pods_next(sched, pod))
#define PODS_EACH(pod, sched)                                                            \
	for (struct sched_pod *pod = pods_all(sched),                                    \
	                      *pod##_next = pod == NULL ? NULL : pods_after(sched, pod); \
	     pod != NULL;                                                                \
	     pod = pod##_next, pod##_next = pod == NULL ? NULL : pods_after(sched, pod))
/* NOLINTEND(bugprone-macro-parentheses) */
/* -- mismatch.c -------------------------------------------------------------- */

/* Reports mismatches that have lasted; the deadline says when to call again, UINT64_MAX:
 * never. */
void mismatch_run(struct sched *sched);
uint64_t mismatch_deadline_ms(const struct sched *sched);
void mismatch_suspect_pod(struct sched *sched, struct sched_pod *pod);
void mismatch_suspect_node(struct sched *sched, struct sched_node *node);

/* Attempts to place the pod that failed since it has been known here. */
static inline uint32_t pod_attempts(const struct sched_pod *pod)
{
	return pod_gang(pod) == NULL
	               ? pod->queue.attempts
	               : pod_gang(pod)->attempts + pod_gang(pod)->queue.attempts;
}

static inline bool pod_is_owned(const struct sched *sched, const struct sched_pod *pod)
{
	return sched->partition[pod->key[0]].owned;
}

/* -- nodes.c ----------------------------------------------------------------- */

struct sched_node *node_find(const struct sched *sched, struct pl_span cluster,
                             struct pl_span name);
struct sched_node *node_get(struct sched *sched, uint32_t partition,
                            struct pl_span cluster, struct pl_span name);
/* The node's partition is owned, open, and not to be handed over. */
bool node_is_local(const struct sched *sched, const struct sched_node *node);
/* The count of pods that wait at local nodes, or that of pods at remote ones, as the node
 * is. */
uint32_t *node_waiting(struct sched *sched, const struct sched_node *node);
/* A decided pod becomes ASSUMED and waits at the node. */
void node_add_waiting(struct sched *sched, struct sched_node *node,
                      struct sched_pod *pod);
/* NULL: the node is not in the table. key: cluster and name. */
struct sched_node *node_by_key(const struct sched *sched, const uint32_t key[2]);
/* The node's alloc is understood, and this shard may put it. */
bool node_may_write(const struct sched *sched, const struct sched_node *node);
/* Works out everything that follows for the node: membership, scope, readiness. */
void node_reconcile(struct sched *sched, struct sched_node *node);
/* Specs of the pods that the node lists are read from now on. */
void node_want_specs(struct sched *sched, struct sched_node *node);
/* The alloc has no room for another entry: the node is excluded until the alloc
 * changes. */
void node_set_full(struct sched *sched, struct sched_node *node);
/* Removes the node from the snapshot, if it is a member. */
void node_leave(struct sched *sched, struct sched_node *node);
/* The snapshot could not keep something of the node. For PL_LIMIT the node stays in as
 * UNCOUNTED; else it leaves, and until the repair nothing is decided under rules, which
 * would miss its pods. */
void node_snapshot_failed(struct sched *sched, struct sched_node *node,
                          const struct pl_err *err);
/* Tries after a while whether UNCOUNTED nodes can be counted now. */
void nodes_retry_uncounted(struct sched *sched);
/* All pods that wait at the node are decided again. */
void node_redecide_waiting(struct sched *sched, struct sched_node *node);
/* Moves the node into the ready list of local or remote nodes, or out of it. */
void node_set_ready(struct sched *sched, struct sched_node *node);
void node_tidy(struct sched *sched, struct sched_node *node);
void node_forget(struct sched *sched, struct sched_node *node);
void nodes_done(struct sched *sched);

/* -- alloc_entry.c ----------------------------------------------------------- */

/* Adds what a pod of that spec uses, sign times. */
void alloc_sums_add(const struct sched *sched, struct sched_sums *used,
                    const struct spec *spec, uint64_t sign);
/* The pod's name as an alloc has it. */
struct alloc_pod alloc_entry_name(const struct sched *sched, const struct sched_pod *pod);
PL_NODISCARD enum pl_code alloc_entry_room(struct sched_node *node, uint32_t count);
/* Room was reserved. placed: the pod's number in the snapshot; SNAPSHOT_NONE: the entry
 * is added to the snapshot if the node is a member. sent: a txn adds the pod. */
void alloc_entry_add(struct sched *sched, struct sched_node *node, struct sched_pod *pod,
                     uint32_t placed, bool sent);
/* The number that the entry had in the snapshot; the caller removes the pod there. */
uint32_t alloc_entry_del(struct sched *sched, struct sched_node *node, uint32_t i);
/* Updates the entry's flags in the snapshot: terminating, victim, exempt. */
void alloc_entry_mark(struct sched *sched, struct sched_node *node, uint32_t i);
/* UINT32_MAX: the node does not list the pod. */
uint32_t alloc_entry_find(const struct sched_node *node, const struct sched_pod *pod);
typedef void alloc_entry_fn(struct sched *sched, struct sched_node *node, uint32_t i,
                            void *ctx);
/* Calls fn for each node that lists the pod, with the entry's index. */
void alloc_entry_each(struct sched *sched, struct sched_pod *pod, alloc_entry_fn *fn,
                      void *ctx);
/* Every change of pod->node is made here. NULL: none. */
void pod_set_node(struct sched *sched, struct sched_pod *pod, struct sched_node *node);
/* The known spec is that of the listed incarnation. */
static inline bool alloc_entry_is_known(const struct alloc_entry *listed)
{
	return listed->pod->spec != NULL && !listed->other;
}
void alloc_entry_set_other(struct sched *sched, struct sched_node *node, uint32_t i,
                           bool other);
void alloc_entry_set_unconfirmed(struct sched *sched, struct sched_node *node, uint32_t i,
                                 bool unconfirmed);
/* Called before and after the spec of a pod changes. */
void alloc_entries_forget_spec(struct sched *sched, struct sched_pod *pod);
void alloc_entries_learn_spec(struct sched *sched, struct sched_pod *pod);
/* Reconciles the nodes that list the pod. */
void alloc_entries_reconcile(struct sched *sched, struct sched_pod *pod);
/* The node lists what the alloc lists. */
PL_NODISCARD enum pl_code alloc_entries_set(struct sched *sched, struct sched_node *node,
                                            const struct alloc *alloc,
                                            struct pl_err *err);
void alloc_entries_clear(struct sched *sched, struct sched_node *node);
/* The lowest priority of listed pods whose spec is known; INT32_MAX: there are none. */
int32_t alloc_entries_least_priority(struct sched_node *node);
bool alloc_sums_agree(const struct sched_node *node);
/* Adds an entry whose spec is known to the snapshot. */
PL_NODISCARD enum pl_code alloc_entry_show(struct sched *sched,
                                           const struct sched_node *node,
                                           struct alloc_entry *listed,
                                           struct pl_err *err);
/* -- alloc_entries_print.c --------------------------------------------------- */

/* Prints the alloc of the node with what it lists now. */
PL_NODISCARD enum pl_code alloc_entries_print(struct sched *sched,
                                              struct sched_node *node, struct pl_buf *out,
                                              struct pl_err *err);

/* -- incarnation.c ----------------------------------------------------------- */

/* The pod that is listed by the alloc being applied may be another incarnation than the
 * one whose spec is known. */
bool incarnation_is_other(const struct sched *sched, const struct sched_pod *pod);
/* The alloc being applied lists the pod, and the one before did not. */
void incarnation_listed(struct sched *sched, const struct sched_node *node,
                        struct sched_pod *pod);
/* Both allocs list the pod. gap: others may have been written between them. */
void incarnation_kept(struct sched *sched, struct sched_node *node, uint32_t i, bool gap);
/* The pod has had the spec that is known, or the one that is applied next, since that
 * revision. */
void incarnation_spec_since(struct sched *sched, struct sched_pod *pod, int64_t revision);
/* A node that may list another incarnation of the pod; NULL: there is none. */
struct sched_node *incarnation_other_at(struct sched *sched, struct sched_pod *pod);
/* The revision of the newest alloc that lists the pod. */
int64_t incarnation_newest_alloc(struct sched *sched, struct sched_pod *pod);
/* The list of the pod's partition has come in. */
void incarnation_followed(struct sched *sched, struct sched_pod *pod);
/* The pod's partition is lost: its spec is watched no more. */
void incarnation_unfollowed(struct sched *sched, struct sched_pod *pod);

/* -- apply.c ----------------------------------------------------------------- */

/* The record of a node or of a pod has that value now; gone: its key is deleted since the
 * record's mod_revision. False: no memory to keep it, and cache_missed is to follow. */
bool cache_apply(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone);
/* A list or watch of this shard follows the key. */
bool cache_follows(const struct sched *sched, const struct keys_id *id);
/* An answer has the record of a node that the watch, which has come further, does not
 * know: the record was read before the node was deleted. */
bool cache_is_outdated(const struct sched *sched, const struct keys_id *id,
                       const struct kv_record *record);
/* Applies what a state that this shard wrote says of the pod's nomination. */
void cache_apply_own_state(struct sched *sched, struct sched_pod *pod,
                           struct pl_span value);
/* A record was not kept: its list or its remote partition is to be read again. */
void cache_missed(struct sched *sched, const struct keys_id *id);
/* The fact is not in a list that is complete up to that revision. */
void cache_sweep_node(struct sched *sched, struct sched_node *node, enum fact fact,
                      int64_t revision);
void cache_sweep_pod(struct sched *sched, struct sched_pod *pod, enum fact fact,
                     int64_t revision);

/* -- load.c ------------------------------------------------------------------ */

/* A partition of this shard is not open yet. */
bool load_is_running(const struct sched *sched);
/* load_is_running, and it is worth waiting: one was opened lately, or nothing has waited
 * yet. */
bool load_is_awaited(struct sched *sched);

/* -- spec_reads.c ------------------------------------------------------------ */

/* The spec is to be read for an alloc of that revision, even if it was read before. */
void spec_reads_want(struct sched *sched, struct sched_pod *pod, int64_t revision);
/* The specs of some pods that the node lists are unknown, and reads are under way or to
 * come. */
bool spec_reads_are_pending(const struct sched_node *node);
/* The spec is to be read even if it is known: since that revision it may be another
 * one. */
void spec_reads_recheck(struct sched *sched, struct sched_pod *pod, int64_t since);
void spec_reads_run(struct sched *sched);
uint64_t spec_reads_deadline_ms(const struct sched *sched);
void spec_reads_answer(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result, const struct pl_err *err);

#endif
