/*
 * What was found out for a class of pods, kept and mended: which nodes its local plugins
 * let through, and what their scores add up to.
 *
 * For each class: a set of slots, the plugin that refused each other slot, the local
 * total of each, columns for plugins that are normalised by their maximum (with the
 * maximum and how many have it), and over the totals a tree of (best, how many), so that
 * the best node, and the r-th of those that are equally good, is found in O(log nodes).
 * A cycle first mends the slots that changed since (snapshot_changed_since); what an
 * epoch covers, or a maximum that changed, or too many changes, make it anew.
 * Global plugins are asked each time, about the nodes that are left.
 *
 * Results are those of the cycle without it, bit for bit.
 *
 * Bounded: past memory_max the classes that were not used for longest are forgotten.
 */
#ifndef SHARDSCHED_CLASSES_CLASS_CACHE_H
#define SHARDSCHED_CLASSES_CLASS_CACHE_H

#include "shardsched/framework/local_stage.h"

struct class_cache;

struct class_cache_figures {
	uint64_t hits;   /* cycles that found their class kept */
	uint64_t made;   /* anew */
	uint64_t mended; /* nodes */
	uint64_t forgotten;
	uint32_t results;
	size_t bytes;
};

/* snapshot outlives it. */
PL_NODISCARD enum pl_code class_cache_new(struct snapshot *snapshot, size_t memory_max,
                                          struct class_cache **out, struct pl_err *err);
/* NULL does nothing. Cycles that use it are gone. */
void class_cache_free(struct class_cache *classes);
/* For struct cycle_opts, as long as classes. */
const struct cycle_cache *class_cache_ops(const struct class_cache *classes);
void class_cache_figures(const struct class_cache *classes,
                         struct class_cache_figures *out);

/* How much may be kept, from now on. */
void class_cache_bound(struct class_cache *classes, size_t memory_max);

/* Before a class is closed. */
void class_cache_forget(struct class_cache *classes, struct fw_class *class);

#endif
