#include "coord/cli/shards/partition_row.h"

#include <inttypes.h>
#include <stdio.h>

enum partition_column {
	PARTITION,
	STATE,
	OWNER,
	EPOCH,
	LEASE,
	TARGET,
	NOTE,
	COLUMN_COUNT
};

static const struct output_column columns[] = {
	[PARTITION] = {"PARTITION", "partition", OUTPUT_ALWAYS},
	[STATE] = {"STATE", "state", OUTPUT_ALWAYS},
	[OWNER] = {"OWNER", "owner", OUTPUT_ALWAYS},
	[EPOCH] = {"EPOCH", "epoch", OUTPUT_ALWAYS},
	[LEASE] = {"LEASE", "lease", OUTPUT_ON_WIDE},
	[TARGET] = {"TARGET", "target", OUTPUT_ON_WIDE},
	[NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

const struct output_schema partition_schema = {.kind = "Partition",
                                               .columns = columns,
                                               .count = COLUMN_COUNT,
                                               .name_columns = 1};

static bool put_lease(struct pl_arena *arena, struct output_row *row, int64_t lease)
{
	struct pl_span kept;
	char text[24];

	if (lease == 0)
		return true;
	(void)snprintf(text, sizeof text, "%016" PRIx64, (uint64_t)lease);
	kept = pl_arena_dup(arena, pl_span_str(text));
	output_text(row, LEASE, kept);
	return kept.at != NULL;
}

static bool put_entry(const struct owners_watch_entry *entry, struct pl_arena *arena,
                      struct output_row *row)
{
	output_text(row, STATE,
	            entry->malformed ? PL_SPAN_LIT("malformed") : PL_SPAN_LIT("owned"));
	output_text(row, OWNER, pl_span_str(entry->owner.shard));
	output_int_string(row, EPOCH, entry->owner.epoch);
	if (entry->malformed)
		output_text(row, NOTE, pl_span_str(entry->why.msg));
	else if (entry->owner.lease == 0)
		output_text(row, NOTE, PL_SPAN_LIT("has no lease: no shard wrote it"));
	return put_lease(arena, row, entry->owner.lease);
}

/* Four digits in a table, as in the key; a number elsewhere. */
static bool put_partition(uint32_t partition, struct pl_arena *arena,
                          struct output_row *row)
{
	struct pl_span kept_text, kept;
	char text[16], json[16];

	(void)snprintf(text, sizeof text, "%04" PRIu32, partition);
	(void)snprintf(json, sizeof json, "%" PRIu32, partition);
	kept_text = pl_arena_dup(arena, pl_span_str(text));
	kept = pl_arena_dup(arena, pl_span_str(json));
	output_raw(row, PARTITION, kept_text, kept);
	return kept_text.at != NULL && kept.at != NULL;
}

enum pl_code partition_row(uint32_t partition, const struct owners_watch_entry *entry,
                           struct pl_span target, struct pl_arena *arena,
                           struct output_row *row)
{
	*row = (struct output_row){0};
	if (!put_partition(partition, arena, row))
		return PL_NOMEM;
	output_text(row, TARGET, target);
	if (entry == NULL)
		output_text(row, STATE, PL_SPAN_LIT("free"));
	else if (!put_entry(entry, arena, row))
		return PL_NOMEM;
	return PL_OK;
}

enum pl_code partition_told_row(const struct partition_told *told, struct pl_arena *arena,
                                struct output_row *row)
{
	const char *state = told->malformed.len > 0 ? "malformed"
	                    : told->owner.len > 0   ? "owned"
	                                            : "free";

	*row = (struct output_row){0};
	if (!put_partition(told->number, arena, row))
		return PL_NOMEM;
	output_text(row, STATE, pl_span_str(state));
	output_text(row, OWNER, told->owner);
	if (told->epoch > 0)
		output_int_string(row, EPOCH, told->epoch);
	output_text(row, TARGET, told->target);
	output_text(row, NOTE, told->malformed);
	return PL_OK;
}

enum pl_code partition_stray_row(const struct owners_watch_entry *entry,
                                 struct pl_arena *arena, struct output_row *row)
{
	*row = (struct output_row){0};
	if (!put_entry(entry, arena, row))
		return PL_NOMEM;
	output_text(row, PARTITION, entry->key);
	output_text(row, STATE, PL_SPAN_LIT("malformed"));
	if (!entry->malformed)
		output_text(row, NOTE,
		            PL_SPAN_LIT("there are fewer partitions than that"));
	return PL_OK;
}

/* -- shares ---------------------------------------------------------------------- */

enum share_column { SHARE_SHARD, SHARE_STATE, SHARE_PARTITIONS, SHARE_TARGET };

static const struct output_column share_columns[] = {
	[SHARE_SHARD] = {"SHARD", "shard", OUTPUT_ALWAYS},
	[SHARE_STATE] = {"STATE", "state", OUTPUT_ALWAYS},
	[SHARE_PARTITIONS] = {"PARTITIONS", "partitions", OUTPUT_ALWAYS},
	[SHARE_TARGET] = {"TARGET", "target", OUTPUT_ALWAYS},
};

const struct output_schema shard_share_schema = {
	.kind = "PartitionShare",
	.columns = share_columns,
	.count = sizeof share_columns / sizeof share_columns[0],
	.name_columns = 1,
};

void shard_share_row(const struct shard_share *share, bool target, struct output_row *row)
{
	*row = (struct output_row){0};
	output_text(row, SHARE_SHARD, share->shard);
	output_text(row, SHARE_STATE, pl_span_str(share->state));
	output_int(row, SHARE_PARTITIONS, share->partitions);
	if (share->shard.len > 0 && target)
		output_int(row, SHARE_TARGET, share->target);
}
