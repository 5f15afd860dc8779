#include <stdlib.h>

#include "coord/config/config_schema.h"
#include "store/keys/names.h"

static const struct pl_json_range factor_range = {1, 1000000};

static void weights_fill(struct config_value *value)
{
	value->weights = (struct config_weights){0};
}

static int factor_cmp(const void *a, const void *b)
{
	const struct config_factor *left = a, *right = b;

	return pl_span_cmp(left->id, right->id);
}

static enum pl_code parse_factor(struct pl_json factors, struct pl_json item,
                                 struct pl_arena *arena, struct config_factor *out,
                                 struct pl_err *err)
{
	struct pl_span id = pl_span_str(pl_json_key(item));
	int64_t factor = 0;
	struct pl_err why = {0};
	enum pl_code code;

	if (names_check(NAMES_SHARD, id, &why) != PL_OK)
		return pl_json_fail(factors, PL_INVALID, err, "%s", why.msg);
	code = pl_json_as_int(item, factor_range, &factor, err);
	if (code != PL_OK)
		return code;
	*out = (struct config_factor){pl_arena_dup(arena, id), (uint32_t)factor};
	return out->id.at == NULL ? pl_json_fail(item, PL_NOMEM, err, "no room") : PL_OK;
}

static enum pl_code weights_parse(struct pl_json json, struct pl_arena *arena,
                                  struct config_value *value, struct pl_err *err)
{
	static const char *const known[] = {"factors", NULL};
	struct pl_json object = {0};
	struct config_factor *factors;
	size_t count, i = 0;
	enum pl_code code = pl_json_only(json, known, err);

	if (code == PL_OK)
		code = pl_json_object(json, "factors", PL_JSON_OPTIONAL, &object, err);
	count = pl_json_count(object);
	if (code != PL_OK || count == 0)
		return code;
	if (count > CONFIG_IDS_MAX)
		return pl_json_fail(object, PL_LIMIT, err, "more than %d shards",
		                    CONFIG_IDS_MAX);
	factors = pl_arena_zalloc(arena, count, sizeof *factors);
	if (factors == NULL)
		return pl_json_fail(object, PL_NOMEM, err, "no room");
	PL_JSON_EACH (item, object) {
		code = parse_factor(object, item, arena, &factors[i++], err);
		if (code != PL_OK)
			return code;
	}
	qsort(factors, count, sizeof *factors, factor_cmp);
	value->weights = (struct config_weights){factors, (uint32_t)count};
	return PL_OK;
}

static void weights_print(const struct config_value *value, struct pl_json_out *out)
{
	pl_json_out_object(out);
	pl_json_out_name(out, "factors");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < value->weights.factor_count; i++) {
		pl_json_out_name_span(out, value->weights.factors[i].id);
		pl_json_out_int(out, value->weights.factors[i].factor);
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

const struct config_schema config_schema_weights = {.name = "weights",
                                                    .fill = weights_fill,
                                                    .parse = weights_parse,
                                                    .print = weights_print};
