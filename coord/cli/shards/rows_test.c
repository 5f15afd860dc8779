/* Shards, partitions and configurations as rows, from well-formed and malformed
 * records. */
#include <stdlib.h>

#include "coord/cli/config/config_rows.h"
#include "coord/cli/shards/partition_row.h"
#include "coord/cli/shards/shard_row.h"
#include "coord/connect/store_opts.h"
#include "tests/harness/t.h"

static const int64_t now_ms = INT64_C(1763704800000) + 3600000;

static struct pl_arena arena;
static struct pl_buf buf;

static void up(void)
{
	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&buf, 1 << 16);
}

static void down(void)
{
	pl_arena_done(&arena);
	pl_buf_done(&buf);
}

static void print(const struct output_schema *schema, enum output_format format,
                  const struct output_row *rows, size_t count)
{
	struct output output;
	struct pl_err err;

	output_init(&output, schema, format, false);
	T_OK(output_list(&output, rows, count, &buf, &err), &err);
}

static void golden(const char *name)
{
	T_EQ(pl_buf_add(&buf, PL_SPAN_LIT("")), PL_OK);
	buf.at[buf.len] = 0;
	t_golden(name, (const char *)buf.at);
}

/* -- shards ------------------------------------------------------------------------ */

static const uint16_t partitions[] = {3, 17};
static const uint32_t loads[] = {120, 95};

static struct roster_entry member(const char *id, enum membership_state state)
{
	return (struct roster_entry){
		.member = {.id = pl_span_str(id),
	                   .instance = "0123456789abcdef0123456789abcdef",
	                   .state = state,
	                   .host = PL_SPAN_LIT("h1"),
	                   .pid = 4711,
	                   .version = PL_SPAN_LIT("0.1.0"),
	                   .api = PL_SPAN_LIT("10.0.0.1:7400"),
	                   .zone = PL_SPAN_LIT("z1"),
	                   .weight = 1000,
	                   .started_ms = INT64_C(1763704800000),
	                   .partitions = partitions,
	                   .loads = loads,
	                   .partition_count = 2,
	                   .writes_per_s = 12.5,
	                   .busy = 0.03,
	                   .config = {{.name = PL_SPAN_LIT("coord"), .version = 3},
	                              {.name = PL_SPAN_LIT("weights"), .version = 12}},
	                   .config_count = 2},
		.lease = INT64_C(0x123456789abc)};
}

static void shard_rows(struct output_row rows[5], struct roster_entry entries[5])
{
	entries[0] = member("east-0", MEMBERSHIP_ACTIVE);
	entries[0].member.work = (struct membership_work){.known = true,
	                                                  .pending = 7,
	                                                  .placed_per_s = 31.5,
	                                                  .conflicts_per_s = 0.1,
	                                                  .lag_ms = 4};
	entries[1] = member("east-1", MEMBERSHIP_ACTIVE);
	entries[2] = member("east-2", MEMBERSHIP_DRAINING);
	entries[3] = member("east-3", MEMBERSHIP_JOINING);
	entries[3].member.partition_count = 0;
	entries[3].member.zone = (struct pl_span){0};
	entries[3].member.config[0].refused =
		PL_SPAN_LIT("version 4: .handover_ms: must be 1 to 60000");
	entries[4] = (struct roster_entry){.member = {.id = PL_SPAN_LIT("west-0")},
	                                   .malformed = true};
	(void)pl_err_set(&entries[4].why, PL_INVALID, ".pid: want an integer\x1b[2J");
	for (unsigned i = 0; i < 5; i++)
		T_EQ(shard_row(&entries[i],
		               &(struct shard_row_about){.drain = i == 1 || i == 2,
		                                         .now_ms = now_ms},
		               &arena, &rows[i]),
		     PL_OK);
}

T_CASE(shards_in_a_table)
{
	struct roster_entry entries[5];
	struct output_row rows[5];

	up();
	shard_rows(rows, entries);
	print(&shard_schema, OUTPUT_TABLE, rows, 5);
	golden("cli/shards.txt");
	down();
}

T_CASE(shards_in_a_wide_table)
{
	struct roster_entry entries[5];
	struct output_row rows[5];

	up();
	shard_rows(rows, entries);
	print(&shard_schema, OUTPUT_WIDE, rows, 5);
	golden("cli/shards_wide.txt");
	down();
}

T_CASE(shards_as_json)
{
	struct roster_entry entries[5];
	struct output_row rows[5];

	up();
	shard_rows(rows, entries);
	print(&shard_schema, OUTPUT_JSON, rows, 5);
	golden("cli/shards.json");
	down();
}

/* -- partitions -------------------------------------------------------------------- */

static struct owners_watch_entry owned(const char *shard)
{
	struct owners_watch_entry entry = {.is_partition = true,
	                                   .owner = {.epoch = 42, .lease = 0x77}};

	memcpy(entry.owner.shard, shard, strlen(shard) + 1);
	return entry;
}

