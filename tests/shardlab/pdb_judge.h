/*
 * Judges disruption budgets, revision by revision, with code of its own:
 *
 *	disrupted   a running pod is asked to move, or terminates for another one, only in
 *	            a transaction that lowers each budget that covers it by one and notes
 *	            the pod with the state it had; an eviction only while that budget has
 *	            been counted and allows it, unless the eviction ignores budgets
 *	changed     by users: the counts stay, and are compared with the new rule
 *	counted     by the counter: the value is the count of the pods as they stood at one
 *	            earlier revision, never before an earlier count, nor before the budget
 *	            was made, less the noted pods of which nothing newer was known then; and
 *	            just these stay noted. While pods are listed anew each pod may be as of
 *	            another revision: the count never allows more than that could give
 *
 * By induction no pod is disrupted beyond what a budget allows. A budget that covers
 * a pod that was damaged by hand, or was written before the observer's first list, is
 * excused until a count shows what it is again.
 */
#ifndef TESTS_SHARDLAB_PDB_JUDGE_H
#define TESTS_SHARDLAB_PDB_JUDGE_H

#include "store/keys/keys.h"
#include "tests/shardlab/pdb.h"
#include "tests/sim/world.h"

#define PDB_TALLY_MAP(X)                    \
	X(MADE, "made")                     \
	X(CHANGED, "changed")               \
	X(DELETED, "deleted")               \
	X(COUNTED, "counted")               \
	X(MIXED, "counted while listing")   \
	X(EVICTED, "evicted under one")     \
	X(IGNORED, "evicted ignoring one")  \
	X(PREEMPTED, "preempted under one") \
	X(OVERDRAWN, "preempted beyond one")

#define PDB_TALLY_ENUM(name, text) PDB_##name,
enum pdb_tally { PDB_TALLY_MAP(PDB_TALLY_ENUM) PDB_TALLIES };

extern const char *const pdb_tally_text[PDB_TALLIES];

struct pdb_judge;

struct pdb_judge *pdb_judge_new(struct world *world, uint32_t pods);
void pdb_judge_free(struct pdb_judge *judge);
/* Everything is listed again: the events until pdb_judge_listed are the state of the
 * store. */
void pdb_judge_reset(struct pdb_judge *judge);
void pdb_judge_listed(struct pdb_judge *judge, int64_t revision);

/* Applies an event of a budget's key. */
void pdb_judge_event(struct pdb_judge *judge, const struct keys_id *id,
                     const struct kv_event *event);
/* Judges the revision when its last event has been applied, while the mirror's marks of
 * what it touched still stand (mirror.h). */
void pdb_judge_observe(struct pdb_judge *judge, int64_t revision);

/* Until that time the pod, or any pod on the node, may be evicted whatever the budgets
 * allow. */
void pdb_judge_ignore_pod(struct pdb_judge *judge, uint32_t pod, uint64_t until_ms);
void pdb_judge_ignore_node(struct pdb_judge *judge, uint32_t node, uint64_t until_ms);

/* The budget may become malformed by hand, which counts as if it were absent; false: no
 * longer. */
void pdb_judge_corrupt(struct pdb_judge *judge, unsigned budget, bool corrupted);
/* The budget's value is malformed. */
bool pdb_judge_is_bad(const struct pdb_judge *judge, unsigned budget);

/* The counts of every budget fit its pods. */
bool pdb_judge_converged(const struct pdb_judge *judge, char *why, size_t size);
/* A pod of the budget exists. */
bool pdb_judge_has_pods(const struct pdb_judge *judge, unsigned budget);
const uint64_t *pdb_judge_tally(const struct pdb_judge *judge);

#endif
