/* Internals of the assignment, shared by assign.c and choose.c. */
#ifndef COORD_ASSIGN_ASSIGN_INT_H
#define COORD_ASSIGN_ASSIGN_INT_H

#include "coord/assign/assign.h"
#include "coord/assign/log2.h"
#include "store/base/map.h"
#include "store/base/rng.h"

struct assign_member {
	struct pl_map_node node;
	uint64_t seed; /* hash of id and salt */
	uint32_t weight;
	uint32_t salt;
	uint32_t count; /* number of partitions that it owns */
	uint32_t mark;
	uint32_t taken; /* assign_choose: partitions that the candidate would take,
	                 * valid for try_no */
	uint32_t try_no;
	uint8_t id[];
};

struct assign_slot {
	struct assign_member *owner; /* NULL: the assignment has no members */
	uint64_t log;                /* logarithm of the winner's hash; its score is
	                              * its weight over this */
};

struct assign {
	struct pl_map members;
	uint32_t partitions;
	struct assign_slot slot[];
};

static inline uint64_t assign_seed(uint64_t id_hash, uint32_t salt)
{
	return pl_rng_mix(id_hash + salt * UINT64_C(0xd1b54a32d192ed03));
}

static inline uint64_t assign_hash(uint64_t seed, uint32_t partition)
{
	return pl_rng_mix(seed + (partition + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Whether this weight loses even with the lower bound of its logarithm. Products stay
 * below 2^64: weights are below 2^20, logarithms at most 2^44. */
static inline bool assign_loses(const struct assign_slot *slot, uint32_t weight,
                                uint64_t log_least)
{
	return slot->owner != NULL &&
	       weight * slot->log < slot->owner->weight * log_least;
}

/* Whether a member with this weight and hash would win the slot. */
bool assign_would_win(const struct assign_slot *slot, uint32_t weight, uint64_t hash,
                      struct pl_span id);
/* The same; on success *log is the logarithm of the hash. */
bool assign_wins(const struct assign_slot *slot, uint32_t weight, uint64_t hash,
                 struct pl_span id, uint64_t *log);

#endif
