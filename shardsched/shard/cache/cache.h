/*
 * What is known: facts come in (news.c), and what follows from them for pods (pods.c) and
 * nodes (nodes.c, listed.c) is worked out.
 */
#ifndef SHARDSCHED_SHARD_CACHE_CACHE_H
#define SHARDSCHED_SHARD_CACHE_CACHE_H

#include "shardsched/shard/inner.h"

/* -- pods.c -------------------------------------------------------------- */

struct sched_pod *pod_find(const struct sched *sched, uint32_t partition,
                           struct pl_span namespace, struct pl_span name);
/* Found or made; NULL: no memory. */
struct sched_pod *pod_get(struct sched *sched, uint32_t partition,
                          struct pl_span namespace, struct pl_span name);
void pod_reconcile(struct sched *sched, struct sched_pod *pod);
/* What was assumed is taken back; the pod is QUEUED, and popped. */
void pod_unassume(struct sched *sched, struct sched_pod *pod);
/* That, and it is to be decided again, since somebody else was there. */
void pod_conflicted(struct sched *sched, struct sched_pod *pod);
/* Likewise, since what it was decided with did not come true. */
void pod_redecide(struct sched *sched, struct sched_pod *pod);
/* It was unassumed: to be tried again. */
void pod_retry(struct sched *sched, struct sched_pod *pod, enum queue_cause cause,
               bool after_backoff);
/* Not in the queue any more, wherever it was; IDLE. */
void pod_withdraw(struct sched *sched, struct sched_pod *pod);
/* Not in the queue any more, though it is SENT; it may be out of it already. */
void pod_dequeue(struct sched *sched, struct sched_pod *pod);
/* Freed when nothing is known of it and nobody refers to it. */
void pod_tidy(struct sched *sched, struct sched_pod *pod);
void pod_unlink(struct sched *sched, struct sched_pod *pod);
/* Takes the pod over. */
void pod_set_spec(struct sched *sched, struct sched_pod *pod, struct pod *from);
/* Takes the reference. */
void pod_change_spec(struct sched *sched, struct sched_pod *pod, const struct spec *spec);
/* Its uid as the number of a string; 0: not said, or nobody holds it as a string, so that
 * it is nobody else's. */
uint32_t pod_uid(const struct sched *sched, const struct sched_pod *pod);
/* Likewise, held until it is given back; 0: not said. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_uid_take(struct sched *sched, const struct sched_pod *pod,
                                       uint32_t *out, struct pl_err *err);
/* Lies in room, or in the model. */
struct pl_span pod_uid_text(const struct sched *sched, const struct sched_pod *pod,
                            char room[UUID_TEXT_LEN]);
/* Into the snapshot, there or terminating as flags say. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_add_to_snapshot(struct sched *sched,
                                              const struct sched_pod *pod, uint32_t slot,
                                              uint32_t flags, uint32_t *placed,
                                              struct pl_err *err);
void pod_set_beside(struct sched *sched, struct sched_pod *pod, uint32_t index,
                    uint32_t keys);
void pod_set_at(struct sched *sched, struct sched_pod *pod, uint32_t cluster,
                uint32_t node);
void pod_set_reason(struct sched *sched, struct sched_pod *pod, uint32_t why);
void pod_forget(struct sched *sched, struct sched_pod *pod);
void pods_init(struct sched *sched);
void pods_done(struct sched *sched);
/* In the order in which they became known; NULL: there is none. */
struct sched_pod *pods_first(const struct sched *sched, uint32_t partition);
struct sched_pod *pods_next(const struct sched *sched, const struct sched_pod *pod);
/* Of all partitions, one after the other. */
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
/* -- doubts.c ------------------------------------------------------------ */

/* What does not agree for long is told; when to look again, UINT64_MAX: nothing does. */
void mismatch_run(struct sched *sched);
uint64_t mismatch_deadline_ms(const struct sched *sched);
void mismatch_suspect_pod(struct sched *sched, struct sched_pod *pod);
void mismatch_suspect_node(struct sched *sched, struct sched_node *node);

/* That found no node, since it is known here. */
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

/* -- nodes.c ------------------------------------------------------------- */

struct sched_node *node_find(const struct sched *sched, struct pl_span cluster,
                             struct pl_span name);
