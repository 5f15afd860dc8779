#include "tests/sim/naive.h"

/* One of them carries a rule that finds the other. */
static bool are_apart(const struct stock *stock, uint32_t i, uint32_t k)
{
	uint32_t a = stock_life(&stock->pod[i]), b = stock_life(&stock->pod[k]);

	return (scene_is_carrier(i, a) && scene_is_found(k, b)) ||
	       (scene_is_carrier(k, b) && scene_is_found(i, a));
}

static bool shares(const struct stock *stock, uint32_t n, uint32_t i)
{
	const struct stock_node *node = &stock->node[n];

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t other = node->list[k].pod;

		if (other != i && other != STOCK_NONE &&
		    scene_kind(other) == scene_kind(i) &&
		    scene_group(other) == scene_group(i) &&
		    (scene_kind(i) == SCENE_PORT || are_apart(stock, i, other)) &&
		    stock_is_placed(&stock->pod[other]))
			return true;
	}
	return false;
}

const char *naive_refuses(const struct stock *stock, uint32_t n, uint32_t i)
{
	const struct stock_node *node = &stock->node[n];
	enum scene_kind kind = scene_kind(i);

	if (!node->has_node || !node->has_alloc || node->bad_node || node->bad_alloc)
		return "it is not there";
	if (node->what.cordoned)
		return "it is cordoned";
	if (node->what.tainted && kind != SCENE_TOLERATES)
		return "its taint is not tolerated";
	if (node->what.closed && scene_bears_s(i) == 0)
		return "it is closed for maintenance";
	if (kind == SCENE_SELECTOR && !scene_is_ssd(n))
		return "it has no such disk";
	if ((kind == SCENE_FILL || kind == SCENE_HIGH) && !scene_is_tight(n))
		return "it is not of that pool";
	if (kind == SCENE_NODEAFFINITY && !scene_wants_zone(i, node->what.zone))
		return "it is in another zone";
	if (kind == SCENE_NEVER)
		return "nothing is so large";
	if (kind == SCENE_PORT && shares(stock, n, i))
		return "the port is taken";
	if ((kind == SCENE_ANTI_HOST || kind == SCENE_STATEFUL) && shares(stock, n, i))
		return "one of its group is there";
	return NULL;
}

static int64_t times(int64_t room, int64_t size, int64_t before)
{
	int64_t count = size == 0 ? before : room / size;

	if (room < 0 || count < 0)
		return 0;
	return count < before ? count : before;
}

uint64_t naive_room(const struct stock *stock, uint32_t n, const struct scene_pod *size)
{
	const struct stock_node *node = &stock->node[n];
	int64_t memory = (node->what.memory_mib << 20) - node->used.memory_bytes;
	int64_t count = node->what.pods - (int64_t)node->used.pods;

	count = times(node->what.cpu_milli - node->used.cpu_milli, size->cpu_milli,
	              count);
	count = times(memory, size->memory_mib << 20, count);
	return count > 0 ? (uint64_t)count : 0;
}

bool naive_has_room(const struct stock *stock, uint32_t n, uint32_t i)
{
	return naive_room(stock, n, &stock->pod[i].what) > 0;
}
