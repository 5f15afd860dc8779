#include "coord/config/config.h"

#include "coord/config/config_schema.h"
#include "store/base/quote.h"

static const uint32_t factor_one = 1000; /* the weight of one, in thousandths */

static const struct config_schema *const schemas[CONFIG_NAME_COUNT] = {
	[CONFIG_COORD] = &config_schema_coord,
	[CONFIG_SHARDS] = &config_schema_shards,
	[CONFIG_WEIGHTS] = &config_schema_weights,
	[CONFIG_SCHEDULER] = &config_schema_scheduler,
	[CONFIG_ACCESS] = &config_schema_access,
};

static const struct config_schema *schema_of(enum config_name name)
{
	PL_ASSERT(name < CONFIG_NAME_COUNT);
	return schemas[name];
}

const char *config_name_text(enum config_name name)
{
	return schema_of(name)->name;
}

enum pl_code config_name_parse(struct pl_span text, enum config_name *out,
                               struct pl_err *err)
{
	char quoted[PL_QUOTE_SIZE];

	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		if (pl_span_eq(text, pl_span_str(schemas[i]->name))) {
			*out = (enum config_name)i;
			return PL_OK;
		}
	}
	return pl_err_set(
		err, PL_NOTFOUND,
		"configuration %s: there are coord, shards, weights, scheduler and access",
		pl_quote(text, quoted));
}

void config_default(enum config_name name, struct config_value *out)
{
	*out = (struct config_value){.name = name};
	schema_of(name)->fill(out);
}

enum pl_code config_parse(enum config_name name, struct pl_json json,
                          struct pl_arena *arena, struct config_value *out,
                          struct pl_err *err)
{
	struct config_value value;
	enum pl_code code;

	if (pl_json_type(json) != PL_JSON_OBJECT)
		return pl_json_fail(json, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(json)));
	config_default(name, &value);
	code = schema_of(name)->parse(json, arena, &value, err);
	if (code == PL_OK)
		*out = value;
	return code;
}

enum pl_code config_print(const struct config_value *value, struct pl_buf *out,
                          struct pl_err *err)
{
	struct pl_json_out json;
	enum pl_code code;

	pl_json_out_init(&json, out);
	schema_of(value->name)->print(value, &json);
	code = pl_json_out_done(&json);
	if (code == PL_OK)
		return code;
	return pl_err_set(err, code, "configuration '%s': %s",
	                  config_name_text(value->name), pl_code_name(code));
}

bool config_drains(const struct config_shards *shards, struct pl_span id)
{
	uint32_t low = 0, high = shards->drain_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = pl_span_cmp(shards->drain[middle], id);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

uint32_t config_factor(const struct config_weights *weights, struct pl_span id)
{
	uint32_t low = 0, high = weights->factor_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = pl_span_cmp(weights->factors[middle].id, id);

		if (order == 0)
			return weights->factors[middle].factor;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return factor_one;
}
