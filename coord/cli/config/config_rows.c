#include "coord/cli/config/config_rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/out/age.h"
#include "store/base/stamp.h"

static bool keep(struct pl_arena *arena, struct output_row *row, unsigned column,
                 const char *text)
{
	struct pl_span kept = pl_arena_dup(arena, pl_span_str(text));

	output_text(row, column, kept);
	return kept.at != NULL || *text == 0;
}

static bool keep_stamp(struct pl_arena *arena, struct output_row *row, unsigned column,
                       int64_t at_ms)
{
	char stamp[PL_STAMP_SIZE];

	return at_ms == 0 || keep(arena, row, column, pl_stamp_print(at_ms, stamp));
}

/* -- as it is now ------------------------------------------------------------------ */

enum column {
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

/* "7/8" in a table: so many apply it, of so many. */
static bool put_heard(const struct config_heard *heard, struct pl_arena *arena,
                      struct output_row *row)
{
	char text[40], json[96];
	struct pl_span kept;

	if (heard == NULL)
		return true;
	(void)snprintf(text, sizeof text, "%" PRIu32 "/%" PRIu32, heard->applied,
	               heard->shards);
	(void)snprintf(json, sizeof json,
	               "{\"count\":%" PRIu32 ",\"applied\":%" PRIu32
	               ",\"refused\":%" PRIu32 "}",
	               heard->shards, heard->applied, heard->refused);
	kept = pl_arena_dup(arena, pl_span_str(json));
	output_raw(row, HEARD, (struct pl_span){0}, kept);
	return kept.at != NULL && keep(arena, row, SHARDS, text);
}

static const char *state_of(const struct config_row *is)
{
	if (is->current_err->code != PL_OK)
		return "garbled";
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
	    !keep(arena, row, NOTE, version->refused.msg))
		return false;
	return keep_stamp(arena, row, AT, version->at_ms);
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
	    !keep(arena, row, NOTE, is->current_err->msg))
		return PL_NOMEM;
	return put_heard(is->heard, arena, row) ? PL_OK : PL_NOMEM;
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
	if (refused && !keep(arena, row, V_NOTE, version->refused.msg))
		return PL_NOMEM;
	if (version->at_ms != 0 &&
	    !keep(arena, row, V_AGE, age_text(now_ms - version->at_ms, age)))
		return PL_NOMEM;
	return keep_stamp(arena, row, V_AT, version->at_ms) ? PL_OK : PL_NOMEM;
}
