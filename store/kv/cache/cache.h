/*
 * An informer: the content of some keys, kept up to date by list and watch (relist.h) and
 * shared by all readers of a process.
 *
 * The cache holds the newest entry of each key, in order, and a window of the latest
 * changes with the entry before and after each. There are four kinds of readers:
 *
 *	listener   is told each change in the moment in which it is applied
 *	watch      reads the changes of some keys out of the window, from a revision on
 *	           and at its own pace; a slow watch costs no memory, it falls out of the
 *	           window and has to list again
 *	range      reads the entries of some keys in order, as they are now or as they
 *	           were at a revision inside the window (the pages of one list)
 *	wait       is told when the content is at least as new as a revision, or as the
 *	           store is now (a read that must not be stale)
 *
 * The relist's notes become the cache's as follows:
 *
 *	BEGIN PAGE... END      ADDED, UPDATED, DELETED (all `listed`), then SYNCED
 *	EVENTS                 ADDED, UPDATED, DELETED, then PROGRESS
 *	PROGRESS               PROGRESS
 *	LOST                   LOST; the content stays as it was until END
 *
 * Invariants:
 *  - An entry is immutable. A reader that keeps one beyond the call takes a reference,
 *    and the entry may then outlive the cache.
 *  - A list is applied at its end, as the difference to the content.
 *  - `before` of a change is the `after` of the key's last change.
 *  - Changes come in the order of their revisions, and all changes of one revision but
 *    the last have `more` set. Some lists are exempt: the first one, and the first one
 *    after LOST with PL_REWOUND, PL_LIMIT or PL_NOMEM. Their changes never have `more`,
 *    and come in the order of the keys, deletions first.
 *  - A change that a list has found (`listed`) stands for all changes since the watch was
 *    lost. A key that was deleted and created again meanwhile is UPDATED, with another
 *    create_revision; a deletion has the list's revision.
 *  - Between the loss of a watch and the list that follows lies a gap: keys may come and
 *    go in it unseen, so neither a watch nor a range can begin at a revision inside it.
 *    The window reaches over one gap.
 *  - Entries and window together have at most bytes_max bytes, and the changes that wait
 *    for the end of a list as many again. The window gives way to entries. When the
 *    entries alone do not fit, or when memory runs out, listeners get LOST (PL_LIMIT,
 *    PL_NOMEM), watches end with PL_COMPACTED, the content stays as it is, and everything
 *    is listed again after retry_ms, which doubles with each failure in a row, up to 64
 *    times.
 *
 * The cache, its readers and all references to its entries belong to the thread that
 * drives the kv. Notes and wake-ups never come from inside a call of the cache.
 */
#ifndef STORE_KV_CACHE_CACHE_H
#define STORE_KV_CACHE_CACHE_H

#include "store/base/btree.h"
#include "store/kv/relist.h"

struct cache;

/* The content of a key at one revision. */
struct cache_entry {
	struct pl_span key;   /* in the store */
	struct pl_span value; /* empty with drop_values */
	int64_t create_revision;
	int64_t mod_revision;
	int64_t version;
	int64_t lease; /* 0: none */
	void *object;  /* from opts.parse; NULL without it */
};

enum { CACHE_ORDER_MAX = 512 };

struct cache_opts {
	/* The keys, and how they are listed and watched. want_prev is not needed. */
	struct relist_opts list;
	/* Whether the cache holds the key; NULL: it holds all keys that are listed or
	 * watched. The answer for a key must never change. */
	bool (*wants)(void *ctx, struct pl_span key);
	/* Writes the bytes by which the cache orders and finds the key to out, which has
	 * room for CACHE_ORDER_MAX bytes, and gives their number. NULL: the key itself.
	 * Different keys must give different bytes. */
	size_t (*order)(void *ctx, struct pl_span key, uint8_t *out);
	/* Makes the object of an entry; NULL: entries have none. The object may point into
	 * the record's key, which lies in the entry, and without drop_values into its value,
	 * too. Adds the object's memory to *bytes. PL_NOMEM is the only failure: a value
	 * that makes no sense gives an object that says so. */
	enum pl_code (*parse)(void *ctx, const struct kv_record *record, void **object,
	                      size_t *bytes);
	void (*free_object)(void *object); /* never NULL when parse is not */
	/* Makes *value the one that the entry keeps, which parse is given then; it is
	 * copied before the next call. Adds the memory that it takes besides to *bytes.
	 * PL_NOMEM. NULL: values are kept as they are. */
	enum pl_code (*shorten)(void *ctx, struct pl_span *value, size_t *bytes);
	void *ctx;               /* of wants, order, parse and shorten */
	bool drop_values;        /* entries keep the object only */
	size_t bytes_max;        /* 0: 256 MiB */
	uint32_t window_changes; /* at most this many; 0: no watches */
	uint32_t retry_ms;       /* 0: 1 s */
	/* A key among those of the list that is put to make the watch show something, and
	 * that the cache itself never holds; see waits. Empty: the cache writes nothing. */
	struct pl_span tick;
};

