#include "coord/claims/owner.h"

#include <string.h>

#include "store/base/json.h"
#include "store/base/json_out.h"
#include "store/keys/names.h"

enum { BYTES_MAX = 4096, VALUES_MAX = 64, DEPTH_MAX = 4 };

enum pl_code owner_print(struct pl_span shard, struct pl_buf *out, struct pl_err *err)
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
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "owner of a partition");
}

static enum pl_code read_whole(struct pl_json doc, const char **shard, struct pl_err *err)
{
	struct pl_json_range one = {.low = 1, .high = 1};
	int64_t v;
	enum pl_code code;

	if (pl_json_type(doc) != PL_JSON_OBJECT)
		return pl_json_fail(doc, PL_INVALID, err, "must be an object");
	code = pl_json_int_in(doc, "v", PL_JSON_REQUIRED, one, &v, err);
	if (code == PL_OK)
		code = pl_json_string(doc, "shard", PL_JSON_REQUIRED, shard, err);
	if (code == PL_OK && names_check(NAMES_SHARD, pl_span_str(*shard), NULL) != PL_OK)
		code = pl_json_fail(pl_json_member(doc, "shard"), PL_INVALID, err,
		                    "is no name of a shard");
	return code;
}

enum pl_code owner_parse(struct pl_span json, struct owner *out, struct pl_err *err)
{
	static const struct pl_json_limits limits = {
		.bytes = BYTES_MAX, .depth = DEPTH_MAX, .values = VALUES_MAX};
	struct pl_arena arena;
	struct pl_json doc;
	const char *shard = NULL;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, json, &limits, &doc, err);
	if (code == PL_OK)
		code = read_whole(doc, &shard, err);
	if (code == PL_OK && shard != NULL)
		memcpy(out->shard, shard, strlen(shard) + 1);
	pl_arena_done(&arena);
	return code;
}
