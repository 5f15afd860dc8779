#include <inttypes.h>
#include <stdlib.h>

#include "coord/config/config_edit_int.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

/*
 * The transaction and its outcomes; the head of config_edit.c has the overview.
 */

enum { PAUSE_MS = 50, SCANS_MAX = 4 };

/* Writes again after a moment, unless the deadline is too near. */
static void retry_unknown(struct config_edit *edit, const struct pl_err *err)
{
	uint64_t now = kv_now_ms(edit->kv);

	if (!edit->unsettled)
		edit->unknown = *err;
	edit->unsettled = true;
	if (edit->canceled || now + PAUSE_MS >= edit->deadline_ms) {
		(void)pl_err_unknown(&edit->unknown);
		edit_fail(edit, &edit->unknown);
		return;
	}
	pl_timer_set(&edit->timer, now + PAUSE_MS);
}

/* The compares did not hold: decides from the keys that were read instead. */
static void on_refused(struct config_edit *edit, const struct kv_txn_result *txn)
{
	const struct kv_get_result *current = &txn->results[0].get;
	const struct kv_get_result *mine = &txn->results[1].get;
	int64_t current_rev = current->count == 0 ? 0 : current->records[0].mod_revision;
	struct pl_err err;

	if (mine->count == 1 &&
	    pl_span_eq(mine->records[0].value, pl_buf_span(&edit->body))) {
		edit_finish(edit, edit->version, NULL);
		return;
	}
	if (current_rev == edit->scan.current_rev && mine->count == 1 &&
	    edit->scans < SCANS_MAX && !edit->canceled) {
		edit->unsettled = false; /* the key belongs to another write for good */
		edit_scan_again(edit);
		return;
	}
	if (current_rev != edit->scan.current_rev)
		(void)pl_err_set(&err, PL_CONFLICT, "another writer was faster");
	else if (mine->count == 1)
		(void)pl_err_set(&err, PL_CONFLICT,
		                 "version %" PRIu64 " is there already", edit->version);
	else
		(void)pl_err_set(&err, PL_CONFLICT, "what the writer requires is not so");
	edit_fail(edit, &err);
}

static void on_written(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct config_edit *edit = ctx;
	struct pl_err copy;

	edit->call = NULL;
	if (err == NULL && result->txn.succeeded) {
		edit_finish(edit, edit->version, NULL);
	} else if (err == NULL) {
		on_refused(edit, &result->txn);
	} else if (err->code == PL_UNKNOWN || edit->unsettled) {
		retry_unknown(edit, err);
	} else {
		copy = *err;
		edit_fail(edit, &copy);
	}
}

static enum pl_code txn_start(struct config_edit *edit, struct kv_compare *compares,
                              struct pl_err *err)
{
	size_t count = edit->opts.guard_count;
	uint64_t left = config_time_left(edit->kv, edit->deadline_ms);
	struct keys_text current, version;
	struct kv_req puts[2], gets[2];
	struct pl_buf pointer;
	enum pl_code code;

	config_current_key(edit->opts.name, &current);
	config_version_key(edit->opts.name, edit->version, &version);
	pl_buf_init(&pointer, 256);
	code = config_current_print(edit->version, &pointer, err);
	if (code == PL_OK) {
		compares[count++] =
			kv_if_mod_rev(keys_span(&current), KV_EQ, edit->scan.current_rev);
		compares[count++] = kv_if_create_rev(keys_span(&version), KV_EQ, 0);
		puts[0] = kv_op_put(keys_span(&version), pl_buf_span(&edit->body));
		puts[1] = kv_op_put(keys_span(&current), pl_buf_span(&pointer));
		gets[0] = kv_op_get(kv_key(keys_span(&current)));
		gets[1] = kv_op_get(kv_key(keys_span(&version)));
		code = kv_txn(edit->kv,
		              &(struct kv_txn){.compares = compares,
		                               .compare_count = count,
		                               .then = puts,
		                               .then_count = 2,
		                               .otherwise = gets,
		                               .otherwise_count = 2},
		              left < edit->try_ms ? left : edit->try_ms, on_written, edit,
		              &edit->call, err);
	}
	pl_buf_done(&pointer);
	return code;
}

static enum pl_code write_start(struct config_edit *edit, struct pl_err *err)
{
	size_t guards = edit->opts.guard_count;
	PL_CLEANUP(pl_freep)
	struct kv_compare *compares = pl_calloc(guards + 2, sizeof *compares);

	if (compares == NULL)
		return pl_err_set(err, PL_NOMEM, "compares");
	if (guards > 0)
		memcpy(compares, edit->opts.guard, guards * sizeof *compares);
	return txn_start(edit, compares, err);
}

/* The pause after a write with an unknown outcome is over, or the edit was canceled
 * during it. */
void edit_on_timer(void *ctx)
{
	struct config_edit *edit = ctx;
	struct pl_err err;

	PL_ASSERT(edit->unsettled && edit->call == NULL);
	if (edit->canceled) {
		(void)pl_err_unknown(&edit->unknown);
		edit_fail(edit, &edit->unknown);
	} else if (write_start(edit, &err) != PL_OK) {
		retry_unknown(edit, &err);
	}
}

void edit_write(struct config_edit *edit)
{
	const struct config_scan *scan = &edit->scan;
	uint64_t highest = scan->highest > scan->current ? scan->highest : scan->current;
	struct config_record record = {
		.at_ms = edit->opts.at_ms, .by = edit->opts.by, .why = edit->opts.why};
	struct pl_err err;

	if (highest >= KEYS_VERSION_MAX) {
		(void)pl_err_set(&err, PL_LIMIT, "version %" PRIu64 " is the last one",
		                 highest);
		edit_fail(edit, &err);
		return;
	}
	edit->version = highest + 1;
	pl_buf_clear(&edit->body, SIZE_MAX);
	if (config_record_print(&record, edit->nonce, edit->config, &edit->body, &err) !=
	            PL_OK ||
	    write_start(edit, &err) != PL_OK)
		edit_fail(edit, &err);
}
