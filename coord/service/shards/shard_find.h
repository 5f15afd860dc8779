/*
 * Shard find: the record of one shard by its id.
 *
 *	read the record --> done
 *	  `-- not there --> read some ids --> done: PL_NOTFOUND, naming them
 */
#ifndef COORD_SERVICE_SHARDS_SHARD_FIND_H
#define COORD_SERVICE_SHARDS_SHARD_FIND_H

#include "coord/membership/membership.h"
#include "coord/service/base/service.h"

struct shard_info {
	struct membership member; /* only the id, when malformed */
	bool malformed;
	struct pl_err why; /* malformed */
	int64_t mod_revision;
	int64_t lease; /* 0: no shard wrote the record */
};

struct shard_find;

/* shard is NULL exactly when err is not; borrowed for the call. */
typedef void shard_find_fn(void *ctx, const struct shard_info *shard,
                           const struct pl_err *err);

/* PL_INVALID: no shard can have that id. */
PL_NODISCARD enum pl_code shard_id_check(struct pl_span id, struct pl_err *err);

/* id is borrowed until done; it passes shard_id_check. */
PL_NODISCARD enum pl_code shard_find_start(const struct service *service,
                                           struct pl_span id, shard_find_fn *done,
                                           void *ctx, struct shard_find **out,
                                           struct pl_err *err);
void shard_find_cancel(struct shard_find *find);

#endif