/* The list begins later. The opts are copied, keys included. */
PL_NODISCARD enum pl_code cache_open(struct kv *kv, const struct cache_opts *opts,
                                     struct cache **out, struct pl_err *err);

/* From here on nothing is told but STOPPED, later, to each listener; watches end with
 * PL_CANCELED. After the last STOPPED the cache is gone. May be called from a note. */
void cache_stop(struct cache *cache);

/* -- listeners ------------------------------------------------------------- */

enum cache_note_type {
	CACHE_ADDED,    /* after */
	CACHE_UPDATED,  /* before, after */
	CACHE_DELETED,  /* before */
	CACHE_SYNCED,   /* the content is the store's at revision; again after LOST */
	CACHE_PROGRESS, /* all changes up to revision have been told */
	CACHE_LOST,     /* err. PL_REWOUND: the store is another, revisions begin anew */
	CACHE_TROUBLE,  /* err; the cache goes on trying */
	CACHE_STOPPED,  /* the last note */
};

/* All pointers are borrowed for the call. */
struct cache_note {
	enum cache_note_type type;
	int64_t revision;
	const struct cache_entry *before, *after; /* NULL: the key was, or is, absent */
	bool more;                                /* of this revision */
	bool listed;
	const struct pl_err *err;
};

typedef void cache_fn(void *ctx, const struct cache_note *note);

/* Lies in the user's memory, which must stay until cache_unlisten or STOPPED. */
struct cache_listener {
	struct pl_list link;
	struct cache *cache;
	cache_fn *fn;
	void *ctx;
	bool behind; /* the content has not been told yet */
};

/* The content is told as ADDED, all at once and later, followed by SYNCED if the cache is
 * synced. May be called from a note. */
void cache_listen(struct cache *cache, struct cache_listener *listener, cache_fn *fn,
                  void *ctx);

/* Nothing more is told, not even STOPPED. May be called from a note, also for another
 * listener, and for a listener that is not listening (zeroed, or after STOPPED). */
void cache_unlisten(struct cache_listener *listener);

/* -- reading --------------------------------------------------------------- */

bool cache_synced(const struct cache *cache);
/* The content is the store's at this revision. 0: nothing has been listed yet. */
int64_t cache_revision(const struct cache *cache);
uint64_t cache_cluster_id(const struct cache *cache); /* 0: not known */
size_t cache_count(const struct cache *cache);
size_t cache_bytes(const struct cache *cache); /* of entries and window */

/* The entry with these order bytes, borrowed until the cache changes. NULL: none. */
const struct cache_entry *cache_get(const struct cache *cache, struct pl_span order);

/* Takes and gives a reference. The entry may be const all the same: nothing that a reader
 * sees of it changes. */
const struct cache_entry *cache_entry_ref(const struct cache_entry *entry);
void cache_entry_unref(const struct cache_entry *entry); /* takes NULL */

/* The bytes by which the cache orders the entry: the key, or what opts.order gave. */
struct pl_span cache_entry_order(const struct cache_entry *entry);

/* A walk over entries, as a plain value. It ends when the cache changes: the next page
 * begins a new one behind the last entry (a range from its order bytes and a NUL). */
struct cache_range {
	const struct cache *cache;
	struct kv_keys orders;
	int64_t revision;
	struct pl_btree_cursor cursor;
	uint64_t changes; /* of the cache, when the walk began */
};

/* The entries whose order bytes lie in orders (borrowed by the range) at a revision;
 * 0: now. PL_COMPACTED: the revision is before the window (without one: before the last
 * change), or in a gap. PL_FUTURE: the cache is not there yet. A cache that has not
 * listed yet is empty: see cache_synced. */
PL_NODISCARD enum pl_code cache_range_begin(const struct cache *cache,
                                            struct kv_keys orders, int64_t revision,
                                            struct cache_range *out);
