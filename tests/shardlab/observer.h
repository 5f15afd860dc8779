/*
 * The observer follows every revision of the store and judges it: by the judges of the
 * simulator (tests/sim/check_place.c, check_room.c, check_rules.c, check_termination.c),
 * which read values with code of their own, and one for disruption budgets (pdb_judge.h).
 * The writer of a transaction is told from its keys: a manual edit writes
 * OBSERVER_MANUAL, too, users write Nodes and specs, and the rest is the shards'.
 *
 * A key that is damaged by hand is marked, and nothing is expected of it until
 * observer_clear_corrupted. When the watch loses its place (a restored store, a
 * compaction) everything is listed again, and what happened meanwhile is not judged, only
 * counted.
 */
#ifndef TESTS_SHARDLAB_OBSERVER_H
#define TESTS_SHARDLAB_OBSERVER_H

#include "tests/shardlab/pdb_judge.h"

/* Key that each transaction of a manual edit puts. */
#define OBSERVER_MANUAL "/manual"
/* Keys with this prefix are ignored. */
#define OBSERVER_JUNK "/zz/"

struct observer_opts {
	struct kv *kv; /* borrowed */
	const struct scenario *scenario;
	uint32_t partitions;
	/* Reports a finding; does not return. */
	void (*failed)(void *ctx, const char *check, const char *text);
	void *ctx;
	FILE *story; /* story of the judges; NULL: none */
};

/* Gangs bound in one transaction, gangs with a record, and of these the aborted ones. */
enum observer_gangs { OBSERVER_SMALL, OBSERVER_LARGE, OBSERVER_ABORTED, OBSERVER_GANGS };

struct observer {
	struct observer_opts opts;
	struct world world; /* only the fields that the judges need */
	struct kv_watch *watch;
	struct kv_call *call;
	bool *removed; /* by pod: a command removes it */
	void *state[4];
	struct pdb_judge *budgets;
	char counter[MIRROR_TEXT_SIZE]; /* the shard that counts for budgets; "": none */
	uint64_t counters;              /* times that a shard became the counter */
	uint64_t gangs[OBSERVER_GANGS];
	uint64_t start_ms;
	int64_t revision;
	uint64_t revisions, judged, unjudged;
	uint64_t bound; /* bindings since it was set to 0 */
	uint64_t preempted, lost_owners;
	bool listed; /* the first list was applied */
	bool ended, closing;
};

void observer_open(struct observer *observer, const struct observer_opts *opts);
/* Lists everything again. */
void observer_relist(struct observer *observer);
/* True when no request is under way; call again until then. */
bool observer_close(struct observer *observer);
void observer_free(struct observer *observer);

void observer_corrupt_node(struct observer *observer, uint32_t node);
void observer_corrupt_pod(struct observer *observer, uint32_t pod);
/* A registry of rules was damaged. */
void observer_corrupt_rules(struct observer *observer);
void observer_corrupt_gang(struct observer *observer, uint32_t gang);
void observer_corrupt_budget(struct observer *observer, unsigned budget);
/* From now on nothing is excused. */
void observer_clear_corrupted(struct observer *observer);

/* Returns how many desired pods have no place, and in why one of them and the reason. */
uint32_t observer_unserved(const struct observer *observer, char *why, size_t size);

#endif
