/*
 * The class registry: classes of pods, found by their spec.
 *
 *	known   a user holds the class: a slim record with the user's own fields
 *	ready   plugins have also prepared for it (fw_class), some kilobytes: made when
 *	        the class is first asked for, and kept for the ready_max classes that
 *	        were asked for last, in use or not
 *
 * So a million waiting pods, no two of them alike, take a million slim records; and a
 * class whose last pod has gone is still there for the next pod like it. A class that is
 * neither used nor ready is gone.
 *
 * Classes of a local registry consider local nodes; class_registry_all gives the variant
 * of a class that considers all nodes.
 */
#ifndef SHARDSCHED_CLASSES_CLASS_REGISTRY_H
#define SHARDSCHED_CLASSES_CLASS_REGISTRY_H

#include "shardsched/classes/class_cache.h"
#include "store/base/list.h"

struct ready_class;

struct registered_class {
	const struct spec *spec;   /* held */
	struct ready_class *ready; /* NULL: not ready */
	uint32_t users;
	uint32_t piece;   /* number in the registry's slab */
	uint64_t extra[]; /* the user's: extra_size bytes, zeroed */
};

struct class_registry_opts {
	struct snapshot *snapshot;
	const struct profiles *profiles;
	struct class_cache *classes; /* NULL: without a cache */
	uint32_t ready_max;
	size_t extra_size;
	bool local;      /* classes consider local nodes only */
	bool keep_ready; /* a class in use stays ready; ready_max bounds the others */
	/* Called for the user's fields: for a class that is made, and for one that is
	 * about to go. May be NULL. */
	enum pl_code (*on_opened)(void *ctx, struct registered_class *open,
	                          struct pl_err *err);
	void (*on_closing)(void *ctx, struct registered_class *open);
	void *ctx;
};

struct class_registry {
	struct class_registry_opts opts;
	struct slab slab;
	uint32_t *by_spec; /* slab numbers, by the spec's number; 0: not known */
	uint32_t cap;
	uint32_t count;       /* number of classes */
	struct pl_list ready; /* classes that may be dropped, the one asked for longest
			       * ago first */
	uint32_t ready_count;
	unsigned holds;
};

void class_registry_init(struct class_registry *registry,
                         const struct class_registry_opts *opts);
/* No class is in use. */
void class_registry_done(struct class_registry *registry);

/* Finds or makes the class and uses it. PL_NOTFOUND: no profile has its schedulerName;
 * PL_NOMEM, or the code of opened. */
PL_NODISCARD enum pl_code class_registry_get(struct class_registry *registry,
                                             const struct spec *spec,
                                             struct registered_class **out,
                                             struct pl_err *err);
/* Ends one use. */
void class_registry_put(struct class_registry *registry, struct registered_class *open);
/* NULL: the class is not known. */
struct registered_class *class_registry_find(const struct class_registry *registry,
                                             const struct spec *spec);
/* Walks over all classes: *at is 0 at first. NULL: there is no more. */
struct registered_class *class_registry_next(const struct class_registry *registry,
                                             uint32_t *at);
/* The profile that schedules the class. */
const struct profile *class_registry_profile(const struct class_registry *registry,
                                             const struct registered_class *open);

/* The prepared class. It stays ready until another class is asked for, or longer while
 * the registry is held. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code class_registry_fw(struct class_registry *registry,
                                            struct registered_class *open,
                                            struct fw_class **out, struct pl_err *err);
/* The same for the variant that considers all nodes. */
PL_NODISCARD enum pl_code class_registry_all(struct class_registry *registry,
                                             struct registered_class *open,
                                             struct fw_class **out, struct pl_err *err);

/* Between the two calls, which nest, ready classes stay ready. */
void class_registry_hold(struct class_registry *registry);
void class_registry_release(struct class_registry *registry);

#endif
