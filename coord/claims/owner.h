/*
 * The value of /partitions/<p>/owner: {"v":1,"shard":"east-0"}. Lease and create
 * revision (the epoch) are those of the key.
 */
#ifndef COORD_CLAIMS_OWNER_H
#define COORD_CLAIMS_OWNER_H

#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { OWNER_SHARD_SIZE = 254 };

struct owner {
	char shard[OWNER_SHARD_SIZE]; /* empty: the value does not parse */
	int64_t epoch;
	int64_t lease;
};

PL_NODISCARD enum pl_code owner_print(struct pl_span shard, struct pl_buf *out,
                                      struct pl_err *err);
PL_NODISCARD enum pl_code owner_parse(struct pl_span json, struct owner *out,
                                      struct pl_err *err);

#endif
