#include "tests/sim/naive.h"

/* A rule of either pod selects the other. */
static bool are_apart(const struct mirror *mirror, uint32_t i, uint32_t k)
{
	const struct mirror_pod *a = &mirror->pod[i], *b = &mirror->pod[k];

	return (scenario_has_rule(i, mirror_incarnation(a)) &&
	        scenario_is_selected(k, mirror_labels(b))) ||
	       (scenario_has_rule(k, mirror_incarnation(b)) &&
	        scenario_is_selected(i, mirror_labels(a)));
}

static bool conflicts_on_node(const struct mirror *mirror, uint32_t n, uint32_t i)
{
	const struct mirror_node *node = &mirror->node[n];

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t other = node->list[k].pod;

		if (other != i && other != MIRROR_NONE &&
		    scenario_kind(other) == scenario_kind(i) &&
		    scenario_group(other) == scenario_group(i) &&
		    (scenario_kind(i) == SCENARIO_PORT || are_apart(mirror, i, other)) &&
		    mirror_is_placed(&mirror->pod[other]))
			return true;
	}
	return false;
}

const char *naive_refuses(const struct mirror *mirror, uint32_t n, uint32_t i)
{
	const struct mirror_node *node = &mirror->node[n];
	enum scenario_kind kind = scenario_kind(i);

	if (!node->has_node || !node->has_alloc || node->bad_node || node->bad_alloc)
		return "it is not there";
	if (node->what.cordoned)
		return "it is cordoned";
	if (node->what.tainted && kind != SCENARIO_TOLERATES)
		return "its taint is not tolerated";
	if (node->what.closed && scenario_toleration_s(i) == 0)
		return "it is closed for maintenance";
	if (kind == SCENARIO_SELECTOR && !scenario_is_ssd(n))
		return "it has no such disk";
	if ((kind == SCENARIO_FILL || kind == SCENARIO_HIGH) && !scenario_is_tight(n))
		return "it is not in the pool";
	if (kind == SCENARIO_NODEAFFINITY && !scenario_wants_zone(i, node->what.zone))
		return "it is in another zone";
	if (kind == SCENARIO_NEVER)
		return "nothing is so large";
	if (kind == SCENARIO_PORT && conflicts_on_node(mirror, n, i))
		return "the port is taken";
	if ((kind == SCENARIO_ANTI_HOST || kind == SCENARIO_STATEFUL) &&
	    conflicts_on_node(mirror, n, i))
		return "a pod of its group is there";
	return NULL;
}

static int64_t fit_times(int64_t room, int64_t size, int64_t before)
{
	int64_t count = size == 0 ? before : room / size;

	if (room < 0 || count < 0)
		return 0;
	return count < before ? count : before;
}

uint64_t naive_room(const struct mirror *mirror, uint32_t n,
                    const struct scenario_pod *size)
{
	const struct mirror_node *node = &mirror->node[n];
	int64_t memory = (node->what.memory_mib << 20) - node->used.memory_bytes;
	int64_t count = node->what.pods - (int64_t)node->used.pods;

	count = fit_times(node->what.cpu_milli - node->used.cpu_milli, size->cpu_milli,
	                  count);
	count = fit_times(memory, size->memory_mib << 20, count);
	return count > 0 ? (uint64_t)count : 0;
}

bool naive_has_room(const struct mirror *mirror, uint32_t n, uint32_t i)
{
	return naive_room(mirror, n, &mirror->pod[i].what) > 0;
}
