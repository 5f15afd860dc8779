#include "coord/service/store/store_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/service/store/store_check_int.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

enum { LEASE_TTL_S = 5 };

void check_note(struct store_check *check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(check->note, sizeof check->note, fmt, args);
	va_end(args);
}

struct pl_span check_key(struct store_check *check, const char *name)
{
	(void)snprintf(check->key, sizeof check->key, "%s%s", check->opts.prefix, name);
	return pl_span_str(check->key);
}

void check_step_fail(struct store_check *check, enum pl_code code, const char *why)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "%s", why);
	check_step_end(check, &err);
}

static void send(struct store_check *check, const struct kv_req *req, sequence_fn *next)
{
	sequence_send(&check->sequence, req, next);
}

static void get_key(struct store_check *check, const char *name, sequence_fn *next)
{
	const struct kv_req req = kv_op_get(kv_key(check_key(check, name)));

	send(check, &req, next);
}

/* -- reach ------------------------------------------------------------------- */

static void on_reach(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;

	if (err != NULL) {
		check_step_end(check, err);
		return;
	}
	if (result->status.leader == 0) {
		check_step_fail(check, PL_NOLEADER,
		                "the member that answers has no leader");
		return;
	}
	check->reached = true;
	check_note(check,
	           "etcd %s, cluster %" PRIx64 ", revision %" PRId64 ", database %" PRId64
	           " kB",
	           result->status.version, result->header.cluster_id,
	           result->header.revision, result->status.db_bytes / 1024);
	check_step_end(check, NULL);
}

static void begin_reach(struct store_check *check)
{
	const struct kv_req req = {.op = KV_STATUS};

	send(check, &req, on_reach);
}

/* -- put ----------------------------------------------------------------------- */

static void on_put_read(void *ctx, const struct kv_result *result,
                        const struct pl_err *err)
{
	struct store_check *check = ctx;

	if (err != NULL) {
		check_step_end(check, err);
		return;
	}
	if (result->get.count != 1 ||
	    result->get.records[0].mod_revision != check->revision ||
	    !pl_span_eq(result->get.records[0].value, PL_SPAN_LIT("one"))) {
		check_step_fail(check, PL_CORRUPT, "what was put is not what is read");
		return;
	}
	check_note(check, "a key put at revision %" PRId64 " and read back",
	           check->revision);
	check_step_end(check, NULL);
}

static void on_put(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;

	if (err != NULL) {
		check_step_end(check, err);
		return;
	}
	check->revision = result->header.revision;
	get_key(check, "a", on_put_read);
}

static void begin_put(struct store_check *check)
{
	const struct kv_req req = kv_op_put(check_key(check, "a"), PL_SPAN_LIT("one"));

	send(check, &req, on_put);
}

/* -- limits ---------------------------------------------------------------------- */

/* Runs after the first call: by then the client has asked. */
static void begin_limits(struct store_check *check)
{
	const struct kv_limits limits = kv_limits(check->service->kv);

	check_note(check, "%u operations in a transaction, %.1f MiB a request",
	           limits.txn_ops, (double)limits.request_bytes / (1 << 20));
	check_step_end(check, NULL);
}

/* -- compare ----------------------------------------------------------------------- */

static void swap(struct store_check *check, int64_t revision, sequence_fn *next)
{
	const struct pl_span key = check_key(check, "a");
	const struct kv_compare compare = kv_if_mod_rev(key, KV_EQ, revision);
	const struct kv_req put = kv_op_put(key, PL_SPAN_LIT("two"));
	const struct kv_req get = kv_op_get(kv_key(key));
	const struct kv_req req = {.op = KV_TXN,
	                           .txn = {.compares = &compare,
	                                   .compare_count = 1,
	                                   .then = &put,
	                                   .then_count = 1,
	                                   .otherwise = &get,
	                                   .otherwise_count = 1}};

	send(check, &req, next);
}

static void on_stale(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;

	if (err != NULL) {
		check_step_end(check, err);
		return;
	}
	if (result->txn.succeeded) {
		check_step_fail(check, PL_CORRUPT,
		                "a transaction with a stale revision went through");
		return;
	}
	if (result->txn.count != 1 || result->txn.results[0].get.count != 1) {
		check_step_fail(check, PL_CORRUPT, "a refusal without the fresh value");
		return;
	}
	check_note(
		check,
		"the right revision wins, the stale one is refused and told revision %" PRId64,
		result->txn.results[0].get.records[0].mod_revision);
	check_step_end(check, NULL);
}

static void on_swap(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;

	if (err != NULL) {
		check_step_end(check, err);
		return;
	}
	if (!result->txn.succeeded) {
		check_step_fail(check, PL_CORRUPT,
		                "a transaction with the right revision was refused");
		return;
	}
	check->stale = check->revision;
	check->revision = result->header.revision;
	swap(check, check->stale, on_stale);
}

static void begin_compare(struct store_check *check)
{
	swap(check, check->revision, on_swap);
}

/* -- lease -------------------------------------------------------------------------- */

