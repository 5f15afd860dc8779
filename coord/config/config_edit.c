#include "coord/config/config_edit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/config/config_diff.h"
#include "coord/config/scan.h"
#include "store/base/alloc.h"
#include "store/base/rng.h"
#include "store/kv/calls.h"

/*
 *	scan: what is current, which versions are there
 *	  -> read: the current version (is it the same already?), and what is rolled
 *	     back to
 *	    -> write: current unchanged and the new version absent: both are put;
 *	       otherwise both are read
 *	         succeeded                              done
 *	         our own bytes under the version        done: an earlier try got through
 *	         current is not what we saw             PL_CONFLICT
 *	         somebody put the version by hand       scan again, a few times
 *	         neither                                PL_CONFLICT: a guard
 *	         nobody knows                           write again, after a moment
 *
 * The write is its own settling read: sent again it either does what the first one
 * did not, and then that one never can any more (its compares are void), or it
 * brings what stands there.
 */

enum {
	TIMEOUT_DEFAULT_MS = 10000,
	TRIES_PER_TIMEOUT = 4, /* so that an answer that was lost leaves time to ask */
	PAUSE_MS = 50,
	SCANS_MAX = 4,
	WHY_SIZE = CONFIG_WHY_MAX + 64,
};

struct config_edit {
	struct kv *kv;
	struct config_edit_opts opts; /* by and why are in the arena */
	bool rollback;
	config_edited_fn *done;
	void *ctx;
	uint64_t deadline_ms;
	uint64_t try_ms; /* of one write */
	uint64_t nonce;
	struct pl_arena arena;
	struct pl_json config; /* what is to be current */
	struct config_scan scan;
	unsigned scans;
	struct kv_call *call; /* a read or the write; NULL: none is in flight */
	struct pl_timer timer;
	bool canceled;
	bool unsettled; /* a write left, and nobody knows what became of it */
	struct pl_err unknown;
	uint64_t target;  /* what is rolled back to */
	uint64_t version; /* that is written */
	struct pl_buf body;
};

static void edit_free(struct config_edit *edit)
{
	pl_timer_done(&edit->timer);
	pl_buf_done(&edit->body);
	pl_arena_done(&edit->arena);
	free(edit);
}

static void finish(struct config_edit *edit, uint64_t version, const struct pl_err *err)
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

static void fail(struct config_edit *edit, struct pl_err *err)
{
	(void)pl_err_wrap(err, "%s of configuration '%s'",
	                  edit->rollback ? "roll-back" : "change",
	                  config_name_text(edit->opts.name));
	finish(edit, 0, err);
}

/* An answer may have been under way when it was canceled. */
static bool was_canceled(struct config_edit *edit)
{
	struct pl_err err;

	if (!edit->canceled)
		return false;
	(void)pl_err_set(&err, PL_CANCELED, "canceled");
	fail(edit, &err);
	return true;
}

/* The write's own answer is not to be had: is there time to ask again? */
static void unsettled(struct config_edit *edit, const struct pl_err *err)
{
	uint64_t now = kv_now_ms(edit->kv);

	if (!edit->unsettled)
		edit->unknown = *err;
	edit->unsettled = true;
	if (edit->canceled || now + PAUSE_MS >= edit->deadline_ms) {
		(void)pl_err_unknown(&edit->unknown);
		fail(edit, &edit->unknown);
		return;
	}
	pl_timer_set(&edit->timer, now + PAUSE_MS);
}

static void next_scan(struct config_edit *edit);

