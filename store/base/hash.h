/*
 * Two hashes of bytes, both SipHash-2-4 (Aumasson and Bernstein, 2012).
 *
 * pl_hash is written into stores, because it says which partition a key falls in. It
 * never changes and is the same on every machine (docs/hash.md has vectors).
 * pl_hash_keyed is for tables in memory: without the secret key, names cannot be chosen
 * so that they collide.
 */
#ifndef STORE_BASE_HASH_H
#define STORE_BASE_HASH_H

#include <stdint.h>

#include "store/base/span.h"

struct pl_hash_key {
	uint64_t k0;
	uint64_t k1;
};

uint64_t pl_hash_keyed(struct pl_span bytes, struct pl_hash_key key);

/* Uses a key of sixteen zero bytes. */
uint64_t pl_hash(struct pl_span bytes);

/* A random key that stays the same for the life of the process. */
struct pl_hash_key pl_hash_process_key(void);

#endif
