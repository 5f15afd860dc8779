/*
 * A partition list: which shard owns which partition, and which should; or how many each
 * shard has; once, or as it changes.
 *
 *	BEGIN, PARTITION ..., END	a whole picture; with shares: BEGIN, SHARE ..., END
 *	then, with follow: PARTITION, GONE, or a whole picture again
 */
#ifndef COORD_SERVICE_SHARDS_PARTITION_LIST_H
#define COORD_SERVICE_SHARDS_PARTITION_LIST_H

#include "coord/service/base/service.h"
#include "coord/service/shards/owners_watch.h"
#include "coord/service/shards/shard_shares.h"
#include "store/keys/keys.h"

enum partition_list_what {
	PARTITION_LIST_BEGIN, /* of a whole picture: what does not come is gone */
	PARTITION_LIST_PARTITION,
	PARTITION_LIST_SHARE, /* share */
	PARTITION_LIST_END,
	PARTITION_LIST_GONE,    /* key */
	PARTITION_LIST_TROUBLE, /* err; the list goes on */
};

/* Borrowed for the call. */
struct partition_list_note {
	enum partition_list_what what;
	struct pl_span key; /* PARTITION: of its owner; of a stray one: what is there */
	uint32_t partition;
	bool stray; /* the key is no partition's of this store */
	const struct owners_watch_entry *entry; /* NULL: no shard owns the partition */
	struct pl_span target; /* empty: not known, not asked for, or none */
	const struct shard_share *share;
	const struct pl_err *err;
};

struct partition_list;

struct partition_list_opts {
	bool follow;  /* until it is canceled */
	bool targets; /* the shards that partitions should be of */
	bool shares;  /* how many partitions each shard has, instead of which */
	void (*note)(void *ctx, const struct partition_list_note *note);
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code partition_list_start(const struct service *service,
                                               const struct partition_list_opts *opts,
                                               struct partition_list **out,
                                               struct pl_err *err);
void partition_list_cancel(struct partition_list *list);

#endif
