#include "coord/service/shards/shard_evict.h"

#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

struct shard_evict {
	struct sequence sequence;
	int64_t lease;
	struct pl_err unknown; /* how the revocation ended */
	shard_lease_fn *read;  /* shard_lease_start */
	shard_evict_fn *done;  /* shard_evict_start */
	void *ctx;
};

static void evict_finish(struct shard_evict *evict, const struct pl_err *err)
{
	shard_evict_fn *done = evict->done;
	void *ctx = evict->ctx;
	struct pl_err why = {0};

	if (err != NULL)
		why = *err;
	sequence_done(&evict->sequence);
	free(evict);
	done(ctx, err == NULL ? NULL : &why);
}

static struct shard_evict *evict_new(const struct service *service, struct pl_err *err)
{
	struct shard_evict *evict = pl_calloc(1, sizeof *evict);

	if (evict == NULL) {
		(void)pl_err_set(err, PL_NOMEM, "evict a shard");
		return NULL;
	}
	if (sequence_init(&evict->sequence, service->kv, service->timeout_ms, evict,
	                  err) == PL_OK)
		return evict;
	free(evict);
	return NULL;
}

/* -- what would go -------------------------------------------------------- */

static void on_lease(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct shard_evict *evict = ctx;
	shard_lease_fn *read = evict->read;
	struct shard_lease lease = {0};

	ctx = evict->ctx;
	sequence_done(&evict->sequence);
	free(evict);
	if (err == NULL)
		lease = (struct shard_lease){.ttl_s = result->lease.ttl_s,
		                             .keys = result->lease.keys,
		                             .count = result->lease.key_count};
	read(ctx, err == NULL ? &lease : NULL, err);
}

enum pl_code shard_lease_start(const struct service *service, int64_t lease,
                               shard_lease_fn *done, void *ctx, struct shard_evict **out,
                               struct pl_err *err)
{
	const struct kv_req req = {.op = KV_LEASE_TTL,
	                           .lease = {.id = lease, .want_keys = true}};
	struct shard_evict *evict = evict_new(service, err);

	if (evict == NULL)
		return err->code;
	evict->read = done;
	evict->ctx = ctx;
	sequence_send(&evict->sequence, &req, on_lease);
	*out = evict;
	return PL_OK;
}

/* -- eviction ------------------------------------------------------------- */

/* Settles a revocation without an answer: a lease that is gone went with it, or
 * expired. */
static void on_settled(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct shard_evict *evict = ctx;

	(void)result;
	if (err != NULL && err->code == PL_NOLEASE) {
		evict_finish(evict, NULL);
		return;
	}
	(void)pl_err_wrap(&evict->unknown,
	                  err == NULL ? "its lease is still there"
	                              : "whether its lease is gone could not be read");
	evict_finish(evict, &evict->unknown);
}

static void on_revoked(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct shard_evict *evict = ctx;
	const struct kv_req req = {.op = KV_LEASE_TTL, .lease = {.id = evict->lease}};

	(void)result;
	if (err != NULL && err->code == PL_UNKNOWN) {
		evict->unknown = *err;
		sequence_send(&evict->sequence, &req, on_settled);
		return;
	}
	/* A lease that is gone already went while the shard was looked at. */
	evict_finish(evict, err != NULL && err->code == PL_NOLEASE ? NULL : err);
}

static void on_deleted(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct pl_err changed;

	if (err == NULL && !result->txn.succeeded) {
		(void)pl_err_set(&changed, PL_CONFLICT,
		                 "another writer changed its record");
		err = &changed;
	}
	evict_finish(ctx, err);
}

static enum pl_code delete_record(struct shard_evict *evict,
                                  const struct shard_info *shard, struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_SHARD, .name = shard->member.id};
	struct kv_compare unchanged;
	struct keys_text key;
	struct kv_req del, req;
	enum pl_code code = keys_build(&id, &key, err);

	if (code != PL_OK)
		return code;
	unchanged = kv_if_mod_rev(keys_span(&key), KV_EQ, shard->mod_revision);
	del = kv_op_delete(kv_key(keys_span(&key)));
	req = (struct kv_req){.op = KV_TXN,
	                      .txn = {.compares = &unchanged,
	                              .compare_count = 1,
	                              .then = &del,
	                              .then_count = 1}};
	sequence_send(&evict->sequence, &req, on_deleted);
	return PL_OK;
}

enum pl_code shard_evict_start(const struct service *service,
                               const struct shard_info *shard, shard_evict_fn *done,
                               void *ctx, struct shard_evict **out, struct pl_err *err)
{
	const struct kv_req req = {.op = KV_LEASE_REVOKE, .lease = {.id = shard->lease}};
	struct shard_evict *evict = evict_new(service, err);

	if (evict == NULL)
		return err->code;
	evict->lease = shard->lease;
	evict->done = done;
	evict->ctx = ctx;
	if (shard->lease != 0) {
		sequence_send(&evict->sequence, &req, on_revoked);
	} else if (delete_record(evict, shard, err) != PL_OK) {
		sequence_done(&evict->sequence);
		free(evict);
		return err->code;
	}
	*out = evict;
	return PL_OK;
}

void shard_evict_cancel(struct shard_evict *evict)
{
	sequence_cancel(&evict->sequence);
}
