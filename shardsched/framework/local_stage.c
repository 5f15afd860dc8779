#include "shardsched/framework/local_stage.h"

#include <string.h>

#include "shardsched/framework/cycle_int.h"

int32_t stage_weigh(const struct stage_by_max *by_max, int32_t raw, int32_t max)
{
	int64_t share = max == 0 ? 0 : (int64_t)raw * PLUGIN_SCORE_MAX / max;

	if (by_max->down)
		share = PLUGIN_SCORE_MAX - share;
	return (int32_t)share * by_max->weight;
}

uint32_t stage_pick(uint64_t draw, uint32_t count)
{
	uint64_t near = count < STAGE_NEAR ? count : STAGE_NEAR;
	uint64_t index =
		((draw >> 32) * count >> 32) + ((draw & UINT32_MAX) * near >> 32);

	return (uint32_t)(index < count ? index : index - count);
}

static void note_refuser(const uint64_t *before, struct node_span span, unsigned plugin,
                         uint8_t *refuser)
{
	SPAN_EACH_WORD(i, span)
	for (uint64_t left = before[i] & ~span.bits[i]; left != 0; left &= left - 1)
		refuser[i * 64 + (uint32_t)__builtin_ctzll(left)] = (uint8_t)plugin;
}

bool stage_local(struct cycle *cycle, struct node_span span, const struct stage_out *out)
{
	uint64_t before[CYCLE_BLOCK_WORDS];
	uint64_t any = 0;

	PL_ASSERT(span.words <= CYCLE_BLOCK_WORDS);
	for (unsigned i = 0; i < cycle->filters_local; i++) {
		unsigned plugin = cycle->filter[i];

		memcpy(before, span.bits, span.words * sizeof before[0]);
		if (!filter_ask(cycle, plugin, span) ||
		    !measure_call(cycle, plugin, POINT_FILTER))
			return false;
		note_refuser(before, span, plugin, out->refuser);
	}
	SPAN_EACH_WORD(i, span)
	any |= span.bits[i];
	return any == 0 || score_local_span(cycle, span, out);
}
