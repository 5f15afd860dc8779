/* The parts of a cache, as they see each other: entry.c (the content of a key), content.c
 * (all keys in order), difference.c (a list against the content), window.c (the latest
 * changes), readers.c (listeners and watches), cache.c (life, and the relist's notes). */
#ifndef STORE_KV_CACHE_CACHE_INT_H
#define STORE_KV_CACHE_CACHE_INT_H

#include "store/kv/cache/cache.h"

/*
 * A key at one revision, deletions included. The content's tree holds the newest version
 * of a key, and each version holds the one before it for as long as the window has the
 * change between them. So a chain of versions says what its key was at any revision
 * inside the window. A deleted version stands in the tree only while the window has it.
 */
struct cache_version {
	struct cache_entry entry;    /* first, so that a reader's pointer is ours */
	struct pl_btree_node node;   /* its key is the order bytes */
	struct cache_version *older; /* NULL: none, or not in the window */
	void (*free_object)(void *object);
	size_t bytes;     /* of memory, the object's included */
	uint64_t list_no; /* the last list that has shown it */
	unsigned refs;
	bool deleted;
	uint8_t data[]; /* order bytes if they are not the key, key, value */
};

/* A change in the window. Its version is held by the content. */
struct cache_change {
	int64_t revision;
	struct cache_version *version;
	bool listed;
};

/* A ring of changes in the order of their revisions, numbered from 0 for ever. */
struct cache_window {
	struct cache_change *at; /* NULL until the first change */
	size_t cap;              /* a power of two */
	uint64_t first, end;     /* numbers of the oldest change, and behind the newest */
	int64_t floor;           /* all changes after this revision are in it */
};

/* A change that a list has found and that waits for the list's end. */
struct cache_found {
	int64_t revision;
	struct cache_version *version; /* owned; of a deletion the content's, borrowed */
	bool gone;
};

struct cache_difference {
	struct cache_found *at;
	size_t count, cap;
};

/*
 *	            END                  LOST
 *	LISTING ----------> SYNCED ----------> LISTING
 *	   |                  |
 *	   +--- no memory ----+--> BROKEN --relist stopped--> WAITING --timer--> LISTING
 *	   |                  |       |                          |
 *	   +--- cache_stop ---+-------+--------------------------+--> STOPPING
 */
enum cache_state {
	CACHE_LISTING, /* the relist runs, the content may be old */
	CACHE_INSYNC,  /* the relist runs, the content is the store's */
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

	struct pl_btree content; /* newest versions by order bytes */
	size_t count;            /* of them that are not deleted */
	size_t bytes;            /* of content, window and difference */
	int64_t revision;
	/* Between the revision that was known before the last list and the list's own lies
	 * the gap, in which keys may have come and gone unseen. */
	int64_t gap_revision, list_revision;
	uint64_t cluster_id;
	uint64_t changes;  /* how often the content has changed */
	uint32_t failures; /* in a row, to open or keep a list */
	struct cache_window window;

	struct cache_difference difference;
	uint64_t list_no;
	bool is_unrelated; /* revisions of this list say nothing about the content's */

	struct pl_list listeners;
	struct pl_list *next_listener;      /* of the note that is being told */
	struct cache_listener *catching_up; /* NULL: none, or it has left */
	struct pl_list idle;                /* watches with nothing to read */
	struct pl_list awake;               /* watches whose fn has been called */
	struct pl_list scanned; /* watches that a run of kick has still to look at */
	uint8_t keys[];         /* of opts.list.keys */
};

/* -- entry.c -------------------------------------------------------------------- */

/* The cache holds so many bytes more, the window has made room for them. PL_LIMIT: the
 * content alone is too large. */
PL_NODISCARD enum pl_code cache_charge(struct cache *cache, size_t bytes);
/* Charged. PL_LIMIT, PL_NOMEM. The window may have lost changes, and with them deleted
 * versions that were found before. */
PL_NODISCARD enum pl_code cache_version_new(struct cache *cache,
                                            const struct kv_record *record,
                                            struct cache_version **out);
/* What deletes the key of version at a revision. NULL: no memory. */
struct cache_version *cache_version_deleted(struct cache *cache,
                                            const struct cache_version *version,
                                            int64_t revision);
/* The cache lets go of it: readers may still hold it. Takes NULL. */
void cache_version_release(struct cache *cache, struct cache_version *version);
/* The order bytes of a key, in out or the key itself. */
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

/* What readers see of it: nothing of a deleted version. Takes NULL. */
static inline const struct cache_entry *
cache_version_entry(const struct cache_version *version)
{
	return version == NULL || version->deleted ? NULL : &version->entry;
}

/* -- content.c ------------------------------------------------------------------ */

/* The newest version, possibly deleted. NULL: none. */
struct cache_version *cache_find(const struct cache *cache, struct pl_span order);
/* Takes version, makes it the newest of its key, tells the listeners and puts the change
 * into the window. PL_NOMEM: version has been released, and nothing has happened. */
PL_NODISCARD enum pl_code cache_put(struct cache *cache, struct cache_version *version,
                                    const struct cache_note *change);
/* The same for a deletion of what version is. Never fails: without memory for the deleted
 * version the window loses all changes. */
void cache_remove(struct cache *cache, struct cache_version *version,
                  const struct cache_note *change);
/* A deleted version that the window has lost leaves the tree. */
void cache_forget_deleted(struct cache *cache, struct cache_version *version);
void cache_content_free(struct cache *cache);

/* -- difference.c --------------------------------------------------------------- */

/* PL_OK, or the list can not be kept. */
PL_NODISCARD enum pl_code cache_list_record(struct cache *cache,
                                            const struct kv_record *record);
PL_NODISCARD enum pl_code cache_list_apply(struct cache *cache, int64_t revision);
void cache_list_drop(struct cache *cache);

/* -- window.c ------------------------------------------------------------------- */

bool cache_window_is_on(const struct cache *cache);
/* The version is the newest of its key, and linked to the one before. False: there is no
 * memory, and the window has lost all changes, this one included. */
bool cache_window_add(struct cache *cache, const struct cache_change *change);
/* The oldest change leaves. False: there is none. */
bool cache_window_drop(struct cache *cache);
/* All changes leave, changes up to revision that it never had included: no watch goes on. */
void cache_window_reset(struct cache *cache, int64_t revision);
struct cache_change *cache_window_at(const struct cache *cache, uint64_t number);
/* Changes up to that revision leave. */
void cache_window_trim(struct cache *cache, int64_t revision);
/* The number of the first change after that revision. */
uint64_t cache_window_after(const struct cache *cache, int64_t revision);

/* -- readers.c ------------------------------------------------------------------ */

void cache_tell(struct cache *cache, const struct cache_note *note);
void cache_tell_err(struct cache *cache, enum cache_note_type type,
                    const struct pl_err *err);
/* There may be something to read. */
void cache_kick(struct cache *cache);
void cache_on_kick(void *ctx);
/* All watches end with this code, and are woken. */
void cache_watches_end(struct cache *cache, enum pl_code code);
/* The end of all readers. */
void cache_readers_stop(struct cache *cache);

#endif
