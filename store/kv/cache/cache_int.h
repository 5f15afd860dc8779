/* The parts of a cache, as they see each other: entry.c (versions of a key), content.c
 * (all keys in order), difference.c (a list against the content), window.c (the latest
 * changes), readers.c (listeners and watches), waits.c (waits for a revision), cache.c
 * (life, and the relist's notes). */
#ifndef STORE_KV_CACHE_CACHE_INT_H
#define STORE_KV_CACHE_CACHE_INT_H

#include "store/kv/cache/cache.h"

/*
 * A key at one revision, deletions included. The content's tree holds the newest version
 * of each key, and each version holds the one before it as long as the window has the
 * change between them. So a chain of versions tells what its key was at any revision
 * inside the window. A deleted version is in the tree only while the window has its
 * change.
 */
struct cache_version {
	struct cache_entry entry;    /* first, so that a reader's pointer leads here */
	struct pl_btree_node node;   /* the key of the node is the order bytes */
	struct cache_version *older; /* NULL: none, or not in the window */
	void (*free_object)(void *object);
	size_t bytes;     /* bytes of memory, the object's included */
	uint64_t list_no; /* number of the last list that has shown the version */
	unsigned refs;
	bool deleted;
	uint8_t data[]; /* order bytes if they are not the key, then key and value */
};

/* A change in the window. The content holds its version. */
struct cache_change {
	int64_t revision;
	struct cache_version *version;
	bool listed;
};

/* A ring of changes in the order of their revisions. Changes are numbered from 0, for
 * ever. */
struct cache_window {
	struct cache_change *at; /* NULL until the first change */
	size_t cap;              /* 0, or a power of two */
	/* the number of the oldest change, and the one behind the newest */
	uint64_t first, end;
	int64_t floor; /* the window has all changes after this revision */
};

/* A change that a list has found, and that waits for the list's end. */
struct cache_found {
	int64_t revision;
	/* owned; of a deletion the content's, borrowed; NULL: the change was applied */
	struct cache_version *version;
	bool gone;
};

struct cache_difference {
	struct cache_found *at;
	size_t count, cap;
	size_t bytes; /* of the array and the versions that it owns */
};

/* waits.c has the picture. */
struct cache_waits {
	struct pl_list fresh; /* no question has been sent since */
	struct pl_list asked; /* the question in flight will be answered for them */
	struct pl_list
		waiting; /* the store has the revision; in the order of revisions */
	struct kv_call *question; /* a read or a tick, in flight */
	bool is_asking;
	int64_t known_revision; /* of the cache, when the question was sent */
};

/*
 *	            END                  LOST
 *	LISTING ----------> INSYNC ----------> LISTING
 *	   |                  |
 *	   +--- no memory ----+--> BROKEN --relist stopped--> WAITING --timer--> LISTING
 *	   |                  |       |                          |
 *	   +--- cache_stop ---+-------+--------------------------+--> STOPPING
 */
enum cache_state {
	CACHE_LISTING, /* the relist runs, but the content may be old */
	CACHE_INSYNC,  /* the relist runs, and the content is the store's */
	CACHE_BROKEN,  /* the relist is being stopped */
	CACHE_WAITING, /* there is no relist; the timer opens the next one */
	CACHE_STOPPING,
};

struct cache {
	struct kv *kv;
	struct cache_opts opts;
	enum cache_state state;
	struct relist *relist; /* NULL: none */
	struct pl_timer timer; /* opens a relist, or ends the cache */
	struct pl_timer kick;  /* tells listeners that are behind, wakes watches */

	struct pl_btree content; /* the newest version of each key, by order bytes */
	size_t count;            /* entries: versions in the tree that are not deleted */
	size_t bytes;            /* bytes of content and window */
	int64_t revision;
	/* The gap lies between the revision that was known before the last list and the
	 * list's own. Keys may have come and gone in it unseen. */
	int64_t gap_revision, list_revision;
	uint64_t cluster_id;
	/* changes of the tree, to detect a range that goes on too long */
	uint64_t changes;
	uint32_t failures; /* failures in a row to open or keep a list */
	struct cache_window window;

	struct cache_difference difference;
	uint64_t list_no;
	bool is_unrelated; /* the list's revisions say nothing about the content's */

	struct pl_list listeners;
	/* listener behind the one that is being told */
	struct pl_list *next_listener;
	struct cache_listener *catching_up; /* NULL: none, or it was removed */
	struct pl_list idle;                /* watches with nothing to read */
	struct pl_list awake;               /* watches whose fn has been called */
	struct pl_list scanned; /* watches that a run of kick has still to look at */
	struct cache_waits waits;
	uint8_t keys[]; /* bytes of opts.list.keys and opts.tick */
};

/* -- entry.c -------------------------------------------------------------------- */

/* Adds to the bytes of content and window, after the window has made room, for which it
 * drops changes, and with them deleted versions. PL_LIMIT: the content alone is too large. */
PL_NODISCARD enum pl_code cache_charge(struct cache *cache, size_t bytes);
/* Makes a version, for which the cache is not charged yet. PL_NOMEM. */
PL_NODISCARD enum pl_code cache_version_new(struct cache *cache,
                                            const struct kv_record *record,
                                            struct cache_version **out);
