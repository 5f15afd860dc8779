/*
 * A conflict watch: the conflicts in the shards' records (conflict_stats.h), once or again
 * and again. A record is refreshed every coord.refresh_ms, so a shorter interval shows no
 * more.
 */
#ifndef COORD_SERVICE_SHARDS_CONFLICT_WATCH_H
#define COORD_SERVICE_SHARDS_CONFLICT_WATCH_H

#include "coord/service/base/service.h"
#include "coord/service/shards/conflict_stats.h"

struct conflict_watch;

struct conflict_watch_opts {
	uint64_t every_ms; /* between two samples, until it is canceled; 0: one sample */
	int64_t wall_ms;   /* now */
	/* shards: that have a record. Borrowed for the call. */
	void (*sample)(void *ctx, const struct conflict_stats *stats, uint32_t shards);
	void (*trouble)(void *ctx, const struct pl_err *err); /* the watch goes on */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code conflict_watch_start(const struct service *service,
                                               const struct conflict_watch_opts *opts,
                                               struct conflict_watch **out,
                                               struct pl_err *err);
void conflict_watch_cancel(struct conflict_watch *watch);

#endif
