/*
 * Two hashes of bytes, both SipHash-2-4 (Aumasson and Bernstein, 2012).
 *
 * pl_hash is the one that is written into stores: which partition a key falls
 * in. It is the same on every machine for ever (docs/hash.md has vectors).
 * pl_hash_keyed is for tables in memory: nobody who can not read the key can
 * choose names that collide.
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

/* The key is sixteen zero bytes. */
uint64_t pl_hash(struct pl_span bytes);

/* One for the life of the process, from the operating system. */
struct pl_hash_key pl_hash_process_key(void);

#endif
