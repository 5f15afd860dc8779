/* Renumbering rebuilds a request with other revisions and leases in all its parts. */
#ifndef TESTS_CONFORMANCE_RENUMBER_H
#define TESTS_CONFORMANCE_RENUMBER_H

#include "store/base/arena.h"
#include "store/kv/types.h"

struct renumber {
	struct pl_arena *arena; /* without a bound: no memory ends the process */
	/* Maps the revision of a get; not called for 0. */
	int64_t (*revision)(const void *ctx, int64_t revision);
	int64_t (*compact)(const void *ctx, int64_t revision);
	int64_t (*compare)(const void *ctx, const struct kv_compare *compare);
	int64_t (*lease)(const void *ctx, int64_t lease); /* not called for 0 */
	const void *ctx;
};

/* Keys and values stay borrowed; lists are in the arena. */
struct kv_req renumber_req(const struct renumber *renumber, const struct kv_req *req);

#endif
