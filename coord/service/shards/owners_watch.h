/*
 * Who owns which partition: /partitions/ listed and watched, parsed, kept by key.
 *
 * A key that makes no sense is an entry all the same (malformed, with the reason): it
 * is shown. Walks go by key.
 */
#ifndef COORD_SERVICE_SHARDS_OWNERS_WATCH_H
#define COORD_SERVICE_SHARDS_OWNERS_WATCH_H

#include "coord/claims/owner.h"
#include "store/kv/kv.h"

struct owners_watch;

struct owners_watch_entry {
	struct pl_span key;
	int64_t mod_revision;
	uint32_t partition;
	bool is_partition; /* the key is one's; owner may be malformed all the same */
	bool malformed;
	struct pl_err why; /* malformed */
	struct owner owner;
};

enum owners_watch_what {
	OWNERS_WATCH_SYNCED, /* all is known; again after LOST, when all may be different */
	OWNERS_WATCH_CHANGED, /* key, entry (NULL: gone) */
	OWNERS_WATCH_LOST,    /* err */
	OWNERS_WATCH_TROUBLE, /* err; goes on trying */
	OWNERS_WATCH_STOPPED, /* last */
};

struct owners_watch_note {
	enum owners_watch_what what;
	struct pl_span key;
	const struct owners_watch_entry *entry;
	const struct pl_err *err;
};

typedef void owners_watch_fn(void *ctx, const struct owners_watch_note *note);

PL_NODISCARD enum pl_code owners_watch_open(struct kv *kv, owners_watch_fn *fn, void *ctx,
                                            struct owners_watch **out,
                                            struct pl_err *err);
void owners_watch_stop(
	struct owners_watch *owners); /* STOPPED follows; then it is gone */

size_t owners_watch_count(const struct owners_watch *owners);
/* i-th by key. Valid until the next note has been delivered. */
const struct owners_watch_entry *owners_watch_at(const struct owners_watch *owners,
                                                 size_t i);
/* NULL: there is none. */
const struct owners_watch_entry *owners_watch_get(const struct owners_watch *owners,
                                                  struct pl_span key);
const struct owners_watch_entry *owners_watch_of(const struct owners_watch *owners,
                                                 uint32_t partition);
/* How many partitions the shard owns. */
uint32_t owners_watch_owned(const struct owners_watch *owners, struct pl_span shard);

#endif
