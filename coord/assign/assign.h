/*
 * Which member each partition falls to: weighted rendezvous hashing.
 *
 * A pure function of members, weights and salts, the same bits on every machine: the
 * order in which members were added or removed does not matter. Kept up to date
 * change by change: adding a member costs a hash a partition, removing one a hash a
 * member for each partition that it had. Who joins takes partitions only for itself,
 * who leaves gives up only its own.
 *
 * The score of a member for a partition is -weight / log(hash(id, salt, partition)),
 * in integers; the highest wins, then the smaller id. docs/hash.md has it bit by bit.
 *
 * Left to the hash alone, 9 members of 256 partitions would have 28 each, give or take
 * 5. So a joiner *chooses* its salt: among many the one with which it takes its fair
 * share, and most from those that have most. It puts the salt into its record, and so
 * everybody knows it (docs/adr/0013-assignment.md).
 */
#ifndef COORD_ASSIGN_ASSIGN_H
#define COORD_ASSIGN_ASSIGN_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum {
	ASSIGN_WEIGHT_ONE = 1000,
	ASSIGN_WEIGHT_MAX = 1000 * 1000,
	ASSIGN_PARTITIONS_MAX = 4096,
	ASSIGN_MEMBERS_MAX = 16384,
};

struct assign;

PL_NODISCARD enum pl_code assign_new(uint32_t partitions, struct assign **out,
                                     struct pl_err *err);
void assign_free(struct assign *assign);
PL_NODISCARD enum pl_code assign_copy(const struct assign *assign, struct assign **out,
                                      struct pl_err *err);

/* Adds the member (its id is copied) or changes its weight, 1 to the maximum. */
PL_NODISCARD enum pl_code assign_put(struct assign *assign, struct pl_span id,
                                     uint32_t weight, struct pl_err *err);
/* The same for a member that chose a salt; without one it is 0. */
PL_NODISCARD enum pl_code assign_put_salted(struct assign *assign, struct pl_span id,
                                            uint32_t weight, uint32_t salt,
                                            struct pl_err *err);
void assign_del(struct assign *assign, struct pl_span id);
void assign_clear(struct assign *assign);

/* The salt with which a member that is not in it had best join. Depends on nothing
 * but the assignment, id and weight; leaves the assignment as it was. Some ms at the
 * largest. */
uint32_t assign_choose(struct assign *assign, struct pl_span id, uint32_t weight);

/* What a member weighs: its record's weight times its factor, in thousandths. */
static inline uint32_t assign_weight(uint32_t weight, uint32_t factor)
{
	uint64_t product = (uint64_t)weight * factor / ASSIGN_WEIGHT_ONE;

	if (product > ASSIGN_WEIGHT_MAX)
		return ASSIGN_WEIGHT_MAX;
	return product == 0 ? 1 : (uint32_t)product;
}

/* A number of the user's on a member that is in it, and that of a partition's owner
 * (there has to be one): quicker than comparing ids. At first 0. */
void assign_mark(struct assign *assign, struct pl_span id, uint32_t mark);
uint32_t assign_mark_of(const struct assign *assign, uint32_t partition);

uint32_t assign_partitions(const struct assign *assign);
size_t assign_members(const struct assign *assign);
/* Empty: there are no members. Valid until the assignment changes. */
struct pl_span assign_of(const struct assign *assign, uint32_t partition);
uint32_t assign_count(const struct assign *assign, struct pl_span id);

#endif
