#include "coord/cli/top/top_api.h"

#include "coord/cli/output/row_list.h"
#include "coord/cli/shards/shard_object.h"

enum top_column {
	SHARD,
	PENDING,
	PLACED,
	PLACED_S,
	CONFLICTS,
	CONFLICTS_S,
	LAG,
	COLUMN_COUNT
};

static const struct output_column columns[] = {
	[SHARD] = {"SHARD", "shard", OUTPUT_ALWAYS},
	[PENDING] = {"PENDING", "pending", OUTPUT_ALWAYS},
	[PLACED] = {"PLACED", "placed", OUTPUT_ALWAYS},
	[PLACED_S] = {"PLACED/S", "placed_per_s", OUTPUT_ALWAYS},
	[CONFLICTS] = {"CONFLICTS", "conflicts", OUTPUT_ALWAYS},
	[CONFLICTS_S] = {"CONFLICTS/S", "conflicts_per_s", OUTPUT_ALWAYS},
	[LAG] = {"LAG-MS", "lag_ms", OUTPUT_ALWAYS},
};

static const struct output_schema schema = {"ShardWork", columns, COLUMN_COUNT, 1};

struct top_asking {
	struct row_list list;
	struct pl_arena arena;
};

static enum pl_code add_shard(void *ctx, struct pl_json shard, struct pl_err *err)
{
	struct top_asking *asking = ctx;
	struct output_row row = {0};
	struct shard_object object;
	const struct membership_work *work = &object.entry.member.work;

	pl_arena_reset(&asking->arena);
	if (shard_object_read(shard, &asking->arena, &object) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print the shards' work");
	output_text(&row, SHARD, object.entry.member.id);
	if (work->known) {
		output_int(&row, PENDING, (int64_t)work->pending);
		output_int(&row, PLACED, (int64_t)work->placed);
		output_double(&row, PLACED_S, work->placed_per_s);
		output_int(&row, CONFLICTS, (int64_t)work->conflicts);
		output_double(&row, CONFLICTS_S, work->conflicts_per_s);
		output_int(&row, LAG, (int64_t)work->lag_ms);
	}
	return row_list_add(&asking->list, &row, err);
}

enum pl_code top_api(struct api_session *api, struct pl_err *err)
{
	struct top_asking asking;
	enum pl_code code =
		row_list_init(&asking.list, &schema, api->options->format, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&asking.arena, 0, 0);
	code = api_session_list(api, "/apis/placet.io/v1/shards", (struct pl_span){0},
	                        add_shard, &asking, err);
	if (code == PL_OK)
		code = row_list_end(&asking.list, "no shards", err);
	pl_arena_done(&asking.arena);
	row_list_done(&asking.list);
	return code;
}
