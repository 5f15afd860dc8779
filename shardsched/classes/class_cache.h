/*
 * The class cache: results of a class of pods that are kept and updated. They are the
 * nodes that the class's local plugins let through, and the sums of their scores.
 *
 * For each class: a set of slots, the plugin that refused each other slot, the local
 * total of each slot, columns for plugins that are normalised by their maximum (with the
 * maximum and how many slots have it), and over the totals a tree of (best, how many), so
 * that the best node, and the r-th of several equally good nodes, is found in O(log
 * nodes). A cycle first updates the slots that changed since (snapshot_changed_since); a
 * changed epoch, a changed maximum, or too many changed slots make the results anew.
 * Global plugins are asked in each cycle, about the nodes that are left.
 *
 * Invariants: decisions are those of a cycle without the cache, bit for bit; past
 * memory_max the results that were not used for longest are evicted.
 */
#ifndef SHARDSCHED_CLASSES_CLASS_CACHE_H
#define SHARDSCHED_CLASSES_CLASS_CACHE_H

#include "shardsched/framework/local_stage.h"

struct class_cache;

struct class_cache_figures {
	uint64_t hits;    /* cycles that found results */
	uint64_t made;    /* results that were computed from scratch */
	uint64_t updated; /* nodes whose results were updated */
	uint64_t forgotten;
	uint32_t results;
	size_t bytes;
};

/* snapshot outlives it. */
PL_NODISCARD enum pl_code class_cache_new(struct snapshot *snapshot, size_t memory_max,
                                          struct class_cache **out, struct pl_err *err);
/* NULL does nothing. No cycle may use the cache. */
void class_cache_free(struct class_cache *classes);
/* For struct cycle_opts, valid as long as the cache. */
const struct cycle_cache *class_cache_ops(const struct class_cache *classes);
void class_cache_figures(const struct class_cache *classes,
                         struct class_cache_figures *out);

/* Sets the bound of memory. */
void class_cache_bound(struct class_cache *classes, size_t memory_max);

/* To be called before a class is closed. */
void class_cache_forget(struct class_cache *classes, struct fw_class *class);

#endif
