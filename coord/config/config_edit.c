#include "coord/config/config_edit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/config/config_diff.h"
#include "coord/config/config_edit_int.h"
#include "store/base/alloc.h"
#include "store/base/rng.h"
#include "store/kv/calls.h"

/*
 *	scan: which version is current, which versions are there
 *	  -> read: the current version (is it the same already?), and the version to roll
 *	     back to
 *	    -> write: current unchanged and the new version absent: both are put;
 *	       otherwise both are read
 *	         succeeded                              done
 *	         our own bytes under the version        done: an earlier try got through
 *	         current is not what we saw             PL_CONFLICT
 *	         the version was put by hand            scan again, a few times
 *	         neither                                PL_CONFLICT: a guard
 *	         outcome unknown                        write again, after a moment
 *
 * A write with an unknown outcome is settled by sending it again. The second write
 * either does what the first one did not do, and then the first one never can, because
 * its compares are void; or it brings what stands there.
 */

enum {
	TIMEOUT_DEFAULT_MS = 10000,
	TRIES_PER_TIMEOUT = 4, /* leaves time to ask again after an answer was lost */
};

static void edit_free(struct config_edit *edit)
{
	pl_timer_done(&edit->timer);
	pl_buf_done(&edit->body);
	pl_arena_done(&edit->arena);
	free(edit);
}

void edit_finish(struct config_edit *edit, uint64_t version, const struct pl_err *err)
{
	config_edited_fn *done = edit->done;
	void *ctx = edit->ctx;
	struct pl_err copy = {0};

	PL_ASSERT(edit->call == NULL && edit->scan.call == NULL);
	if (err != NULL)
		copy = *err;
	edit_free(edit);
	done(ctx, version, err == NULL ? NULL : &copy);
}

void edit_fail(struct config_edit *edit, struct pl_err *err)
{
	(void)pl_err_wrap(err, "%s of configuration '%s'",
	                  edit->rollback ? "roll-back" : "change",
	                  config_name_text(edit->opts.name));
	edit_finish(edit, 0, err);
}

/* The answer may have been on its way when the edit was canceled. */
static bool was_canceled(struct config_edit *edit)
{
	struct pl_err err;

	if (!edit->canceled)
		return false;
	(void)pl_err_set(&err, PL_CANCELED, "canceled");
	edit_fail(edit, &err);
	return true;
}

static bool is_same(struct config_edit *edit, const struct kv_get_result *get)
{
	struct config_record record;
	bool same = false;

	if (get->count == 0 || config_record_parse(get->records[0].value, &edit->arena,
	                                           &record, NULL) != PL_OK)
		return false;
	return config_same(record.config, edit->config, &same) == PL_OK && same;
}

static enum pl_code apply_target(struct config_edit *edit,
                                 const struct kv_get_result *get, struct pl_err *err)
{
	struct config_record record;
	struct config_value value;
	char *why;
	enum pl_code code;

	if (get->count == 0)
		return pl_err_set(err, PL_NOTFOUND, "version %" PRIu64 " is not there",
		                  edit->target);
	code = config_record_parse(get->records[0].value, &edit->arena, &record, err);
	if (code == PL_OK)
		code = config_parse(edit->opts.name, record.config, &edit->arena, &value,
		                    err);
	if (code != PL_OK)
		return pl_err_wrap(err, "version %" PRIu64, edit->target);
	edit->config = record.config;
	why = pl_arena_printf(&edit->arena, "roll back to %" PRIu64 "%s" PL_SPAN_FMT,
	                      edit->target, edit->opts.why.len > 0 ? ": " : "",
	                      PL_SPAN_ARG(edit->opts.why));
	if (why == NULL)
		return pl_err_set(err, PL_NOMEM, "version %" PRIu64, edit->target);
	edit->opts.why = pl_span_str(why);
	return PL_OK;
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct config_edit *edit = ctx;
	struct pl_err why;

	edit->call = NULL;
	if (err != NULL) {
		why = *err;
		edit_fail(edit, &why);
		return;
	}
	if (was_canceled(edit))
		return;
	if (edit->target != 0 &&
	    apply_target(edit, &result->txn.results[1].get, &why) != PL_OK) {
		edit_fail(edit, &why);
		return;
	}
	edit->target = 0; /* after another scan it is not read again */
	if (edit->scan.current != 0 && is_same(edit, &result->txn.results[0].get))
		edit_finish(edit, edit->scan.current, NULL);
	else
		edit_write(edit);
}

