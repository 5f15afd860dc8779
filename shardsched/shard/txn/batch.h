/*
 * The batch: decided pods, on several nodes, that are committed in one txn, whole or not
 * at all. A decision under a rule about other pods, or for a gang, is only right if all
 * of it comes true.
 *
 *	      add             close              its nodes are free           answer
 *	NONE -----> GATHERING ------> WAITING ---------------------> SENT ------------> NONE
 *	  |             |                |
 *	  +-------------+----------------+---> BROKEN --all its pods are decided again--> NONE
 *	    a pod of it left, an event says that a decision may not hold, or memory
 *	    for a condition is missing
 *
 * Invariants: there is one batch, and while it is not NONE nothing else is decided that
 * would rely on it (its lane of the queue is shut). Until it is SENT its pods wait at
 * their nodes (POD_BATCHED), and its nodes are in no other txn; other pods that wait there
 * go along if they fit. It holds pods or gangs, never both.
 */
#ifndef SHARDSCHED_SHARD_TXN_BATCH_H
#define SHARDSCHED_SHARD_TXN_BATCH_H

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/list.h"

struct sched;
struct sched_gang;
struct sched_pod;
struct shard_txn;

enum batch_state {
	BATCH_NONE,
	BATCH_GATHERING,
	BATCH_WAITING,
	BATCH_SENT,
	BATCH_BROKEN,
	BATCH_STATES
};

/* The key has to be of that revision; has to, and is put; is put whatever it is of. */
enum batch_condition_kind { BATCH_EXPECT, BATCH_PUT, BATCH_BUMP };

/* A key that is neither a pod's nor a node's, and goes with the batch. */
struct batch_condition {
	enum batch_condition_kind how;
	int64_t rev;
	struct pl_span key, value;
};

struct batch {
	enum batch_state state;
	uint32_t node_set;    /* 1 more than the index of the condition about the set of
	                         nodes; 0: none */
	struct pl_list nodes; /* on which pods of it wait; empty once it is sent */
	uint32_t node_count, pods;
	uint32_t pods_max; /* adapted to what went through */
	uint64_t number;   /* of batches before it */
	uint64_t began_ms; /* when its first pod was added */
	struct pl_list gangs;
	struct batch_condition *condition;
	uint32_t conditions, condition_cap;
	struct pl_arena arena; /* of the conditions */
};

void batch_init(struct sched *sched);
void batch_done(struct sched *sched);
/* A gang may be decided into the batch; batch_add_gang before its pods are added. */
bool batch_accepts_gang(const struct sched *sched);
void batch_add_gang(struct sched *sched, struct sched_gang *gang);
/* So many pods and nodes more would fit into its txn. */
bool batch_fits(const struct sched *sched, uint32_t pods, uint32_t nodes);
/* One more pod may be decided into the batch. */
bool batch_accepts_pod(const struct sched *sched);
/* The pod was assumed just now. */
void batch_add(struct sched *sched, struct sched_pod *pod);
/* Copies the condition. Gives its index; UINT32_MAX: no memory, the batch is broken. */
uint32_t batch_add_condition(struct sched *sched,
                             const struct batch_condition *condition);
/* Gives the condition another value; without memory the batch is broken. */
void batch_condition_set_value(struct sched *sched, struct batch_condition *condition,
                               struct pl_span value);
/* Adds the condition to a txn. PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code batch_put_condition(struct shard_txn *txn,
                                              const struct batch_condition *condition);
/* The store refuses a txn of this size: a gang that is alone in it needs several. */
void batch_too_large(struct sched *sched);
/* The batch is GATHERING, or became BROKEN and is not dissolved yet. */
bool batch_is_gathering(const struct sched *sched);
/* Nothing more is decided into it. */
void batch_close(struct sched *sched);
/* A decision in it may not hold. Does nothing once it is sent. */
void batch_break(struct sched *sched);
/* The pod waits no more: it was lost, or is decided again. */
void batch_pod_left(struct sched *sched, struct sched_pod *pod);
/* Sends the batch, or dissolves it, when it is time. */
void batch_run(struct sched *sched);
bool batch_is_ready(const struct sched *sched);
/* The batch's txn has ended; its entries stand, or have been unsent. */
void batch_ended(struct sched *sched, const struct shard_txn *txn);

#endif
