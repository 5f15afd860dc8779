/*
 * The assignment: which member each partition falls to, by weighted rendezvous
 * hashing.
 *
 * A member here is a shard that takes part in the assignment. The assignment is a pure
 * function of the members, their weights and salts. It gives the same bits on every
 * machine, and the order in which members were added or removed does not matter.
 *
 * The assignment is kept up to date change by change. Adding a member costs one hash a
 * partition; removing one costs one hash a member for each partition that it had. A
 * member that joins takes partitions only for itself, a member that leaves gives up
 * only its own.
 *
 * The score of a member for a partition is -weight / log(hash(id, salt, partition)),
 * in integers. The highest score wins, then the smaller id. docs/hash.md defines it
 * bit by bit.
 *
 * With the hash alone, 9 members of 256 partitions would have 28 each, give or take 5.
 * So a member that joins *chooses* its salt: of many candidates it takes the one with
 * which it gets its fair share, mostly from the members that have most. The salt
 * stands in the shard's record, so every shard knows it (docs/adr/0013-assignment.md).
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

/* Adds the member or changes its weight (1 to ASSIGN_WEIGHT_MAX). The id is copied.
 * The salt is 0. */
PL_NODISCARD enum pl_code assign_put(struct assign *assign, struct pl_span id,
                                     uint32_t weight, struct pl_err *err);
/* The same for a member that chose a salt. */
PL_NODISCARD enum pl_code assign_put_salted(struct assign *assign, struct pl_span id,
                                            uint32_t weight, uint32_t salt,
                                            struct pl_err *err);
void assign_del(struct assign *assign, struct pl_span id);
void assign_clear(struct assign *assign);

/* The best salt for a member that is not in the assignment yet. The result depends
 * only on the assignment, the id and the weight. The assignment is changed while it
 * computes and restored before it returns. At ASSIGN_MEMBERS_MAX it takes some
 * milliseconds. */
uint32_t assign_choose(struct assign *assign, struct pl_span id, uint32_t weight);

/* The effective weight of a member: the weight of its record times its factor, in
 * thousandths, at least 1. */
static inline uint32_t assign_weight(uint32_t weight, uint32_t factor)
{
	uint64_t product = (uint64_t)weight * factor / ASSIGN_WEIGHT_ONE;

	if (product > ASSIGN_WEIGHT_MAX)
		return ASSIGN_WEIGHT_MAX;
	return product == 0 ? 1 : (uint32_t)product;
}

/* The caller can mark a member that is in the assignment with a number and get the
 * mark of a partition's owner, which is quicker than comparing ids. A new member's
 * mark is 0. assign_mark_of needs at least one member. */
void assign_mark(struct assign *assign, struct pl_span id, uint32_t mark);
uint32_t assign_mark_of(const struct assign *assign, uint32_t partition);

uint32_t assign_partitions(const struct assign *assign);
size_t assign_members(const struct assign *assign);
/* The id of the partition's owner, empty if there are no members. The span is valid
 * until the assignment changes. */
struct pl_span assign_of(const struct assign *assign, uint32_t partition);
uint32_t assign_count(const struct assign *assign, struct pl_span id);

#endif
