/*
 * Shard evict: puts out a shard whose lease lives on although it does nothing any more, by
 * revoking the lease. All keys under it go at once; what the shard still sends under its
 * old epochs is refused by the store.
 *
 *	lease:     shard_lease: what would go;   shard_evict: revoke --> unknown --> read
 *	no lease:  no shard wrote the record;    shard_evict: delete it, if it is unchanged
 */
#ifndef COORD_SERVICE_SHARDS_SHARD_EVICT_H
#define COORD_SERVICE_SHARDS_SHARD_EVICT_H

#include "coord/service/shards/shard_find.h"

struct shard_evict;

struct shard_lease {
	int64_t ttl_s;              /* until it ends, unless it is renewed */
	const struct pl_span *keys; /* under it */
	size_t count;
};

/* lease is NULL exactly when err is not; borrowed for the call. */
typedef void shard_lease_fn(void *ctx, const struct shard_lease *lease,
                            const struct pl_err *err);
typedef void shard_evict_fn(void *ctx, const struct pl_err *err);

/* Reads what is under a lease. */
PL_NODISCARD enum pl_code shard_lease_start(const struct service *service, int64_t lease,
                                            shard_lease_fn *done, void *ctx,
                                            struct shard_evict **out, struct pl_err *err);

/* shard: as it was found. PL_CONFLICT: the record has changed since. PL_UNKNOWN: whether
 * the lease is gone could not be learned. */
PL_NODISCARD enum pl_code shard_evict_start(const struct service *service,
                                            const struct shard_info *shard,
                                            shard_evict_fn *done, void *ctx,
                                            struct shard_evict **out, struct pl_err *err);
/* Cancels either operation. */
void shard_evict_cancel(struct shard_evict *evict);

#endif
