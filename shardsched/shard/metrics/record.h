/* Counting, for the parts of the core (sched_metrics.h is for its user). */
#ifndef SHARDSCHED_SHARD_METRICS_RECORD_H
#define SHARDSCHED_SHARD_METRICS_RECORD_H

#include "shardsched/framework/cycle.h"
#include "shardsched/shard/inner.h"

/* An attempt for a pod, or for a gang as a whole: begun when it is popped. */
struct record_attempt {
	struct queue_pod *pod;
	const struct profile *profile;
	uint64_t begun_ns; /* 0: it is not timed */
	uint64_t decided;  /* figures.decided before */
	uint32_t attempts; /* of the pod, this one included */
};

void record_attempt_begin(struct sched *sched, struct queue_pod *pod,
                          struct record_attempt *attempt);
void record_attempt_end(struct sched *sched, const struct record_attempt *attempt);
/* A cycle was run for a pod of the class: how long the extension points took. */
void record_cycle(struct sched *sched, const struct fw_class *class,
                  enum cycle_result result);
/* A pod was placed after its attempt (of a gang, in steps). */
void record_assumed(struct sched *sched, const struct sched_pod *pod);
/* The pod is bound; it still has its place in the queue. */
void record_bound(struct sched *sched, const struct sched_pod *pod);
void record_commit(struct sched *sched, const struct shard_txn *txn,
                   enum sched_commit outcome);
void record_failure(struct sched *sched, enum sched_failure failure);
void record_preemption(struct sched *sched, uint32_t victims);
void record_done(struct sched *sched);

#endif