struct sched_node *node_get(struct sched *sched, uint32_t partition,
                            struct pl_span cluster, struct pl_span name);
/* Its partition is owned, listed, and not to be handed over. */
bool node_is_local(const struct sched *sched, const struct sched_node *node);
/* How many wait at nodes like that one. */
uint32_t *node_waiting(struct sched *sched, const struct sched_node *node);
/* A decided pod waits there. */
void node_add_waiting(struct sched *sched, struct sched_node *node,
                      struct sched_pod *pod);
/* NULL: not in the table. Of a name in two strings. */
struct sched_node *node_by_key(const struct sched *sched, const uint32_t key[2]);
/* Its alloc is understood and is ours to write. */
bool node_may_write(const struct sched *sched, const struct sched_node *node);
/* Into the snapshot or out of it. */
void node_reconcile(struct sched *sched, struct sched_node *node);
/* Of what it lists the specs are asked for from now on. */
void node_want_specs(struct sched *sched, struct sched_node *node);
/* More does not go into its alloc: nobody is put there until that is another. */
void node_set_full(struct sched *sched, struct sched_node *node);
/* Out of it, whatever is so. */
void node_leave(struct sched *sched, struct sched_node *node);
/* Likewise, since something of it could not be kept there: until the repair nothing is
 * decided under rules, which would not see its pods. When that is for a limit it stays
 * there, but is not counted. */
void node_snapshot_failed(struct sched *sched, struct sched_node *node,
                          const struct pl_err *err);
/* Those that are not counted, after a while. */
void nodes_retry_uncounted(struct sched *sched);
/* All that wait there are decided again. */
void node_redecide_waiting(struct sched *sched, struct sched_node *node);
/* Into the list of those that can be committed, if it can be. */
void node_set_ready(struct sched *sched, struct sched_node *node);
void node_tidy(struct sched *sched, struct sched_node *node);
void node_forget(struct sched *sched, struct sched_node *node);
void nodes_done(struct sched *sched);

/* -- listed.c ------------------------------------------------------------ */

/* What a pod of that spec uses, sign times. */
void alloc_sums_add(const struct sched *sched, struct sched_sums *used,
                    const struct spec *spec, uint64_t sign);
/* As an alloc has it. */
struct alloc_pod alloc_entry_name(const struct sched *sched, const struct sched_pod *pod);
PL_NODISCARD enum pl_code alloc_entry_room(struct sched_node *node, uint32_t count);
/* There is room. The pod is placed as said, or as the node is. */
void alloc_entry_add(struct sched *sched, struct sched_node *node, struct sched_pod *pod,
                     uint32_t placed, bool sent);
/* Gives what it was placed as. */
uint32_t alloc_entry_del(struct sched *sched, struct sched_node *node, uint32_t i);
/* It terminates in the snapshot, too, if it does. */
void alloc_entry_mark(struct sched *sched, struct sched_node *node, uint32_t i);
/* UINT32_MAX: it is not. */
uint32_t alloc_entry_find(const struct sched_node *node, const struct sched_pod *pod);
typedef void alloc_entry_fn(struct sched *sched, struct sched_node *node, uint32_t i,
                            void *ctx);
/* For each node that lists it, and the place there. */
void alloc_entry_each(struct sched *sched, struct sched_pod *pod, alloc_entry_fn *fn,
                      void *ctx);
/* That is its node from now on; NULL: none. All that set it come through here. */
void pod_set_node(struct sched *sched, struct sched_pod *pod, struct sched_node *node);
/* Its spec counts there. */
static inline bool alloc_entry_is_known(const struct alloc_entry *listed)
{
	return listed->pod->spec != NULL && !listed->other;
}
void alloc_entry_set_other(struct sched *sched, struct sched_node *node, uint32_t i,
                           bool other);
void alloc_entry_set_unconfirmed(struct sched *sched, struct sched_node *node, uint32_t i,
                                 bool unconfirmed);
