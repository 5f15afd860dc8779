#include "coord/service/tokens/token_edit.h"

#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

enum { TRIES_MAX = 8 };

struct token_edit {
	struct sequence sequence;
	token_edit_fn *done;
	void *ctx;
	bool deletes;
	unsigned tries; /* that have been answered */
	int64_t rev;    /* of the record that is deleted; 0: it was not read yet */
	struct keys_text key;
	struct pl_buf value; /* that is created */
};

static void edit_finish(struct token_edit *edit, const struct pl_err *err)
{
	token_edit_fn *done = edit->done;
	void *ctx = edit->ctx;
	struct pl_err why = {0};

	if (err != NULL)
		why = *err;
	sequence_done(&edit->sequence);
	pl_buf_done(&edit->value);
	free(edit);
	done(ctx, err == NULL ? NULL : &why);
}

static void edit_fail(struct token_edit *edit, enum pl_code code, const char *why)
{
	struct pl_err err;

	(void)pl_err_set(&err, code, "%s", why);
	edit_finish(edit, &err);
}

/* -- creating ------------------------------------------------------------------------- */

static void on_created(void *ctx, const struct kv_result *result,
                       const struct pl_err *err);

/* A second try after an unknown outcome is as good as the first: if that was applied, the
 * compare fails, and the record that is read has our digest, which is random. */
static void create_commit(struct token_edit *edit)
{
	struct pl_span key = keys_span(&edit->key);
	struct kv_compare compare = kv_if_absent(key);
	struct kv_req then = kv_op_put(key, pl_buf_span(&edit->value));
	struct kv_req otherwise = kv_op_get(kv_key(key));
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = &compare,
	                             .compare_count = 1,
	                             .then = &then,
	                             .then_count = 1,
	                             .otherwise = &otherwise,
	                             .otherwise_count = 1}};

	sequence_send(&edit->sequence, &req, on_created);
}

static void on_created(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct token_edit *edit = ctx;
	const struct kv_get_result *got;

	if (err != NULL && err->code == PL_UNKNOWN && ++edit->tries < TRIES_MAX) {
		create_commit(edit);
		return;
	}
	if (err != NULL || result->txn.succeeded) {
		edit_finish(edit, err);
		return;
	}
	got = &result->txn.results[0].get;
	if (got->count == 1 &&
	    pl_span_eq(got->records[0].value, pl_buf_span(&edit->value)))
		edit_finish(edit, NULL);
	else
		edit_fail(edit, PL_EXISTS, "there is a token of that name");
}

/* -- deleting ------------------------------------------------------------------------- */

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err);

static void delete_read(struct token_edit *edit)
{
	struct kv_req req = kv_op_get(kv_key(keys_span(&edit->key)));

	sequence_send(&edit->sequence, &req, on_read);
}

static void on_deleted(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct token_edit *edit = ctx;

	if (err != NULL && err->code != PL_UNKNOWN)
		edit_finish(edit, err);
	else if (err == NULL && result->txn.succeeded)
		edit_finish(edit, NULL);
	else if (++edit->tries < TRIES_MAX)
		delete_read(edit);
	else
		edit_fail(edit, PL_CONFLICT, "the token changes again and again");
}

/* A record other than the one that was read first is another token. */
static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct token_edit *edit = ctx;
	struct pl_span key = keys_span(&edit->key);
	struct kv_req then = kv_op_delete(kv_key(key));
	struct kv_compare compare;
	struct kv_req req;
	int64_t rev;

	if (err != NULL) {
		edit_finish(edit, err);
		return;
	}
	rev = result->get.count == 0 ? 0 : result->get.records[0].mod_revision;
	if (rev == 0 && edit->rev == 0) {
		edit_fail(edit, PL_NOTFOUND, "there is no token of that name");
		return;
	}
	if (edit->rev != 0 && edit->rev != rev) {
		edit_finish(edit, NULL);
		return;
	}
	edit->rev = rev;
	compare = kv_if_mod_rev(key, KV_EQ, rev);
	req = (struct kv_req){.op = KV_TXN,
	                      .txn = {.compares = &compare,
	                              .compare_count = 1,
	                              .then = &then,
	                              .then_count = 1}};
	sequence_send(&edit->sequence, &req, on_deleted);
}

/* -- life ----------------------------------------------------------------------------- */

static enum pl_code edit_start(const struct service *service, struct pl_span name,
                               struct token_edit *edit, struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_TOKEN, .name = name};
	enum pl_code code = keys_build(&id, &edit->key, err);

	if (code == PL_OK)
		code = sequence_init(&edit->sequence, service->kv, service->timeout_ms,
		                     edit, err);
	if (code != PL_OK)
		return code;
	if (edit->deletes)
		delete_read(edit);
	else
		create_commit(edit);
	return PL_OK;
}

static struct token_edit *edit_new(token_edit_fn *done, void *ctx, bool deletes)
{
	struct token_edit *edit = pl_calloc(1, sizeof *edit);

	if (edit == NULL)
		return NULL;
	edit->done = done;
	edit->ctx = ctx;
	edit->deletes = deletes;
	pl_buf_init(&edit->value, TOKEN_RECORD_MAX);
	return edit;
}

enum pl_code token_create_start(const struct service *service, struct pl_span id,
                                const struct token_record *record, token_edit_fn *done,
                                void *ctx, struct token_edit **out, struct pl_err *err)
{
	struct token_edit *edit = edit_new(done, ctx, false);
	enum pl_code code;

	if (edit == NULL)
		return pl_err_set(err, PL_NOMEM, "issue a token");
	code = token_record_check(record, err);
	if (code == PL_OK)
		code = token_record_print(record, &edit->value, err);
	if (code == PL_OK)
		code = edit_start(service, id, edit, err);
	if (code == PL_OK) {
		*out = edit;
		return PL_OK;
	}
	pl_buf_done(&edit->value);
	free(edit);
	return code;
}

enum pl_code token_delete_start(const struct service *service, struct pl_span id,
                                token_edit_fn *done, void *ctx, struct token_edit **out,
                                struct pl_err *err)
{
	struct token_edit *edit = edit_new(done, ctx, true);
	enum pl_code code;

	if (edit == NULL)
		return pl_err_set(err, PL_NOMEM, "revoke a token");
	code = edit_start(service, id, edit, err);
	if (code == PL_OK)
		*out = edit;
	else
		free(edit);
	return code;
}

void token_edit_cancel(struct token_edit *edit)
{
	sequence_cancel(&edit->sequence);
}
