/*
 * Values that are shared by all who have the same: immutable, counted, once.
 *
 * A value is a struct that begins with an intern_item; what follows it are its
 * canonical bytes: equal values have equal bytes, padding included, and so equal
 * addresses. Values refer to strings by number and to other values by address,
 * and hold a reference to each.
 *
 * A value also has a small number, dense and given again after its last user,
 * for tables that are indexed by it. 0 is none.
 */
#ifndef SHARDSCHED_MODEL_INTERN_H
#define SHARDSCHED_MODEL_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "shardsched/model/buckets.h"
#include "shardsched/model/slab.h"
#include "store/base/err.h"
#include "store/base/hash.h"

/* 20 bytes: what follows begins with 4 bytes, or with a zero of so many. */
struct intern_item {
	struct bucket_link link;
	uint32_t refs;
	uint32_t id;
	uint32_t size; /* in all */
};

struct model;

/* Gives back the references that value holds: also for a half-made one, in which
 * numbers may be 0 and addresses NULL. */
typedef void intern_release_fn(struct model *model, const struct intern_item *value);

/* May not be moved or copied. */
struct intern {
	struct buckets buckets;
	struct slab slab;
	/* The piece of each number. Of one that nobody has: the highest bit, and the next
	 * such number. */
	uint32_t *by_id;
	uint32_t unused; /* the first of the numbers to be given again; 0: none */
	uint32_t count;
	uint32_t ids; /* given so far, from 1 */
	uint32_t cap;
	struct pl_hash_key key;
	intern_release_fn *release;
	struct model *model;
};

void intern_init(struct intern *intern, struct model *model, intern_release_fn *release);
/* No value may be held any more. */
void intern_done(struct intern *intern);

/* The shared value that equals draft, whose size in all is given, with a reference
 * for the caller. Takes over the references in draft, on failure too (PL_NOMEM). */
PL_NODISCARD enum pl_code intern_take(struct intern *intern, struct intern_item *draft,
                                      size_t size, const struct intern_item **out);

/* NULL does nothing. */
void intern_ref(struct intern *intern, const struct intern_item *value);
void intern_unref(struct intern *intern, const struct intern_item *value);

/* NULL: nobody has that number. */
const struct intern_item *intern_by_id(const struct intern *intern, uint32_t id);

#endif
