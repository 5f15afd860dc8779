/*
 * An object as the API shows it, put together from one or several entries of an informer.
 *
 *	Pod     /schedules/<p>/<namespace>/<pod>/spec (JSON as it was accepted), .../state
 *	Node    /nodes/<p>/<cluster>/<node>
 *	Event   one key; or none: it follows from a pod's state (pod_event.h)
 *	others  one key each
 *
 * An informer orders its entries by object: "<namespace>/<name>/<part>", so the entries
 * of an object stand together and objects come in the order of their names.
 *
 * Pods of one template have the same spec, which is kept once (object_share.h): the entry's
 * value then has a 0 in its place. object_entry_value puts the whole together.
 *
 * Invariants: an object is a plain value that borrows from its entries; it is made anew
 * for each use. Its resourceVersion is the greatest of its entries' revisions. What the
 * API adds (resourceVersion, a pod's node and status) is written into a copy of the
 * stored JSON; everything else is given back as it was accepted.
 */
#ifndef COORD_API_OBJECTS_OBJECT_H
#define COORD_API_OBJECTS_OBJECT_H

#include "coord/api/objects/member_name.h"
#include "coord/api/objects/object_share.h"
#include "coord/api/schema/schema.h"
#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/kv/cache/cache.h"

enum { OBJECT_TEXT_MAX = 1 << 28 }; /* bytes of an object, or of a piece of a list */

/* Parts of a JSON value, by place and length. len 0: absent. */
struct object_piece {
	uint32_t at, len;
};

/* Beside an entry the informer keeps where its parts are. */
struct object_parts {
	bool valid;   /* the value is a JSON object */
	bool pointer; /* of a pod: it stands in another partition */
	bool others;  /* there are members beside kind, apiVersion and those below */
	/* metadata has members that are shown in another way than they are stored */
	bool versioned;
	bool names_node; /* spec has a nodeName */
	bool gated;      /* spec has schedulingGates */
	struct object_piece metadata, labels, spec, status;
	struct object_piece name, namespace, uid; /* of metadata, strings in quotes */
	struct object_share *share; /* the spec, which is not in the value; NULL: it is */
};

enum object_part {
	OBJECT_MAIN,
	OBJECT_STATE, /* of a pod */
	OBJECT_PART_COUNT,
};

struct pod_event;
struct shard_wishes;

struct object {
	const struct schema_resource *resource;
	struct pl_span namespace; /* empty: none */
	struct pl_span name;
	const struct cache_entry *part[OBJECT_PART_COUNT]; /* NULL: there is none */
	int64_t revision;
	const struct pod_event *event;     /* of an Event without a key; else NULL */
	const struct shard_wishes *wishes; /* of a Shard: what configurations say of it */
	/* The place in lists of an object without a key (shown_walk.h); else empty. */
	struct pl_span order;
};

/* The main entry of objects without a key that are shown all the same: an empty one. */
extern const struct cache_entry *const object_no_entry;

/* Finds the parts of a value that is known to be JSON. */
void object_parts_find(struct pl_span value, struct object_parts *out);
/* The same of any value. */
void object_parts_read(struct pl_span value, struct object_parts *out);

static inline const struct object_parts *object_parts_of(const struct cache_entry *entry)
{
	return entry->object;
}

/* Takes a spec that is worth it out of the value, which is written to *rest as it is to be
 * kept, and its parts are found there. False: the value stays as it is. */
bool object_parts_cut(struct pl_span value, struct object_parts *parts,
                      struct pl_buf *rest);
/* Frees parts on the heap. Takes NULL. */
void object_parts_free(void *parts);
/* The spec's text, wherever it is. Empty: there is none. */
struct pl_span object_entry_spec(const struct cache_entry *entry);
/* The whole value, in the arena if it has to be put together. at NULL: no memory. */
struct pl_span object_entry_value(const struct cache_entry *entry,
                                  struct pl_arena *arena);
/* The text of a piece of the main entry, of the spec only if it is not shared. */
struct pl_span object_piece_text(const struct cache_entry *entry,
                                 struct object_piece piece);
/* The labels as a JSON object; empty: none. */
struct pl_span object_labels(const struct object *object);
/* The value of a field for a field selector, as text; empty when it is absent. Dots
 * separate the names. out has room for a name that is put together. */
struct pl_span object_field(const struct object *object, struct pl_span path,
                            char out[MEMBER_NAME_SIZE]);
/* Adds the whole object as JSON. PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code object_write(const struct object *object, struct pl_buf *out);

#endif
