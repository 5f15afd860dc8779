#include "coord/cli/config/config_rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/age.h"
#include "store/base/timestamp.h"

static bool put_text(struct pl_arena *arena, struct output_row *row, unsigned column,
                     const char *text)
{
	struct pl_span kept = pl_arena_dup(arena, pl_span_str(text));

	output_text(row, column, kept);
	return kept.at != NULL || *text == 0;
}

static bool put_stamp(struct pl_arena *arena, struct output_row *row, unsigned column,
                      int64_t at_ms)
{
	char stamp[PL_TIMESTAMP_SIZE];

	return at_ms == 0 ||
	       put_text(arena, row, column, pl_timestamp_print(at_ms, stamp));
}

/* -- as it is now ------------------------------------------------------------------ */

enum config_column {
	NAME,
	VERSION,
	STATE,
	SHARDS,
	HEARD,
	AT,
	BY,
	WHY,
	NOTE,
	CONTENT,
};

static const struct output_column columns[] = {
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[VERSION] = {"VERSION", "version", OUTPUT_ALWAYS},
	[STATE] = {"STATE", "state", OUTPUT_ALWAYS},
	[SHARDS] = {"SHARDS", NULL, OUTPUT_ALWAYS},
	[HEARD] = {NULL, "shards", OUTPUT_ALWAYS},
	[AT] = {"AT", "at", OUTPUT_ALWAYS},
	[BY] = {"BY", "by", OUTPUT_ALWAYS},
	[WHY] = {"WHY", "why", OUTPUT_IF_USED},
	[NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
	[CONTENT] = {NULL, "config", OUTPUT_ALWAYS},
};

const struct output_schema config_schema = {
	.kind = "Configuration",
	.columns = columns,
	.count = sizeof columns / sizeof columns[0],
};

/* "7/8" in a table: 7 of 8 shards apply it. */
static bool put_acceptance(const struct config_acceptance *acceptance,
                           struct pl_arena *arena, struct output_row *row)
{
	char text[40], json[96];
	struct pl_span kept;

	if (acceptance == NULL)
		return true;
	(void)snprintf(text, sizeof text, "%" PRIu32 "/%" PRIu32, acceptance->applied,
	               acceptance->shards);
	(void)snprintf(json, sizeof json,
	               "{\"count\":%" PRIu32 ",\"applied\":%" PRIu32
	               ",\"refused\":%" PRIu32 "}",
	               acceptance->shards, acceptance->applied, acceptance->refused);
	kept = pl_arena_dup(arena, pl_span_str(json));
	output_raw(row, HEARD, (struct pl_span){0}, kept);
	return kept.at != NULL && put_text(arena, row, SHARDS, text);
}

static const char *state_of(const struct config_row *is)
{
	if (is->current_err->code != PL_OK)
		return "malformed";
	if (is->version == NULL || is->version->version == 0)
		return "default";
	if (is->version->refused.code != PL_OK)
		return "refused";
	return is->version->current ? "current" : "old";
}

static bool put_version(const struct config_version *version, struct pl_arena *arena,
                        struct output_row *row)
{
	output_int(row, VERSION, (int64_t)version->version);
	output_text(row, BY, version->by);
	output_text(row, WHY, version->why);
	if (version->refused.code != PL_OK &&
	    !put_text(arena, row, NOTE, version->refused.msg))
		return false;
	return put_stamp(arena, row, AT, version->at_ms);
}

enum pl_code config_row(const struct config_row *is, struct pl_arena *arena,
                        struct output_row *row)
{
	*row = (struct output_row){0};
	output_text(row, NAME, pl_span_str(config_name_text(is->name)));
	output_text(row, STATE, pl_span_str(state_of(is)));
	output_int(row, VERSION, 0);
	if (is->content.len > 0)
		output_raw(row, CONTENT, (struct pl_span){0}, is->content);
	if (is->version != NULL && !put_version(is->version, arena, row))
		return PL_NOMEM;
	if (is->current_err->code != PL_OK &&
	    !put_text(arena, row, NOTE, is->current_err->msg))
		return PL_NOMEM;
	return put_acceptance(is->acceptance, arena, row) ? PL_OK : PL_NOMEM;
}

/* -- in a history -------------------------------------------------------------------- */

enum version_column { V_VERSION, V_STATE, V_AGE, V_AT, V_BY, V_WHY, V_NOTE };

static const struct output_column version_columns[] = {
	[V_VERSION] = {"VERSION", "version", OUTPUT_ALWAYS},
	[V_STATE] = {"STATE", "state", OUTPUT_ALWAYS},
	[V_AGE] = {"AGE", NULL, OUTPUT_ALWAYS},
	[V_AT] = {"AT", "at", OUTPUT_ON_WIDE},
	[V_BY] = {"BY", "by", OUTPUT_ALWAYS},
	[V_WHY] = {"WHY", "why", OUTPUT_ALWAYS},
	[V_NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

const struct output_schema config_version_schema = {
	.kind = "ConfigurationVersion",
	.columns = version_columns,
	.count = sizeof version_columns / sizeof version_columns[0],
};

enum pl_code config_version_row(const struct config_version *version, int64_t now_ms,
                                struct pl_arena *arena, struct output_row *row)
{
	bool refused = version->refused.code != PL_OK;
	char age[AGE_SIZE];

	*row = (struct output_row){0};
	output_int(row, V_VERSION, (int64_t)version->version);
	output_text(row, V_STATE,
	            refused            ? version->current ? PL_SPAN_LIT("current,refused")
	                                                  : PL_SPAN_LIT("refused")
	                       : version->current ? PL_SPAN_LIT("current")
	                               : PL_SPAN_LIT("old"));
	output_text(row, V_BY, version->by);
	output_text(row, V_WHY, version->why);
	if (refused && !put_text(arena, row, V_NOTE, version->refused.msg))
		return PL_NOMEM;
	if (version->at_ms != 0 &&
	    !put_text(arena, row, V_AGE, age_text(now_ms - version->at_ms, age)))
		return PL_NOMEM;
	return put_stamp(arena, row, V_AT, version->at_ms) ? PL_OK : PL_NOMEM;
}
