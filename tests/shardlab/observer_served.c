/* Finds pods that are not as they should be in the recovery phase. */
#include "store/base/clock.h"
#include "tests/shardlab/observer.h"

/* So many members have gone that the rest is not a gang any more. */
static bool is_small_gang(const struct mirror *mirror, uint32_t i)
{
	uint32_t gang = scenario_gang(i), count = 0, pods[SCENARIO_GANG_PODS];
	uint32_t members = scenario_gang_pods(gang, mirror->pods, pods);

	for (uint32_t k = 0; k < members; k++) {
		const struct mirror_pod *pod = &mirror->pod[pods[k]];

		count += pod->has_spec &&
		         (pod->phase == MIRROR_BOUND || pod->phase <= MIRROR_PENDING);
	}
	return count < scenario_gang_min(gang);
}

/* The pod is on a node that it may not stay on. */
static bool is_overstaying(const struct observer *observer, uint32_t i)
{
	const struct mirror_pod *pod = &observer->world.mirror->pod[i];
	const struct mirror_node *node = &observer->world.mirror->node[pod->node];
	uint64_t bears_s = scenario_toleration_s(i), from_ms = node->closed_ms;

	if (!node->what.closed || bears_s == SCENARIO_FOREVER)
		return false;
	if (pod->since_ms > from_ms)
		from_ms = pod->since_ms;
	return pl_clock_ms() - observer->start_ms - from_ms > bears_s * 1000;
}

/* A removed pod is gone; a desired pod has, or had, a place, or its state says why
 * not. */
static bool is_served(const struct observer *observer, uint32_t i)
{
	const struct mirror *mirror = observer->world.mirror;
	const struct mirror_pod *pod = &mirror->pod[i];
	enum scenario_kind kind = scenario_kind(i);

	if (observer->removed[i])
		return !pod->has_spec;
	if (!pod->has_spec || pod->asked)
		return false;
	switch (pod->phase) {
	case MIRROR_BOUND:
		return pod->node != MIRROR_NONE && !is_overstaying(observer, i);
	case MIRROR_SUCCEEDED:
	case MIRROR_FAILED:
		return true;
	case MIRROR_PENDING:
		if (!scenario_must_fit(kind))
			return pod->reason[0] != 0;
		return scenario_is_gang(i) && is_small_gang(mirror, i);
	case MIRROR_NO_STATE:
	case MIRROR_TERMINATING:
	case MIRROR_BAD_STATE:
		break;
	}
	return false;
}

static const char *phase_text(enum mirror_phase phase)
{
	static const char *const texts[] = {[MIRROR_NO_STATE] = "without a state",
	                                    [MIRROR_PENDING] = "pending",
	                                    [MIRROR_BOUND] = "bound",
	                                    [MIRROR_TERMINATING] = "terminating",
	                                    [MIRROR_SUCCEEDED] = "succeeded",
	                                    [MIRROR_FAILED] = "failed",
	                                    [MIRROR_BAD_STATE] = "malformed"};

	return texts[phase];
}

uint32_t observer_unserved(const struct observer *observer, char *why, size_t size)
{
	const struct mirror *mirror = observer->world.mirror;
	uint32_t count = 0;

	why[0] = 0;
	if (!observer->listed) {
		(void)snprintf(why, size, "the store has not been read");
		return mirror->pods;
	}
	for (uint32_t i = 0; i < mirror->pods; i++) {
		const struct mirror_pod *pod = &mirror->pod[i];

		if (is_served(observer, i))
			continue;
		if (count++ == 0)
			(void)snprintf(why, size, "p-%u (%s), partition %u, is %s%s %s",
			               i, scenario_kind_text[scenario_kind(i)],
			               pod->partition,
			               pod->has_spec ? phase_text(pod->phase) : "gone",
			               observer->removed[i] ? ", and was removed" : "",
			               pod->reason);
	}
	if (count == 0 && !pdb_judge_converged(observer->budgets, why, size))
		count = 1;
	return count;
}
