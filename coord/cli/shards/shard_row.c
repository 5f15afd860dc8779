#include "coord/cli/shards/shard_row.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/age.h"
#include "store/base/json_out.h"
#include "store/base/timestamp.h"

enum { RAW_MAX = 1 << 20, INSTANCE_SHORT = 8 };

enum shard_column {
	NAME,
	STATE,
	DRAIN,
	PARTITIONS,
	WEIGHT,
	SALT,
	ZONE,
	HOST,
	AGE,
	STARTED,
	PID,
	VERSION,
	API,
	INSTANCE_8,
	INSTANCE,
	LEASE,
	LOAD,
	BUSY,
	WRITES,
	FENCED,
	PENDING,
	PLACED,
	CONFLICTS,
	LAG,
	CONFIG,
	REFUSED,
	NOTE,
	COLUMN_COUNT,
};

static const struct output_column columns[] = {
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[STATE] = {"STATE", "state", OUTPUT_ALWAYS},
	[DRAIN] = {NULL, "drain", OUTPUT_ALWAYS},
	[PARTITIONS] = {"PARTITIONS", "partitions", OUTPUT_ALWAYS},
	[WEIGHT] = {"WEIGHT", "weight", OUTPUT_ALWAYS},
	[SALT] = {NULL, "salt", OUTPUT_ALWAYS},
	[ZONE] = {"ZONE", "zone", OUTPUT_ALWAYS},
	[HOST] = {"HOST", "host", OUTPUT_ALWAYS},
	[AGE] = {"AGE", NULL, OUTPUT_ALWAYS},
	[STARTED] = {NULL, "started", OUTPUT_ALWAYS},
	[PID] = {"PID", "pid", OUTPUT_ON_WIDE},
	[VERSION] = {"VERSION", "version", OUTPUT_ON_WIDE},
	[API] = {"API", "api", OUTPUT_ON_WIDE},
	[INSTANCE_8] = {"INSTANCE", NULL, OUTPUT_ON_WIDE},
	[INSTANCE] = {NULL, "instance", OUTPUT_ALWAYS},
	[LEASE] = {"LEASE", "lease", OUTPUT_ON_WIDE},
	[LOAD] = {"LOAD", "load", OUTPUT_ON_WIDE},
	[BUSY] = {"BUSY", "busy", OUTPUT_ON_WIDE},
	[WRITES] = {"WRITES/S", "writes_per_s", OUTPUT_ON_WIDE},
	[FENCED] = {"FENCED", "fenced", OUTPUT_ON_WIDE},
	[PENDING] = {"PENDING", "pending", OUTPUT_IF_USED},
	[PLACED] = {"PLACED/S", "placed_per_s", OUTPUT_IF_USED},
	[CONFLICTS] = {"CONFLICTS/S", "conflicts_per_s", OUTPUT_ON_WIDE},
	[LAG] = {"LAG-MS", "lag_ms", OUTPUT_ON_WIDE},
	[CONFIG] = {"CONFIG", "config", OUTPUT_ON_WIDE},
	[REFUSED] = {"REFUSED", "refused", OUTPUT_ON_WIDE},
	[NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

const struct output_schema shard_schema = {
	.kind = "Shard", .columns = columns, .count = COLUMN_COUNT, .name_columns = 1};

/* -- cells that have structure ------------------------------------------------- */

/* The text of a table and the JSON, kept in the arena. */
static enum pl_code put_raw(struct pl_arena *arena, struct output_row *row,
                            unsigned column, struct pl_buf *text, struct pl_buf *json)
{
	struct pl_span kept_text = pl_arena_dup(arena, pl_buf_span(text));
	struct pl_span kept = pl_arena_dup(arena, pl_buf_span(json));

	if (kept.at == NULL || (kept_text.at == NULL && text->len > 0))
		return PL_NOMEM;
	output_raw(row, column, kept_text, kept);
	return PL_OK;
}

static void print_partitions(const struct membership *member, struct pl_json_out *out)
{
	pl_json_out_array(out);
	for (uint32_t i = 0; i < member->partition_count; i++)
		pl_json_out_int(out, member->partitions[i]);
	pl_json_out_end(out);
}

static enum pl_code print_configs(const struct membership *member, struct pl_buf *text,
                                  struct pl_json_out *out)
{
	enum pl_code code = PL_OK;

	pl_json_out_object(out);
	for (uint32_t i = 0; i < member->config_count && code == PL_OK; i++) {
		const struct membership_config *config = &member->config[i];

		pl_json_out_name_span(out, config->name);
		pl_json_out_int(out, (int64_t)config->version);
		code = pl_buf_printf(text, "%s" PL_SPAN_FMT "=%" PRIu64,
		                     i == 0 ? "" : ",", PL_SPAN_ARG(config->name),
		                     config->version);
	}
	pl_json_out_end(out);
	return code;
}

static enum pl_code print_refused(const struct membership *member, struct pl_buf *text,
                                  struct pl_json_out *out)
{
	enum pl_code code = PL_OK;

	pl_json_out_object(out);
	for (uint32_t i = 0; i < member->config_count && code == PL_OK; i++) {
		const struct membership_config *config = &member->config[i];

		if (config->refused.len == 0)
			continue;
		pl_json_out_name_span(out, config->name);
		pl_json_out_string(out, config->refused);
		code = pl_buf_printf(text, "%s" PL_SPAN_FMT ": " PL_SPAN_FMT,
		                     text->len == 0 ? "" : "; ",
		                     PL_SPAN_ARG(config->name),
		                     PL_SPAN_ARG(config->refused));
	}
	pl_json_out_end(out);
	return code;
}

static enum pl_code put_structured(const struct membership *member,
                                   enum shard_column column, struct pl_arena *arena,
                                   struct output_row *row)
{
	enum pl_code code = PL_OK, json_code;
	struct pl_buf text, json;
	struct pl_json_out out;

	pl_buf_init(&text, RAW_MAX);
	pl_buf_init(&json, RAW_MAX);
	pl_json_out_init(&out, &json);
	if (column == PARTITIONS) {
		print_partitions(member, &out);
		code = pl_buf_printf(&text, "%" PRIu32, member->partition_count);
	} else if (column == CONFIG) {
		code = print_configs(member, &text, &out);
	} else {
		code = print_refused(member, &text, &out);
	}
	json_code = pl_json_out_done(&out);
	if (code == PL_OK)
		code = json_code;
	if (code == PL_OK)
		code = put_raw(arena, row, column, &text, &json);
	pl_buf_done(&text);
	pl_buf_done(&json);
	return code;
}

/* -- the row -------------------------------------------------------------------- */

static bool put_text(struct pl_arena *arena, struct output_row *row,
                     enum shard_column column, const char *text)
{
	struct pl_span kept = pl_arena_dup(arena, pl_span_str(text));

	output_text(row, column, kept);
	return kept.at != NULL;
}

static bool put_lease(struct pl_arena *arena, struct output_row *row, int64_t lease)
{
	char text[24];

	if (lease == 0)
		return true;
	(void)snprintf(text, sizeof text, "%016" PRIx64, (uint64_t)lease);
	return put_text(arena, row, LEASE, text);
}

/* The state is "active" in JSON even while the shard is to drain: that has a field
 * of its own. */
static void put_state(const struct membership *member, bool drain, struct output_row *row)
{
	static const struct {
		const char *json, *text, *unheard;
	} states[] = {
		[MEMBERSHIP_JOINING] = {"\"joining\"", "joining", "joining,drain-wanted"},
		[MEMBERSHIP_ACTIVE] = {"\"active\"", "active", "active,drain-wanted"},
		[MEMBERSHIP_DRAINING] = {"\"draining\"", "draining", "draining"},
	};

	output_raw(row, STATE,
	           pl_span_str(drain ? states[member->state].unheard
	                             : states[member->state].text),
	           pl_span_str(states[member->state].json));
	output_bool(row, DRAIN, drain);
}

static uint64_t load_of(const struct membership *member)
{
	uint64_t load = 0;

	for (uint32_t i = 0; i < member->partition_count; i++)
		load += member->loads[i];
	return load;
}

static const char *refuses(const struct membership *member)
{
	for (uint32_t i = 0; i < member->config_count; i++)
		if (member->config[i].refused.len > 0)
			return "does not apply a configuration; -o wide shows which";
	return "";
}

static enum pl_code put_times(const struct roster_entry *entry, int64_t now_ms,
                              struct pl_arena *arena, struct output_row *row)
{
	char stamp[PL_TIMESTAMP_SIZE], age[AGE_SIZE];
	int64_t started_ms = entry->member.started_ms;

	if (!put_text(arena, row, AGE, age_text(now_ms - started_ms, age)) ||
	    !put_text(arena, row, STARTED, pl_timestamp_print(started_ms, stamp)))
		return PL_NOMEM;
	return PL_OK;
}

/* Columns that the API does not tell. */
static void put_private(const struct membership *member, struct output_row *row)
{
	output_int(row, SALT, member->salt);
	output_text(row, INSTANCE, pl_span_str(member->instance));
	output_text(row, INSTANCE_8, pl_span(member->instance, INSTANCE_SHORT));
	output_int(row, LOAD, (int64_t)load_of(member));
}

static void put_member(const struct membership *member, struct output_row *row)
{
	output_int(row, WEIGHT, member->weight);
	output_text(row, ZONE, member->zone);
	output_text(row, HOST, member->host);
	output_int(row, PID, member->pid);
	output_text(row, VERSION, member->version);
	output_text(row, API, member->api);
	output_double(row, BUSY, member->busy);
	output_double(row, WRITES, member->writes_per_s);
	output_int(row, FENCED, (int64_t)member->fenced);
	output_text(row, NOTE, pl_span_str(refuses(member)));
	if (!member->work.known)
		return;
	output_int(row, PENDING, (int64_t)member->work.pending);
	output_double(row, PLACED, member->work.placed_per_s);
	output_double(row, CONFLICTS, member->work.conflicts_per_s);
	output_int(row, LAG, (int64_t)member->work.lag_ms);
}

enum pl_code shard_row(const struct roster_entry *entry,
                       const struct shard_row_about *about, struct pl_arena *arena,
                       struct output_row *row)
{
	static const enum shard_column structured[] = {PARTITIONS, CONFIG, REFUSED};
	const struct membership *member = &entry->member;
	enum pl_code code;

	*row = (struct output_row){0};
	output_text(row, NAME, member->id);
	if (!put_lease(arena, row, entry->lease))
		return PL_NOMEM;
	if (entry->malformed) {
		output_text(row, STATE, PL_SPAN_LIT("malformed"));
		output_bool(row, DRAIN, about->drain);
		output_text(row, NOTE, pl_span_str(entry->why.msg));
		return PL_OK;
	}
	put_state(member, about->drain, row);
	put_member(member, row);
	if (!about->of_api)
		put_private(member, row);
	code = put_times(entry, about->now_ms, arena, row);
	for (unsigned i = 0; i < sizeof structured / sizeof structured[0]; i++)
		if (code == PL_OK)
			code = put_structured(member, structured[i], arena, row);
	return code;
}
