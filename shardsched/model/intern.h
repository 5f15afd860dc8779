/*
 * Interned values: immutable values of which the model has one copy, with a count of its
 * references. Equal values have the same address.
 *
 * Invariants: a value is a struct that begins with an intern_item; the bytes behind the
 * item are canonical, so equal values have equal bytes, padding included. Values refer to
 * strings by number and to other values by address, and hold a reference to each.
 *
 * A value also has a small number, for tables that are indexed by it. Numbers are dense
 * and are reused after the last reference is gone; 0 is no value.
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
	uint32_t size; /* bytes of the value, with the item */
};

struct model;

/* Gives back the references that the value holds. The value may be half made: numbers may
 * be 0 and addresses NULL. */
typedef void intern_release_fn(struct model *model, const struct intern_item *value);

/* May not be moved or copied. */
struct intern {
	struct buckets buckets;
	struct slab slab;
	/* The slab object of each number. Where the number is free: the highest bit, and
	 * the next free number. */
	uint32_t *by_id;
	uint32_t unused; /* the first free number; 0: none */
	uint32_t count;
	uint32_t ids; /* given so far, from 1 */
	uint32_t cap;
	struct pl_hash_key key;
	intern_release_fn *release;
	struct model *model;
};

void intern_init(struct intern *intern, struct model *model, intern_release_fn *release);
/* All references have been given back. */
void intern_done(struct intern *intern);

/* Finds or makes the shared value that equals draft, and returns it with a reference.
 * size is that of the whole draft. The references in draft are taken over, also on
 * failure (PL_NOMEM). */
PL_NODISCARD enum pl_code intern_add(struct intern *intern, struct intern_item *draft,
                                     size_t size, const struct intern_item **out);

/* NULL does nothing. */
void intern_ref(struct intern *intern, const struct intern_item *value);
void intern_unref(struct intern *intern, const struct intern_item *value);

/* NULL: the number is free. */
const struct intern_item *intern_by_id(const struct intern *intern, uint32_t id);

#endif
