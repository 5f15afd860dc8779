/*
 * A shard list: every shard with its record, and whether the configuration wants it
 * drained; once, or as it changes.
 *
 *	BEGIN, SHARD ..., END, MISSING ...		the first picture
 *	then, with follow: SHARD, GONE, or BEGIN, SHARD ..., END again
 */
#ifndef COORD_SERVICE_SHARDS_SHARD_LIST_H
#define COORD_SERVICE_SHARDS_SHARD_LIST_H

#include "coord/membership/roster.h"
#include "coord/service/base/service.h"

enum shard_list_what {
	SHARD_LIST_BEGIN,   /* of a whole picture: what does not come is gone */
	SHARD_LIST_SHARD,   /* id, entry, drain */
	SHARD_LIST_END,     /* count */
	SHARD_LIST_MISSING, /* id: is to be drained, and does not exist */
	SHARD_LIST_GONE,    /* id */
	SHARD_LIST_TROUBLE, /* err; the list goes on */
};

/* Borrowed for the call. */
struct shard_list_note {
	enum shard_list_what what;
	struct pl_span id;
	const struct roster_entry *entry;
	bool drain;
	uint32_t count;
	const struct pl_err *err;
};

struct shard_list;

struct shard_list_opts {
	bool follow; /* until it is canceled */
	void (*note)(void *ctx, const struct shard_list_note *note);
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code shard_list_start(const struct service *service,
                                           const struct shard_list_opts *opts,
                                           struct shard_list **out, struct pl_err *err);
void shard_list_cancel(struct shard_list *list);

#endif