static enum pl_code read_start(struct config_edit *edit, struct pl_err *err)
{
	struct keys_text current, target;
	struct kv_req gets[2];
	size_t count = 1;

	config_version_key(edit->opts.name,
	                   edit->scan.current == 0 ? edit->target : edit->scan.current,
	                   &current);
	gets[0] = kv_op_get(kv_key(keys_span(&current)));
	if (edit->target != 0) {
		config_version_key(edit->opts.name, edit->target, &target);
		gets[count++] = kv_op_get(kv_key(keys_span(&target)));
	}
	return kv_txn(edit->kv, &(struct kv_txn){.then = gets, .then_count = count},
	              config_time_left(edit->kv, edit->deadline_ms), on_read, edit,
	              &edit->call, err);
}

static enum pl_code check_scan(struct config_edit *edit, struct pl_err *err)
{
	const struct config_scan *scan = &edit->scan;
	int64_t expect = edit->opts.expect_version;

	if (expect >= 0 && scan->current_err.code != PL_OK)
		return pl_err_set(err, PL_CONFLICT,
		                  "expected version %" PRId64 ", but %s", expect,
		                  scan->current_err.msg);
	if (expect >= 0 && (uint64_t)expect != scan->current)
		return pl_err_set(err, PL_CONFLICT,
		                  "version %" PRIu64 " is current, not %" PRId64,
		                  scan->current, expect);
	if (!edit->rollback || edit->config.node != NULL)
		return PL_OK;
	edit->target = edit->opts.to_version;
	if (edit->target == 0 && scan->current_err.code != PL_OK)
		return pl_err_set(err, PL_INVALID, "say which version: %s",
		                  scan->current_err.msg);
	if (edit->target == 0)
		edit->target = scan->previous;
	return edit->target != 0
	               ? PL_OK
	               : pl_err_set(err, PL_NOTFOUND,
	                            "there is no version before %" PRIu64, scan->current);
}

static void on_scanned(void *ctx, const struct pl_err *err)
{
	struct config_edit *edit = ctx;
	struct pl_err why;

	if (err != NULL) {
		why = *err;
		edit_fail(edit, &why);
		return;
	}
	if (was_canceled(edit))
		return;
	if (check_scan(edit, &why) != PL_OK) {
		edit_fail(edit, &why);
		return;
	}
	if (edit->scan.current == 0 && edit->target == 0)
		edit_write(edit);
	else if (read_start(edit, &why) != PL_OK)
		edit_fail(edit, &why);
}

static enum pl_code scan_start(struct config_edit *edit, struct pl_err *err)
{
	edit->scans++;
	edit->scan = (struct config_scan){.kv = edit->kv,
	                                  .name = edit->opts.name,
	                                  .deadline_ms = edit->deadline_ms,
	                                  .done = on_scanned,
	                                  .ctx = edit};
	return config_scan_start(&edit->scan, err);
}

void edit_scan_again(struct config_edit *edit)
{
	struct pl_err err;

	if (scan_start(edit, &err) != PL_OK)
		edit_fail(edit, &err);
}

static enum pl_code check_opts(const struct config_edit_opts *opts, struct pl_err *err)
{
	if (opts->by.len > CONFIG_BY_MAX)
		return pl_err_set(err, PL_INVALID, "by: more than %d bytes",
		                  CONFIG_BY_MAX);
	if (opts->why.len > CONFIG_WHY_MAX)
		return pl_err_set(err, PL_INVALID, "why: more than %d bytes",
		                  CONFIG_WHY_MAX);
	if (opts->to_version > KEYS_VERSION_MAX)
		return pl_err_set(err, PL_INVALID, "version %" PRIu64 ": too large",
		                  opts->to_version);
	return PL_OK;
}

