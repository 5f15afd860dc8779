/*
 * A walk over what clients are shown of a resource: the objects of its keys, and those that
 * have none.
 *
 *	events       the stored ones, then those that follow from pods' states
 *	             (pod_event.h), pod after pod
 *	partitions   every number of the store, whether or not a shard owns it; then keys of
 *	             other numbers
 *	configs      every configuration that is known by name, the default where none was
 *	             written; then keys of other names
 *	others       their keys
 *
 * Invariant: the order of an object in its walk never changes (object.order, else that of
 * its entry), so a list goes on behind any object, page by page.
 */
#ifndef COORD_API_OBJECTS_SHOWN_WALK_H
#define COORD_API_OBJECTS_SHOWN_WALK_H

#include "coord/api/objects/object_filter.h"
#include "coord/api/objects/pod_event.h"
#include "coord/api/objects/sources.h"

enum shown_stage {
	SHOWN_NAMES,  /* names that are shown with a key and without */
	SHOWN_STORED, /* keys */
	SHOWN_PODS,   /* events of pods */
};

/* Must not move; valid until the source changes. */
struct shown_walk {
	struct sources *sources;
	const struct schema_resource *resource;
	enum shown_stage stage;
	int64_t revision;
	uint32_t next; /* SHOWN_NAMES: index of the next name */
	struct source_walk stored;
	struct source_walk pods;
	bool has_pods;         /* the walk over pods has begun */
	struct object pod;     /* the pod of the events that come now */
	unsigned kinds;        /* events of it that have not come yet, a bit each */
	struct pl_span prefix; /* of the list; borrowed */
	struct pod_event event;
	char name[64], order[SOURCE_ORDER_MAX];
	/* Borrowed by the walk over pods. */
	char pods_prefix[SOURCE_ORDER_MAX], pods_after[SOURCE_ORDER_MAX];
};

/* As source_walk_begin; prefix is borrowed. A filter (may be NULL) that wants the events of
 * one pod makes that quick; it is not applied otherwise. */
PL_NODISCARD enum pl_code shown_walk_begin(struct sources *sources,
                                           const struct schema_resource *resource,
                                           struct pl_span prefix, struct pl_span after,
                                           int64_t revision,
                                           const struct object_filter *filter,
                                           struct shown_walk *out);
/* *out borrows from the walk until the next call. False: there are no more. */
bool shown_walk_next(struct shown_walk *walk, struct object *out);

/* The object as it is now, which borrows from the walk. False: there is none. */
bool shown_get(struct sources *sources, const struct schema_resource *resource,
               struct pl_span namespace, struct pl_span name, struct shown_walk *walk,
               struct object *out);

/* The revision of a list of the resource: all that is shown is at least as new. */
int64_t shown_revision(const struct sources *sources,
                       const struct schema_resource *resource);

/* The pods whose events a client wants, as a prefix of the orders of pods. namespace may
 * be empty. False: none. */
bool shown_event_pods(struct pl_span namespace, const struct object_filter *filter,
                      char out[SOURCE_ORDER_MAX], size_t *len);
/* The resource whose objects have these events: pods. */
const struct schema_resource *shown_event_resource(void);

#endif
