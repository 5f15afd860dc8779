#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/store/store_steps_int.h"
#include "store/kv/calls.h"

enum { LEASE_TTL_S = 5, CONTENDERS = 8 };

struct pl_span steps_key(const struct store_steps *steps, const char *name, char *at)
{
	int len = snprintf(at, STEPS_KEY_SIZE, "%s%s", steps->prefix, name);

	return pl_span(at, (size_t)len);
}

void steps_note(struct store_steps *steps, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(steps->note, sizeof steps->note, fmt, args);
	va_end(args);
}

static enum pl_code get_one(struct store_steps *steps, struct pl_span key,
                            struct kv_result *result, struct pl_err *err)
{
	struct kv_req req = {.op = KV_GET, .get = {.keys = kv_key(key)}};

	return store_session_call(steps->session, &req, result, err);
}

static enum pl_code step_reach(struct store_steps *steps, struct pl_err *err)
{
	struct kv_req req = {.op = KV_STATUS};
	struct kv_result result;
	enum pl_code code = store_session_call(steps->session, &req, &result, err);

	if (code != PL_OK)
		return code;
	if (result.status.leader == 0)
		return pl_err_set(err, PL_NOLEADER,
		                  "the member that answers has no leader");
	steps_note(steps,
	           "etcd %s, cluster %" PRIx64 ", revision %" PRId64 ", database %" PRId64
	           " kB",
	           result.status.version, result.header.cluster_id,
	           result.header.revision, result.status.db_bytes / 1024);
	return PL_OK;
}

static enum pl_code step_put(struct store_steps *steps, struct pl_err *err)
{
	char at[STEPS_KEY_SIZE];
	struct pl_span key = steps_key(steps, "a", at);
	struct kv_req req = kv_op_put(key, PL_SPAN_LIT("one"));
	struct kv_result result;
	enum pl_code code = store_session_call(steps->session, &req, &result, err);

	if (code != PL_OK)
		return code;
	steps->revision = result.header.revision;
	code = get_one(steps, key, &result, err);
	if (code != PL_OK)
		return code;
	if (result.get.count != 1 ||
	    result.get.records[0].mod_revision != steps->revision ||
	    !pl_span_eq(result.get.records[0].value, PL_SPAN_LIT("one")))
		return pl_err_set(err, PL_CORRUPT, "what was put is not what is read");
	steps_note(steps, "a key put at revision %" PRId64 " and read back",
	           steps->revision);
	return PL_OK;
}

/* Runs after the first call: by then the client has asked. */
static enum pl_code step_limits(struct store_steps *steps, struct pl_err *err)
{
	struct kv_limits limits = kv_limits(steps->session->kv);

	(void)err;
	steps_note(steps, "%u operations in a transaction, %.1f MiB a request",
	           limits.txn_ops, (double)limits.request_bytes / (1 << 20));
	return PL_OK;
}

static enum pl_code compare_and_put(struct store_steps *steps, int64_t revision,
                                    struct kv_result *result, struct pl_err *err)
{
	char at[STEPS_KEY_SIZE];
	struct pl_span key = steps_key(steps, "a", at);
	struct kv_compare compare = kv_if_mod_rev(key, KV_EQ, revision);
	struct kv_req put = kv_op_put(key, PL_SPAN_LIT("two"));
	struct kv_req get = kv_op_get(kv_key(key));
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = &compare,
	                             .compare_count = 1,
	                             .then = &put,
	                             .then_count = 1,
	                             .otherwise = &get,
	                             .otherwise_count = 1}};

	return store_session_call(steps->session, &req, result, err);
}

static enum pl_code step_swap(struct store_steps *steps, struct pl_err *err)
{
	int64_t stale = steps->revision;
	struct kv_result result;
	enum pl_code code = compare_and_put(steps, stale, &result, err);

	if (code != PL_OK)
		return code;
	if (!result.txn.succeeded)
		return pl_err_set(err, PL_CORRUPT,
		                  "a transaction with the right revision was refused");
	steps->revision = result.header.revision;
	code = compare_and_put(steps, stale, &result, err);
	if (code != PL_OK)
		return code;
	if (result.txn.succeeded)
		return pl_err_set(err, PL_CORRUPT,
		                  "a transaction with a stale revision went through");
	if (result.txn.count != 1 || result.txn.results[0].get.count != 1)
		return pl_err_set(err, PL_CORRUPT, "a refusal without the fresh value");
	steps_note(
		steps,
		"the right revision wins, the stale one is refused and told revision %" PRId64,
		result.txn.results[0].get.records[0].mod_revision);
	return PL_OK;
}

