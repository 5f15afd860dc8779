/*
 * Who sees every revision of the store and judges it: by the judges of the simulator
 * (tests/sim/check_place.c, check_room.c, check_rules.c, check_ends.c), which read values
 * with code of their own, and one for disruption budgets (pdb_judge.h). Whose a
 * transaction was is told from what it writes: a hand of ours marks its own
 * (WITNESS_HAND), whoever brings nodes and pods is known by what he brings, the rest is
 * the shards'.
 *
 * What a hand spoils is marked, and nothing is expected of it until witness_unspoil. When
 * the watch loses its place (a restored store, a compaction) everything is read anew and
 * what happened meanwhile is not judged; that is counted.
 */
#ifndef TESTS_SHARDLAB_WITNESS_H
#define TESTS_SHARDLAB_WITNESS_H

#include "tests/shardlab/pdb_judge.h"

/* Put in each transaction of a hand. */
#define WITNESS_HAND "/hand"
/* What begins so is not looked at. */
#define WITNESS_JUNK "/zz/"

struct witness_opts {
	struct kv *kv; /* borrowed */
	const struct scene *scene;
	uint32_t partitions;
	/* Something was found; does not come back. */
	void (*failed)(void *ctx, const char *check, const char *text);
	void *ctx;
	FILE *story; /* what the judges see; NULL: nowhere */
};

/* Of gangs: bound at once, or by a record; of these, those that were given up. */
enum witness_gangs { WITNESS_SMALL, WITNESS_LARGE, WITNESS_ABORTED, WITNESS_GANGS };

struct witness {
	struct witness_opts opts;
	struct world world; /* as far as the judges need one */
	struct kv_watch *watch;
	struct kv_call *call;
	bool *removed; /* by pod: somebody was told to take it away */
	void *state[4];
	struct pdb_judge *budgets;
	char counter[STOCK_WORD]; /* the shard that counts for budgets; "": none */
	uint64_t counters;        /* how many have come to do so */
	uint64_t gangs[WITNESS_GANGS];
	uint64_t start_ms;
	int64_t revision;
	uint64_t revisions, judged, blind;
	uint64_t bound; /* since it was set to 0 */
	uint64_t preempted, lost_owners;
	bool listed; /* everything was read */
	bool ended, closing;
};

void witness_open(struct witness *witness, const struct witness_opts *opts);
/* Reads everything anew. */
void witness_again(struct witness *witness);
/* True when nothing is under way any more; call it again until then. */
bool witness_close(struct witness *witness);
void witness_free(struct witness *witness);

void witness_spoil_node(struct witness *witness, uint32_t node);
void witness_spoil_pod(struct witness *witness, uint32_t pod);
/* Somebody took away which rules there are. */
void witness_spoil_rules(struct witness *witness);
void witness_spoil_gang(struct witness *witness, uint32_t gang);
void witness_spoil_budget(struct witness *witness, unsigned budget);
/* From now on nothing is excused. */
void witness_unspoil(struct witness *witness);

/* Which of the pods that are wanted has no place, and why; how many. */
uint32_t witness_unserved(const struct witness *witness, char *why, size_t size);

#endif
