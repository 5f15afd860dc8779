/*
 * The informers that the API reads from: one for each kind of key, whatever the number of
 * clients.
 *
 *	pods      /schedules/   spec and state of a pod are two entries of one object
 *	nodes     /nodes/
 *	budgets   /budgets/
 *	shards    /shards/
 *	owners    /partitions/
 *	configs   /config/
 *	gangs     /gangs/
 *	clusters  /clusters/
 *	objects   /objects/     everything else, by group and resource
 *
 * A walk shows the objects of keys; shown_walk.h has those without one as well.
 *
 * A Shard's spec follows from the configurations: when one of them changes, the change of
 * every shard is told, with the configuration's revision. A replay does not have those
 * changes.
 *
 * A source orders its entries by object (object.h), so a resource is a range of order
 * bytes: all of a source, a namespace, one object.
 *
 * Invariant: sources belong to one thread, that of their kv.
 */
#ifndef COORD_API_OBJECTS_SOURCES_H
#define COORD_API_OBJECTS_SOURCES_H

#include "coord/api/objects/object.h"
#include "coord/api/objects/shard_wishes.h"
#include "store/base/arena.h"
#include "store/base/map.h"
#include "store/keys/keys.h"

enum source_kind {
	SOURCE_PODS,
	SOURCE_NODES,
	SOURCE_BUDGETS,
	SOURCE_SHARDS,
	SOURCE_OWNERS,
	SOURCE_CONFIGS,
	SOURCE_GANGS,
	SOURCE_CLUSTERS,
	SOURCE_TOKENS,
	SOURCE_OBJECTS,
	SOURCE_KINDS,
};

enum {
	SOURCE_ORDER_MAX = CACHE_ORDER_MAX,
	/* The bytes of namespace and name together, beside the longest group and plural: more than a
	 * key has room for. */
	SOURCE_NAMES_MAX = SOURCE_ORDER_MAX - 104
};

/* One change of an object. before, after: part[OBJECT_MAIN] NULL: it was, or is, not
 * there. Borrowed for the call. */
struct source_change {
	struct object before, after;
	int64_t revision;
};

struct source {
	enum source_kind kind;
	bool synced;                            /* changes from here on are told */
	const struct schema_resource *resource; /* NULL: of /objects, or not served */
	struct cache *cache;
	struct cache_listener listener;
	struct sources *sources;
	/* Specs that pods share, and what was found in the value of the next entry. */
	struct object_shares *shares;
	struct object_parts ahead;
	struct pl_buf rest;
	/* The objects that a revision has touched, while it has further changes: by their
	 * order, in the order of their first change. */
	struct pl_map touched;
	struct pl_arena touched_memory;
	bool broken; /* changes were lost for want of memory: watches end */
};

struct sources_fns {
	void (*changed)(void *ctx, enum source_kind kind,
	                const struct source_change *change);
	/* All changes up to that revision have been told. */
	void (*progress)(void *ctx, enum source_kind kind, int64_t revision);
	/* The source has listed its keys, the first time or again. */
	void (*synced)(void *ctx, enum source_kind kind);
	/* Watches cannot go on: the store is another, or changes were lost. */
	void (*lost)(void *ctx, enum source_kind kind, const struct pl_err *err);
	void (*closed)(void *ctx);
	void *ctx;
};

struct sources_opts {
	struct kv *kv;
	struct sources_fns fns;
	uint32_t partitions;     /* of the store */
	size_t pods_bytes_max;   /* 0: 4 GiB */
	uint32_t window_changes; /* of each source; 0: 65,536 */
};

struct sources {
	struct sources_fns fns;
	uint32_t partitions;
	/* The wishes about shards, now and before the last change. */
	struct shard_wishes wishes[2];
	unsigned wishes_now;
	struct source source[SOURCE_KINDS];
	unsigned open; /* caches that are not gone yet */
	bool closing, answers_progress;
};

/* The lists begin later. After a failure closed follows, unless sources->open is 0. */
PL_NODISCARD enum pl_code sources_open(const struct sources_opts *opts,
                                       struct sources *sources, struct pl_err *err);
/* closed is called later, once. */
void sources_close(struct sources *sources);
/* Whether a wait for the store's present revision ends soon, also while no key changes.
 * Where it does not, readers take what the informer has. */
bool source_can_be_fresh(const struct sources *sources, enum source_kind kind);
bool sources_synced(const struct sources *sources);

/* The source of a resource. False: no key holds it (explanations, plans). */
bool source_of_resource(const struct schema_resource *resource, enum source_kind *out);

/* The order bytes of all objects of a resource, of a namespace, or of one object:
 * namespace and name may be empty, and have at most SOURCE_NAMES_MAX bytes. Returns the length: the prefix of the orders. */
size_t source_prefix(const struct schema_resource *resource, struct pl_span namespace,
                     struct pl_span name, char out[SOURCE_ORDER_MAX]);

/* -- reading ------------------------------------------------------------------------- */

/* A walk over the objects of a resource, valid until the source changes. Must not
 * move. */
struct source_walk {
	const struct sources *sources;
	const struct schema_resource *resource;
	struct cache_range range;
	const struct cache_entry *ahead; /* the first entry of the next object */
	uint8_t from[SOURCE_ORDER_MAX], to[SOURCE_ORDER_MAX];
};

/* The objects whose order bytes begin with prefix (borrowed), behind those of after (the
 * order prefix of an object; empty: from the first one), at a revision; 0: now. Errors as
 * of cache_range_begin. */
PL_NODISCARD enum pl_code source_walk_begin(struct sources *sources,
                                            const struct schema_resource *resource,
                                            struct pl_span prefix, struct pl_span after,
                                            int64_t revision, struct source_walk *out);
/* False: there are no more. */
bool source_walk_next(struct source_walk *walk, struct object *out);

/* The object as it was at a revision; 0: now. False: there was none, or it is not known any
 * more. */
bool source_get_at(struct sources *sources, const struct schema_resource *resource,
                   struct pl_span namespace, struct pl_span name, int64_t revision,
                   struct object *out);
/* The object as it is now. False: there is none. */
bool source_get(struct sources *sources, const struct schema_resource *resource,
                struct pl_span namespace, struct pl_span name, struct object *out);

/* The order prefix of an object, for the next page to go on behind; borrowed. */
struct pl_span source_object_order(const struct object *object);

/* The changes that the window still has, told through changed one by one, at once: those
 * after a revision, up to another one. Errors as of cache_watch_begin. */
PL_NODISCARD enum pl_code
source_replay(struct sources *sources, const struct schema_resource *resource,
              struct pl_span prefix, int64_t after, int64_t until,
              void (*changed)(void *ctx, const struct source_change *change), void *ctx);

static inline int64_t source_revision(const struct sources *sources,
                                      enum source_kind kind)
{
	return cache_revision(sources->source[kind].cache);
}

#endif
