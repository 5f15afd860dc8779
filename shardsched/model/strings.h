/*
 * The string table: every name that scheduling compares, once. Equal strings have equal
 * numbers.
 *
 * Invariants: a number stays the same while there is a reference and is reused after the
 * last one is gone, so names may churn for ever in bounded memory. 0 is no string; the
 * empty string has a number like any other.
 *
 * 16 bytes a string, 4 for its bucket, and the bytes.
 */
#ifndef SHARDSCHED_MODEL_STRINGS_H
#define SHARDSCHED_MODEL_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shardsched/model/buckets.h"
#include "shardsched/model/slab.h"
#include "store/base/err.h"
#include "store/base/hash.h"
#include "store/base/span.h"

/* May not be moved or copied. */
struct strings {
	struct slab slab; /* one object for each string; its number is the string's */
	uint32_t count;
	struct buckets buckets;
	struct pl_hash_key key;
};

/* Allocates nothing yet. */
void strings_init(struct strings *strings);
/* References that are left are forgotten. */
void strings_done(struct strings *strings);

/* Finds or adds the string, with a reference for the caller. PL_NOMEM; PL_LIMIT past 4
 * GiB. */
PL_NODISCARD enum pl_code strings_add(struct strings *strings, struct pl_span text,
                                      uint32_t *out);
/* Adds a reference to a string in the table and returns its number. 0 does nothing. */
uint32_t strings_ref(struct strings *strings, uint32_t id);
void strings_unref(struct strings *strings, uint32_t id);

/* 0: the string is not in the table. Takes no reference. */
uint32_t strings_find(const struct strings *strings, struct pl_span text);

/* The string, followed by a NUL byte; empty for id 0. Valid while there is a
 * reference. */
struct pl_span strings_get(const struct strings *strings, uint32_t id);

/* Reads decimal digits with an optional sign as 64 bits; false when the string is no such
 * number. */
bool strings_int(const struct strings *strings, uint32_t id, int64_t *out);

/* Heap bytes, without what the allocator adds. */
size_t strings_memory(const struct strings *strings);

#endif
