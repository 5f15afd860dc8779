/*
 * Finalizers: an object that has some is marked by a deletion, and goes with the update
 * that takes the last of them away.
 *
 *	DELETE --> deletionTimestamp --> update without finalizers --> gone
 *	       `-> gone (no finalizers)
 *
 * Objects under /objects, nodes and disruption budgets are served so, namespaces included
 * only by their contents: what waits in a namespace keeps the namespace.
 */
#ifndef COORD_API_VERBS_FINALIZER_H
#define COORD_API_VERBS_FINALIZER_H

#include "coord/api/verbs/change.h"

/* The stored object has finalizers. */
bool finalizers_hold(const struct object *object);
/* The stored object is marked already. */
bool deletion_is_marked(const struct object *object);
/* The stored text with a mark, in the arena; time as "2026-01-01T00:00:00Z". Empty: no
 * memory. */
struct pl_span deletion_mark(struct pl_arena *arena, const struct cache_entry *entry,
                             const char *time);

/* The same of a budget: the object that its record holds. */
struct pl_span deletion_mark_budget(struct pl_arena *arena,
                                    const struct cache_entry *entry, const char *time);

/* Objects of that source wait for their finalizers. */
bool finalizers_are_kept(enum source_kind source);
/* Answers the deletion of an object that finalizers hold. */
void finalizers_await(struct change *change);
/* The wanted object is marked and has no finalizers: the update is its end. */
bool finalizers_done(const struct change *change);

#endif