static void on_lease_read(void *ctx, const struct kv_result *result,
                          const struct pl_err *err)
{
	struct store_check *check = ctx;

	if (err != NULL) {
		check_step_end(check, err);
		return;
	}
	if (result->get.count != 0) {
		check_step_fail(check, PL_CORRUPT,
		                "the lease is gone and its key is not");
		return;
	}
	check_note(check,
	           "%" PRId64 " s granted, kept alive, revoked; its key went with it",
	           check->ttl_s);
	check_step_end(check, NULL);
}

static void on_revoked(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	(void)result;
	if (err != NULL)
		check_step_end(ctx, err);
	else
		get_key(ctx, "leased", on_lease_read);
}

static void on_kept(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;
	const struct kv_req revoke = {.op = KV_LEASE_REVOKE,
	                              .lease = {.id = check->lease}};

	(void)result;
	if (err != NULL)
		check_step_end(check, err);
	else
		send(check, &revoke, on_revoked);
}

static void on_leased(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;
	const struct kv_req keep = {.op = KV_LEASE_KEEP, .lease = {.id = check->lease}};

	(void)result;
	if (err != NULL)
		check_step_end(check, err);
	else
		send(check, &keep, on_kept);
}

static void on_granted(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct store_check *check = ctx;
	struct kv_req put;

	if (err != NULL) {
		check_step_end(check, err);
		return;
	}
	check->lease = result->lease.id;
	check->ttl_s = result->lease.ttl_s;
	put = kv_op_put_leased(check_key(check, "leased"), PL_SPAN_LIT("x"),
	                       check->lease);
	send(check, &put, on_leased);
}

static void begin_lease(struct store_check *check)
{
	const struct kv_req grant = {.op = KV_LEASE_GRANT,
	                             .lease = {.ttl_s = LEASE_TTL_S}};

	send(check, &grant, on_granted);
}

/* -- watches, and clean up ------------------------------------------------------------ */

static void begin_watch(struct store_check *check)
{
	check_watch_begin(check, false);
}

static void begin_quiet(struct store_check *check)
{
	check_watch_begin(check, true);
}

static void on_cleaned(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct store_check *check = ctx;

	if (err == NULL)
		check_note(check, "%" PRId64 " keys removed", result->del.deleted);
	check_step_end(check, err);
}

static void begin_clean_up(struct store_check *check)
{
	const struct kv_req req = kv_op_delete(kv_prefix(check_key(check, "")));

	send(check, &req, on_cleaned);
}

/* -- one after another ----------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*begin)(struct store_check *check);
} steps[] = {
	{"reach", begin_reach},       {"put", begin_put},
	{"limits", begin_limits},     {"compare", begin_compare},
	{"race", check_race_begin},   {"watch", begin_watch},
	{"lease", begin_lease},       {"quiet", begin_quiet},
	{"clean up", begin_clean_up},
};

enum { STEPS = sizeof steps / sizeof steps[0] };

static void finish_check(struct store_check *check)
{
	const struct store_check_opts opts = check->opts;
	struct pl_err err = {0};
	bool canceled = check->canceled && check->at < STEPS;

	sequence_done(&check->sequence);
	pl_timer_done(&check->watch.deadline);
	free(check);
	if (canceled)
		(void)pl_err_set(&err, PL_CANCELED, "check the store");
	opts.done(opts.ctx, canceled ? &err : NULL);
}

static void on_next(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct store_check *check = ctx;

	(void)result, (void)err; /* a cancel */
	if (check->canceled || check->at == STEPS)
		finish_check(check);
	else
		steps[check->at].begin(check);
}

/* Without the first step the others would only fail the same way. */
void check_step_end(struct store_check *check, const struct pl_err *err)
{
	if (!check->canceled)
		check->opts.step(check->opts.ctx, steps[check->at].name, check->note,
		                 err);
	check->note[0] = 0;
	if (!check->canceled)
		check->at = check->reached ? check->at + 1 : (unsigned)STEPS;
	sequence_pause(&check->sequence, 0, on_next);
}

enum pl_code store_check_start(const struct service *service,
                               const struct store_check_opts *opts,
                               struct store_check **out, struct pl_err *err)
{
	struct store_check *check;

	if (opts->prefix[0] == 0 || strlen(opts->prefix) > STORE_CHECK_PREFIX_MAX)
		return pl_err_set(err, PL_INVALID, "prefix: want 1 to %d bytes",
		                  STORE_CHECK_PREFIX_MAX);
	check = pl_calloc(1, sizeof *check);
	if (check == NULL)
		return pl_err_set(err, PL_NOMEM, "check the store");
	check->service = service;
	check->opts = *opts;
	if (check_watch_init(check) != PL_OK ||
	    sequence_init(&check->sequence, service->kv, service->timeout_ms, check,
	                  err) != PL_OK) {
		pl_timer_done(&check->watch.deadline);
		free(check);
		return pl_err_set(err, PL_NOMEM, "check the store");
	}
	sequence_pause(&check->sequence, 0, on_next);
	*out = check;
	return PL_OK;
}

void store_check_cancel(struct store_check *check)
{
	if (check->canceled)
		return;
	check->canceled = true;
	sequence_cancel(&check->sequence);
	check_race_cancel(check);
	check_watch_cancel(check);
}
