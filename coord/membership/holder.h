/*
 * The holder of a role or a partition, the value of /leader/<role> and
 * /partitions/<p>/owner: {"v":1,"shard":"east-0"}. Lease and create revision (the
 * epoch) are those of the key.
 */
#ifndef COORD_MEMBERSHIP_HOLDER_H
#define COORD_MEMBERSHIP_HOLDER_H

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { HOLDER_SHARD_SIZE = 254 };

struct holder {
	char shard[HOLDER_SHARD_SIZE];
};

PL_NODISCARD enum pl_code holder_print(struct pl_span shard, struct pl_buf *out,
                                       struct pl_err *err);
PL_NODISCARD enum pl_code holder_parse(struct pl_span json, struct holder *out,
                                       struct pl_err *err);

#endif
