#include "coord/cli/output/placing_stats.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/membership/membership.h"
#include "store/base/arena.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

enum { ARENA_MAX = 1 << 20 };

struct kv_req placing_stats_request(void)
{
	return kv_op_get(kv_prefix(PL_SPAN_LIT("/shards/")));
}

void placing_stats_add(struct placing_stats *stats, const struct kv_result *result)
{
	struct pl_arena arena;

	pl_arena_init(&arena, 0, ARENA_MAX);
	for (size_t i = 0; i < result->get.count; i++) {
		const struct kv_record *record = &result->get.records[i];
		struct membership member;
		struct keys_id id;

		pl_arena_reset(&arena);
		if (keys_parse(record->key, &id, NULL) != PL_OK ||
		    membership_parse(id.name, record->value, &arena, &member, NULL) !=
		            PL_OK)
			continue;
		stats->shards++;
		stats->placed += member.work.placed;
		stats->pending += member.work.pending;
		stats->conflicts += member.work.conflicts;
		stats->rate += member.work.placed_per_s;
	}
	pl_arena_done(&arena);
}

void placing_stats_text(const struct placing_stats *stats, char out[PROGRESS_TEXT_MAX])
{
	char shards[40] = "", total[40] = "";

	if (stats->total != 0)
		(void)snprintf(total, sizeof total, "of %" PRIu64 " ", stats->total);
	else
		(void)snprintf(shards, sizeof shards,
		               "%" PRIu64 " shards: ", stats->shards);
	(void)snprintf(out, PROGRESS_TEXT_MAX,
	               "%s%" PRIu64 " %spods placed, %" PRIu64
	               " pending, %.0f placements/s, %" PRIu64 " conflicts",
	               shards, stats->placed, total, stats->pending, stats->rate,
	               stats->conflicts);
}
