/*
 * Store restore: after a snapshot was restored into etcd, gives the store a new
 * incarnation, so that every shard drops its epochs and caches and lists again.
 *
 *	write /placet/meta, if it is as it was read --> done
 *	  `-- the outcome is unknown --> read it --> done
 */
#ifndef COORD_SERVICE_STORE_STORE_RESTORE_H
#define COORD_SERVICE_STORE_STORE_RESTORE_H

#include "coord/meta/meta_core.h"
#include "coord/service/base/service.h"

struct store_restore;

typedef void store_restore_fn(void *ctx, const struct pl_err *err);

/* meta: as read at mod_revision, but for its incarnation, which is the new one.
 * PL_CONFLICT: it changed since. PL_UNKNOWN: whether it was written is not known. */
PL_NODISCARD enum pl_code store_restore_start(const struct service *service,
                                              const struct meta *meta,
                                              int64_t mod_revision,
                                              store_restore_fn *done, void *ctx,
                                              struct store_restore **out,
                                              struct pl_err *err);
void store_restore_cancel(struct store_restore *restore);

#endif
