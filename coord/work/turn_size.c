#include "coord/work/turn_size.h"

uint32_t turn_size_next(uint32_t pods, uint32_t most, uint32_t tried, uint64_t took_ns)
{
	uint64_t each_ns, would;

	if (tried == 0)
		return pods;
	each_ns = took_ns / tried;
	would = each_ns == 0 ? most : TURN_NS / each_ns;
	if (would > pods)
		would = (would < most ? would : most) / 2 + (pods + 1) / 2;
	if (would > most)
		would = most;
	return would == 0 ? 1 : (uint32_t)would;
}
