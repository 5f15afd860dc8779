#include "coord/service/tokens/token_record.h"

#include "coord/access/base/identity.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "store/base/timestamp.h"

static const struct pl_json_limits limits = {
	.bytes = TOKEN_RECORD_MAX, .depth = 8, .values = 1000};

/* -- reading -------------------------------------------------------------------------- */

static enum pl_code name_take(struct pl_json value, struct pl_span *out,
                              struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_as_string(value, &text, err);

	if (code == PL_OK && !identity_name_ok(pl_span_str(text)))
		code = pl_json_fail(value, PL_INVALID, err, "not a name");
	if (code == PL_OK)
		*out = pl_span_str(text);
	return code;
}

static enum pl_code groups_take(struct pl_json root, struct pl_arena *arena,
                                struct token_record *out, struct pl_err *err)
{
	struct pl_json list = {0};
	struct pl_span *groups;
	enum pl_code code = pl_json_array(root, "groups", PL_JSON_OPTIONAL, &list, err);
	size_t count = code == PL_OK ? pl_json_count(list) : 0;

	if (code != PL_OK || count == 0)
		return code;
	if (count > TOKEN_GROUPS_MAX)
		return pl_json_fail(list, PL_INVALID, err, "more than %d",
		                    TOKEN_GROUPS_MAX);
	groups = pl_arena_zalloc(arena, count, sizeof *groups);
	if (groups == NULL)
		return pl_err_set(err, PL_NOMEM, "a token's record");
	PL_JSON_EACH (item, list) {
		code = name_take(item, &groups[out->group_count], err);
		if (code != PL_OK)
			return code;
		out->group_count++;
	}
	out->groups = groups;
	return PL_OK;
}

static enum pl_code time_take(struct pl_json root, const char *name,
                              enum pl_json_need need, int64_t *out, struct pl_err *err)
{
	const char *text = NULL;
	struct pl_err why = {0};
	enum pl_code code = pl_json_string(root, name, need, &text, err);

	if (code != PL_OK || text == NULL)
		return code;
	if (pl_timestamp_parse(pl_span_str(text), out, &why) != PL_OK || *out <= 0)
		return pl_json_fail(pl_json_member(root, name), PL_INVALID, err,
		                    "want a time");
	return PL_OK;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum pl_code hash_take(struct pl_json root, uint8_t out[TOKEN_HASH_BYTES],
                              struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(root, "hash", PL_JSON_REQUIRED, &text, err);
	bool good = code == PL_OK && strlen(text) == 2 * (size_t)TOKEN_HASH_BYTES;

	if (code != PL_OK)
		return code;
	for (size_t i = 0; good && i < TOKEN_HASH_BYTES; i++) {
		int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

		good = high >= 0 && low >= 0;
		if (good)
			out[i] = (uint8_t)(high << 4 | low);
	}
	if (good)
		return PL_OK;
	return pl_json_fail(pl_json_member(root, "hash"), PL_INVALID, err,
	                    "want %d hex digits", 2 * TOKEN_HASH_BYTES);
}

static enum pl_code record_take(struct pl_json root, struct pl_arena *arena,
                                struct token_record *out, struct pl_err *err)
{
	static const struct pl_json_range one = {1, 1};
	const char *user = "", *by = "";
	int64_t v = 0;
	enum pl_code code = pl_json_int_in(root, "v", PL_JSON_REQUIRED, one, &v, err);

