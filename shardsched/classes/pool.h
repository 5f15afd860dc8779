/*
 * Classes that are open, by their spec: made when somebody asks for one, and kept for a
 * while when nobody holds it any more, the idle_max that were held last. Those of a pool
 * at home look at home's nodes; pool_all gives a twin that looks at all of them.
 */
#ifndef SHARDSCHED_CLASSES_POOL_H
#define SHARDSCHED_CLASSES_POOL_H

#include "shardsched/classes/classes.h"
#include "store/base/list.h"
#include "store/base/map.h"

struct pool_class {
	struct pl_map_node by_spec;
	const struct spec *spec; /* the class's view holds it */
	struct fw_class *class;
	struct fw_class *all; /* NULL: nobody asked for it */
	uint32_t users;
	struct pl_list idle;
	uint64_t extra[]; /* of extra_size bytes, zeroed: the user's */
};

struct pool_opts {
	struct snapshot *snapshot;
	const struct profiles *profiles;
	struct classes *classes; /* NULL: without */
	uint32_t idle_max;
	size_t extra_size;
	bool home; /* classes keep to home */
	/* For what is in extra; may be NULL. */
	enum pl_code (*opened)(void *ctx, struct pool_class *open, struct pl_err *err);
	void (*closing)(void *ctx, struct pool_class *open);
	void *ctx;
};

struct pool {
	struct pool_opts opts;
	struct pl_map open;
	struct pl_list idle; /* longest first */
	uint32_t idle_count;
};

void pool_init(struct pool *pool, const struct pool_opts *opts);
/* Nobody holds a class. */
void pool_done(struct pool *pool);

/* Held from now on. PL_NOTFOUND: nobody schedules for its schedulerName; PL_LIMIT,
 * PL_NOMEM. */
PL_NODISCARD enum pl_code pool_get(struct pool *pool, const struct spec *spec,
                                   struct pool_class **out, struct pl_err *err);
/* The class that looks at all nodes: as long as the other one is open. */
PL_NODISCARD enum pl_code pool_all(struct pool *pool, struct pool_class *open,
                                   struct fw_class **out, struct pl_err *err);
/* One user less. */
void pool_put(struct pool *pool, struct pool_class *open);
/* NULL: it is not open. */
struct pool_class *pool_find(const struct pool *pool, const struct spec *spec);

#endif
