#include "coord/config/config_record.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/base/json_out.h"
#include "store/base/timestamp.h"

const struct pl_json_limits config_limits = {
	.bytes = 1 << 20, .depth = 16, .values = 100000};

/* The value of current is small, whatever wrote it. */
static const struct pl_json_limits current_limits = {
	.bytes = 4096, .depth = 4, .values = 64};

static const struct pl_json_range version_range = {1, (int64_t)KEYS_VERSION_MAX};

enum pl_code config_record_print(const struct config_record *record, uint64_t nonce,
                                 struct pl_json config, struct pl_buf *out,
                                 struct pl_err *err)
{
	char at[PL_TIMESTAMP_SIZE], hex[17];
	struct pl_json_out json;
	enum pl_code code;

	(void)snprintf(hex, sizeof hex, "%016" PRIx64, nonce);
	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "v");
	pl_json_out_int(&json, 1);
	pl_json_out_name(&json, "at");
	pl_json_out_str(&json, pl_timestamp_print(record->at_ms, at));
	pl_json_out_name(&json, "by");
	pl_json_out_string(&json, record->by);
	pl_json_out_name(&json, "why");
	pl_json_out_string(&json, record->why);
	pl_json_out_name(&json, "nonce");
	pl_json_out_str(&json, hex);
	pl_json_out_name(&json, "config");
	pl_json_out_value(&json, config);
	pl_json_out_end(&json);
	code = pl_json_out_done(&json);
	return code == PL_OK ? code
	                     : pl_err_set(err, code, "version: %s", pl_code_name(code));
}

static enum pl_code check_v(struct pl_json json, struct pl_err *err)
{
	int64_t v = 0;
	enum pl_code code;

	if (pl_json_type(json) != PL_JSON_OBJECT)
		return pl_json_fail(json, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(json)));
	code = pl_json_int(json, "v", PL_JSON_REQUIRED, &v, err);
	if (code == PL_OK && v != 1)
		code = pl_json_fail(pl_json_member(json, "v"), PL_INVALID, err,
		                    "want 1, got %" PRId64, v);
	return code;
}

enum pl_code config_record_parse(struct pl_span json, struct pl_arena *arena,
                                 struct config_record *out, struct pl_err *err)
{
	struct config_record record = {0};
	const char *at = "", *by = "", *why = "";
	struct pl_err stamp = {0};
	struct pl_json root = {0};
	enum pl_code code = pl_json_parse(arena, json, &config_limits, &root, err);

	if (code == PL_OK)
		code = check_v(root, err);
	if (code == PL_OK)
		code = pl_json_string(root, "at", PL_JSON_REQUIRED, &at, err);
	if (code == PL_OK &&
	    pl_timestamp_parse(pl_span_str(at), &record.at_ms, &stamp) != PL_OK)
		code = pl_json_fail(pl_json_member(root, "at"), PL_INVALID, err, "%s",
		                    stamp.msg);
	if (code == PL_OK)
		code = pl_json_string(root, "by", PL_JSON_OPTIONAL, &by, err);
	if (code == PL_OK)
		code = pl_json_string(root, "why", PL_JSON_OPTIONAL, &why, err);
	if (code == PL_OK)
		code = pl_json_object(root, "config", PL_JSON_REQUIRED, &record.config,
		                      err);
	if (code != PL_OK)
		return code;
	record.by = pl_span_str(by);
	record.why = pl_span_str(why);
	*out = record;
	return PL_OK;
}

enum pl_code config_record_value(enum config_name name, uint64_t version,
                                 struct pl_span json, struct pl_arena *arena,
                                 struct config_value *out, struct pl_err *err)
{
	struct config_record record = {0};
	struct pl_err why = {0};
	enum pl_code code = config_record_parse(json, arena, &record, &why);

	if (code == PL_OK)
		code = config_parse(name, record.config, arena, out, &why);
	return code == PL_OK ? code
	                     : pl_err_set(err, code, "version %" PRIu64 ": %s", version,
	                                  why.msg);
}

enum pl_code config_current_print(uint64_t version, struct pl_buf *out,
                                  struct pl_err *err)
{
	struct pl_json_out json;
	enum pl_code code;

	PL_ASSERT(version >= 1 && version <= KEYS_VERSION_MAX);
	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "v");
	pl_json_out_int(&json, 1);
	pl_json_out_name(&json, "version");
	pl_json_out_int(&json, (int64_t)version);
	pl_json_out_end(&json);
	code = pl_json_out_done(&json);
	return code == PL_OK ? code
	                     : pl_err_set(err, code, "current: %s", pl_code_name(code));
}

enum pl_code config_current_parse(struct pl_span json, struct pl_arena *arena,
                                  uint64_t *version, struct pl_err *err)
{
	struct pl_json root = {0};
	struct pl_err why = {0};
	int64_t number = 0;
	enum pl_code code = pl_json_parse(arena, json, &current_limits, &root, &why);

	if (code == PL_OK)
		code = check_v(root, &why);
	if (code == PL_OK)
		code = pl_json_int_in(root, "version", PL_JSON_REQUIRED, version_range,
		                      &number, &why);
	if (code == PL_OK)
		*version = (uint64_t)number;
	else
		(void)pl_err_set(err, code, "current: %s", why.msg);
	return code;
}

static void key_of(const struct keys_id *id, struct keys_text *out)
{
	if (keys_build(id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key of a configuration");
}

void config_version_key(enum config_name name, uint64_t version, struct keys_text *out)
{
	key_of(&(struct keys_id){.kind = KEYS_CONFIG,
	                         .name = pl_span_str(config_name_text(name)),
	                         .version = version},
	       out);
}

void config_current_key(enum config_name name, struct keys_text *out)
{
	key_of(&(struct keys_id){.kind = KEYS_CONFIG_CURRENT,
	                         .name = pl_span_str(config_name_text(name))},
	       out);
}
