/*
 * The choice of a salt. Some salts are tried; for each one the file computes how far
 * the members would be from their fair shares: the sum of (partitions - share)^2 /
 * share. Only what the candidate takes changes this sum, so one try costs one hash a
 * partition.
 */
#include "coord/assign/assign_int.h"
#include "store/base/hash.h"

enum {
	TRIES_MAX = 256,
	TRIES_MIN = 32,
	HASHES_MAX = 1 << 17,
	OVER_COSTS = 16, /* weight of each partition above the candidate's own share */
};

struct salt_choice {
	struct assign *assign;
	struct pl_span id;
	uint32_t weight;
	double per_weight; /* partitions that one unit of weight should get */
	double share;      /* fair share of the candidate, in partitions */
};

static double unfairness(double count, double share)
{
	return (count - share) * (count - share) / share;
}

/* How much the sum falls when the candidate takes one more partition from owner. */
static double fairness_gain(const struct salt_choice *choice, struct assign_member *owner,
                            uint32_t try_no)
{
	double share = choice->per_weight * owner->weight, left;

	if (owner->try_no != try_no) {
		owner->try_no = try_no;
		owner->taken = 0;
	}
	left = (double)owner->count - owner->taken;
	owner->taken++;
	return unfairness(left - 1, share) - unfairness(left, share);
}

static double try_salt(const struct salt_choice *choice, uint64_t id_hash, uint32_t salt)
{
	struct assign *assign = choice->assign;
	uint64_t seed = assign_seed(id_hash, salt);
	uint32_t count = 0;
	double cost = 0;

	for (uint32_t p = 0; p < assign->partitions; p++) {
		const struct assign_slot *slot = &assign->slot[p];

		if (!assign_would_win(slot, choice->weight, assign_hash(seed, p),
		                      choice->id))
			continue;
		cost += fairness_gain(choice, slot->owner, salt + 1);
		count++;
	}
	cost += unfairness(count, choice->share);
	if (count >= choice->share + 1)
		cost += OVER_COSTS * (count - choice->share);
	return cost;
}

uint32_t assign_choose(struct assign *assign, struct pl_span id, uint32_t weight)
{
	struct salt_choice choice = {.assign = assign, .id = id, .weight = weight};
	uint32_t tries = HASHES_MAX / assign->partitions, best = 0;
	uint64_t id_hash = pl_hash(id);
	double total = weight, least = 0;

	PL_ASSERT(weight > 0 && weight <= ASSIGN_WEIGHT_MAX);
	PL_ASSERT(pl_map_get(&assign->members, id) == NULL);
	if (assign->members.count == 0)
		return 0;
	PL_MAP_EACH (node, &assign->members) {
		struct assign_member *member =
			PL_CONTAINER_OF(node, struct assign_member, node);

		total += member->weight;
		member->try_no = 0;
	}
	choice.per_weight = assign->partitions / total;
	choice.share = choice.per_weight * weight;
	tries = tries > TRIES_MAX ? TRIES_MAX : tries;
	tries = tries < TRIES_MIN ? TRIES_MIN : tries;
	for (uint32_t salt = 0; salt < tries; salt++) {
		double cost = try_salt(&choice, id_hash, salt);

		if (salt == 0 || cost < least) {
			least = cost;
			best = salt;
		}
	}
	return best;
}