/* Makes the version that says that the key is deleted at a revision. NULL: no memory. */
struct cache_version *cache_version_deleted(struct cache *cache,
                                            const struct cache_version *version,
                                            int64_t revision);
/* Frees a version that the content has never had. Takes NULL. */
void cache_version_discard(struct cache_version *version);
/* Gives back the content's reference; readers may still have theirs. Takes NULL. */
void cache_version_release(struct cache *cache, struct cache_version *version);
/* The order bytes of a key, which are in out or are the key itself. */
struct pl_span cache_order(const struct cache *cache, struct pl_span key,
                           uint8_t out[CACHE_ORDER_MAX]);
bool cache_wants(const struct cache *cache, struct pl_span key);

static inline struct cache_version *cache_version_of(struct pl_btree_node *node)
{
	return PL_CONTAINER_OF(node, struct cache_version, node);
}

static inline bool cache_is_in_gap(const struct cache *cache, int64_t revision)
{
	return revision > cache->gap_revision && revision < cache->list_revision;
}

/* The entry that readers see. NULL for a deleted version and for NULL. */
static inline const struct cache_entry *
cache_version_entry(const struct cache_version *version)
{
	return version == NULL || version->deleted ? NULL : &version->entry;
}

/* -- content.c ------------------------------------------------------------------ */

/* The newest version of a key, which may be deleted. NULL: none. */
struct cache_version *cache_find(const struct cache *cache, struct pl_span order);
/* Takes version, charges the cache for it, makes it the newest of its key, puts the change
 * into the window and tells the listeners. PL_LIMIT, PL_NOMEM: version has been freed, and
 * nothing has changed. */
PL_NODISCARD enum pl_code cache_put(struct cache *cache, struct cache_version *version,
                                    const struct cache_note *change);
/* Deletes the key of version, with the same effects. Never fails: without memory for a
 * deleted version the window loses all changes. */
void cache_remove(struct cache *cache, struct cache_version *version,
                  const struct cache_note *change);
/* Removes a deleted version from the tree, because the window has lost its change. */
void cache_forget_deleted(struct cache *cache, struct cache_version *version);
void cache_content_free(struct cache *cache);

/* -- difference.c --------------------------------------------------------------- */

/* Looks a record of the list up. PL_LIMIT, PL_NOMEM: the list cannot be kept. */
PL_NODISCARD enum pl_code cache_list_record(struct cache *cache,
                                            const struct kv_record *record);
PL_NODISCARD enum pl_code cache_list_apply(struct cache *cache, int64_t revision);
void cache_list_drop(struct cache *cache);

/* -- window.c ------------------------------------------------------------------- */

bool cache_window_is_on(const struct cache *cache);
/* Adds a change whose version is the newest of its key and linked to the one before.
 * False: there is no memory, and the window has lost all changes, this one included. */
bool cache_window_add(struct cache *cache, const struct cache_change *change);
/* Drops the oldest change. False: there is none. */
bool cache_window_drop(struct cache *cache);
/* Drops all changes, and with them those up to revision that the window never had, so
 * that no watch goes on. */
void cache_window_reset(struct cache *cache, int64_t revision);
struct cache_change *cache_window_at(const struct cache *cache, uint64_t number);
/* No revision before this one can be read or watched from. */
void cache_window_raise_floor(struct cache *cache, int64_t revision);
/* Drops the changes up to that revision. */
void cache_window_trim(struct cache *cache, int64_t revision);
/* The number of the first change after that revision. */
uint64_t cache_window_after(const struct cache *cache, int64_t revision);

/* -- waits.c -------------------------------------------------------------------- */

void cache_waits_init(struct cache *cache);
/* The cache has come to another revision, and listeners know it. */
void cache_waits_advance(struct cache *cache);
/* The same, and the relist is asked for the progress that the others wait for. */
void cache_waits_pursue(struct cache *cache);
/* Asks the store for its revision, if there are waits that need it. May end waits. */
void cache_waits_ask(struct cache *cache);
/* All waits end with the error. */
void cache_waits_fail(struct cache *cache, const struct pl_err *err);
void cache_waits_cancel_question(struct cache *cache);
/* All waits end with PL_CANCELED. */
void cache_waits_stop(struct cache *cache);

/* -- cache.c -------------------------------------------------------------------- */

/* Ends a cache that is stopping, if no relist and no question runs any more. The cache is then
 * gone. */
void cache_finish_if_idle(struct cache *cache);

/* -- readers.c ------------------------------------------------------------------ */

void cache_tell(struct cache *cache, const struct cache_note *note);
void cache_tell_err(struct cache *cache, enum cache_note_type type,
                    const struct pl_err *err);
/* Sets the kick timer, because there may be something to read. */
void cache_kick(struct cache *cache);
void cache_on_kick(void *ctx);
/* All watches end with this code, and are woken. */
void cache_watches_end(struct cache *cache, enum pl_code code);
/* Ends all watches and tells all listeners STOPPED. */
void cache_readers_stop(struct cache *cache);

#endif
