#include "coord/cli/tokens/token_api.h"

#include "coord/cli/output/row_list.h"
#include "coord/cli/session/api_object.h"
#include "store/base/json_out.h"

#define ROOT "/apis/placet.io/v1"

enum { BODY_MAX = 256 << 10 };

static void put_body(struct pl_json_out *out, const char *name,
                     const struct token_record *record, uint64_t expires_s)
{
	pl_json_out_object(out);
	pl_json_out_name(out, "metadata");
	pl_json_out_object(out);
	pl_json_out_name(out, "name");
	pl_json_out_str(out, name);
	pl_json_out_end(out);
	pl_json_out_name(out, "spec");
	pl_json_out_object(out);
	pl_json_out_name(out, "user");
	pl_json_out_string(out, record->user);
	pl_json_out_name(out, "groups");
	pl_json_out_array(out);
	for (size_t i = 0; i < record->group_count; i++)
		pl_json_out_string(out, record->groups[i]);
	pl_json_out_end(out);
	pl_json_out_name(out, "expirationSeconds");
	pl_json_out_int(out, (int64_t)expires_s);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

enum pl_code token_api_create(struct api_session *api, const char *name,
                              const struct token_record *record, uint64_t expires_s,
                              struct pl_arena *arena, struct pl_span *out,
                              struct pl_err *err)
{
	struct api_request request = {.method = "POST", .path = ROOT "/tokens"};
	struct pl_json answer = {0};
	struct pl_json_out json;
	struct pl_buf body;
	enum pl_code code;

	pl_buf_init(&body, BODY_MAX);
	pl_json_out_init(&json, &body);
	put_body(&json, name, record, expires_s);
	code = pl_json_out_done(&json);
	request.body = pl_buf_span(&body);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "a token");
	else
		code = api_session_send(api, &request, arena, &answer, err);
	pl_buf_done(&body);
	if (code != PL_OK)
		return code;
	*out = api_text(answer, "status.token");
	return out->len > 0 ? PL_OK
	                    : pl_err_set(err, PL_PROTO, "the answer has no token");
}

enum pl_code token_api_delete(struct api_session *api, const char *name,
                              struct pl_err *err)
{
	struct api_request request = {.method = "DELETE"};
	char path[API_PATH_MAX];
	struct pl_arena arena;
	enum pl_code code = api_path(path, ROOT, (struct pl_span){0}, "tokens",
	                             pl_span_str(name), err);

	if (code != PL_OK)
		return code;
	request.path = path;
	pl_arena_init(&arena, 0, 0);
	code = api_session_send(api, &request, &arena, NULL, err);
	pl_arena_done(&arena);
	return code;
}

/* -- the list ----------------------------------------------------------------------------- */

struct asking_tokens {
	struct row_list list;
	struct pl_arena arena; /* of one row */
};

static enum pl_code groups_take(struct pl_json token, struct pl_arena *arena,
                                struct token_record *record)
{
	struct pl_json list = field_at(token, "spec.groups");
	struct pl_span *groups =
		pl_arena_zalloc(arena, pl_json_count(list) + 1, sizeof *groups);

	if (groups == NULL)
		return PL_NOMEM;
	PL_JSON_EACH (item, list) {
		const char *text = "";

		if (pl_json_as_string(item, &text, NULL) == PL_OK)
			groups[record->group_count++] = pl_span_str(text);
	}
	record->groups = groups;
	return PL_OK;
}

static enum pl_code add_token(void *ctx, struct pl_json token, struct pl_err *err)
{
	struct asking_tokens *asking = ctx;
	struct token_record record = {.user = api_text(token, "spec.user"),
	                              .by = api_text(token, "status.createdBy")};
	struct output_row row = {0};
	enum pl_code code;

	pl_arena_reset(&asking->arena);
	(void)api_time(token, "status.creationTimestamp", &record.created_ms);
	(void)api_time(token, "status.expirationTimestamp", &record.expires_ms);
	code = groups_take(token, &asking->arena, &record);
	if (code == PL_OK)
		code = token_row(&row, &asking->arena, api_text(token, "metadata.name"),
		                 &record);
	if (code != PL_OK)
		return pl_err_set(err, code, "print the tokens");
	output_text(&row, TOKEN_NOTE, api_text(token, "status.malformed"));
	return row_list_add(&asking->list, &row, err);
}

enum pl_code token_api_list(struct api_session *api, struct pl_err *err)
{
	struct asking_tokens asking;
	enum pl_code code =
		row_list_init(&asking.list, &token_schema, api->options->format, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&asking.arena, 0, 0);
	code = api_session_list(api, ROOT "/tokens", (struct pl_span){0}, add_token,
	                        &asking, err);
	if (code == PL_OK)
		code = row_list_end(&asking.list, "no tokens", err);
	pl_arena_done(&asking.arena);
	row_list_done(&asking.list);
	return code;
}
