/*
 * The roster: the shards that are registered, kept by an informer over /shards/ (cache.h)
 * as parsed records.
 *
 * A record that does not parse makes an entry too (malformed, with the reason): it is
 * shown, but takes no part in anything. Entries are walked in the order of their ids.
 */
#ifndef COORD_MEMBERSHIP_ROSTER_H
#define COORD_MEMBERSHIP_ROSTER_H

#include "coord/membership/membership.h"
#include "store/kv/kv.h"

struct roster;

struct roster_entry {
	struct membership member; /* malformed: only the id is set */
	bool malformed;
	struct pl_err why; /* why it is malformed */
	int64_t create_revision;
	int64_t mod_revision;
	int64_t lease;
};

enum roster_what {
	ROSTER_SYNCED,  /* the whole list is known; again after LOST */
	ROSTER_CHANGED, /* after SYNCED: id, entry (NULL: the shard is gone) */
	ROSTER_LOST,    /* err; the entries stay as they are until SYNCED */
	ROSTER_TROUBLE, /* err; what failed is tried again */
	ROSTER_STOPPED, /* the last note */
};

struct roster_note {
	enum roster_what what;
	int64_t revision;
	struct pl_span id;
	const struct roster_entry *entry;
	const struct pl_err *err;
};

typedef void roster_fn(void *ctx, const struct roster_note *note);

/* Notes come later, never from inside a call of ours. */
PL_NODISCARD enum pl_code roster_open(struct kv *kv, uint64_t seed, roster_fn *fn,
                                      void *ctx, struct roster **out, struct pl_err *err);
void roster_stop(struct roster *roster); /* STOPPED follows, and the roster is freed */

bool roster_synced(const struct roster *roster);
size_t roster_count(const struct roster *roster);
/* The entry is valid until the next note has been delivered. NULL: none. */
const struct roster_entry *roster_get(const struct roster *roster, struct pl_span id);
const struct roster_entry *roster_first(const struct roster *roster);
const struct roster_entry *roster_next(const struct roster *roster,
                                       const struct roster_entry *entry);

#endif
