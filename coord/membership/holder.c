#include "coord/membership/holder.h"

#include "store/base/arena.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "store/keys/names.h"

static const struct pl_json_limits limits = {.bytes = 4096, .depth = 8, .values = 64};

enum pl_code holder_print(struct pl_span shard, struct pl_buf *out, struct pl_err *err)
{
	struct pl_json_out json;
	enum pl_code code;

	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "v");
	pl_json_out_int(&json, 1);
	pl_json_out_name(&json, "shard");
	pl_json_out_string(&json, shard);
	pl_json_out_end(&json);
	code = pl_json_out_done(&json);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "holder");
}

static enum pl_code read_fields(struct pl_json json, struct holder *out,
                                struct pl_err *err)
{
	int64_t version;
	const char *shard;
	enum pl_code code;

	if (pl_json_type(json) != PL_JSON_OBJECT)
		return pl_json_fail(json, PL_INVALID, err, "must be an object");
	code = pl_json_int_in(json, "v", PL_JSON_REQUIRED, (struct pl_json_range){1, 1},
	                      &version, err);
	if (code == PL_OK)
		code = pl_json_string(json, "shard", PL_JSON_REQUIRED, &shard, err);
	if (code == PL_OK)
		code = names_check(NAMES_SHARD, pl_span_str(shard), err);
	if (code == PL_OK)
		memcpy(out->shard, shard, strlen(shard) + 1);
	return code;
}

enum pl_code holder_parse(struct pl_span text, struct holder *out, struct pl_err *err)
{
	struct pl_arena arena;
	struct pl_json json;
	enum pl_code code;

	pl_arena_init(&arena, 4096, 1 << 20);
	code = pl_json_parse(&arena, text, &limits, &json, err);
	if (code == PL_OK)
		code = read_fields(json, out, err);
	pl_arena_done(&arena);
	return code;
}