/* Borrowed until the cache changes. NULL: the end. */
const struct cache_entry *cache_range_next(struct cache_range *range);

/* -- watches --------------------------------------------------------------- */

/* Lies in the user's memory, which must stay until cache_watch_end. */
struct cache_watch {
	struct pl_list link;
	struct cache *cache;
	struct kv_keys orders;
	uint64_t next;      /* the number of the first change that has not been read */
	enum pl_code ended; /* PL_OK: it goes on */
	void (*fn)(void *ctx);
	void *ctx;
};

/* The changes after that revision of keys whose order bytes lie in orders, which is
 * borrowed. fn is called later, once, when there is a change to read or the watch has
 * ended; it is called again only after cache_watch_next has given PL_NOTFOUND.
 * PL_COMPACTED: the window does not go back that far, or the revision is in a gap.
 * PL_FUTURE: the cache is not there yet. PL_UNSUPPORTED: there is no window. */
PL_NODISCARD enum pl_code cache_watch_begin(struct cache *cache,
                                            struct cache_watch *watch,
                                            struct kv_keys orders, int64_t revision,
                                            void (*fn)(void *ctx), void *ctx);
/* fn is not called any more. May be called from fn, and twice. */
void cache_watch_end(struct cache_watch *watch);

/* PL_OK: *out is the next change, borrowed until the cache changes; `more` counts the
 * changes of this watch only. PL_NOTFOUND: there is none at present. Otherwise the watch
 * has ended, and gives the same code for ever: PL_COMPACTED, it was too slow or the cache
 * has lost its window; PL_REWOUND, the store is another; PL_CANCELED, the cache stops. */
PL_NODISCARD enum pl_code cache_watch_next(struct cache_watch *watch,
                                           struct cache_note *out);

/* All changes up to this revision have been read, so that another watch of the same keys
 * may begin there, unless it lies in a gap. 0: the watch has ended. */
int64_t cache_watch_revision(const struct cache_watch *watch);

/* -- waits ----------------------------------------------------------------- */

/* revision: of the cache. err NULL: the content is at least as new as was asked for, and
 * listeners have been told all of it; the wait's memory is the user's again. */
typedef void cache_wait_fn(void *ctx, int64_t revision, const struct pl_err *err);

/* Lies in the user's memory, which must stay until fn is called or cache_wait_end. */
struct cache_wait {
	struct pl_list link;
	struct pl_timer timer;
	struct cache *cache; /* NULL: it has ended */
	int64_t revision;    /* 0: not known yet */
	cache_wait_fn *fn;
	void *ctx;
};

/*
 * Calls fn once, later, when the content is at least as new as that revision; 0: as the
 * store is now. Waits begin before the first list as well.
 *
 * A revision that the cache does not have yet costs a small read of the store, which all
 * waits of one moment share; then the watch is asked for progress, so that it does not
 * matter whether anyone changes the keys. Where the store can not answer that (ADR 7) a
 * *tick* takes the place of both: a put of opts.tick, one at a time, whose answer tells
 * the store's revision and whose event shows that the watch has come there. Without a
 * tick the wait lasts until the watch shows something by itself. A wait ends with
 *
 *	PL_TIMEOUT    not in timeout_ms
 *	PL_FUTURE     the store has not reached the revision
 *	PL_CANCELED   the cache stops, before its listeners hear STOPPED
 *	else          what LOST or TROUBLE tell at that moment, or why the read or the
 *	              tick failed; a tick whose outcome is unknown is put again
 */
PL_NODISCARD enum pl_code cache_wait(struct cache *cache, struct cache_wait *wait,
                                     int64_t revision, uint64_t timeout_ms,
                                     cache_wait_fn *fn, void *ctx, struct pl_err *err);
/* The same for a revision at which the store is known to have changed a key that the cache
 * holds or has held: the watch shows it by itself, and nothing is asked or put. */
PL_NODISCARD enum pl_code cache_wait_change(struct cache *cache, struct cache_wait *wait,
                                            int64_t revision, uint64_t timeout_ms,
                                            cache_wait_fn *fn, void *ctx,
                                            struct pl_err *err);
/* fn is not called any more. May be called from any callback, and for a wait that has
 * ended or is zeroed. */
void cache_wait_end(struct cache_wait *wait);

const char *cache_note_type_name(enum cache_note_type type);

#endif