/* Before and after the spec of a pod changes. */
void alloc_entries_forget_spec(struct sched *sched, struct sched_pod *pod);
void alloc_entries_learn_spec(struct sched *sched, struct sched_pod *pod);
/* Settles the nodes that list it. */
void alloc_entries_reconcile(struct sched *sched, struct sched_pod *pod);
/* As the alloc says. */
PL_NODISCARD enum pl_code alloc_entries_set(struct sched *sched, struct sched_node *node,
                                            const struct alloc *alloc,
                                            struct pl_err *err);
void alloc_entries_clear(struct sched *sched, struct sched_node *node);
/* The lowest priority of those whose spec is known; INT32_MAX: there are none. */
int32_t alloc_entries_least_priority(struct sched_node *node);
bool alloc_sums_agree(const struct sched_node *node);
/* Into the snapshot, as what it is or is to be there; its spec is known. */
PL_NODISCARD enum pl_code alloc_entry_show(struct sched *sched,
                                           const struct sched_node *node,
                                           struct alloc_entry *listed,
                                           struct pl_err *err);
/* -- alloc_entries_print.c ------------------------------------------------------ */

/* The alloc of the node with what it lists now. */
PL_NODISCARD enum pl_code alloc_entries_print(struct sched *sched,
                                              struct sched_node *node, struct pl_buf *out,
                                              struct pl_err *err);

/* -- lives.c ------------------------------------------------------------- */

/* It may be another whom the alloc lists that is being taken. */
bool incarnation_is_other(const struct sched *sched, const struct sched_pod *pod);
/* That alloc lists it, and the one before did not. */
void incarnation_listed(struct sched *sched, const struct sched_node *node,
                        struct sched_pod *pod);
/* Both do; there may have been others between them. */
void incarnation_kept(struct sched *sched, struct sched_node *node, uint32_t i, bool gap);
/* Since then it has the spec that is known, or is to be known next. */
void incarnation_spec_since(struct sched *sched, struct sched_pod *pod, int64_t revision);
/* A node that may list another by its name; NULL: none. */
struct sched_node *incarnation_other_at(struct sched *sched, struct sched_pod *pod);
/* The revision of the newest alloc that lists it. */
int64_t incarnation_newest_alloc(struct sched *sched, struct sched_pod *pod);
/* The list of its partition is there. */
void incarnation_followed(struct sched *sched, struct sched_pod *pod);
/* Its partition is lost: nobody watches it any more. */
void incarnation_unfollowed(struct sched *sched, struct sched_pod *pod);

/* -- news.c -------------------------------------------------------------- */

/* A key of the node or the pod has that value now, or is gone since that revision. False:
 * it could not be kept. */
bool cache_apply(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone);
/* Is what happens to that key followed here? */
bool cache_follows(const struct sched *sched, const struct keys_id *id);
/* An answer has that of a node, and the watch has come further and does not know of it:
 * it was read before that was gone. */
bool cache_is_outdated(const struct sched *sched, const struct keys_id *id,
                       const struct kv_record *record);
/* That state was written by us: what it says of room that is held. */
void cache_apply_own_state(struct sched *sched, struct sched_pod *pod,
                           struct pl_span value);
/* Some could not be kept: it is to be read again. */
void cache_missed(struct sched *sched, const struct keys_id *id);
/* A fact that a list does not have. */
void cache_sweep_node(struct sched *sched, struct sched_node *node, enum fact fact,
                      int64_t revision);
void cache_sweep_pod(struct sched *sched, struct sched_pod *pod, enum fact fact,
                     int64_t revision);

/* -- load.c --------------------------------------------------------------- */

/* Something of ours is not listed yet. */
bool load_is_running(const struct sched *sched);
/* And is worth waiting for: lately something was, or nobody has waited yet. */
bool load_is_awaited(struct sched *sched);

/* -- specs.c ------------------------------------------------------------- */

/* It is to be read, again too, for an alloc of that revision. */
void spec_reads_want(struct sched *sched, struct sched_pod *pod, int64_t revision);
/* Of what that node lists something is not known, and may be soon. */
bool spec_reads_are_pending(const struct sched_node *node);
/* Likewise, whatever was read: it may be another since then. */
void spec_reads_recheck(struct sched *sched, struct sched_pod *pod, int64_t since);
void spec_reads_run(struct sched *sched);
uint64_t spec_reads_deadline_ms(const struct sched *sched);
void spec_reads_answer(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result, const struct pl_err *err);

#endif
