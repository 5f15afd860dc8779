/*
 * Who owns which partition: /partitions/ listed and watched, parsed, kept by key.
 *
 * A key that makes no sense is an entry all the same (garbled, with the reason): it
 * is shown. Walks go by key.
 */
#ifndef COORD_CLI_OWNERS_H
#define COORD_CLI_OWNERS_H

#include "coord/claims/owner.h"
#include "store/kv/kv.h"

struct owners;

struct owners_entry {
	struct pl_span key;
	int64_t mod_revision;
	uint32_t partition;
	bool is_partition; /* the key is one's; owner may be garbled all the same */
	bool garbled;
	struct pl_err why; /* garbled */
	struct owner owner;
};

enum owners_what {
	OWNERS_SYNCED,  /* all is known; again after LOST, when all may be different */
	OWNERS_CHANGED, /* key, entry (NULL: gone) */
	OWNERS_LOST,    /* err */
	OWNERS_TROUBLE, /* err; goes on trying */
	OWNERS_STOPPED, /* last */
};

struct owners_note {
	enum owners_what what;
	struct pl_span key;
	const struct owners_entry *entry;
	const struct pl_err *err;
};

typedef void owners_fn(void *ctx, const struct owners_note *note);

PL_NODISCARD enum pl_code owners_open(struct kv *kv, owners_fn *fn, void *ctx,
                                      struct owners **out, struct pl_err *err);
void owners_stop(struct owners *owners); /* STOPPED follows; then it is gone */

size_t owners_count(const struct owners *owners);
/* i-th by key. Valid until the next note has been delivered. */
const struct owners_entry *owners_at(const struct owners *owners, size_t i);
/* NULL: there is none. */
const struct owners_entry *owners_get(const struct owners *owners, struct pl_span key);
const struct owners_entry *owners_of(const struct owners *owners, uint32_t partition);
/* How many partitions the shard owns. */
uint32_t owners_owned(const struct owners *owners, struct pl_span shard);

#endif
