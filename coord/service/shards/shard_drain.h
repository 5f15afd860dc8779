/*
 * Shard drain: asks a shard to hand all its partitions over, or takes that back, by a new
 * version of the configuration `shards`.
 *
 *	read --> rewrite --> store --> done
 *	  ^                    | another client stored a version meanwhile
 *	  `--------------------'
 */
#ifndef COORD_SERVICE_SHARDS_SHARD_DRAIN_H
#define COORD_SERVICE_SHARDS_SHARD_DRAIN_H

#include "coord/service/base/service.h"
#include "store/base/json.h"

struct shard_drain;

struct shard_drain_result {
	uint64_t version; /* of the configuration: current now, or read by a dry run */
	bool changed; /* false: the configuration said so before, and no version was stored */
	struct pl_json before, after; /* content of the configuration */
};

struct shard_drain_opts {
	struct pl_span id;
	bool undrain;
	bool dry_run;    /* nothing is stored */
	const char *why; /* noted in the version; "" */
	int64_t wall_ms; /* now */
	/* result is NULL exactly when err is not; borrowed for the call. PL_CONFLICT: others
	 * changed the configuration again and again. */
	void (*done)(void *ctx, const struct shard_drain_result *result,
	             const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code shard_drain_start(const struct service *service,
                                            const struct shard_drain_opts *opts,
                                            struct shard_drain **out, struct pl_err *err);
void shard_drain_cancel(struct shard_drain *drain);

#endif
