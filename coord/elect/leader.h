/*
 * What /leader/<role> says: {"v":1,"shard":"east-0"}.
 * Its lease and create revision (the epoch) are the key's own.
 */
#ifndef COORD_ELECT_LEADER_H
#define COORD_ELECT_LEADER_H

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { LEADER_SHARD_SIZE = 254 };

struct leader {
	char shard[LEADER_SHARD_SIZE];
};

PL_NODISCARD enum pl_code leader_print(struct pl_span shard, struct pl_buf *out,
                                       struct pl_err *err);
PL_NODISCARD enum pl_code leader_parse(struct pl_span json, struct leader *out,
                                       struct pl_err *err);

#endif
