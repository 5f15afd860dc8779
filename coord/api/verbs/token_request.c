/*
 * POST of a token: issued, and its secret shown once, in status.token of the answer.
 *
 *	body --> spec --> token_make --> token_create_start --> answered
 *
 * A client that has gone does not stop it: the token then stands in the list, and can be
 * revoked by its name.
 */
#include <openssl/crypto.h>

#include "coord/api/verbs/change.h"
#include "coord/api/verbs/explanation.h"
#include "coord/service/tokens/token_edit.h"
#include "store/base/timestamp.h"
#include "store/keys/names.h"

enum { EXPIRATION_S_MAX = 3650 * 86400, FAULT_TEXT = 300 };

struct token_request {
	struct request *request;
	struct json_tree body;
	struct pl_span name;
	struct token_record record;
	struct token_edit *edit;
	char text[TOKEN_TEXT_SIZE];
};

/* -- the answer ---------------------------------------------------------------------------- */

static void answer_fault(struct token_request *token, const char *field, const char *why)
{
	struct request *request = token->request;
	const char *message =
		pl_arena_printf(&request->arena, "Invalid value: %.*s", FAULT_TEXT, why);
	const struct status_cause cause = {.type = "FieldValueInvalid",
	                                   .field = pl_span_str(field),
	                                   .message = pl_span_str(message)};
	const struct status_about about = {.group = request->path.resource->group,
	                                   .resource = request->path.resource->kind,
	                                   .name = token->name};
	struct api_status status = status_invalid(&request->arena, about, &cause, 1);

	answer_status(request, &status);
}

static void put_time(struct pl_json_out *out, const char *name, int64_t ms)
{
	char text[PL_TIMESTAMP_SIZE];

	(void)pl_timestamp_print(ms, text);
	text[19] = 'Z'; /* whole seconds, as Kubernetes writes times */
	pl_json_out_name(out, name);
	pl_json_out_string(out, pl_span(text, 20));
}

static void put_spec(struct pl_json_out *out, const struct token_record *record)
{
	pl_json_out_name(out, "spec");
	pl_json_out_object(out);
	pl_json_out_name(out, "user");
	pl_json_out_string(out, record->user);
	if (record->group_count > 0) {
		pl_json_out_name(out, "groups");
		pl_json_out_array(out);
		for (size_t i = 0; i < record->group_count; i++)
			pl_json_out_string(out, record->groups[i]);
		pl_json_out_end(out);
	}
	if (record->expires_ms != 0) {
		pl_json_out_name(out, "expirationSeconds");
		pl_json_out_int(out, (record->expires_ms - record->created_ms) / 1000);
	}
	pl_json_out_end(out);
}

static void put_token(struct token_request *token, bool dry_run, struct pl_json_out *out)
{
	const struct token_record *record = &token->record;

	pl_json_out_object(out);
	pl_json_out_name(out, "kind");
	pl_json_out_str(out, "Token");
	pl_json_out_name(out, "apiVersion");
	pl_json_out_str(out, "placet.io/v1");
	pl_json_out_name(out, "metadata");
	pl_json_out_object(out);
	pl_json_out_name(out, "name");
	pl_json_out_string(out, token->name);
	put_time(out, "creationTimestamp", record->created_ms);
	pl_json_out_end(out);
	put_spec(out, record);
	pl_json_out_name(out, "status");
	pl_json_out_object(out);
	if (!dry_run) {
		pl_json_out_name(out, "token");
		pl_json_out_str(out, token->text);
	}
	if (record->expires_ms != 0)
		put_time(out, "expirationTimestamp", record->expires_ms);
	pl_json_out_name(out, "createdBy");
	pl_json_out_string(out, record->by);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void answer_token(struct token_request *token, bool dry_run)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, TOKEN_RECORD_MAX);
	pl_json_out_init(&out, &buf);
	put_token(token, dry_run, &out);
	if (pl_json_out_done(&out) == PL_OK)
		answer_made(token->request, 201, pl_buf_span(&buf));
	else
		answer_no_memory(token->request);
	if (buf.len > 0)
		OPENSSL_cleanse(buf.at, buf.len);
	pl_buf_done(&buf);
}