	if (code == PL_OK)
		code = pl_json_string(root, "user", PL_JSON_REQUIRED, &user, err);
	if (code == PL_OK)
		code = name_take(pl_json_member(root, "user"), &out->user, err);
	if (code == PL_OK)
		code = groups_take(root, arena, out, err);
	if (code == PL_OK)
		code = time_take(root, "created", PL_JSON_REQUIRED, &out->created_ms,
		                 err);
	if (code == PL_OK)
		code = time_take(root, "expires", PL_JSON_OPTIONAL, &out->expires_ms,
		                 err);
	if (code == PL_OK)
		code = pl_json_string(root, "by", PL_JSON_OPTIONAL, &by, err);
	out->by = pl_span_str(by);
	if (code == PL_OK && out->by.len > TOKEN_BY_MAX)
		code = pl_json_fail(pl_json_member(root, "by"), PL_INVALID, err,
		                    "longer than %d bytes", TOKEN_BY_MAX);
	return code == PL_OK ? hash_take(root, out->hash, err) : code;
}

enum pl_code token_record_parse(struct pl_span json, struct pl_arena *arena,
                                struct token_record *out, struct pl_err *err)
{
	struct token_record record = {0};
	struct pl_json root;
	enum pl_code code = pl_json_parse(arena, json, &limits, &root, err);

	if (code == PL_OK && pl_json_type(root) != PL_JSON_OBJECT)
		code = pl_json_fail(root, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(root)));
	if (code == PL_OK)
		code = record_take(root, arena, &record, err);
	if (code == PL_OK)
		*out = record;
	return code;
}

/* -- writing -------------------------------------------------------------------------- */

static void put_time(struct pl_json_out *json, const char *name, int64_t ms)
{
	char text[PL_TIMESTAMP_SIZE];

	pl_json_out_name(json, name);
	pl_json_out_str(json, pl_timestamp_print(ms, text));
}

static void put_hash(struct pl_json_out *json, const uint8_t hash[TOKEN_HASH_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t text[2 * TOKEN_HASH_BYTES];

	for (size_t i = 0; i < TOKEN_HASH_BYTES; i++) {
		text[2 * i] = (uint8_t)digits[hash[i] >> 4];
		text[2 * i + 1] = (uint8_t)digits[hash[i] & 15];
	}
	pl_json_out_name(json, "hash");
	pl_json_out_string(json, pl_span(text, sizeof text));
}

enum pl_code token_record_print(const struct token_record *record, struct pl_buf *out,
                                struct pl_err *err)
{
	struct pl_json_out json;
	enum pl_code code;

	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "v");
	pl_json_out_int(&json, 1);
	pl_json_out_name(&json, "user");
	pl_json_out_string(&json, record->user);
	pl_json_out_name(&json, "groups");
	pl_json_out_array(&json);
	for (size_t i = 0; i < record->group_count; i++)
		pl_json_out_string(&json, record->groups[i]);
	pl_json_out_end(&json);
	put_time(&json, "created", record->created_ms);
	if (record->expires_ms != 0)
		put_time(&json, "expires", record->expires_ms);
	pl_json_out_name(&json, "by");
	pl_json_out_string(&json, record->by);
	put_hash(&json, record->hash);
	pl_json_out_end(&json);
	code = pl_json_out_done(&json);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "print a token's record");
}

enum pl_code token_record_check(const struct token_record *record, struct pl_err *err)
{
	const struct pl_span masters = PL_SPAN_LIT(IDENTITY_MASTERS);

	if (!identity_name_ok(record->user))
		return pl_err_set(err, PL_INVALID,
		                  "user: want 1 to %d bytes without control characters",
		                  IDENTITY_NAME_MAX);
	if (identity_name_reserved(record->user))
		return pl_err_set(err, PL_INVALID,
		                  "user: names that begin with system: are reserved");
	if (record->group_count > TOKEN_GROUPS_MAX)
		return pl_err_set(err, PL_INVALID, "groups: more than %d",
		                  TOKEN_GROUPS_MAX);
	for (size_t i = 0; i < record->group_count; i++) {
		struct pl_span group = record->groups[i];

		if (!identity_name_ok(group))
			return pl_err_set(
				err, PL_INVALID,
				"groups[%zu]: want 1 to %d bytes without control "
				"characters",
				i, IDENTITY_NAME_MAX);
		if (identity_name_reserved(group) && !pl_span_eq(group, masters))
			return pl_err_set(
				err, PL_INVALID,
				"groups[%zu]: of the names that begin with system: only "
				"system:masters can be given",
				i);
	}
	return PL_OK;
}
