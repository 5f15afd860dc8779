#include "coord/service/store/store_restore.h"

#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "store/base/alloc.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

enum { META_BYTES_MAX = 4096 };

struct store_restore {
	struct sequence sequence;
	struct keys_text key;
	struct pl_buf text;    /* that is written */
	struct pl_err unknown; /* how the write ended */
	store_restore_fn *done;
	void *ctx;
};

static void restore_finish(struct store_restore *restore, const struct pl_err *err)
{
	store_restore_fn *done = restore->done;
	void *ctx = restore->ctx;
	struct pl_err why = {0};

	if (err != NULL)
		why = *err;
	sequence_done(&restore->sequence);
	pl_buf_done(&restore->text);
	free(restore);
	done(ctx, err == NULL ? NULL : &why);
}

/* The written value stands there: the write was applied. */
static void on_settled(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct store_restore *restore = ctx;

	if (err == NULL && result->get.count == 1 &&
	    pl_span_eq(result->get.records[0].value, pl_buf_span(&restore->text))) {
		restore_finish(restore, NULL);
		return;
	}
	(void)pl_err_wrap(&restore->unknown,
	                  "whether /placet/meta was written is not known");
	restore_finish(restore, &restore->unknown);
}

static void on_written(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct store_restore *restore = ctx;
	const struct kv_req req = kv_op_get(kv_key(keys_span(&restore->key)));
	struct pl_err changed;

	if (err != NULL && err->code == PL_UNKNOWN) {
		restore->unknown = *err;
		sequence_send(&restore->sequence, &req, on_settled);
		return;
	}
	if (err == NULL && !result->txn.succeeded) {
		(void)pl_err_set(
			&changed, PL_CONFLICT,
			"another writer changed /placet/meta; look again before you "
			"repeat this");
		err = &changed;
	}
	restore_finish(restore, err);
}

static void write_meta(struct store_restore *restore, int64_t mod_revision)
{
	struct pl_span key = keys_span(&restore->key);
	const struct kv_compare unchanged = kv_if_mod_rev(key, KV_EQ, mod_revision);
	const struct kv_req put = kv_op_put(key, pl_buf_span(&restore->text));
	const struct kv_req req = {.op = KV_TXN,
	                           .txn = {.compares = &unchanged,
	                                   .compare_count = 1,
	                                   .then = &put,
	                                   .then_count = 1}};

	sequence_send(&restore->sequence, &req, on_written);
}

enum pl_code store_restore_start(const struct service *service, const struct meta *meta,
                                 int64_t mod_revision, store_restore_fn *done, void *ctx,
                                 struct store_restore **out, struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_META};
	struct store_restore *restore = pl_calloc(1, sizeof *restore);

	if (restore == NULL)
		return pl_err_set(err, PL_NOMEM, "restore");
	restore->done = done;
	restore->ctx = ctx;
	pl_buf_init(&restore->text, META_BYTES_MAX);
	if (keys_build(&id, &restore->key, err) != PL_OK ||
	    meta_print(meta, &restore->text, err) != PL_OK ||
	    sequence_init(&restore->sequence, service->kv, service->timeout_ms, restore,
	                  err) != PL_OK) {
		pl_buf_done(&restore->text);
		free(restore);
		return err->code;
	}
	write_meta(restore, mod_revision);
	*out = restore;
	return PL_OK;
}

void store_restore_cancel(struct store_restore *restore)
{
	sequence_cancel(&restore->sequence);
}