static void partition_rows(struct output_row rows[5],
                           struct owners_watch_entry entries[5])
{
	for (unsigned i = 0; i < 5; i++)
		entries[i] = owned("east-0");
	entries[1].owner.lease = 0;
	entries[3] = (struct owners_watch_entry){.is_partition = true, .malformed = true};
	(void)pl_err_set(&entries[3].why, PL_INVALID, "want an object");
	entries[4].key = PL_SPAN_LIT("/partitions/4000/owner");
	T_EQ(partition_row(0, &entries[0], PL_SPAN_LIT("east-1"), &arena, &rows[0]),
	     PL_OK);
	T_EQ(partition_row(1, &entries[1], PL_SPAN_LIT("east-0"), &arena, &rows[1]),
	     PL_OK);
	T_EQ(partition_row(2, NULL, PL_SPAN_LIT("east-0"), &arena, &rows[2]), PL_OK);
	T_EQ(partition_row(3, &entries[3], (struct pl_span){0}, &arena, &rows[3]), PL_OK);
	T_EQ(partition_stray_row(&entries[4], &arena, &rows[4]), PL_OK);
}

T_CASE(partitions_in_a_table)
{
	struct owners_watch_entry entries[5];
	struct output_row rows[5];

	up();
	partition_rows(rows, entries);
	print(&partition_schema, OUTPUT_TABLE, rows, 5);
	golden("cli/partitions.txt");
	down();
}

T_CASE(partitions_in_a_wide_table)
{
	struct owners_watch_entry entries[5];
	struct output_row rows[5];

	up();
	partition_rows(rows, entries);
	print(&partition_schema, OUTPUT_WIDE, rows, 5);
	golden("cli/partitions_wide.txt");
	down();
}

T_CASE(partitions_as_json)
{
	struct owners_watch_entry entries[5];
	struct output_row rows[5];

	up();
	partition_rows(rows, entries);
	print(&partition_schema, OUTPUT_JSON, rows, 5);
	golden("cli/partitions.json");
	down();
}

/* -- configurations ------------------------------------------------------------------ */

T_CASE(versions_in_a_table)
{
	struct config_version versions[3] = {
		{.version = 12,
	         .current = true,
	         .at_ms = now_ms - 60000,
	         .by = PL_SPAN_LIT("ann@h1"),
	         .why = PL_SPAN_LIT("quieter")},
		{.version = 11, .at_ms = now_ms - 7200000, .by = PL_SPAN_LIT("balancer")},
		{.version = 9},
	};
	struct output_row rows[3];

	up();
	(void)pl_err_set(&versions[2].refused, PL_INVALID, ".drain: want an array");
	for (unsigned i = 0; i < 3; i++)
		T_EQ(config_version_row(&versions[i], now_ms, &arena, &rows[i]), PL_OK);
	print(&config_version_schema, OUTPUT_WIDE, rows, 3);
	golden("cli/history.txt");
	down();
}

T_CASE(configurations_in_a_table)
{
	struct config_version good = {.version = 3,
	                              .current = true,
	                              .at_ms = now_ms,
	                              .by = PL_SPAN_LIT("ann@h1")};
	struct config_version bad = good;
	struct config_acceptance acceptance = {.shards = 8, .applied = 7, .refused = 1};
	struct pl_err none = {0}, malformed = {0};
	struct output_row rows[4];
	struct config_row is = {.name = CONFIG_COORD,
	                        .version = &good,
	                        .current_err = &none,
	                        .acceptance = &acceptance};

	up();
	(void)pl_err_set(&bad.refused, PL_INVALID, ".drain: want an array");
	(void)pl_err_set(&malformed, PL_INVALID, "no JSON");
	T_EQ(config_row(&is, &arena, &rows[0]), PL_OK);
	is.name = CONFIG_SHARDS;
	is.version = &bad;
	T_EQ(config_row(&is, &arena, &rows[1]), PL_OK);
	is.name = CONFIG_WEIGHTS;
	is.version = NULL;
	T_EQ(config_row(&is, &arena, &rows[2]), PL_OK);
	is.current_err = &malformed;
	T_EQ(config_row(&is, &arena, &rows[3]), PL_OK);
	print(&config_schema, OUTPUT_TABLE, rows, 4);
	golden("cli/configs.txt");
	down();
}

T_CASE(a_store_not_named_can_be_named)
{
	struct store_opts opts;
	struct pl_err err;

	T_EQ(unsetenv("PLACET_ENDPOINTS"), 0);
	T_OK(store_opts_init(&opts, &err), &err);
	(void)pl_err_set(&err, PL_UNAVAIL, "refused");
	store_opts_add_advice(&opts, &err);
	T_STR(err.msg, "refused; start a store there, or name it with --endpoints or "
	               "PLACET_ENDPOINTS");
	(void)pl_err_set(&err, PL_DENIED, "refused");
	store_opts_add_advice(&opts, &err);
	T_STR(err.msg, "refused");
	T_OK(store_opts_set(&opts, STORE_OPT_FIRST, "http://127.0.0.1:2379", &err), &err);
	(void)pl_err_set(&err, PL_UNAVAIL, "refused");
	store_opts_add_advice(&opts, &err);
	T_STR(err.msg, "refused");
	T_EQ(setenv("PLACET_ENDPOINTS", "http://127.0.0.1:2379", 1), 0);
	T_OK(store_opts_init(&opts, &err), &err);
	store_opts_add_advice(&opts, &err);
	T_STR(err.msg, "refused");
}
