/*
 * An owners watch: which shard owns which partition, as /partitions/ says: listed and
 * watched, an entry for each key.
 *
 * Invariant: a key that makes no sense is an entry all the same (malformed, with the
 * reason), so that it can be shown. Walks go by key.
 */
#ifndef COORD_SERVICE_SHARDS_OWNERS_WATCH_H
#define COORD_SERVICE_SHARDS_OWNERS_WATCH_H

#include "coord/claims/owner.h"
#include "store/kv/cache/cache.h"

struct owners_watch;

struct owners_watch_entry {
	struct pl_span key;
	int64_t mod_revision;
	uint32_t partition;
	bool is_partition; /* the key is an owner's; the value may be malformed */
	bool malformed;
	struct pl_err why; /* malformed */
	struct owner owner;
};

enum owners_watch_what {
	OWNERS_WATCH_SYNCED,  /* all is known; again when anything may be different */
	OWNERS_WATCH_CHANGED, /* key, entry (NULL: gone) */
	OWNERS_WATCH_LOST,    /* err; it is listed again */
	OWNERS_WATCH_TROUBLE, /* err; it goes on trying */
	OWNERS_WATCH_STOPPED, /* the last note */
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
/* STOPPED follows, later; then the watch is gone. */
void owners_watch_stop(struct owners_watch *owners);

size_t owners_watch_count(const struct owners_watch *owners);
/* NULL: there is none. Entries are valid until the next note. */
const struct owners_watch_entry *owners_watch_get(const struct owners_watch *owners,
                                                  struct pl_span key);
const struct owners_watch_entry *owners_watch_of(const struct owners_watch *owners,
                                                 uint32_t partition);
/* How many partitions the shard owns. */
uint32_t owners_watch_owned(const struct owners_watch *owners, struct pl_span shard);

/* A walk over all entries, by key; it ends at the next note. */
struct owners_walk {
	struct cache_range range;
};

void owners_walk_begin(const struct owners_watch *owners, struct owners_walk *walk);
/* NULL: the end. */
const struct owners_watch_entry *owners_walk_next(struct owners_walk *walk);

#endif
