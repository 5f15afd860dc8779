/*
 * Classes of pods by their spec, for whoever asks for one.
 *
 *	known   somebody uses it: a slim record with what the user keeps there
 *	ready   besides, what plugins have prepared for it (fw_class), some kilobytes:
 *made when it is first asked for, and kept for those ready_max that were asked for last,
 *whether anybody uses the class or not
 *
 * So a million pods that wait, no two of them alike, take a million slim records; and a
 * class whose last pod has gone is still there for the next one like it. A class that is
 * neither used nor ready is gone.
 *
 * Those of a pool at home look at home's nodes; class_registry_all gives a twin that looks at all.
 */
#ifndef SHARDSCHED_CLASSES_CLASS_REGISTRY_H
#define SHARDSCHED_CLASSES_CLASS_REGISTRY_H

#include "shardsched/classes/class_cache.h"
#include "store/base/list.h"

struct ready_class;

struct registered_class {
	const struct spec *spec;   /* held */
	struct ready_class *ready; /* NULL: it is not */
	uint32_t users;
	uint32_t piece;   /* of the pool's pages */
	uint64_t extra[]; /* of extra_size bytes, zeroed: the user's */
};

struct class_registry_opts {
	struct snapshot *snapshot;
	const struct profiles *profiles;
	struct class_cache *classes; /* NULL: without */
	uint32_t ready_max;
	size_t extra_size;
	bool local; /* classes keep to home */
	bool stays; /* a class that is used stays ready; ready_max is of the others */
	/* For what is in extra; may be NULL. */
	enum pl_code (*opened)(void *ctx, struct registered_class *open,
	                       struct pl_err *err);
	void (*closing)(void *ctx, struct registered_class *open);
	void *ctx;
};

struct class_registry {
	struct class_registry_opts opts;
	struct slab slab;
	uint32_t *by_spec; /* pieces, by the spec's number; 0: it is not known */
	uint32_t cap;
	uint32_t count;       /* of classes */
	struct pl_list ready; /* that may cease to be: asked for longest ago first */
	uint32_t ready_count;
	unsigned holds;
};

void class_registry_init(struct class_registry *registry,
                         const struct class_registry_opts *opts);
/* Nobody uses a class. */
void class_registry_done(struct class_registry *registry);

/* Used from now on. PL_NOTFOUND: nobody schedules for its schedulerName; PL_NOMEM, or
 * what opened gives. */
PL_NODISCARD enum pl_code class_registry_get(struct class_registry *registry,
                                             const struct spec *spec,
                                             struct registered_class **out,
                                             struct pl_err *err);
/* One user less. */
void class_registry_put(struct class_registry *registry, struct registered_class *open);
/* NULL: it is not known. */
struct registered_class *class_registry_find(const struct class_registry *registry,
                                             const struct spec *spec);
/* By whom it is scheduled. */
const struct profile *class_registry_profile(const struct class_registry *registry,
                                             const struct registered_class *open);

/* Made ready: until another class is asked for, or longer while the pool is held.
 * PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code class_registry_fw(struct class_registry *registry,
                                            struct registered_class *open,
                                            struct fw_class **out, struct pl_err *err);
/* Likewise the one that looks at all nodes. */
PL_NODISCARD enum pl_code class_registry_all(struct class_registry *registry,
                                             struct registered_class *open,
                                             struct fw_class **out, struct pl_err *err);

/* From here on classes that are ready stay so; not any more, as often. */
void class_registry_hold(struct class_registry *registry);
void class_registry_release(struct class_registry *registry);

#endif