static void on_issued(void *ctx, const struct pl_err *err)
{
	struct token_request *token = ctx;
	struct request *request = token->request;
	struct status_about about = request_about(request);
	struct api_status status;

	about.name = token->name;
	if (err == NULL) {
		answer_token(token, false);
	} else if (err->code == PL_EXISTS) {
		status = status_exists(&request->arena, about);
		answer_status(request, &status);
	} else {
		answer_store_error(request, err);
	}
	OPENSSL_cleanse(token->text, sizeof token->text);
	request_unbusy(request);
}

/* -- the request ---------------------------------------------------------------------------- */

static struct pl_span text_of(struct pl_json object, const char *name)
{
	struct pl_json value = pl_json_member(object, name);
	const char *text = "";

	if (pl_json_type(value) == PL_JSON_STRING)
		(void)!pl_json_as_string(value, &text, NULL);
	return pl_span_str(text);
}

/* False: it has been answered. */
static bool groups_take(struct token_request *token, struct pl_json spec)
{
	struct pl_json list = pl_json_member(spec, "groups");
	size_t count = pl_json_count(list), i = 0;
	struct pl_span *groups;

	if (count > TOKEN_GROUPS_MAX) {
		answer_fault(token, "spec.groups", "too many");
		return false;
	}
	groups = pl_arena_zalloc(&token->request->arena, count + 1, sizeof *groups);
	if (groups == NULL) {
		answer_no_memory(token->request);
		return false;
	}
	PL_JSON_EACH (item, list) {
		const char *text = "";

		(void)!pl_json_as_string(item, &text, NULL);
		groups[i++] = pl_span_str(text);
	}
	token->record.groups = groups;
	token->record.group_count = count;
	return true;
}

/* A token that never ends has to be asked for, by a 0. */
static bool expiration_take(struct token_request *token, struct pl_json spec)
{
	static const struct pl_json_range range = {0, EXPIRATION_S_MAX};
	struct pl_err err = {0};
	int64_t seconds = 0;

	if (pl_json_int_in(spec, "expirationSeconds", PL_JSON_REQUIRED, range, &seconds,
	                   &err) != PL_OK) {
		answer_fault(token, "spec.expirationSeconds",
		             "want seconds from now, at most ten years, or 0: never");
		return false;
	}
	if (seconds > 0)
		token->record.expires_ms = token->record.created_ms + seconds * 1000;
	return true;
}

static bool record_take(struct token_request *token, struct pl_json root)
{
	struct request *request = token->request;
	struct api *api = request->api;
	struct pl_json spec = pl_json_member(root, "spec");
	struct pl_err err = {0};

	token->name = text_of(pl_json_member(root, "metadata"), "name");
	token->record = (struct token_record){
		.user = text_of(spec, "user"),
		.created_ms = api->wall_ms(api->clock_ctx),
		.by = request->user_name, /* the identity may go before the answer */
	};
	if (names_check(NAMES_TOKEN, token->name, &err) != PL_OK) {
		answer_fault(token, "metadata.name", err.msg);
		return false;
	}
	if (!groups_take(token, spec) || !expiration_take(token, spec))
		return false;
	if (token_record_check(&token->record, &err) == PL_OK)
		return true;
	answer_fault(token, "spec", err.msg);
	return false;
}

/* False: it has been answered. */
static bool body_take(struct token_request *token)
{
	struct request *request = token->request;
	const struct schema_type *type = request->path.resource->type;
	struct schema_report *report =
		pl_arena_zalloc(&request->arena, 1, sizeof *report);

	if (report == NULL) {
		answer_no_memory(request);
		return false;
	}
	schema_report_init(report, &request->arena);
	if (!body_read(request, type, &token->body))
		return false;
	if (token->body.root == NULL) {
		answer_fault(token, "spec", "missing");
		return false;
	}
	return body_decode(request, &token->body, type, report) &&
	       record_take(token, json_tree_root(&token->body));
}

void request_token(struct request *request)
{
	struct token_request *token = pl_arena_zalloc(&request->arena, 1, sizeof *token);
	struct pl_err err = {0};

	if (token == NULL) {
		answer_no_memory(request);
		return;
	}
	token->request = request;
	if (!body_take(token))
		return;
	if (request->query.dryRun.len > 0) {
		answer_token(token, true);
		return;
	}
	if (token_make(token->name, token->text, token->record.hash, &err) == PL_OK &&
	    token_create_start(&request->api->service, token->name, &token->record,
	                       on_issued, token, &token->edit, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}
