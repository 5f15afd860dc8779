/*
 * Judges disruption budgets, revision by revision, with code of its own:
 *
 *	disturbed   a pod that runs is asked to be moved, or terminates for another, only
 *	            in a transaction that lowers each budget that covers it by one and
 *	            notes the pod with the state it had; an eviction only while that
 *budget has been counted and allows it, unless it was to ignore budgets changed     by
 *people: what was counted stays, and is held against the new rule counted     by who
 *counts: what is written is the count of the pods as they stood at one earlier revision,
 *never before an earlier count, nor before the budget was made, less those that are noted
 *and of whom nothing newer was known then; and just those stay noted. While pods are
 *listed anew each pod may be as of another revision: what is allowed is never more than
 *	            that could give
 *
 * By induction nobody is disturbed beyond what a budget allows. A budget that covers
 * something spoilt by hand, or was written before we saw the store, is excused until a
 * count shows what it is again.
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
	X(PAST, "evicted past one")         \
	X(PREEMPTED, "preempted under one") \
	X(OVERDRAWN, "preempted past one")

#define PDB_TALLY_ENUM(name, text) PDB_##name,
enum pdb_tally { PDB_TALLY_MAP(PDB_TALLY_ENUM) PDB_TALLIES };

extern const char *const pdb_tally_text[PDB_TALLIES];

struct pdb_judge;

struct pdb_judge *pdb_judge_new(struct world *world, uint32_t pods);
void pdb_judge_free(struct pdb_judge *judge);
/* Everything is read anew: whatever comes before pdb_judge_listed stands there. */
void pdb_judge_reset(struct pdb_judge *judge);
void pdb_judge_listed(struct pdb_judge *judge, int64_t revision);

/* An event of a budget's key. */
void pdb_judge_event(struct pdb_judge *judge, const struct keys_id *id,
                     const struct kv_event *event);
/* The revision is over, and what it touched is still marked (stock.h). */
void pdb_judge_see(struct pdb_judge *judge, int64_t revision);

/* Somebody was told to evict it whatever budgets allow; or whoever is on the node. */
void pdb_judge_past(struct pdb_judge *judge, uint32_t pod, uint64_t until_ms);
void pdb_judge_past_node(struct pdb_judge *judge, uint32_t node, uint64_t until_ms);

/* From now on somebody may write there what makes no sense, which is as if it were gone;
 * or not any more. */
void pdb_judge_spoil(struct pdb_judge *judge, unsigned budget, bool spoilt);
/* What stands there makes no sense. */
bool pdb_judge_is_bad(const struct pdb_judge *judge, unsigned budget);

/* Every budget says what its pods are. */
bool pdb_judge_settled(const struct pdb_judge *judge, char *why, size_t size);
/* Some pod of the budget is there. */
bool pdb_judge_stands(const struct pdb_judge *judge, unsigned budget);
const uint64_t *pdb_judge_tally(const struct pdb_judge *judge);

#endif
