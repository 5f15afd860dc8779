/* A drain wait waits until a shard owns nothing, and prints how many partitions are
 * left. */
#ifndef COORD_CLI_SHARDS_DRAIN_WAIT_H
#define COORD_CLI_SHARDS_DRAIN_WAIT_H

#include "coord/cli/session/store_session.h"

/* PL_TIMEOUT: the shard still owns some. */
PL_NODISCARD enum pl_code drain_wait(struct store_session *session, struct pl_span id,
                                     uint64_t wait_ms, struct pl_err *err);

#endif
