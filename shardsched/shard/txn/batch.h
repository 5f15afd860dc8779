/* What is decided together, and committed in one call. */
#ifndef SHARDSCHED_SHARD_TXN_BATCH_H
#define SHARDSCHED_SHARD_TXN_BATCH_H

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/list.h"

struct shard_txn;
struct sched;
struct sched_gang;
struct sched_pod;

enum batch_state { BATCH_NONE, BATCH_GATHERING, BATCH_WAITING, BATCH_SENT };
enum batch_condition_kind { BATCH_EXPECT, BATCH_PUT, BATCH_BUMP };

/* A key that is neither a pod's nor a node's: compared, compared and put, or put. */
struct batch_condition {
	enum batch_condition_kind how;
	int64_t rev;
	struct pl_span key, value;
};

struct batch {
	enum batch_state state;
	bool broken;       /* what was decided may not stand: all of it again */
	uint32_t node_set; /* the extra that is about it, its number and one; 0: none */
	struct pl_list nodes; /* until it is sent */
	uint32_t node_count, pods;
	uint32_t pods_max; /* pods; as adapted */
	uint64_t number;   /* of bundles before */
	uint64_t began_ms;
	struct pl_list gangs; /* that are in it; no other pods, then */
	struct batch_condition *condition;
	uint32_t conditions, condition_cap;
	struct pl_arena arena; /* theirs */
};

/* -- bundle.c ------------------------------------------------------------ */

void batch_init(struct sched *sched);
void batch_done(struct sched *sched);
/* A gang may be decided into it; it is, and its pods follow. */
bool batch_accepts_gang(const struct sched *sched);
void batch_add_gang(struct sched *sched, struct sched_gang *gang);
/* Would so many more fit into its transaction? */
bool batch_fits(const struct sched *sched, uint32_t pods, uint32_t nodes);
/* One more pod may be decided into it. */
bool batch_accepts_pod(const struct sched *sched);
/* The pod was assumed just now. */
void batch_add(struct sched *sched, struct sched_pod *pod);
/* Copied. Its number; UINT32_MAX: there is no room, and the bundle is broken. */
uint32_t batch_add_condition(struct sched *sched,
                             const struct batch_condition *condition);
/* Another value for it; without room for that the bundle is broken. */
void batch_condition_set_value(struct sched *sched, struct batch_condition *condition,
                               struct pl_span value);
/* Into a call. PL_BUSY: it does not fit. */
PL_NODISCARD enum pl_code batch_put_condition(struct shard_txn *txn,
                                              const struct batch_condition *condition);
/* The store takes no such transaction: a gang that is alone in it needs more. */
void batch_too_large(struct sched *sched);
/* Nothing more is decided into it. */
void batch_close(struct sched *sched);
/* What was decided may not stand. */
void batch_break(struct sched *sched);
/* A pod of it waits no more, be it lost or to be decided again. */
void batch_pod_left(struct sched *sched, struct sched_pod *pod);
/* Sends it, or gives it up, if it is time. */
void batch_run(struct sched *sched);
bool batch_is_ready(const struct sched *sched);
/* Its call has ended, and what was in it has been unsent or stands. */
void batch_ended(struct sched *sched, const struct shard_txn *txn);

#endif