static enum pl_code copy_opts(struct config_edit *edit,
                              const struct config_edit_opts *opts, struct pl_err *err)
{
	struct config_value value;
	enum pl_code code;

	edit->opts = *opts;
	edit->opts.by = pl_arena_dup(&edit->arena, opts->by);
	edit->opts.why = pl_arena_dup(&edit->arena, opts->why);
	if ((opts->by.len > 0 && edit->opts.by.at == NULL) ||
	    (opts->why.len > 0 && edit->opts.why.at == NULL))
		return pl_err_set(err, PL_NOMEM, "new version");
	if (edit->rollback)
		return PL_OK;
	code = pl_json_parse(&edit->arena, opts->config, &config_limits, &edit->config,
	                     err);
	return code == PL_OK
	               ? config_parse(opts->name, edit->config, &edit->arena, &value, err)
	               : code;
}

static enum pl_code edit_open(struct config_edit *edit,
                              const struct config_edit_opts *opts, struct pl_err *err)
{
	uint64_t timeout_ms = opts->timeout_ms;
	enum pl_code code = check_opts(opts, err);

	if (code != PL_OK)
		return code;
	if (timeout_ms == 0)
		timeout_ms = TIMEOUT_DEFAULT_MS;
	edit->deadline_ms = kv_now_ms(edit->kv) + timeout_ms;
	edit->try_ms = timeout_ms / TRIES_PER_TIMEOUT + 1;
	edit->nonce = opts->seed != 0 ? opts->seed : pl_rng_seed_random();
	pl_arena_init(&edit->arena, 0, 0);
	pl_buf_init(&edit->body, 2 * config_limits.bytes);
	code = pl_timer_init(&edit->timer, kv_timers(edit->kv), edit_on_timer, edit);
	if (code != PL_OK)
		return pl_err_set(err, code, "new version");
	code = copy_opts(edit, opts, err);
	return code == PL_OK ? scan_start(edit, err) : code;
}

static enum pl_code edit_start(struct config_edit *edit,
                               const struct config_edit_opts *opts,
                               struct config_edit **out, struct pl_err *err)
{
	enum pl_code code = edit_open(edit, opts, err);

	if (code != PL_OK) {
		edit_free(edit);
		return code;
	}
	if (out != NULL)
		*out = edit;
	return PL_OK;
}

enum pl_code config_edit_start(struct kv *kv, const struct config_edit_opts *opts,
                               config_edited_fn *done, void *ctx,
                               struct config_edit **out, struct pl_err *err)
{
	struct config_edit *edit = pl_calloc(1, sizeof *edit);

	if (edit == NULL)
		return pl_err_set(err, PL_NOMEM, "new version");
	edit->kv = kv;
	edit->done = done;
	edit->ctx = ctx;
	return edit_start(edit, opts, out, err);
}

enum pl_code config_rollback_start(struct kv *kv, const struct config_edit_opts *opts,
                                   config_edited_fn *done, void *ctx,
                                   struct config_edit **out, struct pl_err *err)
{
	struct config_edit *edit = pl_calloc(1, sizeof *edit);

	if (edit == NULL)
		return pl_err_set(err, PL_NOMEM, "roll-back");
	edit->kv = kv;
	edit->rollback = true;
	edit->done = done;
	edit->ctx = ctx;
	return edit_start(edit, opts, out, err);
}

void config_edit_cancel(struct config_edit *edit)
{
	if (edit->canceled)
		return;
	edit->canceled = true;
	config_scan_cancel(&edit->scan);
	if (edit->call != NULL)
		kv_cancel(edit->kv, edit->call);
	else if (pl_timer_is_set(&edit->timer))
		pl_timer_set(&edit->timer, kv_now_ms(edit->kv));
}
