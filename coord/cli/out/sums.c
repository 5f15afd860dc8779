#include "coord/cli/out/sums.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/member/member.h"
#include "store/base/arena.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

enum { ARENA_MAX = 1 << 20 };

struct kv_req sums_request(void)
{
	return kv_op_get(kv_prefix(PL_SPAN_LIT("/shards/")));
}

void sums_add(struct sums *sums, const struct kv_result *result)
{
	struct pl_arena arena;

	pl_arena_init(&arena, 0, ARENA_MAX);
	for (size_t i = 0; i < result->get.count; i++) {
		const struct kv_record *record = &result->get.records[i];
		struct member member;
		struct keys_id id;

		pl_arena_reset(&arena);
		if (keys_parse(record->key, &id, NULL) != PL_OK ||
		    member_parse(id.name, record->value, &arena, &member, NULL) != PL_OK)
			continue;
		sums->shards++;
		sums->placed += member.work.placed;
		sums->pending += member.work.pending;
		sums->conflicts += member.work.conflicts;
		sums->rate += member.work.placed_per_s;
	}
	pl_arena_done(&arena);
}

void sums_text(const struct sums *sums, char out[PROGRESS_TEXT_MAX])
{
	char shards[40] = "", total[40] = "";

	if (sums->total != 0)
		(void)snprintf(total, sizeof total, "of %" PRIu64 " ", sums->total);
	else
		(void)snprintf(shards, sizeof shards,
		               "%" PRIu64 " shards: ", sums->shards);
	(void)snprintf(out, PROGRESS_TEXT_MAX,
	               "%s%" PRIu64 " %spods placed, %" PRIu64
	               " pending, %.0f placements/s, %" PRIu64 " conflicts",
	               shards, sums->placed, total, sums->pending, sums->rate,
	               sums->conflicts);
}
