/* Pods that leave their nodes. */
#ifndef SHARDSCHED_SHARD_ENDS_ENDS_H
#define SHARDSCHED_SHARD_ENDS_ENDS_H

#include "shardsched/shard/inner.h"

/* -- ends.c, ends_commit.c ----------------------------------------------- */

/* It is not to be placed: it goes. */
bool ends_pod(const struct sched *sched, const struct sched_pod *pod);
/* What is to become of it as things stand. */
enum state_end ends_of(const struct sched *sched, const struct sched_pod *pod);
/* It is to end, and no node has to be told. That its node is gone may not be so any more,
 * or not be known. */
bool ends_alone(const struct sched *sched, const struct sched_pod *pod);
/* Into the lists of those that are to end, or out of them. */
void ends_settle(struct sched *sched, struct sched_pod *pod);
/* Its Node is known, or is another one. */
void taints_settle(struct sched *sched, struct sched_node *node);
/* Its taints are others than it had, or others say since when. */
void taints_anew(struct sched *sched, struct sched_node *node, const struct node *was);
/* Who may not stay on a tainted node any more is to leave it. */
void taints_run(struct sched *sched);
uint64_t taints_deadline_ms(const struct sched *sched);
/* Those that could not for a while. */
void ends_again(struct sched *sched);
uint64_t ends_again_ms(const struct sched *sched);
/* -- ends_turn.c --------------------------------------------------------- */

/* Somebody is to end there: not before those of others, who leave it, too. */
void turn_take(struct sched *sched, struct sched_node *node);
static inline bool turn_is_here(const struct sched_node *node)
{
	return pl_list_empty(&node->turn);
}
void turns_run(struct sched *sched);
uint64_t turns_deadline_ms(const struct sched *sched);

/* Those that end without a node. */
void ends_run(struct sched *sched);
uint64_t ends_deadline_ms(const struct sched *sched);
/* Of those that wait at the node, as many as left says; takes them off it. */
PL_NODISCARD enum pl_code ends_put(struct sched *sched, struct call *call,
                                   struct sched_node *node, uint32_t *left,
                                   struct pl_err *err);
uint32_t ends_at(const struct sched_node *node);
/* An entry of theirs: it is not in the call after all; it is; it stands; it does not. */
/* That one, whatever it is linked to. */
PL_NODISCARD enum pl_code ends_put_one(struct sched *sched, struct call *call,
                                       struct sched_pod *pod, struct sched_node *node,
                                       struct pl_err *err);
void ends_undo(const struct call_item *item);
void ends_seal(struct sched *sched, struct call *call, const struct call_item *item);
void ends_stand(struct sched *sched, const struct call_item *item, int64_t revision);
void ends_unsend(const struct sched *sched, const struct call_item *item);
/* Not at once again. */
void ends_pause(struct sched *sched);

#endif
