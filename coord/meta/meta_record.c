#include "coord/meta/meta.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "store/base/timestamp.h"
#include "store/keys/keys.h"

/* Seven short fields, and some room for unknown ones. */
static const struct pl_json_limits limits = {.bytes = 8192, .depth = 8, .values = 200};

static bool incarnation_ok(const char *text)
{
	return strlen(text) == META_INCARNATION_SIZE - 1 &&
	       strspn(text, "0123456789abcdef") == META_INCARNATION_SIZE - 1;
}

enum pl_code meta_print(const struct meta *meta, struct pl_buf *out, struct pl_err *err)
{
	char created[PL_TIMESTAMP_SIZE];
	struct pl_json_out json;
	enum pl_code code;

	PL_ASSERT(meta->partitions > 0 && meta->partitions <= KEYS_PARTITIONS_MAX);
	PL_ASSERT(incarnation_ok(meta->incarnation));
	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "v");
	pl_json_out_int(&json, 1);
	pl_json_out_name(&json, "partitions");
	pl_json_out_int(&json, meta->partitions);
	pl_json_out_name(&json, "created");
	pl_json_out_str(&json, pl_timestamp_print(meta->created_ms, created));
	pl_json_out_name(&json, "version");
	pl_json_out_str(&json, meta->version);
	pl_json_out_name(&json, "incarnation");
	pl_json_out_str(&json, meta->incarnation);
	pl_json_out_end(&json);
	code = pl_json_out_done(&json);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "print meta");
}

static enum pl_code parse_version(struct pl_json root, struct meta *out,
                                  struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(root, "version", PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	if (strlen(text) >= sizeof out->version)
		return pl_json_fail(pl_json_member(root, "version"), PL_INVALID, err,
		                    "want at most %zu bytes", sizeof out->version - 1);
	memcpy(out->version, text, strlen(text) + 1);
	return PL_OK;
}

static enum pl_code parse_incarnation(struct pl_json root, struct meta *out,
                                      struct pl_err *err)
{
	const char *text = "";
	enum pl_code code =
		pl_json_string(root, "incarnation", PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	if (!incarnation_ok(text))
		return pl_json_fail(pl_json_member(root, "incarnation"), PL_INVALID, err,
		                    "want %d hex digits", META_INCARNATION_SIZE - 1);
	memcpy(out->incarnation, text, META_INCARNATION_SIZE);
	return PL_OK;
}

static enum pl_code parse_created(struct pl_json root, struct meta *out,
                                  struct pl_err *err)
{
	const char *text = "";
	struct pl_err why = {0};
	enum pl_code code = pl_json_string(root, "created", PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	if (pl_timestamp_parse(pl_span_str(text), &out->created_ms, &why) != PL_OK)
		return pl_json_fail(pl_json_member(root, "created"), PL_INVALID, err,
		                    "%s", why.msg);
	return PL_OK;
}

static enum pl_code parse_all(struct pl_json root, struct meta *out, struct pl_err *err)
{
	static const struct pl_json_range one = {1, 1};
	static const struct pl_json_range some = {1, KEYS_PARTITIONS_MAX};
	int64_t v = 0, partitions = 0;
	enum pl_code code = PL_OK;

	if (pl_json_type(root) != PL_JSON_OBJECT)
		code = pl_json_fail(root, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(root)));
	if (code == PL_OK)
		code = pl_json_int_in(root, "v", PL_JSON_REQUIRED, one, &v, err);
	if (code == PL_OK)
		code = pl_json_int_in(root, "partitions", PL_JSON_REQUIRED, some,
		                      &partitions, err);
	out->partitions = (uint32_t)partitions;
	if (code == PL_OK)
		code = parse_created(root, out, err);
	if (code == PL_OK)
		code = parse_version(root, out, err);
	return code == PL_OK ? parse_incarnation(root, out, err) : code;
}

enum pl_code meta_parse(struct pl_span json, struct meta *out, struct pl_err *err)
{
	struct meta meta = {0};
	struct pl_arena arena;
	struct pl_json root;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, json, &limits, &root, err);
	if (code == PL_OK)
		code = parse_all(root, &meta, err);
	pl_arena_done(&arena);
	if (code == PL_OK)
		*out = meta;
	return code;
}