/* The compares did not hold: what stands there instead? */
static void on_refused(struct config_edit *edit, const struct kv_txn_result *txn)
{
	const struct kv_get_result *current = &txn->results[0].get;
	const struct kv_get_result *mine = &txn->results[1].get;
	int64_t current_rev = current->count == 0 ? 0 : current->records[0].mod_revision;
	struct pl_err err;

	if (mine->count == 1 &&
	    pl_span_eq(mine->records[0].value, pl_buf_span(&edit->body))) {
		finish(edit, edit->version, NULL);
		return;
	}
	if (current_rev == edit->scan.current_rev && mine->count == 1 &&
	    edit->scans < SCANS_MAX && !edit->canceled) {
		edit->unsettled = false; /* the version is another's for good */
		next_scan(edit);
		return;
	}
	if (current_rev != edit->scan.current_rev)
		(void)pl_err_set(&err, PL_CONFLICT, "somebody else was faster");
	else if (mine->count == 1)
		(void)pl_err_set(&err, PL_CONFLICT,
		                 "version %" PRIu64 " is there already", edit->version);
	else
		(void)pl_err_set(&err, PL_CONFLICT, "what the writer requires is not so");
	fail(edit, &err);
}

static void on_written(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct config_edit *edit = ctx;
	struct pl_err copy;

	edit->call = NULL;
	if (err == NULL && result->txn.succeeded) {
		finish(edit, edit->version, NULL);
	} else if (err == NULL) {
		on_refused(edit, &result->txn);
	} else if (err->code == PL_UNKNOWN || edit->unsettled) {
		unsettled(edit, err);
	} else {
		copy = *err;
		fail(edit, &copy);
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

/* A moment after a write whose outcome nobody knows; or after a cancel meanwhile. */
static void on_timer(void *ctx)
{
	struct config_edit *edit = ctx;
	struct pl_err err;

	PL_ASSERT(edit->unsettled && edit->call == NULL);
	if (edit->canceled) {
		(void)pl_err_unknown(&edit->unknown);
		fail(edit, &edit->unknown);
	} else if (write_start(edit, &err) != PL_OK) {
		unsettled(edit, &err);
	}
}

static void write_new(struct config_edit *edit)
{
	const struct config_scan *scan = &edit->scan;
	uint64_t highest = scan->highest > scan->current ? scan->highest : scan->current;
	struct config_record record = {
		.at_ms = edit->opts.at_ms, .by = edit->opts.by, .why = edit->opts.why};
	struct pl_err err;

	if (highest >= KEYS_VERSION_MAX) {
		(void)pl_err_set(&err, PL_LIMIT, "version %" PRIu64 " is the last one",
		                 highest);
		fail(edit, &err);
		return;
	}
	edit->version = highest + 1;
	pl_buf_clear(&edit->body, SIZE_MAX);
	if (config_record_print(&record, edit->nonce, edit->config, &edit->body, &err) !=
	            PL_OK ||
	    write_start(edit, &err) != PL_OK)
		fail(edit, &err);
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

static enum pl_code take_target(struct config_edit *edit, const struct kv_get_result *get,
                                struct pl_err *err)
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
		fail(edit, &why);
		return;
	}
	if (was_canceled(edit))
		return;
	if (edit->target != 0 &&
	    take_target(edit, &result->txn.results[1].get, &why) != PL_OK) {
		fail(edit, &why);
		return;
	}
	edit->target = 0; /* scanned again, it is not read again */
	if (edit->scan.current != 0 && is_same(edit, &result->txn.results[0].get))
		finish(edit, edit->scan.current, NULL);
	else
		write_new(edit);
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
		fail(edit, &why);
		return;
	}
	if (was_canceled(edit))
		return;
	if (check_scan(edit, &why) != PL_OK) {
		fail(edit, &why);
		return;
	}
	if (edit->scan.current == 0 && edit->target == 0)
		write_new(edit);
	else if (read_start(edit, &why) != PL_OK)
		fail(edit, &why);
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

static void next_scan(struct config_edit *edit)
{
	struct pl_err err;

	if (scan_start(edit, &err) != PL_OK)
		fail(edit, &err);
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

static enum pl_code take_opts(struct config_edit *edit,
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
	code = pl_timer_init(&edit->timer, kv_timers(edit->kv), on_timer, edit);
	if (code != PL_OK)
		return pl_err_set(err, code, "new version");
	code = take_opts(edit, opts, err);
	return code == PL_OK ? scan_start(edit, err) : code;
}

static enum pl_code start(struct config_edit *edit, const struct config_edit_opts *opts,
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
	return start(edit, opts, out, err);
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
	return start(edit, opts, out, err);
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
