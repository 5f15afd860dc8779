#include <stdlib.h>

#include "coord/config/config_schema.h"
#include "store/base/quote.h"
#include "store/keys/names.h"

static void shards_fill(struct config_value *value)
{
	value->shards = (struct config_shards){0};
}

static int id_cmp(const void *a, const void *b)
{
	const struct pl_span *left = a, *right = b;

	return pl_span_cmp(*left, *right);
}

static enum pl_code parse_id(struct pl_json item, struct pl_arena *arena,
                             struct pl_span *out, struct pl_err *err)
{
	struct pl_err why = {0};
	const char *text = "";
	enum pl_code code = pl_json_as_string(item, &text, err);

	if (code != PL_OK)
		return code;
	if (names_check(NAMES_SHARD, pl_span_str(text), &why) != PL_OK)
		return pl_json_fail(item, PL_INVALID, err, "%s", why.msg);
	*out = pl_arena_dup(arena, pl_span_str(text));
	return out->at == NULL ? pl_json_fail(item, PL_NOMEM, err, "no room") : PL_OK;
}

/* Sorts the ids, so that every shard has them in one order, and refuses duplicates. */
static enum pl_code sort_ids(struct pl_json drain, struct pl_span *ids, size_t count,
                             struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];

	qsort(ids, count, sizeof *ids, id_cmp);
	for (size_t i = 1; i < count; i++) {
		if (pl_span_eq(ids[i - 1], ids[i]))
			return pl_json_fail(drain, PL_INVALID, err, "%s stands twice",
			                    pl_quote(ids[i], quoted));
	}
	return PL_OK;
}

static enum pl_code shards_parse(struct pl_json json, struct pl_arena *arena,
                                 struct config_value *value, struct pl_err *err)
{
	static const char *const known[] = {"drain", NULL};
	struct pl_json drain = {0};
	struct pl_span *ids;
	size_t count, i = 0;
	enum pl_code code = pl_json_only(json, known, err);

	if (code == PL_OK)
		code = pl_json_array(json, "drain", PL_JSON_OPTIONAL, &drain, err);
	count = pl_json_count(drain);
	if (code != PL_OK || count == 0)
		return code;
	if (count > CONFIG_IDS_MAX)
		return pl_json_fail(drain, PL_LIMIT, err, "more than %d shards",
		                    CONFIG_IDS_MAX);
	ids = pl_arena_zalloc(arena, count, sizeof *ids);
	if (ids == NULL)
		return pl_json_fail(drain, PL_NOMEM, err, "no room");
	PL_JSON_EACH (item, drain) {
		code = parse_id(item, arena, &ids[i++], err);
		if (code != PL_OK)
			return code;
	}
	code = sort_ids(drain, ids, count, err);
	if (code == PL_OK)
		value->shards = (struct config_shards){ids, (uint32_t)count};
	return code;
}

static void shards_print(const struct config_value *value, struct pl_json_out *out)
{
	pl_json_out_object(out);
	pl_json_out_name(out, "drain");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < value->shards.drain_count; i++)
		pl_json_out_string(out, value->shards.drain[i]);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

const struct config_schema config_schema_shards = {.name = "shards",
                                                   .fill = shards_fill,
                                                   .parse = shards_parse,
                                                   .print = shards_print};