struct step_race_state {
	unsigned open, won, lost, failed;
	bool over;
};

static void on_race(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct step_race_state *race = ctx;

	if (err != NULL)
		race->failed++;
	else if (result->txn.succeeded)
		race->won++;
	else
		race->lost++;
	race->over = --race->open == 0;
}

static enum pl_code race_start(struct store_steps *steps, struct step_race_state *race,
                               struct pl_err *err)
{
	char at[STEPS_KEY_SIZE];
	struct pl_span key = steps_key(steps, "race", at);
	struct kv_compare compare = kv_if_absent(key);
	struct kv_req put = kv_op_put(key, PL_SPAN_LIT("mine"));
	struct kv_txn txn = {
		.compares = &compare, .compare_count = 1, .then = &put, .then_count = 1};

	for (unsigned i = 0; i < CONTENDERS; i++) {
		enum pl_code code =
			kv_txn(steps->session->kv, &txn, steps->session->timeout_ms,
		               on_race, race, NULL, err);

		if (code != PL_OK)
			return code;
		race->open++;
	}
	return PL_OK;
}

/* All clients write at once, and exactly one may win. */
static enum pl_code step_race(struct store_steps *steps, struct pl_err *err)
{
	struct step_race_state race = {0};
	enum pl_code code = race_start(steps, &race, err);

	while (race.open > 0)
		(void)uv_run(&steps->session->loop, UV_RUN_ONCE);
	if (code != PL_OK)
		return code;
	if (race.won != 1 || race.failed != 0)
		return pl_err_set(err, PL_CORRUPT,
		                  "of %d writers that raced for a key %u won, %u failed",
		                  CONTENDERS, race.won, race.failed);
	steps_note(steps, "of %d transactions that raced for a key one won", CONTENDERS);
	return PL_OK;
}

static enum pl_code lease_put(struct store_steps *steps, int64_t lease,
                              struct pl_err *err)
{
	char at[STEPS_KEY_SIZE];
	struct pl_span key = steps_key(steps, "leased", at);
	struct kv_req put = kv_op_put_leased(key, PL_SPAN_LIT("x"), lease);
	struct kv_req keep = {.op = KV_LEASE_KEEP, .lease = {.id = lease}};
	struct kv_req revoke = {.op = KV_LEASE_REVOKE, .lease = {.id = lease}};
	struct kv_result result;

	if (store_session_call(steps->session, &put, NULL, err) != PL_OK ||
	    store_session_call(steps->session, &keep, &result, err) != PL_OK ||
	    store_session_call(steps->session, &revoke, NULL, err) != PL_OK ||
	    get_one(steps, key, &result, err) != PL_OK)
		return err->code;
	if (result.get.count != 0)
		return pl_err_set(err, PL_CORRUPT,
		                  "the lease is gone and its key is not");
	return PL_OK;
}

static enum pl_code step_lease(struct store_steps *steps, struct pl_err *err)
{
	struct kv_req grant = {.op = KV_LEASE_GRANT, .lease = {.ttl_s = LEASE_TTL_S}};
	struct kv_result result;
	enum pl_code code = store_session_call(steps->session, &grant, &result, err);
	int64_t ttl_s;

	if (code != PL_OK)
		return code;
	ttl_s = result.lease.ttl_s;
	code = lease_put(steps, result.lease.id, err);
	if (code != PL_OK)
		return code;
	steps_note(steps,
	           "%" PRId64 " s granted, kept alive, revoked; its key went with it",
	           ttl_s);
	return PL_OK;
}

static enum pl_code step_cleanup(struct store_steps *steps, struct pl_err *err)
{
	struct kv_req req = kv_op_delete(kv_prefix(pl_span_str(steps->prefix)));
	struct kv_result result;
	enum pl_code code = store_session_call(steps->session, &req, &result, err);

	if (code != PL_OK)
		return code;
	steps_note(steps, "%" PRId64 " keys removed", result.del.deleted);
	return PL_OK;
}

const struct store_step store_steps[] = {
	{"reach", step_reach},   {"put", step_put},
	{"limits", step_limits}, {"compare", step_swap},
	{"race", step_race},     {"watch", step_watch},
	{"lease", step_lease},   {"quiet", step_watch_silent},
};
const unsigned store_step_count = sizeof store_steps / sizeof store_steps[0];
const struct store_step store_cleanup_step = {"clean up", step_cleanup};
