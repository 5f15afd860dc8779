/* What is not as it should be when all is calm. */
#include "store/base/clock.h"
#include "tests/shardlab/witness.h"

/* So many have gone that the rest is no gang any more. */
static bool is_small_gang(const struct stock *stock, uint32_t i)
{
	uint32_t gang = scene_gang(i), count = 0, pods[SCENE_GANG_PODS];
	uint32_t members = scene_gang_pods(gang, stock->pods, pods);

	for (uint32_t k = 0; k < members; k++) {
		const struct stock_pod *pod = &stock->pod[pods[k]];

		count += pod->has_spec &&
		         (pod->phase == STOCK_BOUND || pod->phase <= STOCK_PENDING);
	}
	return count < scene_gang_min(gang);
}

/* It is where it may not be any more. */
static bool overstays(const struct witness *witness, uint32_t i)
{
	const struct stock_pod *pod = &witness->world.stock->pod[i];
	const struct stock_node *node = &witness->world.stock->node[pod->node];
	uint64_t bears_s = scene_bears_s(i), from_ms = node->closed_ms;

	if (!node->what.closed || bears_s == SCENE_FOR_EVER)
		return false;
	if (pod->since_ms > from_ms)
		from_ms = pod->since_ms;
	return pl_clock_ms() - witness->start_ms - from_ms > bears_s * 1000;
}

/* Who was removed is gone; who is wanted has, or had, its place, or is told why not. */
static bool is_served(const struct witness *witness, uint32_t i)
{
	const struct stock *stock = witness->world.stock;
	const struct stock_pod *pod = &stock->pod[i];
	enum scene_kind kind = scene_kind(i);

	if (witness->removed[i])
		return !pod->has_spec;
	if (!pod->has_spec || pod->asked)
		return false;
	switch (pod->phase) {
	case STOCK_BOUND:
		return pod->node != STOCK_NONE && !overstays(witness, i);
	case STOCK_SUCCEEDED:
	case STOCK_FAILED:
		return true;
	case STOCK_PENDING:
		if (!scene_must_fit(kind))
			return pod->reason[0] != 0;
		return scene_is_gang(i) && is_small_gang(stock, i);
	case STOCK_NO_STATE:
	case STOCK_TERMINATING:
	case STOCK_BAD_STATE:
		break;
	}
	return false;
}

static const char *phase_text(enum stock_phase phase)
{
	static const char *const texts[] = {[STOCK_NO_STATE] = "without a state",
	                                    [STOCK_PENDING] = "pending",
	                                    [STOCK_BOUND] = "bound",
	                                    [STOCK_TERMINATING] = "terminating",
	                                    [STOCK_SUCCEEDED] = "succeeded",
	                                    [STOCK_FAILED] = "failed",
	                                    [STOCK_BAD_STATE] = "garbled"};

	return texts[phase];
}

uint32_t witness_unserved(const struct witness *witness, char *why, size_t size)
{
	const struct stock *stock = witness->world.stock;
	uint32_t count = 0;

	why[0] = 0;
	if (!witness->listed) {
		(void)snprintf(why, size, "the store has not been read");
		return stock->pods;
	}
	for (uint32_t i = 0; i < stock->pods; i++) {
		const struct stock_pod *pod = &stock->pod[i];

		if (is_served(witness, i))
			continue;
		if (count++ == 0)
			(void)snprintf(why, size, "p-%u (%s), partition %u, is %s%s %s",
			               i, scene_kind_text[scene_kind(i)], pod->partition,
			               pod->has_spec ? phase_text(pod->phase) : "gone",
			               witness->removed[i] ? ", and was removed" : "",
			               pod->reason);
	}
	if (count == 0 && !pdb_judge_settled(witness->budgets, why, size))
		count = 1;
	return count;
}
