/*
 * Transactions for no pod's sake: holds that are kept or given back. When one fails for
 * good there is nobody who could wait for better times instead of it, and nothing that
 * would be decided otherwise. So all of these rest for a while, and fewer nodes go into
 * one then.
 */
#ifndef SHARDSCHED_SHARD_COMMIT_RESTS_H
#define SHARDSCHED_SHARD_COMMIT_RESTS_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct sched;

struct rests {
	uint64_t ms;   /* until then; 0: nothing rests */
	uint32_t most; /* nodes at once; 0: as many as fit */
};

bool rests_concern(const struct call *call);
/* What became of one. */
void rests_failed(struct sched *sched, const struct call *call);
void rests_stood(struct sched *sched, const struct call *call);

/* Nothing of the kind is to go now. */
bool rests_now(const struct sched *sched);
/* The call has as many nodes as may go at once. */
bool rests_full(const struct sched *sched, const struct call *call);

void rests_run(struct sched *sched);
uint64_t rests_deadline_ms(const struct sched *sched);

#endif
